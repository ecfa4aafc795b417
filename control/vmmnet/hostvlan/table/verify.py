# SPDX-License-Identifier: GPL-2.0-or-later
"""Look at every slot and record of a table: what a reader relies on, and what is counted."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from . import layout, mac
from .mapped import Mapped

# Of a MAC address: it is not one station's.
_GROUP = 1 << 40


class Damage(NamedTuple):
    """A slot that is not as a writer left it."""

    slot: int
    #: Whose it is, or was; None: that cannot be told.
    mac: int | None
    what: str

    def __str__(self) -> str:
        """In a sentence, for people."""
        owner = f"{mac.text(self.mac)}: " if self.mac is not None else ""
        return f"slot {self.slot}: {owner}{self.what}"


class Census(NamedTuple):
    """What is in a table, counted."""

    macs: int
    #: Slots with a key, also those of MACs that have no value any more.
    keys: int
    #: The word behind the last record that is in force.
    words_end: int
    #: What is wrong, by slot.
    damages: tuple[Damage, ...]


def census(table: Mapped) -> Census:
    """Check all slots and records and count them.

    A value without key is no fault: a writer was killed between the two.
    """
    keys, values = table.slots()
    damages: dict[int, Damage] = {}
    macs = words_end = 0
    whole = layout.sealed(keys, values) == (keys, values)
    shift, inline, none = layout.KIND_SHIFT, layout.INLINE, layout.NONE
    for slot, (key, value) in enumerate(zip(keys, values, strict=True)):
        if not key:
            continue
        kind = value >> shift
        macs += kind != none
        # As most are, and a million of them.
        if whole and kind == inline and not key & _GROUP:
            continue
        try:
            words_end = max(words_end, _checked(table, key, value))
        except layout.Damaged as error:
            damages[slot] = Damage(slot, _owner(key, value), str(error))
    for slot, what in misplaced(keys, table.geometry.buckets):
        damages.setdefault(slot, Damage(slot, _owner(keys[slot], values[slot]), what))
    found = tuple(damages[slot] for slot in sorted(damages))
    return Census(macs, len(keys) - keys.count(0), words_end, found)


def _checked(table: Mapped, key: int, value: int) -> int:
    """The word behind the record of a slot, 0 where it has none; raises layout.Damaged."""
    content = table.content(key, value)
    if not isinstance(content, bytes):
        return 0
    layout.decode(layout.mac_of(key), content)
    return layout.number(value) + layout.sealed_words(content)


def _owner(key: int, value: int) -> int | None:
    """Whose slot it is.  Of a damaged key, whose it was, if a single bit is wrong."""
    if key == layout.key_of(layout.mac_of(key)):
        return layout.mac_of(key)
    for bit in range(64):
        was = key ^ 1 << bit
        with contextlib.suppress(layout.Damaged):
            layout.check_slot(was, value)
            return layout.mac_of(was)
    return None


def misplaced(keys: array[int], buckets: int) -> Iterator[tuple[int, str]]:
    """Each key that is not found where it is, and why."""
    firsts = layout.first_buckets(layout.macs_of(keys), buckets)
    last = layout.SLOTS - 1
    seen: set[int] = set()
    unique = len(set(keys)) == len(keys) - max(0, keys.count(0) - 1)
    for slot, (key, first) in enumerate(zip(keys, firsts, strict=True)):
        if not key:
            continue
        bucket = slot >> 2
        if slot & last and not keys[slot - 1]:
            yield slot, "it is behind an empty slot"
        elif bucket != first and not _reached(keys, buckets, first, bucket):
            yield slot, "it is not where it is looked for"
        elif not unique and key in seen:
            yield slot, "it is in two slots"
        if not unique:
            seen.add(key)


def _reached(keys: array[int], buckets: int, first: int, bucket: int) -> bool:
    """Whether a search from one bucket comes to the other: all between are full."""
    distance = (bucket - first) % buckets
    if distance >= layout.PROBE_MAX:
        return False
    between = ((first + step) % buckets for step in range(distance))
    return all(keys[layout.SLOTS * each + layout.SLOTS - 1] for each in between)
