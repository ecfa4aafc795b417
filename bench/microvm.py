# SPDX-License-Identifier: GPL-2.0-or-later
"""A microvm beside q35, and beside one without our device.

    mmio    virtio-vmrpc-device in a microvm          requests a second of 4 vCPUs, against
    pci     virtio-vmrpc-pci in q35

    vmrpc   virtio-vmrpc-device                       memory, and time from exec to the first page,
    bare    the same guest without it                 or until the guest says that it serves

Memory is the proportional set size of QEMU, without the guest's RAM and without what the emulator
has compiled.  The guest is the example's, examples/microvm.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.guest import machine, many, qemu
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import OWN_VM_ADDRESS, Lab, lab

from .base import commandline, report
from .base.loads import Metric
from .base.report import Comparison

#: One process a vCPU sends datagrams to a port where nobody is.
_FLOOD = """
import os, socket, sys, time
for cpu in range(int(sys.argv[1])):
    if not os.fork():
        os.sched_setaffinity(0, [cpu])
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.connect((sys.argv[3], 9999))
        until = time.monotonic() + float(sys.argv[2])
        while time.monotonic() < until:
            try:
                end.send(bytes(60000))
            except ConnectionRefusedError:
                pass
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
_VCPUS = 4
_ADDRESS = "2001:db8:77::1"
_REQUESTS = Metric("requests", "1/s", True, "requests of 4 vCPUs")
_PAGE = Metric("page", "s", False, "exec to first page")
_MEMORY = Metric("memory", "MiB", False, "memory without the guest's")
_RAM = "96M"
_GOALS = "Goals: requests over virtio-mmio at least 0.9 of virtio-pci's; memory 2 MiB above bare."


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    seconds: int
    output: File


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("microvm", __doc__, rounds=5, quick="1 round of 2 s")
    options = parser.parse_args(arguments)
    quick = bool(options.quick)
    return Plan(1 if quick else options.rounds, 2 if quick else 5, options.output)


def _requests(world: Lab, kind: str, seconds: int) -> float:
    """Datagrams a second that the guest's vCPUs send at once."""
    with world.guest(
        device=world.device(OWN_VM_ADDRESS), machine=kind, smp=_VCPUS, ipv6=False
    ) as guest:
        words = [str(_VCPUS), str(seconds), "peer.test"]
        before = _count(guest)
        guest.run(["python3", "-c", _FLOOD, *words])
        return (_count(guest) - before) / seconds


def _count(guest: Guest) -> int:
    return guest.vmrpc_counters()["requests"]


def _boot(kind: str, initramfs: File) -> tuple[float, float]:
    """Seconds to the first page, and MiB; of a bare guest, to its server."""
    with Network() as network, tempfile.TemporaryDirectory() as name:
        folder = File(name)
        host = network.namespace("host")
        host.ip("address", "add", f"{_ADDRESS}/128", "dev", "lo")
        words = ["-device", f"virtio-vmrpc-pci,address6={_ADDRESS}"] if kind == "vmrpc" else []
        began = time.monotonic()
        process = qemu.QemuProcess(
            _command(words, initramfs, folder), netns=host.netns, stderr=folder / "log"
        )
        try:
            _await(kind, host, folder)
            return time.monotonic() - began, _own_memory(process.pid)
        finally:
            process.stop()


def _command(words: Sequence[str], initramfs: File, folder: File) -> list[str | File]:
    kind = machine.of(machine.MICROVM, qemu.accelerator())
    append = " ".join(("console=ttyS0 quiet panic=-1 ipv6.disable=1 vm=vm1", *kind.append))
    command: list[str | File] = [
        qemu.binary(),
        *qemu.firmware_options(),
        *("-machine", "microvm,rtc=off"),
        *("-accel", qemu.accelerator(), "-cpu", "max", "-m", _RAM, "-smp", "1"),
        *("-object", f"memory-backend-memfd,id=ram,size={_RAM}", "-machine"),
        *("memory-backend=ram", "-nodefaults", "-no-user-config", "-display", "none"),
        *("-kernel", kernel.plain_image(kernel.get(kernel.OLDEST)), "-initrd", initramfs),
        *("-append", append, "-serial", f"file:{folder}/console", *kind.arguments, *words),
    ]
    return kind.adapt(command)


def _await(kind: str, host: Namespace, folder: File) -> None:
    if kind == "bare":
        console = folder / "console"
        wait.until(lambda: console.exists() and ": ready" in console.read_text(), "its server")
        return
    page = ["curl", "-sS", "--max-time", "1", f"http://[{_ADDRESS}]/"]
    wait.until(lambda: host.run(page, check=False).stdout, "the page")


def _own_memory(pid: int) -> float:
    """MiB of a process but the guest's RAM and the translator's code, which are shared or memfd."""
    total = 0
    for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", File(f"/proc/{pid}/smaps").read_text()):
        if found := re.search(r"^Pss: +(\d+) kB", part, re.M):
            head = part.splitlines()[0]
            if "memfd:" not in head and "rwx" not in head:
                total += int(found[1])
    return total / 1024


def _compare(values: dict[str, dict[str, list[float]]]) -> Iterator[Comparison]:
    for metric, ours, peer in (
        (_REQUESTS, "mmio", "pci"),
        (_PAGE, "vmrpc", "bare"),
        (_MEMORY, "vmrpc", "bare"),
    ):
        found = values[metric.name]
        yield Comparison(metric, f"{metric.name}-{ours}-vs-{peer}", peer, found[ours], found[peer])


def _measure(plan: Plan) -> dict[str, dict[str, list[float]]]:
    values: dict[str, dict[str, list[float]]] = {
        "requests": {"mmio": [], "pci": []},
        "page": {"vmrpc": [], "bare": []},
        "memory": {"vmrpc": [], "bare": []},
    }
    with lab() as world, scratch.folder() as name:
        initramfs = many.initramfs(kernel.OLDEST, File(name) / "initramfs")
        for index in range(plan.rounds):
            kinds = (("mmio", machine.MICROVM), ("pci", machine.DEFAULT))
            for label, kind in report.turned(kinds, index):
                values["requests"][label].append(_requests(world, kind, plan.seconds))
                print(f"  round {index + 1}, {label}: {values['requests'][label][-1]:.0f} 1/s")
            for kind in report.turned(("vmrpc", "bare"), index):
                took, memory = _boot(kind, initramfs)
                values["page"][kind].append(took)
                values["memory"][kind].append(memory)
                print(f"  round {index + 1}, {kind}: {took:.1f} s, {memory:.1f} MiB", flush=True)
    return values


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    tools.require("ip", "curl", "busybox", "cpio")
    net.reap_stale()
    values = _measure(plan)
    comparisons = list(_compare(values))
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    about = f"{rounds}, requests for {plan.seconds} s, {qemu.accelerator()}; {conditions.machine()}"
    print(f"\n{about}\n\n{report.table(comparisons)}\n\n{_GOALS}")
    more = {"conditions": about, "samples": values}
    report.write_json(plan.output / "microvm.json", comparisons, more)
    head = ["", "ours", "peer", "ratio"]
    rows = [
        [one.name, str(report.spread(one.ours)), str(report.spread(one.peer)), str(one.ratio)]
        for one in comparisons
    ]
    text = f"{about}.\n\n{_GOALS}\n\n{report.markdown([head, *rows])}"
    (plan.output / "microvm.md").write_text(text)
    print(f"\nwritten: {plan.output / 'microvm.json'}, {plan.output / 'microvm.md'}")
    return 0
