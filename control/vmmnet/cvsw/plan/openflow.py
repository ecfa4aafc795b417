# SPDX-License-Identifier: GPL-2.0-or-later
"""FLOW_MODs and GROUP_MODs of OpenFlow 1.3.5, with CVSW's own actions.

These are in ``include/vmmnet/cvsw-action.h``. Messages are octets in a normal form, with fields
in the order of their numbers: LIST_ENTRIES and LIST_GROUPS of a NIC return the same octets,
except the transaction's number.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

from .model import Address, Endpoint

GUEST, WIRE, IN_PORT = 1, 2, 0xFFFFFFF8
MULTICAST = bytes.fromhex("010000000000")

_VERSION, _FLOW_MOD, _GROUP_MOD, _ADD = 4, 14, 15, 0
_HEADER = struct.Struct(">BBHI")
# Header; cookie and its mask, table, command, timeouts, priority, buffer, port, group, flags;
# the match's type and its octets.
_FLOW = struct.Struct(">BBHIQQBBHHHIIIHxxHH")
_MATCH_HEAD, _OXM_MATCH = 4, 1
_INSTRUCTION = struct.Struct(">HHxxxx")
# Command, type, number; bucket: length, weight, port and group to watch.
_GROUP_HEAD, _BUCKET_HEAD = struct.Struct(">HBxI"), struct.Struct(">HHII4x")
_NO_BUFFER = _ANY = 0xFFFFFFFF
_OXM, _OXM_BASIC = struct.Struct(">HBB"), 0x8000
_APPLY_ACTIONS = 4
_ALL = 0
_OUTPUT, _GROUP, _EXPERIMENTER = 0, 22, 0xFFFF
_CVSW = 0x00525400
_TTL = 64


class Field(enum.IntEnum):
    """OFPXMT_OFB_… (section 7.2.3.7), as far as plans use them."""

    IN_PORT = 0
    ETH_DST = 3
    ETH_SRC = 4
    ETH_TYPE = 5
    IP_PROTO = 10
    IPV4_SRC = 11
    IPV4_DST = 12
    UDP_DST = 16
    ARP_OP = 21
    ARP_TPA = 23
    IPV6_SRC = 26
    IPV6_DST = 27
    ICMPV6_TYPE = 29
    ND_TARGET = 31
    TUNNEL_ID = 38


# Octets of the fields that are numbers.
_OCTETS = {
    Field.IN_PORT: 4,
    Field.ETH_TYPE: 2,
    Field.IP_PROTO: 1,
    Field.UDP_DST: 2,
    Field.ARP_OP: 2,
    Field.ICMPV6_TYPE: 1,
    Field.TUNNEL_ID: 8,
}

Value = int | bytes | Address


@dataclass(frozen=True)
class Masked:
    """A value with a mask."""

    value: bytes
    mask: bytes


def field(name: Field, value: Value | Masked) -> bytes:
    """An OXM field of a match (section 7.2.3.2)."""
    mask = b""
    if isinstance(value, bytes):
        octets = value
    elif isinstance(value, Masked):
        octets, mask = value.value, value.mask
    elif isinstance(value, int):
        octets = value.to_bytes(_OCTETS[name])
    else:
        octets = value.packed
    return _OXM.pack(_OXM_BASIC, name << 1 | bool(mask), len(octets + mask)) + octets + mask


def add(priority: int, match: Iterable[bytes], actions: Iterable[bytes] = ()) -> bytes:
    """OFPT_FLOW_MOD that adds a flow without timeouts; without actions it drops.

    ``match`` has the fields, in any order.
    """
    fields, listed = b"".join(sorted(match)), b"".join(actions)
    match_len = _MATCH_HEAD + len(fields)
    rest = fields + bytes(-match_len % 8)
    if listed:
        rest += _INSTRUCTION.pack(_APPLY_ACTIONS, _INSTRUCTION.size + len(listed)) + listed
    return (
        _FLOW.pack(
            *(_VERSION, _FLOW_MOD, _FLOW.size + len(rest), 0, 0, 0, 0, _ADD, 0, 0, priority),
            *(_NO_BUFFER, _ANY, _ANY, 0, _OXM_MATCH, match_len),
        )
        + rest
    )


def add_group(number: int, buckets: Iterable[bytes]) -> bytes:
    """OFPT_GROUP_MOD that adds a group of type ALL: each bucket gets a copy of the frame."""
    body = _GROUP_HEAD.pack(_ADD, _ALL, number) + b"".join(buckets)
    return _HEADER.pack(_VERSION, _GROUP_MOD, _HEADER.size + len(body), 0) + body


def bucket(actions: Iterable[bytes]) -> bytes:
    """A bucket of a group, with its actions in their order of execution."""
    listed = b"".join(actions)
    return _BUCKET_HEAD.pack(_BUCKET_HEAD.size + len(listed), 0, _ANY, _ANY) + listed


def group(number: int) -> bytes:
    """OFPAT_GROUP."""
    return struct.pack(">HHI", _GROUP, 8, number)


def output(port: int) -> bytes:
    """OFPAT_OUTPUT."""
    return struct.pack(">HHIHxxxxxx", _OUTPUT, 16, port, 0)


def tunnel_encap(vni: int, port: int, local: Endpoint, remote: Address, remote_mac: bytes) -> bytes:
    """TUNNEL_ENCAP: later outputs go into VXLAN to an address, or a group."""
    head = struct.pack(">BBBxHI", remote.version, 0, _TTL, port, vni)
    return _own(1, head + local.mac + remote_mac + local.address.packed + remote.packed)


def tunnel_decap() -> bytes:
    """TUNNEL_DECAP: the frame becomes the one in its tunnel."""
    return _own(2, bytes(6))


def encrypt(association: int) -> bytes:
    """ENCRYPT: TUNNEL_ENCAP's packets are sealed by this association."""
    return _own(3, struct.pack(">HI", 0, association))


def decrypt(association: int) -> bytes:
    """DECRYPT by this association; 0: by the one of the frame's SPI."""
    return _own(4, struct.pack(">HI", 0, association))


def answer_nd(mac: bytes) -> bytes:
    """ANSWER_ND: a neighbour solicitation becomes the advertisement: the target is at ``mac``."""
    return _own(6, mac)


def answer_arp(mac: bytes) -> bytes:
    """ANSWER_ARP: an ARP request becomes the reply: the target is at ``mac``."""
    return _own(7, mac)


def group_mac(group: Address) -> bytes:
    """The MAC address of a multicast group (RFC 1112 section 6.4, RFC 2464 section 7)."""
    if isinstance(group, IPv4Address):
        return (0x01005E000000 | int(group) & 0x7FFFFF).to_bytes(6)
    return b"\x33\x33" + group.packed[-4:]


def _own(subtype: int, rest: bytes) -> bytes:
    return struct.pack(">HHIH", _EXPERIMENTER, 10 + len(rest), _CVSW, subtype) + rest
