# SPDX-License-Identifier: GPL-2.0-or-later
"""A model of a NIC that executes flows on frames, without a network.

It has its own parser of flows, independent of the code that writes them, to find faults of that
code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

from vmmnet.cvsw.plan import openflow
from vmmnet.cvsw.plan.flows import Associations, flows
from vmmnet.cvsw.plan.model import Address, Nic, Plan
from vmmnet.cvsw.plan.openflow import Field

UDP, ESP = 17, 50
#: A message's type; an action's type and length.
GROUP_MOD, GROUP = 15, b"\0\x16\0\x08"


@dataclass(frozen=True)
class Frame:
    """The relevant parts of a frame: addresses, and its tunnel on the wire."""

    source: bytes
    destination: bytes
    #: ARP's operation and target.
    arp: tuple[int, Address] | None = None
    #: ICMPv6's type, and the target of neighbour discovery.
    nd: tuple[int, Address] | None = None


@dataclass(frozen=True)
class Tunnelled:
    """A frame in VXLAN, perhaps in ESP."""

    source_mac: bytes
    destination_mac: bytes
    source: Address
    destination: Address
    vni: int
    inner: Frame
    association: int | None = None
    port: int = 4789


def numbers(plan: Plan, nic: Nic) -> Associations:
    """Numbers of associations that identify the pair."""
    index = {each.mac: number for number, each in enumerate(plan.nics(), 1)}
    return {
        peer.mac: (index[nic.mac] << 8 | index[peer.mac], index[peer.mac] << 8 | index[nic.mac])
        for peer in plan.tenant(nic).nics
        if peer != nic
    }


@dataclass(frozen=True)
class Flow:
    """A parsed FLOW_MOD."""

    priority: int
    match: dict[int, tuple[int, int]]
    actions: list[bytes] = field(default_factory=list)

    @classmethod
    def read(cls, octets: bytes) -> Flow:
        """Sections 7.2.3, 7.3.4.1."""
        version, kind, length, _ = struct.unpack_from(">BBHI", octets)
        assert (version, kind, length) == (4, 14, len(octets))
        table, command, idle, hard, priority, buffer = struct.unpack_from(">BBHHHI", octets, 24)
        assert (table, command, idle, hard, buffer) == (0, 0, 0, 0, 0xFFFFFFFF)
        kind, length = struct.unpack_from(">HH", octets, 48)
        assert kind == 1
        match = dict(cls._fields(octets[52 : 48 + length]))
        rest = octets[48 + (length + 7) // 8 * 8 :]
        if not rest:
            return cls(priority, match)
        assert struct.unpack_from(">HH", rest) == (4, len(rest))
        return cls(priority, match, list(cls._actions(rest[8:])))

    @staticmethod
    def _fields(octets: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
        while octets:
            kind, name, length = struct.unpack_from(">HBB", octets)
            assert kind == 0x8000
            value, octets = octets[4 : 4 + length], octets[4 + length :]
            half = length // 2 if name & 1 else length
            mask = value[half:] or b"\xff" * half
            yield name >> 1, (int.from_bytes(value[:half]), int.from_bytes(mask))

    @staticmethod
    def _actions(octets: bytes) -> Iterator[bytes]:
        while octets:
            _, length = struct.unpack_from(">HH", octets)
            assert length % 8 == 0
            yield octets[:length]
            octets = octets[length:]

    def takes(self, fields: dict[Field, int]) -> bool:
        """Whether a frame with these fields, and no others, matches."""
        return all(
            name in fields and fields[Field(name)] & mask == value
            for name, (value, mask) in self.match.items()
        )


def read_group(octets: bytes) -> tuple[int, list[list[bytes]]]:
    """Parse a GROUP_MOD: section 7.3.4.3."""
    version, kind, length, _, command, what, number = struct.unpack_from(">BBHIHBxI", octets)
    assert (version, kind, length, command, what) == (4, GROUP_MOD, len(octets), 0, 0)
    buckets, rest = [], octets[16:]
    while rest:
        size, weight, port, group = struct.unpack_from(">HHII", rest)
        assert (size % 8, weight, port, group) == (0, 0, 0xFFFFFFFF, 0xFFFFFFFF)
        buckets.append(list(Flow._actions(rest[16:size])))
        rest = rest[size:]
    return number, buckets


class Switch:
    """A NIC with the flows of a plan, and only those."""

    def __init__(self, plan: Plan, nic: Nic, sas: Associations | None = None) -> None:
        self.nic = nic
        #: Actions that send a frame back.
        self.replies: list[Flow] = []
        sas = numbers(plan, nic) if sas is None else sas
        told = flows(plan, nic, sas)
        self.flows = [Flow.read(octets) for octets in told if octets[1] != GROUP_MOD]
        #: The actions of each bucket, by the group's number.
        self.groups = dict(read_group(octets) for octets in told if octets[1] == GROUP_MOD)

    def send(self, frame: Frame) -> list[Tunnelled]:
        """Return the frames on the wire for a guest's frame."""
        return self._send(
            frame, self._find({Field.IN_PORT: openflow.GUEST, **_ethernet(frame)}).actions
        )

    def _send(self, frame: Frame, actions: list[bytes]) -> list[Tunnelled]:
        out: list[Tunnelled] = []
        tunnel: Tunnelled | None = None
        for action in actions:
            if action[:4] == GROUP:
                for bucket in self.groups[int.from_bytes(action[4:])]:
                    out += self._send(frame, bucket)
                continue
            kind, subtype = _kind(action)
            if (kind, subtype) == (0xFFFF, 1):
                tunnel = _encap(action, frame)
            elif (kind, subtype) == (0xFFFF, 3):
                assert tunnel
                tunnel = replace(tunnel, association=struct.unpack_from(">I", action, 12)[0])
            else:
                assert action == openflow.output(openflow.WIRE)
                assert tunnel, "a guest's frame in clear"
                out.append(tunnel)
        return out

    def take(self, packet: Tunnelled | Frame) -> list[Frame]:
        """Return the frames for the guest from a frame of the wire."""
        is_ip4 = isinstance(packet, Tunnelled) and packet.source.version == 4
        fields = {Field.IN_PORT: openflow.WIRE, Field.TUNNEL_ID: 0}
        if isinstance(packet, Frame):
            fields |= _ethernet(packet)
        else:
            fields |= {
                Field.ETH_DST: int.from_bytes(packet.destination_mac),
                Field.ETH_SRC: int.from_bytes(packet.source_mac),
                Field.ETH_TYPE: 0x0800 if is_ip4 else 0x86DD,
                Field.IP_PROTO: UDP if packet.association is None else ESP,
                Field.IPV4_SRC if is_ip4 else Field.IPV6_SRC: int(packet.source),
                Field.IPV4_DST if is_ip4 else Field.IPV6_DST: int(packet.destination),
            }
            if packet.association is None:
                fields[Field.UDP_DST] = packet.port
        return self._carry_out(packet, self._find(fields))

    def _carry_out(self, packet: Tunnelled | Frame, flow: Flow) -> list[Frame]:
        sealed = isinstance(packet, Tunnelled) and packet.association is not None
        for action in flow.actions:
            if _kind(action) == (0xFFFF, 4):
                (number,) = struct.unpack_from(">I", action, 12)
                assert isinstance(packet, Tunnelled)
                if number not in (0, packet.association):
                    return []
                sealed = False
            elif action == openflow.tunnel_decap():
                assert isinstance(packet, Tunnelled)
                if sealed:
                    return []
                assert action is flow.actions[-1], "the VNI is looked up"
                return self._inside(packet)
            elif _kind(action) in ((0xFFFF, 6), (0xFFFF, 7)):
                continue
            elif action == openflow.output(openflow.IN_PORT):
                self.replies.append(flow)
        return []

    def _inside(self, packet: Tunnelled) -> list[Frame]:
        fields = {Field.IN_PORT: openflow.WIRE, Field.TUNNEL_ID: packet.vni}
        actions = self._find(fields | _ethernet(packet.inner)).actions
        assert actions in ([], [openflow.output(openflow.GUEST)])
        return [packet.inner] * len(actions)

    def _find(self, fields: dict[Field, int]) -> Flow:
        found = [flow for flow in self.flows if flow.takes(fields)]
        most = max(flow.priority for flow in found)
        (one,) = (flow for flow in found if flow.priority == most)
        return one


def _kind(action: bytes) -> tuple[int, int]:
    kind, _, experimenter, subtype = struct.unpack_from(">HHIH", action)
    assert kind != 0xFFFF or experimenter == 0x00525400
    return kind, subtype


def _ethernet(frame: Frame) -> dict[Field, int]:
    fields = {
        Field.ETH_SRC: int.from_bytes(frame.source),
        Field.ETH_DST: int.from_bytes(frame.destination),
    }
    if frame.arp:
        operation, target = frame.arp
        fields |= {Field.ETH_TYPE: 0x0806, Field.ARP_OP: operation, Field.ARP_TPA: int(target)}
    if frame.nd:
        kind, target = frame.nd
        fields |= {Field.ETH_TYPE: 0x86DD, Field.IP_PROTO: 58}
        fields |= {Field.ICMPV6_TYPE: kind, Field.ND_TARGET: int(target)}
    return fields


def _encap(action: bytes, frame: Frame) -> Tunnelled:
    version, tos, ttl, port, vni = struct.unpack_from(">BBBxHI", action, 10)
    assert (tos, ttl, port) == (0, 64, 4789)
    local, remote = action[20:26], action[26:32]
    half = {4: 4, 6: 16}[version]
    ends = ip_address(action[32 : 32 + half]), ip_address(action[32 + half :])
    return Tunnelled(local, remote, *ends, vni, frame)
