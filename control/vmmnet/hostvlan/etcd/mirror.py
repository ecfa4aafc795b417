# SPDX-License-Identifier: GPL-2.0-or-later
"""The target content of a host's table, computed from the store's events: pure.

Theory of operation

A host needs the members of its ports' LNIDs and those of the global LNID: frames of
other MACs cannot pass its filters.  ``wanted()`` returns the topics of the store that
have them: the MACs of the ports themselves, whose entries have their LNIDs, and those
LNIDs; or every MAC if one of the ports is in the global LNID, because such a port
accepts frames from all MACs in the table.

Each topic is loaded once and then follows its events.  A MAC can be in several
topics, and the events of one transaction arrive topic by topic: for example, first
that MAC 5 has left LNID 1, then that it is in LNID 2 with a new entry.  The entry with
the highest revision is valid while any topic has the MAC.  Each change of a MAC writes
all of its keys, so the last event of a transaction brings the new entry to every
topic; until then, the old entry is valid.  There is never a mixture of both.

``resume()`` returns the revision from which each topic continues after a lost
connection.  Older events come from a watch that began before the topic was loaded,
and the loaded entries include them.  ``rewind()`` lets all topics continue from an
earlier revision, which is right if nothing has changed since then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vmmnet.etcd.client import Event, KeyValue

from ..table.entry import Entry
from ..table.lnid import GLOBAL
from .keys import ALL, ASSIGNED, BadValue, Kind, Topic, decode, mac_of


@dataclass(slots=True)
class _Known:
    """A MAC's newest entry, and the topics that have it."""

    revision: int
    entry: Entry
    topics: frozenset[Topic]


class Mirror:
    """The part of the store that one host needs."""

    def __init__(self, ports: frozenset[int] = frozenset()) -> None:
        #: MACs of the ports on this host.
        self.ports = ports
        #: MACs that the store assigns to this host, with the revisions of the assignments.
        self.assigned: dict[int, int] = {}
        #: Sentences about values that are not valid.
        self.complaints: list[str] = []
        #: The newest revision that was received.
        self.revision = 0
        #: The newest revision of an event or of a loaded topic: what is known depends on
        #: the store's history up to here.
        self.newest = 0
        self._known: dict[int, _Known] = {}
        self._next: dict[Topic, int] = {}
        self._members: dict[Topic, set[int]] = {}
        # Sets of topics, shared: very many MACs are in the same topics.
        self._sets: dict[frozenset[Topic], frozenset[Topic]] = {}
        self._touched: set[int] = set()

    # Topics

    def wanted(self) -> set[Topic]:
        """The topics that this host needs, as far as its ports' LNIDs are known."""
        ports = self.ports | self.assigned.keys()
        lnids = {GLOBAL}
        for mac in ports:
            known = self._known.get(mac)
            if known is not None:
                if GLOBAL in known.entry.lnids:
                    return {ASSIGNED, ALL}
                lnids.update(known.entry.lnids)
        topics = {ASSIGNED, *(Topic(Kind.LNID, lnid) for lnid in lnids)}
        # If every MAC is loaded, a port's MAC needs no topic.
        return topics | {Topic(Kind.MAC, mac) for mac in ports}

    def missing(self) -> list[Topic]:
        """The wanted topics that are not loaded yet, in a stable order."""
        return sorted(self.wanted() - self._next.keys(), key=_order)

    def resume(self) -> list[tuple[Topic, int]]:
        """The loaded topics, and the revision from which each continues."""
        return sorted(self._next.items(), key=lambda item: _order(item[0]))

    def rewind(self, revision: int) -> None:
        """Let all topics continue after this revision, which is not below ``newest``."""
        self.revision = min(self.revision, revision)
        for topic, start in self._next.items():
            self._next[topic] = min(start, revision + 1)

    # Events of the store

    def load(self, topic: Topic, revision: int, keys: Iterable[KeyValue]) -> None:
        """Load a whole topic as it was at a revision."""
        self._next[topic] = revision + 1
        self.revision = max(self.revision, revision)
        self.newest = max(self.newest, revision)
        self._members.setdefault(topic, set())
        for kv in keys:
            self._put(topic, kv.key, kv.value, kv.mod_revision)

    def apply(self, topic: Topic, revision: int, events: Iterable[Event]) -> None:
        """Take the events of one message; without events, the topic is current to ``revision``."""
        if topic not in self._next:
            return
        first, last = self._next[topic], 0
        for event in events:
            if event.mod_revision < first:
                continue
            last = event.mod_revision
            if event.value is None:
                self._delete(topic, event.key)
            else:
                self._put(topic, event.key, event.value, event.mod_revision)
        self.newest = max(self.newest, last)
        last = last or revision
        self._next[topic] = max(first, last + 1)
        self.revision = max(self.revision, last)

    def drop_unwanted(self) -> None:
        """Drop topics that are no longer needed."""
        extra = self._next.keys() - self.wanted()
        for topic in extra:
            del self._next[topic]
            for mac in self._members.pop(topic, set()).copy():
                self._leave(topic, mac)

    # The target content of the table

    def __len__(self) -> int:
        return len(self._known)

    def entry(self, mac: int) -> Entry | None:
        """The entry of a MAC."""
        known = self._known.get(mac)
        return known.entry if known is not None else None

    def entries(self) -> dict[int, Entry]:
        """All entries."""
        return {mac: known.entry for mac, known in self._known.items()}

    @property
    def lnids(self) -> int:
        """How many LNIDs are mirrored; any thread may call this."""
        return sum(topic.kind is Kind.LNID for topic in list(self._next))

    def changes(self, table: Mapping[int, Entry]) -> list[tuple[int, Entry | None]]:
        """The changes of a table for the MACs whose entries have changed.

        The ports of this host come last: when a port can receive, the table already
        has the MACs that it may hear.
        """
        differing = [
            (mac, self.entry(mac)) for mac in self._touched if self.entry(mac) != table.get(mac)
        ]
        ports = self.ports | self.assigned.keys()
        return sorted(differing, key=lambda change: (change[0] in ports, change[0]))

    def changes_of_all(self, table: Mapping[int, Entry]) -> list[tuple[int, Entry | None]]:
        """The same for every MAC, those that only the table has included."""
        self._touched.update(self._known, table)
        return self.changes(table)

    def settled(self) -> None:
        """The table has its target content: forget which MACs have changed."""
        self._touched.clear()

    # One key

    def _put(self, topic: Topic, key: bytes, value: bytes, revision: int) -> None:
        try:
            mac = mac_of(key)
        except BadValue as error:
            self.complaints.append(str(error))
            return
        if topic == ASSIGNED:
            self.assigned[mac] = revision
            return
        try:
            entry = decode(mac, value)
        except BadValue as error:
            # The entry is unknown, so nothing may pass.
            self.complaints.append(str(error))
            self._remove(topic, mac)
            return
        self._touched.add(mac)
        self._members[topic].add(mac)
        known = self._known.get(mac)
        if known is None:
            self._known[mac] = _Known(revision, entry, self._set(frozenset((topic,))))
            return
        if revision >= known.revision:
            known.revision, known.entry = revision, entry
        if topic not in known.topics:
            known.topics = self._set(known.topics | {topic})

    def _delete(self, topic: Topic, key: bytes) -> None:
        try:
            mac = mac_of(key)
        except BadValue:
            return
        if topic == ASSIGNED:
            self.assigned.pop(mac, None)
        else:
            self._remove(topic, mac)

    def _remove(self, topic: Topic, mac: int) -> None:
        self._members[topic].discard(mac)
        self._leave(topic, mac)

    def _leave(self, topic: Topic, mac: int) -> None:
        known = self._known.get(mac)
        if known is None or topic not in known.topics:
            return
        self._touched.add(mac)
        left = known.topics - {topic}
        if left:
            known.topics = self._set(left)
        else:
            del self._known[mac]

    def _set(self, topics: frozenset[Topic]) -> frozenset[Topic]:
        return self._sets.setdefault(topics, topics)


def _order(topic: Topic) -> tuple[str, int]:
    return topic.kind.value, topic.number
