# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes each NIC's flows and groups, MTU, and pairs that share keys, from a plan.

Theory of operation
===================

A NIC has two ports and belongs to one tenant. It has four kinds of flows:

    guest, from its own MAC address, to a peer's      into the tunnel to the peer
    guest, from its own MAC address, to a group       a copy into each tunnel
    wire, from a peer's tunnel to ours                out of the tunnel, and once more
    in the tenant's tunnel, to the guest or a group   to the guest

and below them, at priority 0, one for each port that drops: nothing bypasses the tenant's
tunnels.

A received frame matches the last two in turn: out of the tunnel it is looked up again with
the VNI as its tunnel_id. Flows of the third kind match tunnel_id 0, so that a tunnel within
a tunnel is opened only once.

The copies of the second kind are actions of one flow. If a tenant has more peers than fit
into a flow, they are buckets of groups: as a group must fit into a control frame, there are
several, and one that goes on to all of them. A peer's group depends on the plan alone, so that
new keys of a peer change only that group.

Each association has one peer, for sealing and for opening.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..wire.message import PAYLOAD_MAX
from . import openflow
from .model import Address, Nic, Plan, Station, Tenant
from .openflow import Field, Masked, field

#: Numbers of a peer's associations, outbound and inbound, by its MAC address.
Associations = Mapping[bytes, tuple[int, int]]

#: Maximum members of a tenant without a multicast group: each gets a copy of broadcast.
MEMBERS_MAX = 512
#: Actions in a flow of CVSW (docs/cvsw-openflow.md).
ACTIONS_MAX = 32
# The group that goes on to all others, which have the following numbers.
_TO_ALL = 1
# Octets of a LIST_GROUPS's answer and of a GROUP_MOD before its buckets.
_ACK_LEN, _GROUP_LEN = 8, 16
_FLOW_PRIORITY, _DROP_PRIORITY = 1, 0
_IP4, _ARP, _IP6 = 0x0800, 0x0806, 0x86DD
_UDP, _ESP, _ICMP6 = 17, 50, 58
_ARP_REQUEST = 1
_ND_SOLICITATION = 135
_GROUPS = Masked(openflow.MULTICAST, openflow.MULTICAST)

# Fields and actions that many flows share.
_FROM_GUEST = field(Field.IN_PORT, openflow.GUEST)
_FROM_WIRE = field(Field.IN_PORT, openflow.WIRE)
_NOT_TUNNELED = field(Field.TUNNEL_ID, 0)
_OF_IP = {4: field(Field.ETH_TYPE, _IP4), 6: field(Field.ETH_TYPE, _IP6)}
_OF_VXLAN, _OF_ESP = field(Field.IP_PROTO, _UDP), field(Field.IP_PROTO, _ESP)
_SOURCE = {4: Field.IPV4_SRC, 6: Field.IPV6_SRC}
_DESTINATION = {4: Field.IPV4_DST, 6: Field.IPV6_DST}
_TO_WIRE, _BACK = openflow.output(openflow.WIRE), openflow.output(openflow.IN_PORT)
_TO_GUEST, _DECAP = openflow.output(openflow.GUEST), openflow.tunnel_decap()

# Octets of headers.
_OUTER = {4: 20, 6: 40}
_UDP_LEN, _VXLAN_LEN, _ETHERNET_LEN = 8, 8, 14
# ESP with AES-GCM (RFC 4303 section 2, RFC 4106): SPI and number, IV; behind the padding its length
# and the next header; ICV of 16 octets. What is padded ends on a word of 4 octets.
_ESP_HEAD, _ESP_TRAILER, _ESP_ICV, _ESP_WORD = 8 + 8, 2, 16, 4


def members_max(tenant: Tenant) -> int | None:
    """The maximum number of members of a tenant; None: unlimited."""
    return MEMBERS_MAX if tenant.group is None else None


def mtu(plan: Plan, nic: Nic) -> int:
    """The longest IP packet of a NIC's guest that fits into the underlay's packets, octets.

    A VLAN tag of the guest's frame takes four octets of it.
    """
    room = plan.underlay_mtu - _OUTER[nic.tunnel.address.version]
    if plan.tenant(nic).cipher:
        room -= _ESP_HEAD + _ESP_ICV
        room = room // _ESP_WORD * _ESP_WORD - _ESP_TRAILER
    return room - _UDP_LEN - _VXLAN_LEN - _ETHERNET_LEN


def pairs(plan: Plan) -> tuple[tuple[Nic, Nic, str], ...]:
    """Sender, receiver and cipher of each association, in a fixed order."""
    return tuple(
        (sender, receiver, tenant.cipher)
        for tenant in plan.tenants
        if tenant.cipher
        for sender in tenant.nics
        for receiver in tenant.nics
        if sender != receiver
    )


def flows(plan: Plan, nic: Nic, sas: Associations) -> tuple[bytes, ...]:
    """The flows of a NIC: sorted FLOW_MODs of OpenFlow 1.3; those that drop are first.

    The groups that they name, as GROUP_MODs, are among them.

    With a cipher, peers that are missing in ``sas`` are left out: nothing goes to them
    or comes from them. An inbound number of 0 stands for every association of the NIC:
    while keys change, frames of the old and the new one are accepted. An outbound 0 is a
    ValueError.
    """
    tenant = plan.tenant(nic)
    peers = [each for each in plan.peers(nic) if not tenant.cipher or each.tunnel.mac in sas]
    result = [*_drops(), *_to_guest(tenant, nic)]
    ways = {}
    for peer in peers:
        way = ways[peer.name] = _way(plan, tenant, nic, peer, sas)
        result += _to_peer(nic, peer, way)
        result += _from_peer(plan, tenant, nic, peer, sas)
    result += _to_all(plan, tenant, nic, ways)
    result += _answer(tenant, nic)
    return tuple(sorted(result))


def _drops() -> Iterator[bytes]:
    for port in (openflow.GUEST, openflow.WIRE):
        yield openflow.add(_DROP_PRIORITY, [field(Field.IN_PORT, port)])


def _add(match: Iterable[bytes], *actions: bytes) -> bytes:
    return openflow.add(_FLOW_PRIORITY, match, actions)


# --- from the guest ------------------------------------------------------------------------


def _from_guest(nic: Nic, to: bytes | Masked) -> tuple[bytes, ...]:
    return _FROM_GUEST, field(Field.ETH_SRC, nic.mac), field(Field.ETH_DST, to)


def _way(
    plan: Plan, tenant: Tenant, nic: Nic, peer: Nic | Station, sas: Associations
) -> tuple[bytes, ...]:
    remote, hop = peer.tunnel.address, nic.tunnel.hop(peer.tunnel)
    encap = openflow.tunnel_encap(tenant.vni, plan.port, nic.tunnel, remote, hop)
    if not tenant.cipher:
        return encap, _TO_WIRE
    outbound, _ = sas[peer.tunnel.mac]
    if not outbound:
        raise ValueError(f"0 is no number of an association to {peer.name}")
    return encap, openflow.encrypt(outbound), _TO_WIRE


def _to_peer(nic: Nic, peer: Nic | Station, way: tuple[bytes, ...]) -> Iterator[bytes]:
    for mac in peer.macs:
        yield _add(_from_guest(nic, mac), *way)


def _to_all(
    plan: Plan, tenant: Tenant, nic: Nic, ways: Mapping[str, tuple[bytes, ...]]
) -> Iterator[bytes]:
    """Broadcast and multicast: both go to all members."""
    if not ways:
        return
    if tenant.group is not None:
        mac = openflow.group_mac(tenant.group)
        encap = openflow.tunnel_encap(tenant.vni, plan.port, nic.tunnel, tenant.group, mac)
        steps = [encap, _TO_WIRE]
    elif (len(tenant.members) - 1) * (3 if tenant.cipher else 2) <= ACTIONS_MAX:
        steps = [step for way in ways.values() for step in way]
    else:
        yield from _groups(plan, nic, ways)
        steps = [openflow.group(_TO_ALL)]
    yield _add(_from_guest(nic, _GROUPS), *steps)


def _groups(plan: Plan, nic: Nic, ways: Mapping[str, tuple[bytes, ...]]) -> Iterator[bytes]:
    """Peers without an association have no bucket, but keep their place in the group."""
    buckets = {name: openflow.bucket(way) for name, way in ways.items()}
    size = len(next(iter(buckets.values())))  # the tunnels are of one family
    most = (PAYLOAD_MAX - _ACK_LEN - _GROUP_LEN) // size
    peers = [peer.name for peer in plan.peers(nic)]
    parts = [peers[at : at + most] for at in range(0, len(peers), most)]
    numbers = range(_TO_ALL + 1, _TO_ALL + 1 + len(parts))
    yield openflow.add_group(_TO_ALL, (openflow.bucket([openflow.group(n)]) for n in numbers))
    for number, part in zip(numbers, parts, strict=True):
        yield openflow.add_group(number, (buckets[name] for name in part if name in buckets))


# --- from the wire -------------------------------------------------------------------------


def _from_peer(
    plan: Plan, tenant: Tenant, nic: Nic, peer: Nic | Station, sas: Associations
) -> Iterator[bytes]:
    source = peer.tunnel.address
    if tenant.cipher:
        match = _outer(source, nic.tunnel.address, _OF_ESP)
        _, inbound = sas[peer.tunnel.mac]
        yield _add(match, openflow.decrypt(inbound), _DECAP)
        return
    for destination in (nic.tunnel.address, tenant.group):
        if destination is not None:
            match = _outer(source, destination, _OF_VXLAN)
            yield _add([*match, field(Field.UDP_DST, plan.port)], _DECAP)


def _outer(source: Address, destination: Address, protocol: bytes) -> tuple[bytes, ...]:
    version = source.version
    return (
        *(_FROM_WIRE, _OF_IP[version], protocol, _NOT_TUNNELED),
        field(_SOURCE[version], source),
        field(_DESTINATION[version], destination),
    )


def _answer(tenant: Tenant, nic: Nic) -> Iterator[bytes]:
    """Answers to stations and routers that ask for the tunnel end's MAC address.

    They ask by ARP (RFC 826) or neighbour discovery (RFC 4861), from any of their addresses:
    that of a router is in no plan.
    """
    ours = nic.tunnel
    if not tenant.has_askers:
        return
    if ours.address.version == 4:
        asked = [(Field.ETH_TYPE, _ARP), (Field.ARP_OP, _ARP_REQUEST)]
        target, answer = Field.ARP_TPA, openflow.answer_arp(ours.mac)
    else:
        asked = [(Field.ETH_TYPE, _IP6), (Field.IP_PROTO, _ICMP6)]
        asked += [(Field.ICMPV6_TYPE, _ND_SOLICITATION)]
        target, answer = Field.ND_TARGET, openflow.answer_nd(ours.mac)
    match = [_FROM_WIRE, _NOT_TUNNELED, field(target, ours.address)]
    yield _add([*match, *(field(*each) for each in asked)], answer, _BACK)


def _to_guest(tenant: Tenant, nic: Nic) -> Iterator[bytes]:
    tunneled = field(Field.TUNNEL_ID, tenant.vni)
    for to in (nic.mac, _GROUPS):
        yield _add((_FROM_WIRE, tunneled, field(Field.ETH_DST, to)), _TO_GUEST)
