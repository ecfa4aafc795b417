# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups as OpenFlow 1.3's GROUP_MODs, and when two are the same.

A NIC lists a group as it was set: a bucket's actions are in their order of execution.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .flow import BadFlow, group_named, list_of, number_named

# ofp_group_mod (1.3.5 section 7.3.4.3): header, command, type, number.
_GROUP_MOD = struct.Struct(">BBHIHBxI")
_BUCKET = struct.Struct(">HHII4x")
_VERSION, TYPE = 4, 15
_MODIFY, _DELETE = 1, 2


@dataclass(frozen=True)
class Group:
    """One group of a NIC."""

    message: bytes = field(compare=False)
    #: Unique among groups and flows.
    key: bytes
    #: The rest: its type and its buckets.
    rest: bytes
    #: Numbers of the associations that it names.
    numbers: tuple[int, ...] = field(compare=False)
    #: Number of the group.
    number: int = field(compare=False)
    #: Numbers of the groups that its buckets go on to.
    groups: tuple[int, ...] = field(compare=False)
    #: By itself it neither passes nor drops frames.
    drops: ClassVar[bool] = False

    def deletion(self) -> bytes:
        """The GROUP_MOD that deletes it."""
        return _GROUP_MOD.pack(_VERSION, TYPE, _GROUP_MOD.size, 0, _DELETE, 0, self.number)

    def modification(self) -> Group:
        """The same, as the message that changes the group of this number."""
        changed = self.message[:8] + struct.pack(">H", _MODIFY) + self.message[10:]
        return replace(self, message=changed)


def read(message: bytes) -> Group:
    """Parse a GROUP_MOD that adds a group. Raises BadFlow."""
    try:
        version, kind, size, _, _, what, number = _GROUP_MOD.unpack_from(message)
        if (version, kind, size) != (_VERSION, TYPE, len(message)):
            raise BadFlow(f"version {version}, type {kind}, {size} octets: no GROUP_MOD")
        buckets = _buckets(message)
    except (struct.error, IndexError) as error:
        raise BadFlow(f"a GROUP_MOD is cut: {error}") from None
    actions = [action for bucket in buckets for action in bucket]
    rest = b"".join(struct.pack(">I", len(bucket)) + b"".join(bucket) for bucket in buckets)
    numbers = [name for action in actions if (name := number_named(action)) is not None]
    groups = [name for action in actions if (name := group_named(action)) is not None]
    return Group(
        message,
        b"group" + struct.pack(">I", number),
        bytes([what]) + rest,
        tuple(numbers),
        number,
        tuple(groups),
    )


def buckets_of(group: Group) -> list[list[bytes]]:
    """The actions of each bucket."""
    return _buckets(group.message)


def is_indirect(group: Group) -> bool:
    """Whether its type is INDIRECT, not ALL."""
    return group.rest[0] == 2


def _buckets(message: bytes) -> list[list[bytes]]:
    at, buckets = _GROUP_MOD.size, []
    while at < len(message):
        size, *_ = _BUCKET.unpack_from(message, at)
        if size < _BUCKET.size or at + size > len(message):
            raise BadFlow(f"a bucket of {size} octets")
        buckets.append(list_of(message[at + _BUCKET.size : at + size]))
        at += size
    return buckets
