# SPDX-License-Identifier: GPL-2.0-or-later
"""The flows of a plan, executed: the receivers of each frame.

tests/interop/test_cvsw_plan.py parses them with the NIC's code and with os-ken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from itertools import permutations
from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.model import GROUP_MOD, Flow, Frame, Switch, Tunnelled, numbers
from vmmnet.cvsw.plan import openflow
from vmmnet.cvsw.plan.flows import MEMBERS_MAX, flows, mtu, pairs
from vmmnet.cvsw.plan.model import Address, Nic, Plan, Station
from vmmnet.cvsw.plan.openflow import Field
from vmmnet.cvsw.wire import message as wire

BROADCAST = b"\xff" * 6
FOREIGN = bytes.fromhex("0200000000aa")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Three tenants."""
    return cvsw_plans.plan(tmp_path, cvsw_plans.tree())


def switches(plan: Plan) -> dict[str, Switch]:
    """All NICs, by their names."""
    return {nic.name: Switch(plan, nic) for nic in plan.nics()}


def heard(everybody: dict[str, Switch], packets: list[Tunnelled]) -> list[str]:
    """Return the guests that get these packets; each NIC sees all packets."""
    return sorted(
        name for packet in packets for name, each in everybody.items() for _ in each.take(packet)
    )


def test_unicast(plan: Plan) -> None:
    """A frame reaches each member of its tenant once, and no other VM."""
    everybody = switches(plan)
    for one, other in permutations(plan.nics(), 2):
        packets = everybody[one.name].send(Frame(one.mac, other.mac))
        assert heard(everybody, packets) == [other.name] * (one.tenant == other.tenant)
        for packet in packets:
            assert (packet.source_mac, packet.destination_mac) == (one.mac, other.mac)
            assert (packet.association is None) == (one.tenant == "blue")


@pytest.mark.parametrize("to", ["ffffffffffff", "01005e000001", "3333ff000001"])
def test_broadcast(plan: Plan, to: str) -> None:
    """Broadcast and multicast reach all members of the tenant, encrypted separately."""
    everybody = switches(plan)
    for one in plan.nics():
        packets = everybody[one.name].send(Frame(one.mac, bytes.fromhex(to)))
        others = [each.name for each in plan.peers(one) if isinstance(each, Nic)]
        assert heard(everybody, packets) == sorted(others)
        assert len({packet.association for packet in packets}) == (
            len(others) if one.tenant != "blue" else 1
        )


def test_spoofed(plan: Plan) -> None:
    """A guest can neither use another source, nor reach another tenant."""
    everybody = switches(plan)
    for one, other in permutations(plan.nics(), 2):
        assert not everybody[one.name].send(Frame(other.mac, BROADCAST))
        assert not everybody[one.name].send(Frame(FOREIGN, other.mac))
    assert not everybody["red1"].send(Frame(everybody["red1"].nic.mac, FOREIGN))
    assert not everybody["red1"].take(Frame(FOREIGN, everybody["red1"].nic.mac))


def _packet(everybody: dict[str, Switch], sender: str, receiver: str) -> Tunnelled:
    one, other = everybody[sender].nic, everybody[receiver].nic
    (packet,) = everybody[sender].send(Frame(one.mac, other.mac))
    assert heard(everybody, [packet]) == [receiver]
    return packet


def test_received(plan: Plan) -> None:
    """A packet is accepted only from its peer, to its own address, with its VNI and encryption."""
    everybody = switches(plan)
    clear, sealed = _packet(everybody, "blue1", "blue2"), _packet(everybody, "red1", "red2")
    elsewhere = ip_address("192.0.2.77")
    for packet in (clear, sealed):
        assert not heard(everybody, [replace(packet, source=elsewhere)])
        assert not heard(everybody, [replace(packet, destination=elsewhere)])
        for vni in (0, 1, 5003):
            assert not heard(everybody, [replace(packet, vni=vni)])
        for name in ("red3", "blue2", "red1"):
            other = everybody[name].nic
            if other.tunnel.address not in (packet.source, packet.destination):
                assert not heard(everybody, [replace(packet, source=other.tunnel.address)])
        stranger = replace(packet, inner=replace(packet.inner, destination=FOREIGN))
        assert not heard(everybody, [stranger])
    assert not heard(everybody, [replace(clear, port=4790)])
    assert not heard(everybody, [replace(sealed, association=None)])
    assert not heard(everybody, [replace(clear, association=1)])
    assert sealed.association
    assert not heard(everybody, [replace(sealed, association=sealed.association + 1)])


def test_tunnel_in_tunnel(plan: Plan) -> None:
    """A guest's frame with the form of a tunnel's packet is an ordinary inner frame."""
    nic = plan.nic(bytes.fromhex("52540000000c"))
    assert nic
    outer = [flow for flow in Switch(plan, nic).flows if Field.ETH_TYPE in flow.match]
    assert outer
    assert all(flow.match[Field.TUNNEL_ID] == (0, (1 << 64) - 1) for flow in outer)


def test_keys_come_one_by_one(plan: Plan) -> None:
    """A peer without associations is omitted, the others communicate."""
    everybody = switches(plan)
    red1, red2, red3 = (everybody[name].nic for name in ("red1", "red2", "red3"))
    sas = numbers(plan, red1)
    everybody["red1"] = Switch(plan, red1, {red3.mac: sas[red3.mac]})
    assert not everybody["red1"].send(Frame(red1.mac, red2.mac))
    assert heard(everybody, everybody["red1"].send(Frame(red1.mac, BROADCAST))) == ["red3"]
    assert not heard(everybody, everybody["red2"].send(Frame(red2.mac, red1.mac)))
    everybody["red1"] = Switch(plan, red1, {})
    assert not everybody["red1"].send(Frame(red1.mac, BROADCAST))
    everybody["red1"] = Switch(plan, red1, {red2.mac: (9, 0)})
    packet = _packet(everybody, "red2", "red1")
    assert heard(everybody, [replace(packet, association=1234)]) == ["red1"]
    with pytest.raises(ValueError, match="red2"):
        flows(plan, red1, {red2.mac: (0, 1)})


def test_group(tmp_path: Path) -> None:
    """Broadcast goes to the group once, and every member receives it."""
    for group, base, mac in (
        ("239.129.2.3", "192.0.2.", "01005e010203"),
        ("ff05::1:3", "2001:db8::", "333300010003"),
    ):
        vms = {f"n{each}": cvsw_plans.vm(each, f"{base}{each}") for each in range(1, 25)}
        tenant = {"vni": 1, "group": group, "vms": vms}
        tree = {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}}
        plan = cvsw_plans.plan(tmp_path, tree)
        everybody = switches(plan)
        one = everybody["n1"].nic
        (packet,) = everybody["n1"].send(Frame(one.mac, BROADCAST))
        assert (packet.destination_mac, packet.destination) == (
            bytes.fromhex(mac),
            ip_address(group),
        )
        assert len(heard(everybody, [packet])) == 23
        assert not heard(everybody, [replace(packet, source=ip_address(f"{base}77"))])


def test_station(plan: Plan) -> None:
    """A station gets frames for MAC addresses behind it, and its frames are accepted."""
    everybody = switches(plan)
    blue1 = everybody["blue1"]
    (router,) = (each for each in plan.peers(blue1.nic) if isinstance(each, Station))
    (packet,) = blue1.send(Frame(blue1.nic.mac, router.macs[0]))
    assert (packet.destination_mac, packet.destination) == (
        router.tunnel.mac,
        router.tunnel.address,
    )
    copies = blue1.send(Frame(blue1.nic.mac, BROADCAST))
    assert router.tunnel.address in [copy.destination for copy in copies]
    back = replace(
        packet,
        source=packet.destination,
        destination=packet.source,
        inner=Frame(router.macs[0], blue1.nic.mac),
    )
    assert heard(everybody, [back]) == ["blue1"]


def _question(kind: int, target: Address) -> Frame:
    """A request for an address (1), or a reply (2)."""
    if target.version == 4:
        return Frame(FOREIGN, BROADCAST, arp=(kind, target))
    return Frame(FOREIGN, bytes.fromhex("3333ff000001"), nd=(134 + kind, target))


def _add_station(tree: cvsw_plans.Tree, tenant: str, address: str) -> None:
    tree["tenants"][tenant]["stations"] = {"some": cvsw_plans.station(8, address)}


def _add_router(tree: cvsw_plans.Tree, tenant: str, _: str) -> None:
    """To one of the two: packets of the other one's for it may come that way, too."""
    name = f"{tenant}2"
    tree["tenants"][tenant]["vms"][name]["next-hop"] = "02:00:00:00:00:fe"


@pytest.mark.parametrize(("tenant", "subtype"), [("blue", 7), ("green", 6)])
@pytest.mark.parametrize("add", [_add_station, _add_router])
def test_asked(
    tmp_path: Path, add: Callable[[cvsw_plans.Tree, str, str], None], tenant: str, subtype: int
) -> None:
    """Stations and routers get the MAC address of a tunnel's end, from all of their addresses."""
    tree = cvsw_plans.tree()
    tree["tenants"]["blue"].pop("stations")
    tree["tenants"]["green"].pop("cipher")
    one = switches(cvsw_plans.plan(tmp_path, tree))[f"{tenant}1"]
    ours = one.nic.tunnel.address
    # With NICs only there are no requests.
    assert not one.take(_question(1, ours))
    assert not one.replies
    add(tree, tenant, str(ours + 7))
    for name in (f"{tenant}1", f"{tenant}2"):
        one = switches(cvsw_plans.plan(tmp_path, tree))[name]
        ours = one.nic.tunnel.address
        assert not one.take(_question(1, ours))
        (reply,) = one.replies
        assert reply.actions == [
            bytes.fromhex(f"ffff0010 00525400 {subtype:04x}") + one.nic.mac,
            openflow.output(openflow.IN_PORT),
        ]
        for question in (_question(2, ours), _question(1, ours + 7)):
            assert not one.take(question)
        assert one.replies == [reply]


def test_next_hop(tmp_path: Path) -> None:
    """Peers on another network are behind the router; those beside are not."""
    tree = cvsw_plans.tree()
    tree["underlay"]["next-hop"] = "02:00:00:00:00:fe"
    red = tree["tenants"]["red"]["vms"]
    red["red1"]["tunnel"], red["red2"]["tunnel"] = "192.0.2.1/24", "192.0.2.2/24"
    red["red3"] |= {"tunnel": "198.51.100.3", "next-hop": "02:00:00:00:00:fd"}
    plan = cvsw_plans.plan(tmp_path, tree)
    everybody = switches(plan)
    for sender, receiver, hop in (
        ("red1", "red2", "525400000002"),
        ("red1", "red3", "0200000000fe"),
        ("red3", "red1", "0200000000fd"),
        ("blue1", "blue2", "0200000000fe"),
    ):
        packet = _packet(everybody, sender, receiver)
        assert packet.destination_mac == bytes.fromhex(hop)


@pytest.mark.parametrize(
    ("tunnel", "cipher", "expected"),
    [
        ("192.0.2.1", None, {1500: 1450, 9000: 8950}),
        ("2001:db8::1", None, {1500: 1430}),
        ("192.0.2.1", "aes-gcm-128", {1500: 1416, 1501: 1416, 1503: 1416, 1504: 1420}),
        ("2001:db8::1", "aes-gcm-256", {1500: 1396, 1280: 1176}),
    ],
)
def test_mtu(tmp_path: Path, tunnel: str, cipher: str | None, expected: dict[int, int]) -> None:
    """The guest's longest packet fills the underlay's MTU, except for ESP's alignment."""
    for underlay, inner in expected.items():
        tenant = {"vni": 1, "vms": {"one": cvsw_plans.vm(1, tunnel)}}
        tenant |= {"cipher": cipher} if cipher else {}
        tree = {"underlay": {"mtu": underlay}, "tenants": {"red": tenant}}
        plan = cvsw_plans.plan(tmp_path, tree)
        assert mtu(plan, plan.tenants[0].nics[0]) == inner
        header = 20 if "." in tunnel else 40

        def outer(packet: int, header: int = header) -> int:
            frame = 8 + 8 + 14 + packet
            if not cipher:
                return header + frame
            # RFC 4303: padding, its length and the next header end on 4 octets.
            return header + 8 + 8 + (frame + 2 + 3) // 4 * 4 + 16

        assert outer(inner) <= underlay < outer(inner + 1)


def test_pairs(plan: Plan) -> None:
    """Each ordered pair of a tenant with a cipher shares a key."""
    told = [(one.name, other.name, cipher) for one, other, cipher in pairs(plan)]
    red = [(one, other, "aes-gcm-256") for one, other in permutations(("red1", "red2", "red3"), 2)]
    green = [("green1", "green2", "aes-gcm-128"), ("green2", "green1", "aes-gcm-128")]
    assert sorted(told) == sorted(red + green)
    assert told == [(one.name, other.name, cipher) for one, other, cipher in pairs(plan)]


@pytest.mark.parametrize(("cipher", "most"), [(None, 17), ("aes-gcm-128", 11)])
@pytest.mark.parametrize("base", ["192.0.2.", "2001:db8::"])
def test_fits(tmp_path: Path, cipher: str | None, most: int, base: str) -> None:
    """The flows of the largest tenants without groups fit into control frames, and answers."""
    vms = {f"n{each}": cvsw_plans.vm(each, f"{base}{each}") for each in range(1, most + 1)}
    tenant = {"vni": 1, "vms": vms} | ({"cipher": cipher} if cipher else {})
    plan = cvsw_plans.plan(tmp_path, {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}})
    for nic in plan.nics():
        told = flows(plan, nic, numbers(plan, nic))
        assert max(map(len, told)) <= wire.PAYLOAD_MAX - 8
        assert max(len(Flow.read(one).actions) for one in told) <= 32
        assert list(told) == sorted(set(told))
        # Nothing leaks while they are set one by one.
        assert [Flow.read(one).priority for one in told[:3]] == [0, 0, 1]


def large(tmp_path: Path, members: int, cipher: str | None, base: str) -> Plan:
    """One tenant."""
    vms = {
        f"n{each}": cvsw_plans.vm(each, str(ip_address(base) + each))
        for each in range(1, members + 1)
    }
    tenant = {"vni": 1, "vms": vms} | ({"cipher": cipher} if cipher else {})
    return cvsw_plans.plan(tmp_path, {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}})


@pytest.mark.parametrize("base", ["10.0.0.0", "2001:db8::"])
@pytest.mark.parametrize(
    ("members", "cipher"),
    [
        *((each, None) for each in (18, 300, MEMBERS_MAX)),
        *((each, "aes-gcm-128") for each in (12, 300, MEMBERS_MAX)),
    ],
)
def test_many_members(tmp_path: Path, members: int, cipher: str | None, base: str) -> None:
    """Broadcast of a large tenant reaches each peer once, by groups that fit into frames."""
    plan = large(tmp_path, members, cipher, base)
    nic = next(plan.nics())
    sas = numbers(plan, nic) if cipher else {}
    told = flows(plan, nic, sas)
    assert max(map(len, told)) <= wire.PAYLOAD_MAX - 8
    switch = Switch(plan, nic, sas)
    assert len(switch.groups) <= 64
    assert sum(map(len, switch.groups.values())) <= 1024
    copies = switch.send(Frame(nic.mac, BROADCAST))
    assert [each.destination for each in copies] == [
        each.tunnel.address for each in plan.peers(nic)
    ]
    for copy, peer in zip(copies, plan.peers(nic), strict=True):
        assert copy.destination_mac == peer.tunnel.mac
        assert copy.association == (sas[peer.tunnel.mac][0] if cipher else None)
    # Drop rules come before rules that pass frames.
    assert [Flow.read(one).priority for one in told[:3]] == [0, 0, 1]


def test_keys_of_one_of_many(tmp_path: Path) -> None:
    """New keys change a peer's flows, and its group."""
    plan = large(tmp_path, 300, "aes-gcm-128", "10.0.0.0")
    nic = next(plan.nics())
    before = numbers(plan, nic)
    told = set(flows(plan, nic, before))
    for peer in (plan.peers(nic)[at] for at in (0, 150, 298)):
        after = set(flows(plan, nic, {**before, peer.tunnel.mac: (77777, 0)}))
        kinds = sorted(each[1] for each in after - told)
        assert kinds == [14, 14, GROUP_MOD]
        # Without keys it is in no group, and others stay in theirs.
        fewer = {mac: each for mac, each in before.items() if mac != peer.tunnel.mac}
        left = set(flows(plan, nic, fewer))
        (group,) = (each for each in left - told)
        assert group[1] == GROUP_MOD
        assert len(Switch(plan, nic, fewer).send(Frame(nic.mac, BROADCAST))) == 298


#: Of red1, who has associations with red2: one that drops, one to red2, one from red2.
GOLDEN = [
    # length; cookie, mask, table, command, timeouts, priority; buffer, port, group, flags; in_port
    "040e0040 00000000 0000000000000000 0000000000000000 00 00 0000 0000 0000"
    "ffffffff ffffffff ffffffff 0000 0000 0001000c 80000004 00000001 00000000",
    "040e00a0 00000000 0000000000000000 0000000000000000 00 00 0000 0000 0001"
    "ffffffff ffffffff ffffffff 0000 0000"
    # in_port=1, eth_dst, eth_src
    "00010020 80000004 00000001 80000606 525400000002 80000806 525400000001"
    "00040050 00000000"
    # TUNNEL_ENCAP, ENCRYPT, OUTPUT
    "ffff0028 00525400 0001 04 00 40 00 12b5 00001389 525400000001 525400000002 c0000201 c0000202"
    "ffff0010 00525400 0003 0000 00000003"
    "00000010 00000002 0000 000000000000",
    "040e0090 00000000 0000000000000000 0000000000000000 00 00 0000 0000 0001"
    "ffffffff ffffffff ffffffff 0000 0000"
    # in_port=2, eth_type=0x0800, ip_proto=50, ipv4_src, ipv4_dst, tunnel_id=0
    "00010033 80000004 00000002 80000a02 0800 80001401 32 80001604 c0000202 80001804 c0000201"
    "80004c08 0000000000000000 0000000000"
    "00040028 00000000"
    # DECRYPT, TUNNEL_DECAP
    "ffff0010 00525400 0004 0000 00000005"
    "ffff0010 00525400 0002 000000000000",
]


def test_golden(plan: Plan) -> None:
    """The octets of flows, as the specification and cvsw-action.h lay them out."""
    red1 = next(plan.nics())
    told = flows(plan, red1, {bytes.fromhex("525400000002"): (3, 5)})
    for octets in map(bytes.fromhex, GOLDEN):
        assert len(octets) == int.from_bytes(octets[2:4])
        assert octets in told
