# SPDX-License-Identifier: GPL-2.0-or-later
"""Show Mobile IPv6 at work: ``make run-migration``.

The paper's section 3: a VM with an open connection migrates live from its home network to a
foreign one, and keeps its address.

    python3 -m lab.run_migration [--kernel 6.1|6.12|7.3]
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import socket
import sys
from collections.abc import Sequence

from lab.base import wait
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import AGENT_ADDRESS, CORRESPONDENT_ADDRESS, HOME_ADDRESS, World
from lab.packages import kernel
from lab.packages.conclude import conclude
from lab.story import Story

_URI = f"tcp:[{mobility.HOST_B_ADDRESS}]:4444"
_LINE_PORT = 7
_LINE = f"""
import socket
server = socket.create_server(("::", {_LINE_PORT}), family=socket.AF_INET6)
print("ready", flush=True)
line = server.accept()[0]
for heard in line.makefile():
    line.sendall(b"yes, still here\\n")
"""


def monitor(story: Story, guest: Guest) -> None:
    """QEMU's state of the mobile node."""
    text = guest.qmp("human-monitor-command", command_line="info mip6")
    story.show("(qemu)", "info mip6", text)


class Talk:
    """The traffic that must survive: a ping of the guest, and a TCP connection to it."""

    def __init__(self, world: World, guest: Guest) -> None:
        guest.spawn(["python3", "-u", "-c", _LINE]).wait_output("ready")
        with world.correspondent.entered():
            self._line = socket.create_connection((HOME_ADDRESS, _LINE_PORT), wait.PATIENCE)
        self._ping = guest.spawn(["ping", "-n", "-i", "0.01", CORRESPONDENT_ADDRESS])
        self._ping.wait_output("icmp_seq=9 ")

    def ask(self, story: Story) -> None:
        """One question over the connection."""
        self._line.sendall(b"are you there?\n")
        story.show(
            "correspondent$",
            "(the same TCP connection) are you there?",
            self._line.recv(64).decode(),
        )

    def goes_on(self) -> None:
        """Wait for a hundred more answers to the ping."""
        last = self._ping.output().stdout.count("icmp_seq")
        wait.until(
            lambda: self._ping.output().stdout.count("icmp_seq") > last + 100, "more answers"
        )

    def end(self, story: Story) -> None:
        """End both, and report losses."""
        self._line.close()
        self._ping.kill(signal.SIGINT)
        text = self._ping.wait(wait.PATIENCE).stdout
        story.show("guest$", f"ping -i 0.01 {CORRESPONDENT_ADDRESS}", text[text.index("---") :])


def configure(story: Story, guest: Guest) -> None:
    """Give the guest its address, as an administrator would, and a router's route."""
    guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
    guest.run("sysctl -w net.ipv6.conf.eth0.autoconf=0")
    guest.run(f"ip link set eth0 up; ip address add {HOME_ADDRESS}/64 dev eth0 nodad")
    guest.wait_for("ip -6 route show default | grep -q via")
    for command in ("ip -6 -brief address show eth0", "ip -6 route show default"):
        story.show("guest$", command, guest.run(command).stdout)


def demonstrate(options: argparse.Namespace, story: Story) -> None:
    """The whole demonstration."""
    with contextlib.ExitStack() as stack:
        with story.step("Make two networks behind routers, a correspondent, a home agent"):
            world = stack.enter_context(mobility.world())
            agent_log = stack.enter_context(world.agent())
            print(f"    home {mobility.HOME_PREFIX}::/64, foreign {mobility.FOREIGN_PREFIX}::/64")
            print(f"    vmmnet-ha at {AGENT_ADDRESS}, correspondent {CORRESPONDENT_ADDRESS}")
        at_home, abroad = (
            mobility.arguments(site.tap("tap0")) for site in (world.home, world.foreign)
        )
        guest = Guest(
            name="mobile",
            netns=world.home.host,
            kernel=options.kernel,
            memory="128M",
            devices=[mobility.DEVICE],
            arguments=at_home,
        )
        with story.step("Boot a VM on host A, at home"):
            print(f"    -netdev {at_home[-1]}")
            stack.enter_context(guest)
            configure(story, guest)
        with story.step("Begin a TCP connection and a ping, at home"):
            talk = Talk(world, guest)
            talk.ask(story)
            monitor(story, guest)
        moving = migrated(
            guest,
            uri=_URI,
            ready=lambda target: "care-of" in roaming.info(target),
            netns=world.foreign.host.netns,
            arguments=tuple(abroad),
        )
        with story.step(f"Migrate it to host B, on another network: migrate {_URI}"):
            guest = stack.enter_context(moving)
            wait.until(lambda: guest.qmp("query-mip6")[0]["state"] == "bound", "the binding")
        with story.step("Go on"):
            talk.goes_on()
            talk.ask(story)
            command = "ip -6 -brief address show eth0"
            story.show("guest$", command, guest.run(command).stdout)
            monitor(story, guest)
            talk.end(story)
            story.show("agent$", "cat vmmnet-ha.log", agent_log.read_text())
    story.end()


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, prog="make run-migration", description=__doc__
    )
    parser.add_argument(
        "--kernel", choices=kernel.ORIGINS, default=kernel.MAIN, help="guest kernel"
    )
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point."""
    options = parse()
    return conclude("make run-migration", lambda: demonstrate(options, Story()))


if __name__ == "__main__":
    sys.exit(main())
