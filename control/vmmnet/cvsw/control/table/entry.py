# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of a NIC's table: flows, and the groups that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import flow, group
from .flow import BadFlow, Flow
from .group import Group

Entry = Flow | Group

#: From this value of deleting_order() on, entries are deleted after others are set.
STAY = 1
_HEADER_LEN, _GROUP_MOD = 8, bytes([group.TYPE])


def read(message: bytes) -> Entry:
    """Parse one FLOW_MOD or GROUP_MOD. Raises BadFlow."""
    return group.read(message) if message[1:2] == _GROUP_MOD else flow.read(message)


def read_all(messages: bytes) -> Iterator[Entry]:
    """Parse concatenated FLOW_MODs and GROUP_MODs. Raises BadFlow."""
    at = 0
    while at < len(messages):
        size = int.from_bytes(messages[at + 2 : at + 4], "big")
        if size < _HEADER_LEN:
            raise BadFlow(f"a message of {size} octets")
        yield read(messages[at : at + size])
        at += size


def table(messages: Iterable[bytes]) -> dict[bytes, Entry]:
    """Entries by their keys. Raises BadFlow."""
    return {each.key: each for each in map(read, messages)}


def count_flows(entries: Iterable[Entry]) -> int:
    """The number of flows among them."""
    return sum(isinstance(each, Flow) for each in entries)


def setting_order(entry: Entry) -> tuple[int, int]:
    """Sort key: the least is set first.

    Flows that drop come first, then groups (chained ones before those that go on to them),
    then flows that pass frames, the most specific ones first.
    """
    if isinstance(entry, Group):
        return (2 if entry.groups else 1), entry.number
    return (0 if entry.drops else 3), -entry.priority


def deleting_order(entry: Entry) -> int:
    """Sort key: the least is deleted first.

    Flows that pass frames go first. From STAY on, new entries are set before: flows that
    drop, and groups (those that go on to others first).
    """
    if isinstance(entry, Group):
        return STAY + 1 if entry.groups else STAY + 2
    return STAY if entry.drops else 0
