# SPDX-License-Identifier: GPL-2.0-or-later
"""Show CVSW at work: ``make run-cvsw``.

The paper's topology: two hosts with an Open vSwitch each, VMs of two tenants on both, and a
controller that has the VMs' NICs put each tenant into tunnels.

    python3 -m lab.run_cvsw [--kernel 6.1|6.12|7.3] [--cipher aes-gcm-128|aes-gcm-256]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.base import wait
from lab.cvsw import switched
from lab.cvsw.switched import CONTROL, Bed, Vm
from lab.packages import kernel
from lab.packages.conclude import conclude
from lab.story import Story

_CIPHERS = ("aes-gcm-128", "aes-gcm-256")
_SECONDS = 5
# Lines of a capture to show.
_SOME = 6


def show_ping(story: Story, asker: Vm, other: Vm) -> None:
    """Two pings, answered or not."""
    command = f"ping -n -c2 -W1 {other.address}"
    text = asker.guest.run(command, check=False).stdout
    lines = [line for line in text.splitlines() if "bytes from" in line or "packets" in line]
    story.show(f"{asker.name}$", f"{command}  # {other.name}", "\n".join(lines))


def show_transfer(story: Story, bed: Bed, sender: Vm, receiver: Vm) -> None:
    """TCP between two VMs, and a capture of the wire between the hosts."""
    server = receiver.guest.spawn("iperf3 -s -1")
    receiver.guest.wait_for("ss -Htln | grep -q :5201")
    with bed.capture(bed.folder / "wire.pcap") as file:
        command = f"iperf3 -c {receiver.address} -t {_SECONDS} -f m"
        story.show(f"{sender.name}$", command, sender.guest.run(command).stdout)
        server.wait(wait.PATIENCE, check=True)
    show_capture(story, bed, file)


def show_capture(story: Story, bed: Bed, file: Path) -> None:
    """Some frames of a capture, and the numbers of ESP and other frames."""
    wire = bed.hosts[0].wire.name
    some = switched.read(file, "esp")
    middle = len(some) // 2
    story.show("host1$", f"tcpdump -i {wire} -w wire.pcap &", "")
    lines = "\n".join(["...", *some[middle : middle + _SOME], "..."])
    story.show("host1$", "tcpdump -nn -t -r wire.pcap esp", lines)
    for expression in ("esp", f"not esp and not {CONTROL}"):
        number = len(switched.read(file, expression))
        story.show("host1$", f"tcpdump -nn -t -r wire.pcap {expression} | wc -l", str(number))


def show_controller(story: Story, bed: Bed, *words: str) -> None:
    """A command of the controller's."""
    story.show("controller$", f"vmmnet cvsw {' '.join(words)}", bed.controller.command(*words))


def show_keys(story: Story, bed: Bed, vm: Vm) -> None:
    """The numbers of a VM's outbound associations."""
    command = f"vmmnet cvsw flows {vm.name} | grep -o 'encrypt([^)]*)' | sort -u"
    lines = [f"encrypt(sa={number})" for number in sorted(bed.controller.outbound(vm.name))]
    story.show("controller$", command, "\n".join(lines))


def make_vms(bed: Bed, series: str) -> list[Vm]:
    """Make a VM of each tenant on each host."""
    one, two = bed.hosts
    places = (("red", 1, one), ("red", 2, two), ("blue", 3, one), ("blue", 4, two))
    names = ("red1", "red2", "blue1", "blue2")
    return [bed.vm(name, *place, series=series) for name, place in zip(names, places, strict=True)]


def demonstrate(options: argparse.Namespace, story: Story) -> None:
    """The whole demonstration."""
    with contextlib.ExitStack() as stack:
        with story.step("Make two hosts, a wire between them, an Open vSwitch on each"):
            bed = stack.enter_context(switched.bed())
            vms = make_vms(bed, options.kernel)
            red1, red2, blue1, blue2 = vms
            for host in bed.hosts:
                story.show(f"{host.name}$", "ovs-vsctl show", host.switch.ask("show"))
        with story.step("Start the controller, to which both connect"):
            bed.start_controller()
            show_controller(story, bed, "show")
        with story.step("Boot four VMs of two tenants"):
            print(f"    -device {red1.device}")
            stack.enter_context(switched.started(vms))
        with story.step("Have the controller apply a file"):
            bed.apply(vms, dict.fromkeys(("red", "blue"), options.cipher))
            story.show("controller$", "cat tenants.yaml", bed.file.read_text())
            show_controller(story, bed, "show")
            show_controller(story, bed, "flows", red1.name)
        with story.step("Ping: a tenant's VMs reach each other, and nobody else"):
            for asker, other in ((red1, red2), (blue1, blue2), (red1, blue1), (red1, blue2)):
                show_ping(story, asker, other)
        with story.step("Send TCP through VXLAN and ESP; the wire sees ESP alone"):
            show_transfer(story, bed, red1, red2)
        with story.step("Have the controller die and start again: NICs register, keys are new"):
            show_keys(story, bed, red1)
            before = bed.controller.outbound(red1.name)
            bed.controller.kill()
            show_ping(story, red1, red2)
            bed.start_controller()
            bed.controller.settled()
            bed.controller.awaits_new_keys(red1.name, before)
            show_keys(story, bed, red1)
            show_ping(story, red1, red2)
    story.end()


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="make run-cvsw", description=__doc__)
    parser.add_argument(
        "--kernel", choices=kernel.ORIGINS, default=kernel.MAIN, help="guest kernel"
    )
    parser.add_argument("--cipher", choices=_CIPHERS, default="aes-gcm-256", help="of both tenants")
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point."""
    options = parse()
    return conclude("make run-cvsw", lambda: demonstrate(options, Story()))


if __name__ == "__main__":
    sys.exit(main())
