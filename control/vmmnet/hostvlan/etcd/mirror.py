# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host's table shall be, from what the store has told: pure.

Theory of operation

A host needs the members of the LNIDs in which its ports are, and of the global
one: no other MAC's frames can pass its filters.  ``wanted()`` says which
topics of the store that is: the MACs of the ports themselves, which tell their
LNIDs, and those LNIDs; every MAC if one of the ports is in the global LNID,
because such a port takes frames from all whom the table knows.

Each topic is loaded once and then follows its events.  A MAC can be in several
topics, and the events of one transaction come topic by topic: first that MAC 5
has left LNID 1, then that it is in LNID 2 still, with a new entry.  What is in
force is the entry with the highest revision, for as long as any topic has the
MAC.  As each change of a MAC touches all of its keys, the last event of a
transaction brings the new entry everywhere, and until then the old is in
force: never a mixture.

``resume()`` says from which revision each topic must go on after a lost
connection.  Events that are older than that are those of a watch that began
before the topic was loaded: what is loaded has them already.
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
    """A MAC: its newest entry, and the topics that have it."""

    revision: int
    entry: Entry
    topics: frozenset[Topic]


class Mirror:
    """One host's part of the store."""

    def __init__(self, ports: frozenset[int] = frozenset()) -> None:
        #: MACs of the ports that are on this host.
        self.ports = ports
        #: MACs for which the store tells this host to be ready, and the
        #: revision of that assignment.
        self.assigned: dict[int, int] = {}
        #: What was wrong with values that were told, in sentences.
        self.complaints: list[str] = []
        #: The newest revision that was told.
        self.revision = 0
        self._known: dict[int, _Known] = {}
        self._next: dict[Topic, int] = {}
        self._members: dict[Topic, set[int]] = {}
        # One set of topics for the many MACs that are in these only.
        self._sets: dict[frozenset[Topic], frozenset[Topic]] = {}
        self._touched: set[int] = set()

    # What is wanted of the store

    def wanted(self) -> set[Topic]:
        """The topics that this host needs, as far as it knows its ports' LNIDs."""
        ports = self.ports | self.assigned.keys()
        lnids = {GLOBAL}
        for mac in ports:
            known = self._known.get(mac)
            if known is not None:
                if GLOBAL in known.entry.lnids:
                    return {ASSIGNED, ALL}
                lnids.update(known.entry.lnids)
        topics = {ASSIGNED, *(Topic(Kind.LNID, lnid) for lnid in lnids)}
        # With all of them known, a port's own entry needs no topic of its own.
        return topics | {Topic(Kind.MAC, mac) for mac in ports}

    def missing(self) -> list[Topic]:
        """Those of the wanted topics that must be loaded, in a stable order."""
        return sorted(self.wanted() - self._next.keys(), key=_order)

    def resume(self) -> list[tuple[Topic, int]]:
        """The topics that are there, and the revision from which each goes on."""
        return sorted(self._next.items(), key=lambda item: _order(item[0]))

    # What the store tells

    def load(self, topic: Topic, revision: int, keys: Iterable[KeyValue]) -> None:
        """Take a whole topic as it was at a revision."""
        self._next[topic] = revision + 1
        self.revision = max(self.revision, revision)
        self._members.setdefault(topic, set())
        for kv in keys:
            self._put(topic, kv.key, kv.value, kv.mod_revision)

    def apply(self, topic: Topic, revision: int, events: Iterable[Event]) -> None:
        """Take the events of one message; without any, the topic is as new as ``revision``."""
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
        last = last or revision
        self._next[topic] = max(first, last + 1)
        self.revision = max(self.revision, last)

    def drop_unwanted(self) -> None:
        """Forget topics that are not needed any more."""
        extra = self._next.keys() - self.wanted()
        for topic in extra:
            del self._next[topic]
            for mac in self._members.pop(topic, set()).copy():
                self._leave(topic, mac)

    # What the table shall be

    def __len__(self) -> int:
        return len(self._known)

    def entry(self, mac: int) -> Entry | None:
        """The entry of a MAC."""
        known = self._known.get(mac)
        return known.entry if known is not None else None

    def entries(self) -> dict[int, Entry]:
        """All of them."""
        return {mac: known.entry for mac, known in self._known.items()}

    @property
    def lnids(self) -> int:
        """How many LNIDs are mirrored; any thread may ask."""
        return sum(topic.kind is Kind.LNID for topic in list(self._next))

    def changes(self, table: Mapping[int, Entry]) -> list[tuple[int, Entry | None]]:
        """What must be done to a table so that it says of each touched MAC what it shall.

        Members come first, and the ports of this host last: when a port can
        receive, those whom it may hear are known.
        """
        differing = [
            (mac, self.entry(mac)) for mac in self._touched if self.entry(mac) != table.get(mac)
        ]
        ports = self.ports | self.assigned.keys()
        return sorted(differing, key=lambda change: (change[0] in ports, change[0]))

    def changes_of_all(self, table: Mapping[int, Entry]) -> list[tuple[int, Entry | None]]:
        """The same for every MAC, also those that only the table knows."""
        self._touched.update(self._known, table)
        return self.changes(table)

    def settled(self) -> None:
        """The table says what it shall."""
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
            # What it was meant to say is not known: nothing passes.
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
