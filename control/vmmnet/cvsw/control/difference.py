# SPDX-License-Identifier: GPL-2.0-or-later
"""From the entries that a NIC has to those that it should have, in few frames.

The order is such that nothing leaves meanwhile that should not: what passes frames on
goes first, then come the flows that drop, and those that pass frames on last, the most
particular ones before the general ones. A group is there before what names it comes, and
as long as that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..wire.message import PAYLOAD_MAX, Type
from .entry import STAY, Entry, deleting_order, setting_order
from .flow import Flow
from .group import Group


@dataclass(frozen=True)
class Batch:
    """Entries of one command."""

    type: Type
    entries: list[Entry]

    def payload(self) -> bytes:
        """FLOW_MODs and GROUP_MODs, back to back."""
        return b"".join(_message(self.type, entry) for entry in self.entries)


def difference(
    has: Mapping[bytes, Entry],
    wanted: Mapping[bytes, Entry],
    refused: Mapping[bytes, Entry | None],
) -> tuple[list[Entry], list[Entry]]:
    """What is to be deleted and what to be set, each in its order.

    An entry that was refused is not tried again. A flow that the NIC has in the place of
    one that it has refused goes; groups stay, as flows name them.
    """

    def goes(key: bytes, each: Entry) -> bool:
        if key not in wanted:
            return key not in refused
        return isinstance(each, Flow) and refused.get(key) == wanted[key] != each

    deleted = [each for key, each in has.items() if goes(key, each)]
    changed = [
        each.modification() if isinstance(each, Group) and key in has else each
        for key, each in wanted.items()
        if has.get(key) != each and refused.get(key) != each
    ]
    deleted.sort(key=deleting_order)
    changed.sort(key=setting_order)
    return deleted, changed


def batches(deleted: Iterable[Entry], changed: Iterable[Entry]) -> Iterator[Batch]:
    """As few commands as hold them: deletions, what is set, and the deletions that wait for it."""
    early, late = list[Entry](), list[Entry]()
    for entry in deleted:
        (early if deleting_order(entry) < STAY else late).append(entry)
    yield from _packed(Type.DELETE_ENTRY, early)
    yield from _packed(Type.SET_ENTRY, changed)
    yield from _packed(Type.DELETE_ENTRY, late)


def _packed(kind: Type, entries: Iterable[Entry]) -> Iterator[Batch]:
    room, some = 0, list[Entry]()
    for entry in entries:
        size = len(_message(kind, entry))
        if some and size > room:
            yield Batch(kind, some)
            some = []
        if not some:
            room = PAYLOAD_MAX
        some.append(entry)
        room -= size
    if some:
        yield Batch(kind, some)


def _message(kind: Type, entry: Entry) -> bytes:
    return entry.deletion() if kind == Type.DELETE_ENTRY else entry.message
