# SPDX-License-Identifier: GPL-2.0-or-later
"""Look at every slot and record of a table: what a reader relies on, and what is counted."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from . import layout, mac

if TYPE_CHECKING:
    from .table import Table


class Census(NamedTuple):
    """What is in a table, counted."""

    macs: int
    #: Slots with a key, also those of MACs that have no value any more.
    keys: int
    #: The word behind the last record that is in force.
    words_end: int


def census(table: Table) -> Census:
    """Check all slots and records and count them; raises layout.Damaged with the first fault.

    A value without key is no fault: a writer was killed between the two.
    """
    keys, values = table.slots()
    check_places(keys, table.geometry.buckets)
    macs = words_end = 0
    for key, value in zip(keys, values, strict=True):
        if not key or not value:
            continue
        macs += 1
        if value >> 32 != layout.INLINE_HIGH:
            words_end = max(words_end, _record_end(table, key, value))
    return Census(macs, len(keys) - keys.count(0), words_end)


def check_places(keys: array[int], buckets: int) -> None:
    """Check that each key is a MAC and found where it is; raises layout.Damaged."""
    firsts = layout.first_buckets(keys, buckets)
    forbidden, last = mac.FORBIDDEN, layout.SLOTS - 1
    for slot, (key, first) in enumerate(zip(keys, firsts, strict=True)):
        if not key:
            continue
        if key & forbidden:
            raise layout.Damaged(f"slot {slot} has the key {key:#018x}, which is no port's MAC")
        bucket = slot >> 2
        if slot & last and not keys[slot - 1]:
            raise layout.Damaged(f"slot {slot}: {mac.text(key)} is behind an empty slot")
        if bucket != first and not _reached(keys, buckets, first, bucket):
            raise layout.Damaged(f"slot {slot}: {mac.text(key)} is not where it is looked for")
    _check_unique(keys)


def _reached(keys: array[int], buckets: int, first: int, bucket: int) -> bool:
    """Whether a search from one bucket comes to the other: all between are full."""
    distance = (bucket - first) % buckets
    if distance >= layout.PROBE_MAX:
        return False
    between = ((first + step) % buckets for step in range(distance))
    return all(keys[layout.SLOTS * each + layout.SLOTS - 1] for each in between)


def _check_unique(keys: array[int]) -> None:
    seen = set(keys)
    if len(seen) == len(keys) - max(0, keys.count(0) - 1):
        return
    for key in keys:
        if key and key not in seen:
            raise layout.Damaged(f"{mac.text(key)} is in two slots")
        seen.discard(key)


def _record_end(table: Table, key: int, value: int) -> int:
    """The word behind the record of a value; 0 where it has none."""
    try:
        content = table.content(value)
        if not isinstance(content, bytes):
            return 0
        layout.decode(key, content)
    except layout.Damaged as error:
        raise layout.Damaged(f"{mac.text(key)}: {error}") from None
    return layout.record_offset(value) + len(content) // layout.WORD_SIZE
