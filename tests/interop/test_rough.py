# SPDX-License-Identifier: GPL-2.0-or-later
"""A rough network has what it says: else the main cases of the rooms prove less than they say."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import rough, tools, wait
from lab.base.net import Interface, Network
from lab.cvsw.openflow.end import End
from lab.hosts import bridged
from lab.mip6 import mobile
from lab.mip6.mobility import AGENT_ADDRESS, CORRESPONDENT_ADDRESS, HOME_ADDRESS
from vmmnet.hostvlan.bpf import bpf

TAG = struct.pack("!HH", 0x8100, rough.VLAN)
ALL_NODES = bytes.fromhex("333300000001")


class Bed:
    """A bridge with a tap, and two wires: a sender at one, who listens at the other."""

    def __init__(self, network: Network) -> None:
        self.host = network.namespace("host")
        self.bridge = self.host.bridge()
        spaces = [network.namespace(name) for name in "ab"]
        self.links = [network.connect(space, self.bridge) for space in spaces]
        self.tap = self.host.tap("tap0", self.bridge)
        with self.links[0].a.namespace.entered():
            self.sender = End(self.links[0].a.name)
        with self.links[1].a.namespace.entered():
            self.listener = End(self.links[1].a.name)

    def comes_back(self, octets: bytes) -> bytes:
        """Send a frame; return what comes of it from the trunk, without the tag."""
        self.sender.say(octets)
        while True:
            got = self.listener.hear(wait.PATIENCE)
            if got and got[:6] + got[12:16] == octets[:6] + TAG:
                return got[:12] + got[16:]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Network(rough.ROUGH) as network:
        made = Bed(network)
        yield made
        made.sender.close()
        made.listener.close()


def test_its_bridges(bed: Bed) -> None:
    """They snoop, ask, and have the lowest MAC address of their ports."""
    words = ["ip", "-d", "-j", "link", "show", "dev", bed.bridge.name]
    (shown,) = json.loads(bed.host.run(words).stdout)
    about = shown["linkinfo"]["info_data"]
    assert (about["mcast_snooping"], about["mcast_querier"]) == (1, 1)
    ports = json.loads(bed.host.run(["ip", "-j", "link", "show", "master", "br0"]).stdout)
    assert len(ports) == 4
    assert bed.bridge.mac == min(port["address"] for port in ports)


def test_its_observers(bed: Bed) -> None:
    """They are at tcx and clsact, on all interfaces, in both directions."""
    links = [end for link in bed.links for end in (link.a, link.b)]
    for interface in (bed.bridge, bed.tap, *links):
        with interface.namespace.entered():
            _is_observed(interface)


def _is_observed(interface: Interface) -> None:
    index = socket.if_nametoindex(interface.name)
    for point, name in ((bpf.INGRESS, "ingress"), (bpf.EGRESS, "egress")):
        programs = bpf.tcx_programs(index, point)
        assert programs is None or len(programs) == 1
        assert "tc_" in tools.run(["tc", "filter", "show", "dev", interface.name, name])


def test_its_trunks(bed: Bed) -> None:
    """What is flooded comes back, and a router's advertisement withdraws it."""
    mac = bytes.fromhex(bed.links[0].a.mac.replace(":", ""))
    said = b"\xff" * 6 + mac + b"\x88\xb6hello".ljust(48, b"\0")
    assert bed.comes_back(said)[12:] == said[12:]
    prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 100, 100, 0) + b"\x20\x01\x0d\xb8" + bytes(12)
    body = struct.pack("!BBHII", 64, 0, 1800, 0, 0) + prefix
    advertised = mobile.icmp6("fe80::1", "ff02::1", 134, body, 255)
    head = ALL_NODES + mac + b"\x86\xdd"
    back = bed.comes_back(head + advertised)[14:]
    other = mobile.parse(back)
    assert other.payload[6:8] == b"\0\0"
    assert other.payload[32:36] == b"\x0d\xb8\x20\x01"
    sealed = other.payload[:2] + b"\0\0" + other.payload[4:]
    right = mobile.checksum(other.source, other.destination, mobile.ICMP6, sealed)
    assert other.payload[2:4] == right.to_bytes(2)


def _is_igmp_query(octets: bytes) -> bool:
    """Whether a bridge asks for members of groups (IGMPv2 or v3, RFC 3376 4.1)."""
    ether_type, packet = octets[12:14], octets[14:]
    size = 4 * (packet[0] & 15)
    return (ether_type, packet[9], packet[size]) == (b"\x08\0", 2, 0x11)


@pytest.mark.parametrize("has_links", [True, False], ids=["tcx", "clsact"])
def test_tenants_are_apart_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    """Programs of others that were there before let nobody in; with and without links at tc."""
    with Network(rough.ROUGH) as network, bridged.bed(network, tmp_path / "table") as host:
        if not has_links:
            monkeypatch.setattr(bpf, "tcx_programs", lambda *_: None)
        a, b, c = map(host.veth, "abc")
        for port, lnid in ((a, 1), (b, 1), (c, 2)):
            host.put(port.mac, lnid)
            assert host.attach(port, "tc").whole
        # The bridge reported its own groups (RFC 4286) through ports that nothing guarded yet.
        c.wire.heard()
        a.say("spoofed", source=c.mac)
        a.say("for one tenant")
        assert b.hears("for one tenant") == ["for one tenant"]
        host.refuses(c, "other-tenant", 1)
        assert host.status(a).send["spoofed"] == 1
        unknown = "unknown-source"
        wait.until(lambda: host.status(c).receive[unknown], "what comes from the trunk is refused")
        assert not [each for each in c.wire.heard() if not _is_igmp_query(each)]


def test_a_home_agent_serves_there() -> None:
    """What it has announced comes back in another VLAN: that is no other node with the address."""
    with mobile.field(rough.ROUGH) as field, field.agent():
        for number, care_of in enumerate(mobile.CARE_OF, 1):
            assert field.mobile.register(number, care_of=care_of).status == 0
            field.router.ip("-6", "neigh", "flush", "dev", "home")
            request = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, number)
            field.mobile.send(mobile.ip6(care_of, AGENT_ADDRESS, mobile.IP6, request))
            reply = field.mobile.receive(lambda packet: packet.protocol == mobile.IP6)
            assert (reply.destination, reply.inner.payload[0]) == (care_of, mobile.ECHO_REPLY)
