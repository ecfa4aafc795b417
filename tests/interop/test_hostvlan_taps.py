# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF on what a VMM that is not looked into writes to: taps and macvtaps."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.net import Interface, Network
from lab.hosts import bridged
from lab.hosts.bridged import Bed, PacketWire, Port, TapWire, until
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs

A, B, C, OUTSIDE, STRANGER = (0x525400000001 + number for number in range(5))
NEEDS_CSUM, GSO_TCPV4 = 1, 1
VNET = struct.Struct("<BBHHHH")
JUMBO = 9000


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


@pytest.fixture
def tap(host: Bed) -> Port:
    """A tap in LNID 1, with virtio-net headers, as a vhost-net has it."""
    made = host.tap("tap0", A, vnet=True)
    host.put(A, 1)
    host.attach(made)
    return made


@pytest.fixture
def friend(host: Bed) -> Port:
    """Another VM of LNID 1."""
    made = host.veth("friend")
    host.put(made.mac, 1)
    host.attach(made)
    return made


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_tap(host: Bed, friend: Port, sending: twin.Sending) -> None:
    tap = host.tap("tap0", A)
    host.put(A, 1)
    host.attach(tap, sending)
    tap.say("spoofed", source=friend.mac)
    tap.say("mine")
    assert friend.hears("mine") == ["mine"]
    friend.say("for you")
    assert tap.hears("for you") == ["for you"]
    host.put(A, 2)
    friend.say("of another tenant")
    host.refuses(tap, "other-tenant", 1)
    host.put(A, 1)
    friend.say("end")
    assert tap.hears("end") == ["end"]
    assert host.status(tap).send["spoofed"] == 1


def large(source: int, destination: int) -> tuple[bytes, bytes]:
    """30,000 octets of TCP in one frame, and the header that says how to cut it."""
    ethernet = destination.to_bytes(6) + source.to_bytes(6) + b"\x08\0"
    data = bytes(number % 251 for number in range(30_000))
    addresses = b"\xc0\0\2\1\xc0\0\2\2"
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0) + addresses
    ones = sum(struct.unpack("!10H", ip))
    ip = ip[:10] + struct.pack("!H", ~(ones + (ones >> 16)) & 0xFFFF) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x10, 1000, 0, 0)
    return ethernet + ip + tcp + data, VNET.pack(NEEDS_CSUM, GSO_TCPV4, 54, 1448, 34, 16)


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_large_frames_stay_whole(host: Bed, friend: Port, sending: twin.Sending) -> None:
    """Segmentation is left to who is behind us."""
    tap = host.tap("tap0", A, vnet=True)
    host.put(A, 1)
    host.attach(tap, sending)
    assert isinstance(tap.wire, TapWire)
    for source in (STRANGER, A):
        tap.wire.send(*large(source, friend.mac))
    got = friend.wire.receive()
    whole, _ = large(A, friend.mac)
    assert (len(got), got[:14], got[54:]) == (len(whole), whole[:14], whole[54:])
    assert host.status(tap).send["spoofed"] == 1


def test_jumbo_frames_with_tags_of_the_tenant(host: Bed) -> None:
    ports = host.tap("tap0", A, mtu=JUMBO), host.veth("friend", mtu=JUMBO)
    for port in ports:
        host.put(port.mac, 1)
        host.attach(port)
    tap, friend = ports
    addresses = friend.mac.to_bytes(6) + A.to_bytes(6)
    tagged = (addresses + b"\x81\0\0\x64" + b"\x88\xb5" + b"tagged").ljust(JUMBO, b".")
    tap.wire.send(tagged)
    got = friend.wire.receive()
    # Linux keeps the tag beside a frame that it hands to a packet socket.
    assert got[:12] == addresses
    assert len(got) == JUMBO - 4
    tap.wire.send(tagged[:6] + STRANGER.to_bytes(6) + tagged[12:])
    tap.say("end")
    assert friend.hears("end") == ["end"]
    assert host.status(tap).send["spoofed"] == 1


@pytest.mark.parametrize("at", [0, 4, 6, 10, 12])
def test_a_checksum_does_not_forge_an_address(tap: Port, at: int) -> None:
    """What Linux is told to write a checksum to is not the Ethernet header."""
    assert isinstance(tap.wire, TapWire)
    frame = bridged.frame(A, "forged")
    for start, offset in ((at, 0), (0, at)):
        with pytest.raises(OSError, match="Invalid argument"):
            tap.wire.send(frame, VNET.pack(NEEDS_CSUM, 0, 0, 0, start, offset))


@pytest.fixture
def macvtaps(host: Bed, tmp_path: Path) -> tuple[dict[int, Port], PacketWire]:
    """Macvtaps in bridge mode, of LNIDs 1, 1 and 2, and what is outside of their parent."""
    outside = host.network.namespace("outside")
    link = host.network.connect(host.space, outside)
    ports = {}
    for number, (mac, lnid) in enumerate(((A, 1), (B, 1), (C, 2))):
        name = f"macvtap{number}"
        kind = ["address", macs.text(mac), "type", "macvtap", "mode", "bridge"]
        words = ["link", link.a.name, "name", name, "index", bridged.macvtap_index()]
        host.space.ip("link", "add", *words, *kind)
        interface = Interface(host.space, name)
        interface.up()
        wire = TapWire.of_macvtap(interface, tmp_path)
        host.own(wire)
        ports[mac] = Port(interface, wire, mac)
        host.put(mac, lnid)
        with host.space.entered():
            attached = twin.attach(name, None, host.table)
        assert attached.mac == mac
        assert attached.whole
    host.put(OUTSIDE, 1)
    return ports, host.listen(link.b)


def test_macvtaps_among_themselves(host: Bed, macvtaps: tuple[dict[int, Port], PacketWire]) -> None:
    """Their parent's tc does not see all of that."""
    ports, outside = macvtaps
    ports[A].say("to all")
    assert ports[B].hears("to all") == ["to all"]
    assert until(outside, "to all") == ["to all"]
    host.refuses(ports[C], "other-tenant", 1)
    ports[A].say("to one", to=B)
    assert ports[B].hears("to one") == ["to one"]
    ports[A].say("to another tenant's", to=C)
    host.refuses(ports[C], "other-tenant", 2)
    host.put(C, 1, 2)
    ports[A].say("to a friend", to=C)
    assert ports[C].hears("to a friend") == ["to a friend"]


def test_macvtaps_and_the_outside(host: Bed, macvtaps: tuple[dict[int, Port], PacketWire]) -> None:
    ports, outside = macvtaps
    ports[A].say("spoofed", source=B)
    ports[A].say("mine")
    assert until(outside, "mine") == ["mine"]
    assert ports[B].hears("mine") == ["mine"]
    assert host.status(ports[A]).send["spoofed"] == 1
    outside.send(bridged.frame(STRANGER, "unknown", A))
    outside.send(bridged.frame(OUTSIDE, "of the other tenant", C))
    outside.send(bridged.frame(OUTSIDE, "for tenant 1"))
    assert ports[A].hears("for tenant 1") == ["for tenant 1"]
    assert ports[B].hears("for tenant 1") == ["for tenant 1"]
    host.refuses(ports[C], "other-tenant", 3)
    assert host.status(ports[A]).receive["unknown-source"] == 1
