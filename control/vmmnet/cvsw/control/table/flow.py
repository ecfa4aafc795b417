# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows as OpenFlow 1.3's FLOW_MODs, and when two are the same.

A NIC lists its flows in a normal form: fields in the order of their numbers, no mask of
all ones. Two messages are the same flow if ``key`` is equal, and have the same effect if
``rest`` is.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass, field

# ofp_flow_mod (1.3.5 section 7.3.4.1): header, cookie and its mask, table, command, two
# timeouts, priority, buffer, out_port, out_group, flags.
_FLOW_MOD = struct.Struct(">BBHIQQBBHHHIIIHxx")
# Its members that are compared, and the octets of the match.
_READ = struct.Struct(">BBH4xQ10xHHH12xH4xH")
_FIELDS = struct.Struct(">HH")
_ABOUT = struct.Struct(">QHHB")
_MATCH = _FLOW_MOD.size
_OXM = struct.Struct(">HBB")
_VERSION, _TYPE = 4, 14
_DELETE_STRICT = 4
_NO_BUFFER = _ANY = 0xFFFFFFFF
_SEND_FLOW_REM = 1
_APPLY_ACTIONS, _OUTPUT = 4, 0
_CONTROLLER = b"\xff\xff\xff\xfd"
# OFPAT_GROUP, of 8 octets.
_GROUP = bytes.fromhex("00160008")
# An experimenter's action of 16 octets, of CVSW (include/vmmnet/cvsw-action.h).
_OURS, _ENCRYPT, _DECRYPT = bytes.fromhex("ffff001000525400"), b"\0\3", b"\0\4"
_OPENFLOW_BASIC, _VLAN_VID = 0x8000, 6
# A cache of parsed flows: NICs of a tenant share many, and each is parsed as had and as wanted.
_READ_MAX = 8192
_LISTS_MAX = 1024


class BadFlow(ValueError):
    """The octets are no FLOW_MOD of OpenFlow 1.3."""


@dataclass(frozen=True)
class Flow:
    """One flow of a NIC's table."""

    message: bytes = field(compare=False)
    #: Priority and match: unique in a table.
    key: bytes
    #: The rest: cookie, timeouts, actions.
    rest: bytes
    #: Numbers of the associations that it names.
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


@functools.lru_cache(_READ_MAX)
def read(message: bytes) -> Flow:
    """One FLOW_MOD. Raises BadFlow."""
    try:
        version, kind, size, cookie, idle, hard, priority, flags, match_len = _READ.unpack_from(
            message
        )
        if (version, kind, size) != (_VERSION, _TYPE, len(message)):
            raise BadFlow(f"version {version}, type {kind}, {size} octets: no FLOW_MOD")
        fields = _oxms(message[_MATCH + 4 : _MATCH + match_len])
        actions, numbers = _told(message[_MATCH + (match_len + 7) // 8 * 8 :])
    except (struct.error, IndexError) as error:
        raise BadFlow(f"a FLOW_MOD is cut: {error}") from None
    fields.sort()
    about = _ABOUT.pack(cookie, idle, hard, flags & _SEND_FLOW_REM)
    return Flow(
        message,
        message[30:32] + b"".join(fields),
        about + actions,
        numbers,
        priority,
        not actions,
    )


@functools.lru_cache(_LISTS_MAX)
def _told(instructions: bytes) -> tuple[bytes, tuple[int, ...]]:
    """The actions, and the numbers that they name; cached, as many flows share them."""
    actions = _actions(instructions)
    numbers = [name for action in actions if (name := number_named(action)) is not None]
    return b"".join(actions), tuple(numbers)


def actions_of(flow: Flow) -> list[bytes]:
    """Its actions, in order."""
    return _actions(flow.message[_MATCH + _match_size(flow.message) :])


def fields_of(flow: Flow) -> list[bytes]:
    """The fields of its match, as OXM has them."""
    return split_oxms(flow.key[2:])


def cookie_of(flow: Flow) -> int:
    """Its cookie."""
    cookie: int = _FLOW_MOD.unpack_from(flow.message)[4]
    return cookie


def _match_size(message: bytes) -> int:
    _, length = _FIELDS.unpack_from(message, _MATCH)
    return int(length + 7) // 8 * 8


def split_oxms(octets: bytes) -> list[bytes]:
    """Split OXM fields. Raises BadFlow or IndexError."""
    at, end, head, parts = 0, len(octets), _OXM.size, []
    while at < end:
        after = at + head + octets[at + 3]
        parts.append(octets[at:after])
        at = after
    if at != end:
        raise BadFlow("a field is cut")
    return parts


def _oxms(octets: bytes) -> list[bytes]:
    """Fields in normal form: without masks of all ones, and without masked bits."""
    return [_unmasked(oxm) if oxm[2] & 1 else oxm for oxm in split_oxms(octets)]


def _unmasked(oxm: bytes) -> bytes:
    """A field without a mask of all ones; nothing if the mask is all zeros."""
    kind, number, size = _OXM.unpack_from(oxm)
    half = size // 2
    value, mask = oxm[4 : 4 + half], oxm[4 + half :]
    all_ones = (
        b"\x1f\xff" if (kind, number >> 1) == (_OPENFLOW_BASIC, _VLAN_VID) else b"\xff" * half
    )
    if mask == all_ones:
        return _OXM.pack(kind, number & ~1, half) + value
    if not any(mask):
        return b""
    masked = bytes(a & b for a, b in zip(value, mask, strict=True))
    return _OXM.pack(kind, number, size) + masked + mask


def _items(octets: bytes) -> list[tuple[int, bytes]]:
    at, items = 0, []
    while at < len(octets):
        kind, size = _FIELDS.unpack_from(octets, at)
        if size < 8:
            raise BadFlow(f"an instruction or action of {size} octets")
        items.append((kind, octets[at : at + size]))
        at += size
    if at != len(octets):
        raise BadFlow("an instruction or action is cut")
    return items


def _actions(instructions: bytes) -> list[bytes]:
    """All actions; an instruction that NICs never list stands for itself."""
    result = []
    for kind, instruction in _items(instructions):
        if kind != _APPLY_ACTIONS:
            result.append(instruction)
            continue
        result += list_of(instruction[8:])
    return result


def list_of(octets: bytes) -> list[bytes]:
    """The actions of a list in normal form. Raises BadFlow."""
    return [_output(each) if kind == _OUTPUT else each for kind, each in _items(octets)]


def _output(action: bytes) -> bytes:
    """``max_len`` matters only for output to the controller."""
    return action if action[4:8] == _CONTROLLER else action[:8] + bytes(len(action) - 8)


def number_named(action: bytes) -> int | None:
    """The association's number, for ENCRYPT or DECRYPT by number."""
    if action[:8] != _OURS or action[8:10] not in (_ENCRYPT, _DECRYPT):
        return None
    return int.from_bytes(action[12:16]) or None


def group_named(action: bytes) -> int | None:
    """The group's number, for GROUP."""
    return int.from_bytes(action[4:8]) if action[:4] == _GROUP else None
