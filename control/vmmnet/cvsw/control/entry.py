# SPDX-License-Identifier: GPL-2.0-or-later
"""What a NIC's table has: flows, and the groups that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import flow, group
from .flow import BadFlow, Flow
from .group import Group

Entry = Flow | Group

#: From here on in deleting_order() entries go behind what is set.
STAY = 1
_HEADER_LEN, _GROUP_MOD = 8, bytes([group.TYPE])


def read(message: bytes) -> Entry:
    """One FLOW_MOD or GROUP_MOD. Raises BadFlow."""
    return group.read(message) if message[1:2] == _GROUP_MOD else flow.read(message)


def read_all(messages: bytes) -> Iterator[Entry]:
    """FLOW_MODs and GROUP_MODs, back to back. Raises BadFlow."""
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
    """How many of them are flows."""
    return sum(isinstance(each, Flow) for each in entries)


def setting_order(entry: Entry) -> tuple[int, int]:
    """What is to be set first is the least.

    First come the flows that drop, then groups, those before that others go on to, and
    then the flows that pass frames on, the most particular ones before the general ones.
    """
    if isinstance(entry, Group):
        return (2 if entry.groups else 1), entry.number
    return (0 if entry.drops else 3), -entry.priority


def deleting_order(entry: Entry) -> int:
    """What is to be deleted first is the least.

    First go the flows that pass frames on. From STAY on what is new is set before: flows
    that drop go then, and groups, those that go on to others before these.
    """
    if isinstance(entry, Group):
        return STAY + 1 if entry.groups else STAY + 2
    return STAY if entry.drops else 0
