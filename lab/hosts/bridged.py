# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of a bridge with HostVLAN in eBPF, without QEMU: tests send their frames.

    vm a --- veth ---+
    vm b --- tap  ---+ bridge of the host, with HostVLAN on its side of each
    vm c --- veth ---+

Frames contain texts. There is no other traffic, as IPv6 is off. Frames arrive in the order of
sending, as one processor sends them all: each processor has its own queue between the interfaces of
a host.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import select
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, Self

from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

from ..base import wait
from ..base.net import Interface, Namespace, Network
from . import ebpf

BROADCAST = 0xFFFFFFFFFFFF
# EtherType for experiments (IEEE 802): no other frames have it.
_ETHERTYPE = 0x88B5
#: Settings of a namespace without other traffic.
QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
_ETH_P_ALL = 3
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
#: A virtio-net header without offloads.
NO_VNET = bytes(10)
_macvtaps = itertools.count()


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """Pin this thread to the processor that sends all frames."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def frame(source: int, text: str, destination: int = BROADCAST) -> bytes:
    """A frame with a text, as long as the shortest of Ethernet."""
    head = destination.to_bytes(6) + source.to_bytes(6) + struct.pack("!H", _ETHERTYPE)
    return (head + text.encode()).ljust(60, b"\0")


class Wire(Protocol):
    """An end that sends and receives frames."""

    def send(self, octets: bytes) -> None:
        """Send a frame."""

    def receive(self) -> bytes:
        """Wait for a frame; raises TimeoutError."""

    def close(self) -> None:
        """Close it."""


def until(wire: Wire, last: str) -> list[str]:
    """Return the texts of the frames that arrive, up to this one."""
    texts: list[str] = []
    while not texts or texts[-1] != last:
        octets = wire.receive()
        if octets[12:14] == struct.pack("!H", _ETHERTYPE):
            texts.append(octets[14:].rstrip(b"\0").decode())
    return texts


class PacketWire:
    """A packet socket on an interface: a VM's end of a veth, or a switch in user space."""

    def __init__(self, interface: Interface) -> None:
        with interface.namespace.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            # All protocols, as sockets of one protocol do not see frames that a bridge takes.
            self._socket.bind((interface.name, _ETH_P_ALL))
        self._socket.settimeout(wait.PATIENCE)

    def send(self, octets: bytes) -> None:
        """Send a frame; raises OSError if the kernel reports that it was dropped."""
        with _one_processor():
            self._socket.send(octets)

    def receive(self) -> bytes:
        """Wait for a frame of others."""
        while True:
            octets, address = self._socket.recvfrom(1 << 16)
            if address[2] != socket.PACKET_OUTGOING:
                return octets

    def heard(self) -> list[bytes]:
        """Return all frames of others that have come so far."""
        frames = []
        while select.select([self._socket], [], [], 0)[0]:
            octets, address = self._socket.recvfrom(1 << 16)
            if address[2] != socket.PACKET_OUTGOING:
                frames.append(octets)
        return frames

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def macvtap_index() -> str:
    """Return an index for a new macvtap, which no interface of another namespace has.

    /dev/tapN of a macvtap with the index N is in the /dev of all namespaces. libvirt opens it for
    a tap that has the index N in its own namespace, as it takes that for a macvtap.
    """
    return str((os.getpid() << 8) + next(_macvtaps))


def open_macvtap(interface: Interface, folder: Path) -> int:
    """Open the character device of a macvtap, by a node that is made in ``folder``."""
    read = f"cat /sys/class/net/{interface.name}/tap*/dev"
    major, minor = interface.namespace.run(["sh", "-c", read]).stdout.split(":")
    node = folder / interface.name
    os.mknod(node, 0o20600, os.makedev(int(major), int(minor)))
    return os.open(node, os.O_RDWR | os.O_CLOEXEC)


class TapWire:
    """The character device of a tap or a macvtap, which a VMM uses."""

    def __init__(self, device: int, *, vnet: bool) -> None:
        self._device = device
        self._header = len(NO_VNET) if vnet else 0

    @classmethod
    def of_tap(cls, space: Namespace, name: str, *, vnet: bool = False) -> Self:
        """Make a tap that lives as long as it is open."""
        with space.entered():
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            flags = _IFF_TAP | _IFF_NO_PI | (_IFF_VNET_HDR if vnet else 0)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("=16sH22x", name.encode(), flags))
        return cls(device, vnet=vnet)

    @classmethod
    def of_macvtap(cls, interface: Interface, folder: Path) -> Self:
        """Open a macvtap; ``folder`` is for a device node."""
        return cls(open_macvtap(interface, folder), vnet=True)

    def fileno(self) -> int:
        """The descriptor that becomes readable when a frame arrives."""
        return self._device

    def send(self, octets: bytes, vnet: bytes = NO_VNET) -> None:
        """Send a frame, with a virtio-net header if the device has them."""
        with _one_processor():
            os.write(self._device, vnet[: self._header] + octets)

    def receive(self) -> bytes:
        """Wait for a frame."""
        if not select.select([self._device], [], [], wait.PATIENCE)[0]:
            raise TimeoutError("nothing came")
        return os.read(self._device, 1 << 17)[self._header :]

    def close(self) -> None:
        """Close the device; a tap goes with it."""
        os.close(self._device)


class Port:
    """A VM behind an interface of the host."""

    def __init__(self, end: Interface, wire: Wire, mac: int) -> None:
        self.end, self.wire, self.mac = end, wire, mac

    def say(self, text: str, *, source: int | None = None, to: int = BROADCAST) -> None:
        """Send a frame."""
        self.wire.send(frame(self.mac if source is None else source, text, to))

    def hears(self, last: str) -> list[str]:
        """Return the texts that it receives, up to this one."""
        return until(self.wire, last)


def _padded(packet: object) -> bytes:
    return bytes(packet).ljust(64, b"\0")  # type: ignore[call-overload, no-any-return]


def _bare(octets: bytes) -> bytes:
    """Remove tag and padding of a frame, which differ between kinds of sockets."""
    untagged = octets[:12] + octets[16:] if octets[12:14] == b"\x81\0" else octets
    return untagged.rstrip(b"\0")


def said(a: Port, b: Port, packets: Mapping[str, object]) -> list[str]:
    """Send packets of scapy; return the names of those that arrive."""
    names = {_bare(_padded(packet)): name for name, packet in packets.items()}
    for packet in packets.values():
        a.wire.send(_padded(packet))
    a.say("end")
    arrived: list[str] = []
    while (octets := b.wire.receive()) != frame(a.mac, "end"):
        arrived.append(names[_bare(octets)])
    return arrived


class Bed:
    """A bridge with ports, and a table.  A context manager."""

    def __init__(self, network: Network, table: Path) -> None:
        self.network = network
        self.space = network.namespace("host")
        self.space.sysctl(QUIET)
        self.bridge = self.space.bridge()
        self.table = table
        self._wires = contextlib.ExitStack()
        Table.create(table)

    def veth(self, name: str, *, mtu: int = 1500, bridged: bool = True) -> Port:
        """Make a VM, or a container, on a veth pair; on the bridge, or for another switch."""
        vm = self.network.namespace(name)
        vm.sysctl(QUIET)
        link = self.network.connect(vm, self.bridge if bridged else self.space)
        for end in (link.a, link.b):
            end.set_mtu(mtu)
        return Port(link.b, self.listen(link.a), macs.parse(link.a.mac))

    def tap(self, name: str, mac: int, *, vnet: bool = False, mtu: int = 1500) -> Port:
        """Make a VM on a tap."""
        wire = TapWire.of_tap(self.space, name, vnet=vnet)
        self._wires.callback(wire.close)
        end = Interface(self.space, name)
        end.set_mtu(mtu)
        self.space.ip("link", "set", name, "master", self.bridge.name)
        end.up()
        return Port(end, wire, mac)

    def listen(self, interface: Interface) -> PacketWire:
        """Open a packet socket on an interface."""
        wire = PacketWire(interface)
        self._wires.callback(wire.close)
        return wire

    def own(self, wire: Wire) -> None:
        """Close ``wire`` at the end."""
        self._wires.callback(wire.close)

    def put(self, mac: int, *lnids: int) -> twin.Synced:
        """Change the table as the command line does; without LNIDs it forgets the address."""
        with Table.change(self.table) as change:
            if lnids:
                change.set(Entry.of(mac, lnids))
            else:
                change.remove(mac)
        return twin.sync(self.table, check=False)

    def attach(self, port: Port, sending: twin.Sending = "xdp") -> twin.Attachment:
        """Put HostVLAN on the host's end of a port."""
        with self.space.entered():
            return twin.attach(port.end.name, port.mac, self.table, sending=sending)

    def detach(self, port: Port) -> None:
        """Take it off."""
        with self.space.entered():
            twin.detach(port.end.name)

    def status(self, port: Port) -> twin.Attachment:
        """Return the status of a port."""
        with self.space.entered():
            (found,) = twin.status(port.end.name, self.table)
        return found

    def refuses(self, port: Port, reason: str, frames: int) -> None:
        """Wait until a port has dropped ``frames`` received frames since it was attached."""
        wait.until(
            lambda: self.status(port).receive[reason] == frames,
            f"{frames} frames of {port.end.name} are {reason}",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with self.space.entered():
                for each in twin.status(table=self.table):
                    twin.detach(each.interface)
        finally:
            self._wires.close()


@contextlib.contextmanager
def bed(network: Network, table: Path) -> Iterator[Bed]:
    """Yield a bed for compiled programs; check at the end that none stays in the kernel."""
    ebpf.compiled()
    with Bed(network, table) as made:
        yield made
    assert not twin.status(table=table), "HostVLAN stays on interfaces"


#: Two tenants' ports, and one of another tenant.
Three = tuple[Port, Port, Port]


def three_tenants(host: Bed) -> Three:
    """Return a and b of LNID 1, and c of LNID 2, all attached."""
    a, b, c = map(host.veth, "abc")
    for port, lnid in ((a, 1), (b, 1), (c, 2)):
        host.put(port.mac, lnid)
        host.attach(port)
    return a, b, c
