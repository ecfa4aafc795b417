# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows as OpenFlow 1.3's FLOW_MODs: which are the same, and which say the same.

A NIC tells its flows in its own words: fields in the order of their numbers, no mask
that masks nothing. Two messages are the same flow if key() is equal, and do the same
if the rest is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# ofp_flow_mod (1.3.5 section 7.3.4.1): header, cookie and its mask, table, command, two
# timeouts, priority, buffer, out_port, out_group, flags.
_FLOW_MOD = struct.Struct(">BBHIQQBBHHHIIIHxx")
_FIELDS = struct.Struct(">HH")
_OXM = struct.Struct(">HBB")
_VERSION, _TYPE = 4, 14
_DELETE_STRICT = 4
_NO_BUFFER = _ANY = 0xFFFFFFFF
_SEND_FLOW_REM = 1
_APPLY_ACTIONS, _OUTPUT, _EXPERIMENTER_TYPE = 4, 0, 0xFFFF
_CONTROLLER = 0xFFFFFFFD
_OURS, _ENCRYPT, _DECRYPT = 0x00525400, 3, 4
_OPENFLOW_BASIC, _VLAN_VID = 0x8000, 6


class BadFlow(ValueError):
    """Octets are no FLOW_MOD of OpenFlow 1.3."""


@dataclass(frozen=True)
class Flow:
    """One flow of a NIC's table."""

    message: bytes = field(compare=False)
    #: Priority and match: a table has one flow of each.
    key: bytes
    #: All else: cookie, timeouts, actions.
    rest: bytes
    #: Of the associations that it names.
    numbers: tuple[int, ...] = field(compare=False)
    priority: int
    drops: bool

    def deletion(self) -> bytes:
        """The FLOW_MOD that deletes it."""
        start = _FLOW_MOD.size
        match = self.message[start : start + _match_size(self.message)]
        return (
            _FLOW_MOD.pack(
                *(_VERSION, _TYPE, start + len(match), 0, 0, 0, 0, _DELETE_STRICT, 0, 0),
                *(self.priority, _NO_BUFFER, _ANY, _ANY, 0),
            )
            + match
        )


def read(message: bytes) -> Flow:
    """One FLOW_MOD. Raises BadFlow."""
    try:
        head = _FLOW_MOD.unpack_from(message)
        version, kind, length = head[:3]
        if (version, kind, length) != (_VERSION, _TYPE, len(message)):
            raise BadFlow(f"a message of version {version}, type {kind}, {length} octets")
        cookie, (idle, hard, priority), flags = head[4], head[8:11], head[14]
        start = _FLOW_MOD.size
        _, match_len = _FIELDS.unpack_from(message, start)
        fields = sorted(_oxms(message[start + 4 : start + match_len]))
        actions = list(_actions(message[start + _match_size(message) :]))
    except struct.error as error:
        raise BadFlow(f"a FLOW_MOD is cut: {error}") from None
    about = struct.pack(">QHHB", cookie, idle, hard, flags & _SEND_FLOW_REM)
    return Flow(
        message,
        struct.pack(">H", priority) + b"".join(fields),
        about + b"".join(actions),
        tuple(filter(None, map(_number, actions))),
        priority,
        not actions,
    )


def read_all(messages: bytes) -> Iterator[Flow]:
    """FLOW_MODs, back to back. Raises BadFlow."""
    at = 0
    while at < len(messages):
        size = int.from_bytes(messages[at + 2 : at + 4], "big")
        if size < _FLOW_MOD.size:
            raise BadFlow(f"a FLOW_MOD of {size} octets")
        yield read(messages[at : at + size])
        at += size


def table(messages: Iterable[bytes]) -> dict[bytes, Flow]:
    """Flows by their keys. Raises BadFlow."""
    flows = map(read, messages)
    return {flow.key: flow for flow in flows}


def actions_of(flow: Flow) -> list[bytes]:
    """Its actions, one after the other."""
    return list(_actions(flow.message[_FLOW_MOD.size + _match_size(flow.message) :]))


def fields_of(flow: Flow) -> list[bytes]:
    """The fields of its match, as OXM has them."""
    return list(_split_oxms(flow.key[2:]))


def cookie_of(flow: Flow) -> int:
    """Its cookie."""
    cookie: int = _FLOW_MOD.unpack_from(flow.message)[4]
    return cookie


def _match_size(message: bytes) -> int:
    _, length = _FIELDS.unpack_from(message, _FLOW_MOD.size)
    return int(length + 7) // 8 * 8


def _split_oxms(octets: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(octets):
        size = _OXM.size + _OXM.unpack_from(octets, at)[2]
        yield octets[at : at + size]
        at += size


def _oxms(octets: bytes) -> Iterator[bytes]:
    """Fields without masks that mask nothing, and without what is masked away."""
    for oxm in _split_oxms(octets):
        kind, number, size = _OXM.unpack_from(oxm)
        if not number & 1:
            yield oxm
            continue
        half = size // 2
        value, mask = oxm[4 : 4 + half], oxm[4 + half :]
        all_ones = b"\x1f\xff" if (kind, number >> 1) == (_OPENFLOW_BASIC, _VLAN_VID) else None
        if mask == (all_ones or b"\xff" * half):
            yield _OXM.pack(kind, number & ~1, half) + value
        elif any(mask):
            masked = bytes(a & b for a, b in zip(value, mask, strict=True))
            yield _OXM.pack(kind, number, size) + masked + mask


def _items(octets: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(octets):
        kind, size = _FIELDS.unpack_from(octets, at)
        if size < 8:
            raise BadFlow(f"an instruction or action of {size} octets")
        yield kind, octets[at : at + size]
        at += size


def _actions(instructions: bytes) -> Iterator[bytes]:
    for kind, instruction in _items(instructions):
        if kind != _APPLY_ACTIONS:
            # NICs tell none: such a flow differs from all that they tell.
            yield instruction
            continue
        for action, octets in _items(instruction[8:]):
            yield _output(octets) if action == _OUTPUT else octets


def _output(action: bytes) -> bytes:
    """How much of a frame goes out counts for the controller alone."""
    is_controller = action[4:8] == struct.pack(">I", _CONTROLLER)
    return action if is_controller else action[:8] + bytes(len(action) - 8)


def _number(action: bytes) -> int:
    """That of the association that it names, or 0."""
    kind, size, experimenter, subtype = struct.unpack_from(">HHIH", action.ljust(10, b"\0"))
    is_ours = (kind, size, experimenter) == (_EXPERIMENTER_TYPE, 16, _OURS)
    return int.from_bytes(action[12:16]) if is_ours and subtype in (_ENCRYPT, _DECRYPT) else 0
