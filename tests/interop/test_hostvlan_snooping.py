# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN at the ports of switches that snoop IGMP and MLD: a Linux bridge, Open vSwitch.

VMs are network namespaces, whose kernels report groups when they hear queries,
and whose neighbour discovery needs that.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw.openvswitch import Switch
from lab.hosts import ebpf, snooping
from lab.hosts.bridged import PacketWire
from lab.hosts.snooping import PAST_EXPIRY, groups, mld_queries, routers
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

# Open vSwitch takes no less than 15 s.
OVS_EXPIRY, OVS_PAST_EXPIRY = 15, 18

GROUP, PORT = "239.1.2.3", 4541
VLAN, SERVICE = b"\x81\0\0\x64", b"\x88\xa8\0\xc8"


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    ebpf.compiled()


@dataclass(frozen=True)
class Vm:
    """A VM, and the host's end of its wire."""

    number: int
    space: Namespace
    inside: Interface
    outside: Interface

    @property
    def mac(self) -> int:
        """Its link-layer address."""
        return macs.parse(self.inside.mac)

    @property
    def address6(self) -> str:
        """Its address."""
        return f"2001:db8::{self.number}"

    @property
    def solicited(self) -> str:
        """The group by which it is asked for its link-layer address."""
        return f"ff02::1:ff00:{self.number}"

    def queries(self) -> int:
        """How many MLD queries it has heard."""
        return mld_queries(self.space.run(["cat", "/proc/net/snmp6"]).stdout)

    def hears_queries(self, number: int) -> None:
        """Wait for so many more of them."""
        end = self.queries() + number
        wait.until(lambda: self.queries() >= end, f"{number} queries reach VM {self.number}")

    def reaches(self, other: Vm) -> bool:
        """Whether another answers, whose link-layer address is asked for before."""
        self.space.ip("neigh", "flush", "dev", self.inside.name)
        done = self.space.run(["ping", "-6", "-c1", "-W3", other.address6], check=False)
        return done.returncode == 0

    @contextlib.contextmanager
    def joined(self) -> Iterator[socket.socket]:
        """A member of the IPv4 group."""
        with self.space.entered():
            member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with member:
            member.bind((GROUP, PORT))
            index = self.space.run(["cat", f"/sys/class/net/{self.inside.name}/ifindex"]).stdout
            request = struct.pack("=4s4si", socket.inet_aton(GROUP), bytes(4), int(index))
            member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
            yield member

    def tells_group(self, text: str) -> None:
        """Send a datagram to the IPv4 group."""
        with self.space.entered():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sender:
            own = socket.inet_aton(f"192.0.2.{self.number}")
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
            sender.sendto(text.encode(), (GROUP, PORT))

    def is_heard(self, text: str, member: socket.socket) -> bool:
        """Send it, and look whether a member of the group has it by now."""
        self.tells_group(text)
        member.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return member.recv(100) == text.encode()
        return False


def is_group_query(octets: bytes) -> bool:
    """Whether a frame is an IGMP query for GROUP, behind the Router Alert option."""
    message = 14 + 24
    group = octets[message + 4 : message + 8]
    return (
        octets[12:14] == b"\x08\0" and octets[message] == 0x11 and group == socket.inet_aton(GROUP)
    )


class Host:
    """A host whose VMs are behind HostVLAN."""

    def __init__(self, network: Network, table: Path) -> None:
        self.network, self.table = network, table
        self.space = network.namespace("host")
        Table.create(table)

    def vm(self, number: int, place: Interface | Namespace, *lnids: int) -> Vm:
        """A VM at a port of the bridge, or for another switch; without LNIDs nothing guards it."""
        space = self.network.namespace(f"vm{number}")
        addresses = [f"2001:db8::{number}/64", f"192.0.2.{number}/24"]
        link = self.network.connect(space, place, addresses)
        made = Vm(number, space, link.a, link.b)
        if lnids:
            with Table.change(self.table) as change:
                change.set(Entry.of(made.mac, lnids))
            twin.sync(self.table, check=False)
            with self.space.entered():
                twin.attach(link.b.name, made.mac, self.table)
        return made

    def counter(self, vm: Vm, reason: str) -> int:
        """What the VM has sent and was refused for a reason."""
        with self.space.entered():
            (found,) = twin.status(vm.outside.name, self.table)
        return found.send[reason]


@contextlib.contextmanager
def made(network: Network, table: Path) -> Iterator[Host]:
    """A host; HostVLAN leaves its interfaces at the end."""
    host = Host(network, table)
    try:
        yield host
    finally:
        with host.space.entered():
            for each in twin.status(table=table):
                twin.detach(each.interface)


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Host]:
    with made(network, tmp_path / "table") as host:
        yield host


@dataclass(frozen=True)
class UnderSwitch:
    """Two VMs of tenant 1 and one of tenant 2 at an Open vSwitch."""

    host: Host
    switch: Switch
    vms: tuple[Vm, Vm, Vm]
    #: Queries that the second has heard by the end of the set-up.
    queries: int


@pytest.fixture(scope="module", autouse=True)
def under_switch(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnderSwitch]:
    """It waits for its queries beside the other tests; the querier is the physical switch."""
    table = tmp_path_factory.mktemp("switch") / "table"
    with (
        Network() as network,
        made(network, table) as host,
        Switch.running(host.space) as switch,
    ):
        upstream = snooping.bridge(network.namespace("switch"), querier=True)
        switch.set("set", "bridge", "sw", "mcast_snooping_enable=true")
        for option in (
            f"mcast-snooping-aging-time={OVS_EXPIRY}",
            "mcast-snooping-disable-flood-unregistered=true",
        ):
            switch.set("set", "bridge", "sw", f"other_config:{option}")
        uplink = network.connect(host.space, upstream)
        switch.set("add-port", "sw", uplink.a.name)
        a, b, c = (host.vm(number, host.space, lnid) for number, lnid in ((1, 1), (2, 1), (3, 2)))
        for vm in (a, b, c):
            switch.set("add-port", "sw", vm.outside.name)
        yield UnderSwitch(host, switch, (a, b, c), b.queries())


def tenants_speak(host: Host, one: Vm, other: Vm, stranger: Vm) -> None:
    """Within the tenant ND and IPv4 groups go on; nobody else is reached."""
    # A report that comes late takes a group away, until the next one.
    wait.until(lambda: one.reaches(other), f"VM {other.number} answers")
    wait.until(lambda: other.reaches(one), f"VM {one.number} answers")
    assert not one.reaches(stranger)


def test_nd_goes_on_past_the_expiry(host: Host) -> None:
    """The bridge's own querier is in no table; it is heard all the same."""
    bridge = snooping.bridge(host.space, querier=True)
    a, b, c = (host.vm(number, bridge, lnid) for number, lnid in ((1, 1), (2, 1), (3, 2)))
    with host.space.entered():
        # The host's own port, whose table entry nobody has made, takes none of them away.
        twin.attach(bridge.name, None, host.table)
    with b.joined() as member:
        b.hears_queries(PAST_EXPIRY)
        wait.until(lambda: {b.solicited, GROUP} <= groups(bridge, b.outside), "B's groups")
        # The bridge does snoop: who has not joined is not passed to.
        assert GROUP not in groups(bridge, a.outside)
        # A report that comes late takes the group away, until the next one.
        wait.until(lambda: a.is_heard("of tenant 1", member), "B hears the group")
        tenants_speak(host, a, b, c)


def test_queries_of_a_physical_switch(host: Host, network: Network) -> None:
    """Its querier is heard; and a leave of one tenant takes nothing from another.

    To the switch, both are one port, and it asks who is still there.
    """
    bridge = snooping.bridge(host.space, querier=False)
    switch = snooping.bridge(network.namespace("switch"), querier=True)
    uplink = network.connect(bridge, switch)
    a, b, c = (host.vm(number, bridge, lnid) for number, lnid in ((1, 1), (2, 1), (3, 2)))
    with c.joined(), contextlib.closing(PacketWire(c.inside)) as wire:
        with b.joined():
            b.hears_queries(PAST_EXPIRY)
            wait.until(lambda: routers(bridge) == {uplink.a.name}, "the switch is the router")
            tenants_speak(host, a, b, c)
            wait.until(lambda: GROUP in groups(switch, uplink.b), "the group at the switch")
        wait.until(lambda: is_group_query(wire.receive()), "C hears the query for the group")
        wait.until(lambda: GROUP not in groups(bridge, b.outside), "B's leave")
        wait.until(lambda: GROUP in groups(bridge, c.outside), "C's answer at the bridge")
        wait.until(lambda: GROUP in groups(switch, uplink.b), "C's answer at the switch")


def checksum(octets: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


@dataclass(frozen=True)
class Form:
    """A frame to all without its source: where to, and what from the Ethernet type on."""

    to: int
    octets: bytes

    def tagged(self, tags: bytes) -> Form:
        """The same behind VLAN tags."""
        return Form(self.to, tags + self.octets)


def igmp(length: int = 8, fragment: int = 0, options: bytes = b"\x94\x04\0\0") -> Form:
    """An IGMP query to all."""
    message = b"\x11\x64\0\0".ljust(length, b"\0")
    message = message[:2] + checksum(message) + message[4:]
    header = 20 + len(options)
    ip = struct.pack("!BBHHHBB", 0x40 + header // 4, 0xC0, header + length, 1, fragment, 1, 2)
    ip += bytes(2) + socket.inet_aton("192.0.2.1") + socket.inet_aton("224.0.0.1") + options
    return Form(0x01005E000001, b"\x08\0" + ip[:10] + checksum(ip) + ip[12:] + message)


ROUTER_ALERT = b"\x05\x02\0\0\x01\0"


def mld(length: int = 24, *headers: tuple[int, bytes]) -> Form:
    """An MLD query to all, behind more extension headers."""
    source = socket.inet_pton(socket.AF_INET6, "fe80::1")
    group = socket.inet_pton(socket.AF_INET6, "ff02::1")
    message = b"\x82\0\0\0\0\x64".ljust(length, b"\0")
    pseudo = source + group + struct.pack("!II", length, 58)
    message = message[:2] + checksum(pseudo + message) + message[4:]
    chain = [(0, b"\0" + ROUTER_ALERT), *headers]
    nexts = [*(kind for kind, _ in chain[1:]), 58]
    extensions = b"".join(bytes([n]) + rest for n, (_, rest) in zip(nexts, chain, strict=True))
    ip = struct.pack("!IHBB", 6 << 28, len(extensions) + length, 0, 1) + source + group
    return Form(0x333300000001, b"\x86\xdd" + ip + extensions + message)


PADDING = (60, b"\0\x01\x04\0\0\0\0")
#: What Linux's bridge takes for a query.
FORMS = {
    "IGMPv2": igmp(),
    "IGMPv3": igmp(12),
    "IGMP without options": igmp(options=b""),
    "IGMP, first fragment": igmp(fragment=0x2000),
    "IGMP, later fragment": igmp(fragment=0x0001),
    "IGMP, tagged": igmp().tagged(VLAN),
    "IGMP, tagged by 802.1ad": igmp().tagged(SERVICE),
    "MLD": mld(),
    "MLDv2": mld(28),
    "MLD behind options": mld(24, PADDING),
    "MLD behind many options": mld(24, *[PADDING] * 7),
    "MLD, first fragment": mld(24, (44, b"\0\0\x01\0\0\0\x01")),
    "MLD, tagged": mld().tagged(VLAN),
}
#: And what would hide one, if anybody took it.
OTHER_FORMS = {
    "IGMP, tagged twice": igmp().tagged(SERVICE + VLAN),
    "MLD, tagged twice": mld().tagged(SERVICE + VLAN),
}
#: What passes: Linux's bridge does not look into it.
LATER_FRAGMENT = mld(24, (44, b"\0\0\x09\0\0\0\x01"))
#: What cannot be followed: Linux's bridge takes this, too.
ENDLESS = mld(24, *[PADDING] * 8)


def send_forms(vm: Vm, *forms: Form) -> None:
    """Send them by hand from inside a VM."""
    with contextlib.closing(PacketWire(vm.inside)) as wire:
        for form in forms:
            wire.send(form.to.to_bytes(6) + vm.mac.to_bytes(6) + form.octets)


def test_what_a_bridge_takes_for_a_query(host: Host) -> None:
    """Without HostVLAN each of them makes a VM the querier of all tenants."""
    bridge = snooping.bridge(host.space, querier=False)
    vm = host.vm(1, bridge)
    for name, form in (FORMS | {"MLD behind very many options": ENDLESS}).items():
        # Never, then again when a query comes.
        for router in ("0", "1"):
            words = ["bridge", "link", "set", "dev", vm.outside.name]
            host.space.run([*words, "mcast_router", router])
        assert not routers(bridge)
        send_forms(vm, form)
        wait.until(lambda: routers(bridge) == {vm.outside.name}, name)


def test_what_a_bridge_takes_for_no_query(host: Host) -> None:
    """So that HostVLAN need not look into it: what is for one station, and later fragments."""
    bridge = snooping.bridge(host.space, querier=False)
    vm, other = (host.vm(number, bridge) for number in (1, 2))
    to_one = [Form(other.mac, form.octets) for form in (igmp(), mld())]
    with contextlib.closing(PacketWire(other.inside)) as wire:
        for form in (*to_one, LATER_FRAGMENT):
            send_forms(vm, form)
            while not wire.receive().endswith(form.octets):
                pass
    assert not routers(bridge)


def test_a_tenant_is_no_querier(host: Host) -> None:
    """Its queries do not reach the bridge, in whatever form; other tenants go on."""
    bridge = snooping.bridge(host.space, querier=False)
    a, b, c = (host.vm(number, bridge, lnid) for number, lnid in ((1, 1), (2, 2), (3, 2)))
    forms = [*FORMS.values(), *OTHER_FORMS.values()]
    send_forms(a, *forms, ENDLESS, LATER_FRAGMENT)
    refused = {"multicast-query": len(forms), "malformed": 1}
    wait.until(
        lambda: {reason: host.counter(a, reason) for reason in refused} == refused,
        "all queries are refused",
    )
    assert not routers(bridge)
    wait.until(lambda: b.reaches(c), "C answers")
    # A member of the global network may be one.
    router = host.vm(4, bridge, 0)
    send_forms(router, mld())
    wait.until(lambda: routers(bridge) == {router.outside.name}, "the router's query")
    wait.until(lambda: c.queries(), "C hears the router's query")
    assert c.queries() == 1


def test_open_vswitch(under_switch: UnderSwitch) -> None:
    """It snoops, and asks nobody itself.  Defined last: the fixture has waited since the first."""
    host, switch = under_switch.host, under_switch.switch
    a, b, c = under_switch.vms
    enough = under_switch.queries + OVS_PAST_EXPIRY
    wait.until(lambda: b.queries() >= enough, f"queries reach VM {b.number}")
    wait.until(lambda: b.solicited in switch.groups(), "B's group")
    tenants_speak(host, a, b, c)
    send_forms(a, *FORMS.values())
    wait.until(lambda: host.counter(a, "multicast-query") == len(FORMS), "queries are refused")
    assert len([line for line in switch.groups().splitlines() if "querier" in line]) == 1
