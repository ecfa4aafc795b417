# SPDX-License-Identifier: GPL-2.0-or-later
"""Who advertises routes, answers as a DHCP server or sends with another MAC address: in eBPF."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Port, said
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dhcp6 import DHCP6_Advertise, DHCP6_Solicit
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_RA,
    ICMPv6ND_RS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    PadN,
)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from vmmnet.hostvlan.bpf import bpf, twin
from vmmnet.hostvlan.table import layout, offer
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

ALL = "ff:ff:ff:ff:ff:ff"
LOCAL = "fe80::1"
VIRTUAL = 0x00005E00010A


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


def advertisements(own: str) -> dict[str, Packet]:
    """Router advertisements, as they are and as RFC 7113 tells of them."""
    ether, ip = Ether(src=own, dst=ALL), IPv6(src=LOCAL, dst="ff02::1", hlim=255)
    padding = IPv6ExtHdrDestOpt(options=PadN(optdata=b"\0" * 4))
    return {
        "plain": ether / ip / ICMPv6ND_RA(),
        "from an address that is not link-local": ether / IPv6(src="2001:db8::1") / ICMPv6ND_RA(),
        "behind a tag": ether / Dot1Q(vlan=5) / ip / ICMPv6ND_RA(chlim=5),
        "behind hop-by-hop": ether / ip / IPv6ExtHdrHopByHop() / ICMPv6ND_RA(),
        "behind five headers": ether
        / ip
        / padding
        / padding
        / padding
        / padding
        / padding
        / ICMPv6ND_RA(),
        "in the first of fragments": ether / ip / IPv6ExtHdrFragment(m=1, id=1) / ICMPv6ND_RA(),
    }


def hidden(own: str, other: str) -> dict[str, Packet]:
    """A first fragment in which it cannot be seen whether it begins one.

    To a group it would not pass without the guards either: it could be a query.
    """
    ether, ip = Ether(src=own, dst=other), IPv6(src=LOCAL, dst="ff02::1", hlim=255)
    # Options of 80 octets, of which 8 are in this fragment.
    begun = Raw(struct.pack("!BBBB4x", 58, 9, 1, 76))
    cut = IPv6ExtHdrFragment(nh=60, m=1, id=2) / begun
    return {"a chain that goes on": ether / ip / cut}


def answers(own: str) -> dict[str, Packet]:
    """What a DHCP server sends to clients."""
    ether = Ether(src=own, dst=ALL)
    offered = BOOTP(op=2) / DHCP(options=[("message-type", "offer"), "end"])
    to4 = IP(src="192.0.2.1", dst="255.255.255.255")
    to6 = IPv6(src=LOCAL, dst="fe80::2")
    return {
        "an offer": ether / to4 / UDP(sport=67, dport=68) / offered,
        "from another port": ether / to4 / UDP(sport=1067, dport=68) / offered,
        "an offer in fragments": ether / IP(src="192.0.2.1", flags="MF") / UDP(dport=68) / offered,
        "DHCPv6": ether / to6 / UDP(sport=547, dport=546) / DHCP6_Advertise(),
        "DHCPv6 behind options": ether
        / to6
        / IPv6ExtHdrDestOpt()
        / UDP(dport=546)
        / DHCP6_Advertise(),
    }


def harmless(own: str) -> dict[str, Packet]:
    """What every guest sends."""
    ether, ip = Ether(src=own, dst=ALL), IPv6(src=LOCAL, dst="ff02::2", hlim=255)
    return {
        "a router solicitation": ether / ip / ICMPv6ND_RS(),
        "a neighbour advertisement": ether / ip / ICMPv6ND_NA(tgt=LOCAL),
        "a DHCP discovery": ether
        / IP(src="0.0.0.0", dst="255.255.255.255")
        / UDP(sport=68, dport=67)
        / BOOTP(),
        "a DHCPv6 solicitation": ether
        / IPv6(src=LOCAL, dst="ff02::1:2")
        / UDP(sport=546, dport=547)
        / DHCP6_Solicit(),
        "the rest of a packet": ether
        / ip
        / IPv6ExtHdrFragment(nh=58, offset=1, id=3)
        / Raw(b"\x86" * 16),
        "DNS": ether / IP(src="192.0.2.1") / UDP(sport=53, dport=1068) / Raw(b"x"),
    }


def allow(host: Bed, port: Port, offers: int, *also: int) -> None:
    """What the table has for a port."""
    with Table.change(host.table) as change:
        change.set(Entry.of(port.mac, [1], offers=offers, also=also))
    twin.sync(host.table, check=False)


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_offers_are_those_of_who_may(host: Bed, sending: twin.Sending) -> None:
    """Without the guards all arrive; with them, those whom the table allows."""
    a, b = map(host.veth, "ab")
    allow(host, a, 0)
    allow(host, b, 0)
    host.attach(b)
    host.attach(a, sending)
    own = macs.text(a.mac)
    routes, served, others = (make(own) for make in (advertisements, answers, harmless))
    dark = hidden(own, macs.text(b.mac))
    everything = {**routes, **dark, **served, **others}
    assert said(a, b, everything) == list(everything)
    host.detach(a)
    with host.space.entered():
        attached = twin.attach(
            a.end.name, a.mac, host.table, sending=sending, ra_guard=True, dhcp_guard=True
        )
    told = attached.as_json()
    assert (told["ra-guard"], told["dhcp-guard"]) == (True, True)
    assert said(a, b, everything) == list(others)
    counted = {name: number for name, number in host.status(a).send.items() if number}
    assert counted == {
        "passed": len(others) + 1,
        "ra-guard": len(routes),
        "dhcp-guard": len(served),
        "malformed": len(dark),
    }
    allow(host, a, offer.ROUTER)
    assert said(a, b, everything) == [*routes, *others]
    allow(host, a, offer.DHCP_SERVER)
    assert said(a, b, everything) == [*served, *others]
    allow(host, a, offer.ROUTER | offer.DHCP_SERVER)
    assert said(a, b, everything) == list(everything)
    allow(host, a, 0)
    assert said(a, b, everything) == list(others)


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_a_port_sends_with_its_other_macs(host: Bed, sending: twin.Sending) -> None:
    """As VRRP does: of two routers, each may have the virtual one; who hears it is the table's."""
    a, b, c = map(host.veth, "abc")
    for each in (a, b, c):
        allow(host, each, 0)
        host.attach(each, sending)
    host.put(VIRTUAL, 1)
    a.say("one", source=VIRTUAL)
    a.say("two")
    assert b.hears("two") == ["two"]
    assert host.status(a).send["spoofed"] == 1
    allow(host, a, 0, VIRTUAL, VIRTUAL + 1)
    allow(host, c, 0, VIRTUAL)
    a.say("three", source=VIRTUAL)
    # It is in no network.
    a.say("four", source=VIRTUAL + 1)
    c.say("five", source=VIRTUAL)
    c.say("six", source=VIRTUAL + 1)
    a.say("seven")
    assert b.hears("seven") == ["three", "five", "seven"]
    assert host.status(b).receive["unknown-source"] == 1
    assert host.status(c).send["spoofed"] == 1
    host.put(VIRTUAL, 2)
    a.say("eight", source=VIRTUAL)
    allow(host, a, 0)
    a.say("nine", source=VIRTUAL)
    a.say("ten")
    assert b.hears("ten") == ["ten"]
    assert host.status(b).receive["other-tenant"] == 1


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_addresses_are_those_of_the_mac_that_sends(host: Bed, sending: twin.Sending) -> None:
    a, b = map(host.veth, "ab")
    with Table.change(host.table) as change:
        change.set(Entry.of(a.mac, [1], [0xC0000201], also=[VIRTUAL]))
        change.set(Entry.of(VIRTUAL, [1], [0xC00002FE]))
        change.set(Entry.of(b.mac, [1]))
    host.attach(b)
    with host.space.entered():
        twin.attach(a.end.name, a.mac, host.table, sending=sending, check_sender=True)

    def arp(mac: int, address: str, sender: int) -> Packet:
        spelled = macs.text(sender)
        return Ether(src=macs.text(mac), dst=ALL) / ARP(op=2, hwsrc=spelled, psrc=address)

    own, other = "192.0.2.1", "192.0.2.254"
    packets = {
        "its own": arp(a.mac, own, a.mac),
        "the other's": arp(VIRTUAL, other, VIRTUAL),
        "the other's address as its own": arp(a.mac, other, a.mac),
        "its own as the other": arp(VIRTUAL, own, VIRTUAL),
        "the other's in its own frame": arp(a.mac, own, VIRTUAL),
    }
    assert said(a, b, packets) == ["its own", "the other's"]
    assert host.status(a).send["forged-address"] == 3


def test_programs_that_do_not_know_the_version(host: Bed) -> None:
    """They keep the copy that they can read, until the last of them is attached again."""
    a, b = map(host.veth, "ab")
    for each in (a, b):
        host.put(each.mac, 1)
        host.attach(each)
    for each in (a, b):
        _forget_reasons(host, each)
    with pytest.raises(twin.TwinError, match=r"version 3.*attach' it again.*stays in force"):
        allow(host, a, offer.ROUTER)
    with Table.open(host.table) as table:
        assert table.version == layout.WITH_RIGHTS
    generation = host.status(a).generation
    host.attach(a)
    assert host.status(a).generation == generation
    host.attach(b)
    assert host.status(a).generation > generation
    assert twin.sync(host.table) == twin.Synced.UNCHANGED
    # Without it, the table is one that all can read.
    with Table.change(host.table, atomic=True) as change:
        change.replace([Entry.of(a.mac, [1])])
    with Table.open(host.table) as table:
        assert table.version == layout.VERSION


def test_programs_that_do_not_know_prefixes(host: Bed) -> None:
    """Those of loaders that did not say what their programs read."""
    a, b = map(host.veth, "ab")
    for each in (a, b):
        host.put(each.mac, 1)
        host.attach(each)
    host.attach(a)
    for each in (a, b):
        _forget_version(host, each)
    # They read all that there was before.
    allow(host, a, offer.ROUTER)
    generation = host.status(a).generation
    with pytest.raises(twin.TwinError, match=r"version 4.* read version 3.*without prefixes"):
        _prefix(host, a)
    host.attach(a)
    assert host.status(a).generation == generation
    host.attach(b)
    assert host.status(a).generation > generation
    assert twin.sync(host.table) == twin.Synced.UNCHANGED


def _prefix(host: Bed, port: Port) -> None:
    with Table.change(host.table) as change:
        change.set(Entry.of(port.mac, [1], [8 << 32 | 0x0A080000]))
    twin.sync(host.table)


def _forget_version(host: Bed, port: Port) -> None:
    """Let a port's programs be those of an older loader."""
    (pin,) = twin.folder_of(host.table).glob(f"*-{host.status(port).ifindex}/port")
    with bpf.closing(bpf.pinned(pin)) as fd:
        octets = bpf.lookup(fd, 0, twin._PORT.size)
        assert octets is not None
        config = twin._Config.unpack(octets)
        assert config.flags >> 8 == layout.WITH_PREFIXES
        bpf.update(fd, 0, replace(config, flags=config.flags & 0xFF).pack())


def _forget_reasons(host: Bed, port: Port) -> None:
    """Let a port's counters be those of older programs."""
    (pin,) = twin.folder_of(host.table).glob(f"*-{host.status(port).ifindex}/counters")
    pin.unlink()
    with bpf.closing(bpf.array_create("counters", 16 * 11, 1)) as old:
        bpf.pin(old, pin)
