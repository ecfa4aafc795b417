# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMUs without a guest, and what runs a load over each.

    sockets   QEMU's vCPU makes the socket calls; the peer is behind a veth of the host:

                  QEMU -- [ host ] ===veth=== peer

    NICs      QEMU's vCPU is a driver of virtio-net, and a namespace is the guest above it, in which
              a program makes the same calls natively:

                  program -- [ guest ] -- tap -- QEMU -- tap -- [ host ] ===veth=== peer
                                                 QEMU -- vhost-user -- passt in [ host ]

              Those on a foreign link have the networks of lab.mip6 in place of the host and the
              veth, whose wires carry no super-frames.

Datagrams of a NIC on a tap end there: the host's kernel drops them, so that QEMU's work is not lost
in what the networks behind it cost.  Of a NIC, what the VMM spends is what QEMU's other threads
spend and, with vhost-user, passt alone: with KVM an eventfd carries its interrupts without QEMU's
main loop.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File

from lab.base import process, tools, wait
from lab.base.net import Namespace, Network
from lab.guest import qemu
from lab.mip6 import mobility
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

from ..mip6 import places

_SOURCES = File(__file__).parent / "loads"
#: A prefix of NAT64: the peer's address is the one that stands for PEER4.
_PREFIX = "2001:db8:64::"
_OWN, _PEER, _PEER4 = f"{_PREFIX}1", f"{_PREFIX}c000:202", "192.0.2.2"
_BEHIND = "2001:db8:2::"
PORT = 7000
MAC = "52:54:00:12:34:56"
NATIVE, VMRPC = "native", "vmrpc"
FOREIGN, MIP6 = "foreign", "mip6"
VIRTIO_NET, STAGE, HOSTVLAN, CVSW, PASST = "virtio-net", "stage", "hostvlan", "cvsw", "passt"
#: Entries of HostVLAN's table, the worst case of the paper.
_ENTRIES = 8192
_LNID = 7
#: Seconds of a binding.
_LIFETIME = 7200
#: Datagrams of one call, as in loads.c.
SEGMENTS = 32
#: Seconds: a load that takes longer has hung; QEMU's end.
LIMIT, _END = 300, 10
_TUNSETIFF, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454D8
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x2, 0x1000, 0x4000
_VNET_HEADER = 12


@dataclass(frozen=True)
class Load:
    """A load of loads.c: its size in octets, how often it runs, and the peer's port."""

    kind: str
    size: int
    count: int
    port: int
    title: str

    @property
    def name(self) -> str:
        """The name in tables and on the command line."""
        return f"{self.kind}-{self.size}" if self.size else self.kind

    @property
    def sends_datagrams(self) -> bool:
        """Whether nothing comes back."""
        return self.kind in ("datagrams", "segments")

    def line(self, path: str, count: int | None = None, to: str = "") -> str:
        """The line of a script; ``count``, and the peer, other than the usual."""
        to = to or (_PEER4 if path == VMRPC else _PEER)
        return f"{path} {self.kind} {self.size} {count or self.count} {PORT + self.port} {to}\n"


@dataclass(frozen=True)
class Programs:
    """The peer, and the program that makes a script's calls natively."""

    peer: File
    native: File


def build(folder: File, *, static: bool = False) -> Programs:
    """Compile both; ``static``: the second for any system."""
    glib = ["pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "glib-2.0"]
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror"]
    options.append(f"-I{_SOURCES.parents[2]}")
    programs = Programs(folder / "guestless-peer", folder / "guestless-native")
    tools.run(["gcc", *options, "-o", programs.peer, _SOURCES / "peer.c"])
    own = [_SOURCES / name for name in ("main.c", "loads.c", "native.c")]
    options += ["-static"] if static else []
    tools.run(["gcc", *options, "-o", programs.native, *own, *tools.run(glib).split()])
    return programs


@contextlib.contextmanager
def _hosts(folder: File, programs: Programs) -> Iterator[tuple[Network, Namespace, Namespace]]:
    """A host, and the peer outside at the other end of a veth."""
    with Network() as network:
        host, outside = network.namespace("host"), network.namespace("outside")
        ours, theirs = ([f"{address}/96"] for address in (_OWN, _PEER))
        network.connect(host, outside, ours, theirs)
        _start_peer(outside, folder, programs)
        yield network, host, outside


def _start_peer(outside: Namespace, folder: File, programs: Programs) -> None:
    ready = folder / "ready"
    with ready.open("wb") as out:
        outside.popen([programs.peer, str(PORT)], stdout=out)
    wait.until(lambda: ready.read_text() == "ready\n", "the peer")


def _machine(accelerator: str) -> list[str | File]:
    words = ["-accel", f"guestless,{accelerator}", "-name", "guestless,debug-threads=on"]
    words += ["-machine", "q35", "-nodefaults", "-display", "none", "-no-user-config"]
    return [qemu.binary(), *words, *qemu.firmware_options()]


# --- sockets ---------------------------------------------------------------------


@dataclass(frozen=True)
class Sockets:
    """The host of the QEMU whose vCPU makes socket calls."""

    host: Namespace
    folder: File

    def run(self, script: str, around: Sequence[str | File] = ()) -> str:
        """Run a script; return what QEMU writes.  ``around``: a program that runs QEMU."""
        path = self.folder / "script"
        path.write_text(script)
        device = f"virtio-vmrpc-pci,address6={_OWN},nat64-prefix={_PREFIX}/96"
        words = [*_machine(f"script={path}"), "-m", "64", "-device", device]
        return self.host.run([*around, *words], timeout=LIMIT).stdout

    def measure(self, path: str, load: Load) -> float:
        """Nanoseconds of processor time of a unit, of all of QEMU's threads."""
        found = json.loads(self.run(load.line(path)))
        spent = ("user_ns", "system_ns", "others_user_ns", "others_system_ns")
        return float(sum(found[name] for name in spent)) / float(found["count"])


@contextlib.contextmanager
def sockets(folder: File, programs: Programs) -> Iterator[Sockets]:
    """The host for NATIVE and VMRPC."""
    folder.mkdir()
    with _hosts(folder, programs) as (_, host, _outside):
        yield Sockets(host, folder)


# --- NICs --------------------------------------------------------------------------


@dataclass(frozen=True)
class Nic:
    """A NIC, the namespace that is its guest, and the processes whose time counts."""

    guest: Namespace
    host: Namespace
    outside: Namespace
    peer: str
    #: Is QEMU's end of the NIC a tap of the host?
    has_tap: bool
    programs: Programs
    folder: File
    spent: Callable[[], int]

    def measure(self, load: Load) -> float:
        """Nanoseconds of the VMM's processor time of a unit; of a frame with datagrams."""
        path = self.folder / "script"
        path.write_text(load.line(NATIVE, to=self.peer))
        units = load.count * 1.1
        with self._ended_at_tap() if load.sends_datagrams and self.has_tap else _nothing():
            frames, arrived, before = self._frames(), self._arrived(), self.spent()
            self.guest.run([self.programs.native, path], timeout=LIMIT)
            spent = self.spent() - before
            if load.sends_datagrams:
                # Flooded, the guest's queue drops some before they reach the NIC.
                units = self._frames() - frames
                if not self.has_tap:
                    units = self._arrived() - arrived
                    units /= SEGMENTS if load.kind == "segments" else 1
        return spent / units

    @contextlib.contextmanager
    def _ended_at_tap(self) -> Iterator[None]:
        """What QEMU sends ends where the host's kernel would begin to carry it."""
        rule = "type filter hook ingress device tap0 priority 0; policy drop;"
        self.host.run(["nft", f"table netdev end {{ chain tap {{ {rule} }}; }}"])
        try:
            yield
        finally:
            self.host.run(["nft", "delete table netdev end"])

    def _frames(self) -> int:
        """Frames that the driver has taken from the guest's kernel."""
        return int(self.guest.run(["cat", "/sys/class/net/eth0/statistics/tx_packets"]).stdout)

    def _arrived(self) -> int:
        text = self.outside.run(["cat", "/proc/net/snmp6"]).stdout
        found = re.search(r"^Ip6InReceives\s+(\d+)$", text, re.M)
        assert found is not None
        return int(found[1])


@contextlib.contextmanager
def _nothing() -> Iterator[None]:
    yield


def time_of(pid: int, but: str = "") -> int:
    """Nanoseconds that a process's threads have run, but those whose name begins with ``but``."""
    total = 0
    for thread in File(f"/proc/{pid}/task").iterdir():
        if not but or not (thread / "comm").read_text().startswith(but):
            total += int((thread / "schedstat").read_text().split()[0])
    return total


def guest_tap(guest: Namespace) -> int:
    """The guest's NIC, as a descriptor."""
    with guest.entered():
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH", b"eth0", flags))
        fcntl.ioctl(tap, _TUNSETVNETHDRSZ, struct.pack("i", _VNET_HEADER))
    guest.ip("link", "set", "eth0", "address", MAC, "up")
    return tap


def _behind_tap(kind: str, host: Namespace, outside: Namespace, folder: File) -> list[str]:
    """QEMU's NIC on a routed tap of the host, behind what there is of ours."""
    tap = host.tap("tap0")
    tap.add_address(f"{_BEHIND}1/64")
    host.sysctl({"net.ipv6.conf.all.forwarding": 1})
    outside.route(f"{_BEHIND}/64", _OWN)
    words = ["-netdev", "tap,id=tap0,ifname=tap0,script=no,downscript=no,vhost=off"]
    top, device = "tap0", "virtio-net-pci"
    if kind == STAGE:
        top, words = "st0", [*words, "-netdev", "stage,id=st0,netdev=tap0"]
    elif kind == HOSTVLAN:
        table = folder / "table"
        numbers = [int(mac.replace(":", ""), 16) for mac in (MAC, tap.mac)]
        numbers += range(0x020000000000, 0x020000000000 + _ENTRIES - len(numbers))
        with Table.change(table) as change:
            change.replace(Entry(number, (_LNID,)) for number in numbers)
        top, words = "hv0", [*words, "-netdev", f"hostvlan,id=hv0,netdev=tap0,table={table}"]
    elif kind == CVSW:
        device = "virtio-net-cvsw-pci"
    words += ["-device", f"{device},netdev={top},mac={MAC},disable-legacy=on", "-m", "128"]
    return words


def _behind_passt(host: Namespace, folder: File) -> tuple[list[str], int]:
    """QEMU's NIC on vhost-user, and passt's pid."""
    host.route("default", _PEER)
    path = folder / "passt"
    # passt drops its privileges before it makes the socket.
    folder.chmod(0o777)
    words = ["passt", "--foreground", "--stderr", "--no-map-gw", "--vhost-user"]
    child = host.popen([*words, "--socket", str(path)], stderr=subprocess.DEVNULL)
    wait.until(path.exists, "passt's socket")
    words = ["-m", "128", "-object", "memory-backend-memfd,id=ram,size=128M,share=on"]
    words += ["-machine", "memory-backend=ram", "-chardev", f"socket,id=passt,path={path}"]
    words += ["-netdev", "vhost-user,id=net0,chardev=passt"]
    return [
        *words,
        "-device",
        f"virtio-net-pci,netdev=net0,mac={MAC},disable-legacy=on",
    ], child.pid


@contextlib.contextmanager
def running(words: Sequence[str], host: Namespace, tap: int) -> Iterator[int]:
    """Start QEMU, whose NIC carries what the guest's tap does; yields its pid."""
    # The machine ends with its standard input.
    with contextlib.ExitStack() as stack:
        reader, writer = os.pipe()
        child = process.start(
            [*_machine(f"tap={tap}"), *words], netns=host.netns, pass_fds=[tap], stdin=reader
        )
        stack.callback(process.stop, child)
        stack.callback(child.wait, _END)
        stack.callback(os.close, writer)
        os.close(reader)
        os.close(tap)
        yield child.pid


@contextlib.contextmanager
def _echoing(words: Sequence[str], host: Namespace, nic: Nic, tap: int) -> Iterator[int]:
    """Start QEMU and wait until the peer answers."""
    with running(words, host, tap) as pid:
        script = nic.folder / "script"
        script.write_text(Load("echo", 1, 1, 2, "").line(NATIVE, to=nic.peer))
        probe = [nic.programs.native, script]
        wait.until(lambda: not nic.guest.run(probe, check=False).returncode, "an echo over the NIC")
        yield pid


@contextlib.contextmanager
def nic(kind: str, folder: File, programs: Programs) -> Iterator[Nic]:
    """A QEMU with a NIC of this kind."""
    folder.mkdir()
    if kind in (FOREIGN, MIP6):
        with _abroad(kind, folder, programs) as made:
            yield made
        return
    with _hosts(folder, programs) as (network, host, outside):
        guest = network.namespace("guest")
        tap = guest_tap(guest)
        passt = 0
        if kind == PASST:
            words, passt = _behind_passt(host, folder)
            guest.ip("link", "set", "eth0", "mtu", "65520")
            guest.ip("address", "add", f"{_OWN}/96", "dev", "eth0", "nodad")
            # passt drops what its socket does not take: with the kernel's default of 4 MiB a
            # guest that is faster than the socket waits for its own retransmissions.
            guest.sysctl({"net.ipv4.tcp_wmem": "4096 16384 262144"})
        else:
            words = _behind_tap(kind, host, outside, folder)
            guest.ip("address", "add", f"{_BEHIND}2/64", "dev", "eth0", "nodad")
            guest.ip("-6", "route", "add", "default", "via", f"{_BEHIND}1")
        made = Nic(guest, host, outside, _PEER, not passt, programs, folder, lambda: 0)
        with _echoing(words, host, made, tap) as pid:
            spent = (lambda: time_of(passt)) if passt else (lambda: time_of(pid, but="CPU "))
            yield replace(made, spent=spent)


@contextlib.contextmanager
def _abroad(kind: str, folder: File, programs: Programs) -> Iterator[Nic]:
    """A NIC on a foreign link: with an address there, or with the home address."""
    with mobility.world() as world, world.agent(_LIFETIME):
        places.without_super_frames(world)
        host = world.foreign.host
        guest = world.network.namespace("guest")
        tap = guest_tap(guest)
        outer = world.foreign.tap("tap0")
        words = ["-netdev", f"tap,id=tap0,ifname={outer.name},script=no,downscript=no,vhost=off"]
        top = "tap0"
        if kind == MIP6:
            top, middle = "mip0", places.away(world, mobility.HOME_ADDRESS)
            words += ["-netdev", f"{middle},netdev=tap0"]
            commands = places.local("eth0", mobility.HOME_ADDRESS, places.HOME_ROUTER)
        else:
            commands = places.local("eth0", f"{mobility.FOREIGN_PREFIX}::20", places.ROUTER)
        for command in commands:
            guest.run(command.split())
        words += ["-device", f"virtio-net-pci,netdev={top},mac={MAC},disable-legacy=on"]
        _start_peer(world.correspondent, folder, programs)
        peer = mobility.CORRESPONDENT_ADDRESS
        made = Nic(guest, host, world.correspondent, peer, True, programs, folder, lambda: 0)
        with _echoing([*words, "-m", "128"], host, made, tap) as pid:
            yield replace(made, spent=lambda: time_of(pid, but="CPU "))
