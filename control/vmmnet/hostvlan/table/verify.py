# SPDX-License-Identifier: GPL-2.0-or-later
"""Check every slot and record of a table for what readers rely on, and count them."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from vmmnet.values import mac

from . import layout
from .mapped import Mapped

# The group bit of a MAC address: it is not the address of one station.
_GROUP = 1 << 40


class Damage(NamedTuple):
    """A slot with a content that no writer stored."""

    slot: int
    #: The MAC that owns or owned the slot; None: unknown.
    mac: int | None
    what: str

    def __str__(self) -> str:
        """In a sentence, for people."""
        owner = f"{mac.text(self.mac)}: " if self.mac is not None else ""
        return f"slot {self.slot}: {owner}{self.what}"


class Census(NamedTuple):
    """What a table has: counts and damage."""

    macs: int
    #: Slots with a key, those of removed MACs included.
    keys: int
    #: The first word after the last record in use.
    words_end: int
    #: What is wrong, sorted by slot.
    damages: tuple[Damage, ...]


def census(table: Mapped) -> Census:
    """Check all slots and records and count them.

    A value without a key is not a fault: a writer was killed between the two stores.
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
        # A short way for most slots: there can be a million of them.
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
    """The first word after a slot's record, 0 if it has none; raises layout.Damaged."""
    content = table.content(key, value)
    if not isinstance(content, bytes):
        return 0
    layout.decode(layout.mac_of(key), content)
    return layout.number(value) + layout.sealed_words(content)


def _owner(key: int, value: int) -> int | None:
    """The MAC that owns a slot.  A key with one wrong bit is corrected; else None."""
    if key == layout.key_of(layout.mac_of(key)):
        return layout.mac_of(key)
    for bit in range(64):
        was = key ^ 1 << bit
        with contextlib.suppress(layout.Damaged):
            layout.check_slot(was, value)
            return layout.mac_of(was)
    return None


def misplaced(keys: array[int], buckets: int) -> Iterator[tuple[int, str]]:
    """Each key that a search does not find, and why."""
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
    """Whether a search from one bucket reaches the other: all buckets between are full."""
    distance = (bucket - first) % buckets
    if distance >= layout.PROBE_MAX:
        return False
    between = ((first + step) % buckets for step in range(distance))
    return all(keys[layout.SLOTS * each + layout.SLOTS - 1] for each in between)
