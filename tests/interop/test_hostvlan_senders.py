# SPDX-License-Identifier: GPL-2.0-or-later
"""Who says that another's IP address is its own, behind an interface with HostVLAN in eBPF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Port, said
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dhcp6 import (
    DUID_LL,
    DHCP6_Decline,
    DHCP6_RelayForward,
    DHCP6_Release,
    DHCP6_Solicit,
    DHCP6OptClientId,
    DHCP6OptIA_NA,
    DHCP6OptIAAddress,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1Q, Dot3, Ether
from scapy.packet import Packet
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.table import claim, offer
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

OWN4, OTHER4 = "192.0.2.1", "192.0.2.2"
OWN6, OTHER6 = "2001:db8::1", "2001:db8::2"
OTHER_MAC = "52:54:00:00:00:02"
ALL = "ff:ff:ff:ff:ff:ff"


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


def arp(own: str, spa: str, tpa: str = OWN4, *, sha: str = "", op: int = 1) -> Packet:
    return ARP(op=op, hwsrc=sha or own, psrc=spa, hwdst="00:00:00:00:00:00", pdst=tpa)


def advert(own: str, target: str, *, source: str = OWN6, mac: str = "") -> Packet:
    """A neighbour advertisement that nobody has asked for."""
    said = ICMPv6ND_NA(tgt=target, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=mac or own)
    return IPv6(src=source, dst="ff02::1", hlim=255) / said


def solicit(own: str, source: str, target: str) -> Packet:
    said = ICMPv6ND_NS(tgt=target)
    if source != "::":
        said /= ICMPv6NDOptSrcLLAddr(lladdr=own)
    return IPv6(src=source, dst="ff02::1:ff00:2", hlim=255) / said


def dhcp(
    own: str,
    kind: str,
    *options: tuple[str, object],
    chaddr: str = "",
    ciaddr: str = "0.0.0.0",
    giaddr: str = "0.0.0.0",
) -> Packet:
    """What a client says to a DHCPv4 server."""
    said = BOOTP(chaddr=macs.parse(chaddr or own).to_bytes(6, "big"), ciaddr=ciaddr, giaddr=giaddr)
    said /= DHCP(options=[("message-type", kind), *options, "end"])
    to = IP(src=ciaddr if ciaddr == OWN4 else "0.0.0.0", dst="255.255.255.255")
    return Ether(src=own, dst=ALL) / to / UDP(sport=68, dport=67) / said


def dhcp6(own: str, kind: type[Packet], *, duid: str = "", address: str = OWN6) -> Packet:
    """What a client says to a DHCPv6 server."""
    client = DHCP6OptClientId(duid=DUID_LL(lladdr=duid or own))
    lease = DHCP6OptIA_NA(iaid=1, ianaopts=[DHCP6OptIAAddress(addr=address)])
    to = Ether(src=own, dst=ALL) / IPv6(src=OWN6, dst="ff02::1:2")
    return to / UDP(sport=546, dport=547) / kind() / client / lease


def for_others(own: str) -> dict[str, Packet]:
    """What takes leases of a DHCP server in another's name, or gives another's back."""
    other = b"\1" + macs.parse(OTHER_MAC).to_bytes(6, "big")
    return {
        "a discovery with another's chaddr": dhcp(own, "discover", chaddr=OTHER_MAC),
        "a discovery with another's identifier": dhcp(own, "discover", ("client_id", other)),
        "a release of another's lease": dhcp(own, "release", chaddr=OTHER_MAC, ciaddr=OTHER4),
        "a release of another's address": dhcp(own, "release", ciaddr=OTHER4),
        "a decline of another's address": dhcp(own, "decline", ("requested_addr", OTHER4)),
        "a relay agent's message": dhcp(own, "discover", giaddr=OWN4),
        "a DHCPv6 release of another's address": dhcp6(own, DHCP6_Release, address=OTHER6),
        "a DHCPv6 decline of another's address": dhcp6(own, DHCP6_Decline, address=OTHER6),
        "a DHCPv6 release in another's name": dhcp6(own, DHCP6_Release, duid=OTHER_MAC),
        "a relay agent's DHCPv6": dhcp6(own, DHCP6_RelayForward),
    }


def for_itself(own: str) -> dict[str, Packet]:
    """What a client may say: also that it had another address, and that it has another NIC."""
    mine = b"\1" + macs.parse(own).to_bytes(6, "big")
    return {
        "a discovery": dhcp(own, "discover", ("client_id", mine), ("requested_addr", OTHER4)),
        "a request": dhcp(own, "request", ("requested_addr", OTHER4), ("client_id", b"\0me")),
        "a renewal": dhcp(own, "request", ciaddr=OWN4),
        "a release": dhcp(own, "release", ("client_id", mine), ciaddr=OWN4),
        "a decline": dhcp(own, "decline", ("requested_addr", OWN4)),
        "a DHCPv6 solicitation": dhcp6(own, DHCP6_Solicit, duid=OTHER_MAC),
        "a DHCPv6 release": dhcp6(own, DHCP6_Release),
        "a DHCPv6 decline": dhcp6(own, DHCP6_Decline),
    }


def forged(own: str) -> dict[str, Packet]:
    """What says of another's address that it is its own, in every way."""
    ether = Ether(src=own, dst=ALL)
    snap = Dot3(src=own, dst=ALL) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3)
    return {
        "an ARP request": ether / arp(own, OTHER4),
        "an ARP reply": ether / arp(own, OTHER4, op=2),
        "a gratuitous ARP": ether / arp(own, OTHER4, OTHER4),
        "an ARP probe": ether / arp(own, "0.0.0.0", OTHER4),
        "another's hardware address": ether / arp(own, OWN4, sha=OTHER_MAC),
        "ARP behind a tag": ether / Dot1Q(vlan=5) / arp(own, OTHER4, "192.0.2.5"),
        "ARP in SNAP": snap / SNAP(OUI=0, code=0x0806) / arp(own, OTHER4),
        "ARP in SNAP of bridges": snap / SNAP(OUI=0xF8, code=0x0806) / arp(own, OTHER4),
        "an advertisement": ether / advert(own, OTHER6),
        "an advertisement from another": ether / advert(own, OTHER6, source=OTHER6),
        "another's link-layer address": ether / advert(own, OWN6, mac=OTHER_MAC),
        "a solicitation": ether / solicit(own, OTHER6, "2001:db8::3"),
        "duplicate address detection": ether / solicit(own, "::", OTHER6),
        "IPv4": ether / IP(src=OTHER4, dst=OWN4) / UDP(),
        "IPv6": ether / IPv6(src=OTHER6, dst=OWN6) / UDP(),
        **for_others(own),
    }


def honest(own: str) -> dict[str, Packet]:
    """The same with its own addresses."""
    ether = Ether(src=own, dst=ALL)
    snap = Dot3(src=own, dst=ALL) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3)
    return {
        "an ARP request": ether / arp(own, OWN4, OTHER4),
        "a gratuitous ARP": ether / arp(own, OWN4),
        "an ARP probe": ether / arp(own, "0.0.0.0"),
        "ARP in SNAP of bridges": snap / SNAP(OUI=0xF8, code=0x0806) / arp(own, OWN4, OTHER4),
        "an advertisement": ether / advert(own, OWN6),
        "duplicate address detection": ether / solicit(own, "::", OWN6),
        "a solicitation": ether / solicit(own, OWN6, OTHER6),
        "IPv4": ether / IP(src=OWN4, dst=OTHER4) / UDP(),
        **for_itself(own),
    }


def own_addresses(host: Bed, port: Port, *spelled: str, offers: int = 0) -> None:
    """What the table has for a port; without any, nothing is checked but MAC addresses."""
    with Table.change(host.table) as change:
        change.set(Entry.of(port.mac, [1], *claim.split(map(claim.parse, spelled)), offers=offers))
    twin.sync(host.table, check=False)


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_nobody_speaks_for_another(host: Bed, sending: twin.Sending) -> None:
    """Forged ARP, advertisements and packets arrive without the check, and not with it."""
    a, b = map(host.veth, "ab")
    own_addresses(host, a, OWN4, OWN6)
    own_addresses(host, b)
    host.attach(b)
    host.attach(a, sending)
    lies, truths = forged(macs.text(a.mac)), honest(macs.text(a.mac))
    assert said(a, b, lies) == list(lies)
    host.detach(a)
    with host.space.entered():
        attached = twin.attach(a.end.name, a.mac, host.table, sending=sending, check_sender=True)
    assert attached.check_sender
    assert attached.as_json()["check-sender"] is True
    assert said(a, b, lies) == []
    assert host.status(a).send["forged-address"] == len(lies)
    assert said(a, b, truths) == list(truths)
    assert host.status(a).send == {
        **dict.fromkeys(twin.REASONS, 0),
        "passed": len(truths) + 2,
        "forged-address": len(lies),
    }


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_a_relay_agent_speaks_for_its_clients(host: Bed, sending: twin.Sending) -> None:
    """With the right to be a DHCP server: what a client may not say passes."""
    a, b = map(host.veth, "ab")
    own_addresses(host, a, OWN4, OWN6)
    own_addresses(host, b)
    host.attach(b)
    with host.space.entered():
        twin.attach(a.end.name, a.mac, host.table, sending=sending, check_sender=True)
    messages = for_others(macs.text(a.mac))
    assert said(a, b, messages) == []
    own_addresses(host, a, OWN4, OWN6, offers=offer.DHCP_SERVER)
    assert said(a, b, messages) == list(messages)


def routed(own: str, ip4: str, ip6: str) -> dict[str, Packet]:
    """What a router sends for a host behind it, and what says that the host is it."""
    ether = Ether(src=own, dst=ALL)
    return {
        f"IPv4 {ip4}": ether / IP(src=ip4, dst=OTHER4) / UDP(),
        f"ARP {ip4}": ether / arp(own, ip4, OTHER4),
        f"an ARP probe {ip4}": ether / arp(own, "0.0.0.0", ip4),
        f"IPv6 {ip6}": ether / IPv6(src=ip6, dst=OTHER6) / UDP(),
        f"an advertisement {ip6}": ether / advert(own, ip6),
        f"a solicitation {ip6}": ether / solicit(own, ip6, OTHER6),
        f"duplicate address detection {ip6}": ether / solicit(own, "::", ip6),
    }


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_a_router_speaks_for_its_prefixes(host: Bed, sending: twin.Sending) -> None:
    """And for no address beside them: a VPN, and a /64 with addresses that hosts make up."""
    a, b = map(host.veth, "ab")
    own_addresses(host, a, OWN4, OWN6, "10.8.0.0/24", "2001:db8:1::/64")
    own_addresses(host, b)
    host.attach(b)
    with host.space.entered():
        twin.attach(a.end.name, a.mac, host.table, sending=sending, check_sender=True)
    own = macs.text(a.mac)
    inside = {
        **routed(own, "10.8.0.0", "2001:db8:1::"),
        **routed(own, "10.8.0.77", "2001:db8:1::8d2f:19ff:c0de:77"),
        **routed(own, "10.8.0.255", "2001:db8:1::ffff:ffff:ffff:ffff"),
    }
    beside = {
        **routed(own, "10.8.1.0", "2001:db8:1:1::"),
        **routed(own, "10.7.255.255", "2001:db8:0:ffff:ffff:ffff:ffff:ffff"),
    }
    assert said(a, b, {**inside, **beside}) == list(inside)
    assert host.status(a).send["forged-address"] == len(beside)
    # One prefix less applies to the next frame.
    own_addresses(host, a, OWN4, OWN6, "10.8.0.0/24")
    assert said(a, b, inside) == [each for each in inside if "10.8" in each]


@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_addresses_change_for_the_next_frame(host: Bed, sending: twin.Sending) -> None:
    """One more address, another one, and none: then only MAC addresses are checked."""
    a, b = map(host.veth, "ab")
    own_addresses(host, a, OTHER4)
    own_addresses(host, b)
    host.attach(b)
    with host.space.entered():
        twin.attach(a.end.name, a.mac, host.table, sending=sending, check_sender=True)
    own = macs.text(a.mac)
    claims = {
        "mine": Ether(src=own, dst=ALL) / arp(own, OWN4),
        "another's": Ether(src=own, dst=ALL) / arp(own, OTHER4),
        "another's MAC": Ether(src=own, dst=ALL) / arp(own, OWN4, sha=OTHER_MAC),
    }
    assert said(a, b, claims) == ["another's"]
    own_addresses(host, a, OWN4, OTHER4)
    assert said(a, b, claims) == ["mine", "another's"]
    own_addresses(host, a, OWN4)
    assert said(a, b, claims) == ["mine"]
    own_addresses(host, a)
    assert said(a, b, claims) == ["mine", "another's"]


def test_attached_again_with_the_check(host: Bed) -> None:
    """It is no argument that changes under who relies on it."""
    a = host.veth("a")
    own_addresses(host, a, OWN4)
    host.attach(a)
    with host.space.entered():
        with pytest.raises(twin.TwinError, match="the check-sender off, not on"):
            twin.attach(a.end.name, a.mac, host.table, check_sender=True)
        twin.detach(a.end.name)
        for _ in range(2):
            assert twin.attach(a.end.name, a.mac, host.table, check_sender=True).check_sender
