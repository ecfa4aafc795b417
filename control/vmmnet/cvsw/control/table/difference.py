# SPDX-License-Identifier: GPL-2.0-or-later
"""From the entries that a NIC has to those that it should have, in few frames.

The order lets no frame leave meanwhile that should not: flows that pass frames are deleted
first, then flows that drop are set, and flows that pass frames last, the most specific ones
first. A group exists before and as long as something names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...wire.message import PAYLOAD_MAX, Type
from .entry import STAY, Entry, deleting_order, setting_order
from .flow import Flow
from .group import Group


@dataclass(frozen=True)
class Batch:
    """Entries of one command."""

    type: Type
    entries: list[Entry]

    def payload(self) -> bytes:
        """The FLOW_MODs and GROUP_MODs, concatenated."""
        return b"".join(_message(self.type, entry) for entry in self.entries)


def difference(
    has: Mapping[bytes, Entry],
    wanted: Mapping[bytes, Entry],
    refused: Mapping[bytes, Entry | None],
) -> tuple[list[Entry], list[Entry]]:
    """Entries to delete and entries to set, each in order.

    A refused entry is not tried again. The flow that the NIC has in place of a refused one
    is deleted; groups stay, as flows name them.
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
    """As few commands as possible: deletions, settings, and the deletions that follow these."""
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
