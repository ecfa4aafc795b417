# SPDX-License-Identifier: GPL-2.0-or-later
"""A microvm beside q35, and beside one without our device.

    mmio    virtio-vmrpc-device in a microvm          requests a second of 4 vCPUs, against
    pci     virtio-vmrpc-pci in q35

    vmrpc   virtio-vmrpc-device                       memory, and time from exec to the first page,
    bare    the same guest without it                 or until the guest says that it serves
    passt   the same guest, virtio-net-device, passt
    gvproxy the same with gvisor-tap-vsock's gvproxy, if it is installed

Memory is the proportional set size of QEMU, without the guest's RAM and without what the emulator
has compiled, and that of passt or gvproxy.  The guest is the example's, examples/microvm; time
begins when QEMU does, with passt or gvproxy already there.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.guest import cpio, image, machine, many, qemu
from lab.guest.flood import flood
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import OWN_VM_ADDRESS, Lab, lab

from .base import commandline, report
from .base.loads import Metric
from .base.report import Comparison

_VCPUS = 4
_ADDRESS = "2001:db8:77::1"
_REQUESTS = Metric("requests", "1/s", True, "requests of 4 vCPUs")
_PAGE = Metric("page", "s", False, "exec to first page")
_MEMORY = Metric("memory", "MiB", False, "memory without the guest's")
_RAM = "96M"
_PORT = 8080
#: The addresses of guests with a NIC, and of their gateways.
_GUESTS = {"passt": ("192.0.2.9", "192.0.2.1"), "gvproxy": ("192.168.127.2", "192.168.127.1")}
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
        before = _count(guest)
        flood(guest, _VCPUS, seconds)
        return (_count(guest) - before) / seconds


def _count(guest: Guest) -> int:
    return guest.vmrpc_counters()["requests"]


@dataclass(frozen=True)
class Link:
    """What carries a guest's packets: QEMU's options, its page, and whose memory counts, too."""

    options: tuple[str, ...] = ()
    url: str = ""
    child: subprocess.Popen[bytes] | None = None


@contextlib.contextmanager
def _vmrpc(host: Namespace, _: File) -> Iterator[Link]:
    host.ip("address", "add", f"{_ADDRESS}/128", "dev", "lo")
    yield Link(("-device", f"virtio-vmrpc-pci,address6={_ADDRESS}"), f"http://[{_ADDRESS}]/")


@contextlib.contextmanager
def _bare(_: Namespace, __: File) -> Iterator[Link]:
    yield Link()


def _nic(path: File) -> tuple[str, ...]:
    backend = f"stream,id=net0,server=off,addr.type=unix,addr.path={path}"
    return "-netdev", backend, "-device", "virtio-net-pci,netdev=net0,mac=5a:94:ef:e4:0c:ee"


@contextlib.contextmanager
def _passt(host: Namespace, folder: File) -> Iterator[Link]:
    guest, gateway = _GUESTS["passt"]
    # It wants an interface of the host with a route.
    host.bridge("out")
    host.ip("address", "add", f"{gateway}/24", "dev", "out")
    host.ip("route", "add", "default", "dev", "out")
    path = folder / "passt"
    words: tuple[str, ...] = ("passt", "--foreground", "--stderr", "--ipv4-only")
    words += "--socket", str(path), "--address", guest, "--netmask", "24"
    words += "--gateway", gateway, "-t", f"{_PORT}:80"
    with host.started(words, stderr=subprocess.DEVNULL) as child:
        wait.until(path.exists, "passt's socket")
        yield Link(_nic(path), f"http://{gateway}:{_PORT}/", child)


@contextlib.contextmanager
def _gvproxy(host: Namespace, folder: File) -> Iterator[Link]:
    path, control = folder / "gvproxy", folder / "services"
    words = ("gvproxy", "-listen-qemu", f"unix://{path}", "-services", f"unix://{control}")
    with host.started((*words, "-ssh-port", "-1"), stderr=subprocess.DEVNULL) as child:
        wait.until(lambda: path.exists() and control.exists(), "gvproxy's sockets")
        forward = {"local": f"127.0.0.1:{_PORT}", "remote": f"{_GUESTS['gvproxy'][0]}:80"}
        api = ("curl", "-sSf", "--unix-socket", str(control), "-d", json.dumps(forward))
        host.run((*api, "http://gvproxy/services/forwarder/expose"))
        yield Link(_nic(path), f"http://127.0.0.1:{_PORT}/", child)


_LINKS = {"vmrpc": _vmrpc, "bare": _bare, "passt": _passt, "gvproxy": _gvproxy}


def _with_nic(kind: str, initramfs: File, product: File) -> File:
    """An initramfs in which the example's guest has a NIC with an address instead of our device."""
    found = kernel.get(kernel.OLDEST)
    modules = image.load_order(found, ("virtio_mmio", "virtio_net"))
    guest, gateway = _GUESTS[kind]
    begin = (many.EXAMPLE / "init").read_text()
    network = f"ifconfig eth0 {guest} netmask 255.255.255.0 up\nroute add default gw {gateway}\n"
    # They send to everybody until they have heard the guest, and Linux has no TCP for everybody.
    network += f"arping -q -c 1 -I eth0 {gateway}\n"
    text = begin.replace("ifconfig lo 127.0.0.1\n", f"ifconfig lo 127.0.0.1\n{network}")
    files = {f"/lib/{path.name}": cpio.File(path.read_bytes()) for path in modules}
    files["/modules"] = cpio.File("".join(f"{path.name}\n" for path in modules).encode())
    files["/init"] = cpio.File(text.encode(), 0o755)
    # A later archive's files take the place of earlier ones; it begins at a multiple of four.
    earlier = initramfs.read_bytes()
    product.write_bytes(earlier + bytes(-len(earlier) % 4) + cpio.archive(files))
    return product


def _boot(kind: str, initramfs: File) -> tuple[float, float]:
    """Seconds to the first page, and MiB; of a bare guest, to its server."""
    with Network() as network, scratch.folder() as name:
        folder = File(name)
        # passt drops its privileges before it makes its socket.
        folder.chmod(0o777)
        host = network.namespace("host")
        if kind in _GUESTS:
            initramfs = _with_nic(kind, initramfs, folder / "initramfs")
        with _LINKS[kind](host, folder) as link:
            command = _command(link.options, initramfs, folder)
            began = time.monotonic()
            process = qemu.QemuProcess(command, netns=host.netns, stderr=folder / "log")
            try:
                _await(link, host, folder)
                took = time.monotonic() - began
                memory = _own_memory(process.pid)
                return took, memory + (_own_memory(link.child.pid) if link.child else 0)
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


def _await(link: Link, host: Namespace, folder: File) -> None:
    # A host that asks before has less time for the guest, most where it is refused at once.
    console = folder / "console"
    wait.until(lambda: console.exists() and ": ready" in console.read_text(), "its server")
    if link.url:
        page = ["curl", "-sS", "--max-time", "1", link.url]
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
    pairs = [(_REQUESTS, "mmio", "pci")]
    pairs += [(one, "vmrpc", peer) for one in (_PAGE, _MEMORY) for peer in _kinds()[1:]]
    for metric, ours, peer in pairs:
        found = values[metric.name]
        yield Comparison(metric, f"{metric.name}-{ours}-vs-{peer}", peer, found[ours], found[peer])


def _kinds() -> list[str]:
    """The guests whose memory is compared, ours first."""
    return [kind for kind in _LINKS if kind != "gvproxy" or shutil.which(kind)]


def _measure(plan: Plan) -> dict[str, dict[str, list[float]]]:
    values: dict[str, dict[str, list[float]]] = {
        "requests": {"mmio": [], "pci": []},
        "page": {kind: [] for kind in _kinds()},
        "memory": {kind: [] for kind in _kinds()},
    }
    with lab() as world, scratch.folder() as name:
        initramfs = many.initramfs(kernel.OLDEST, File(name) / "initramfs")
        for index in range(plan.rounds):
            kinds = (("mmio", machine.MICROVM), ("pci", machine.DEFAULT))
            for label, kind in report.turned(kinds, index):
                values["requests"][label].append(_requests(world, kind, plan.seconds))
                print(f"  round {index + 1}, {label}: {values['requests'][label][-1]:.0f} 1/s")
            for kind in report.turned(_kinds(), index):
                took, memory = _boot(kind, initramfs)
                values["page"][kind].append(took)
                values["memory"][kind].append(memory)
                print(f"  round {index + 1}, {kind}: {took:.1f} s, {memory:.1f} MiB", flush=True)
    return values


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    tools.require("ip", "curl", "busybox", "cpio", "passt")
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
