# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of the agent that follows the store: it reads topics into the mirror and watches them.

It raises the errors of the store; what it knows stays as it is then.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from vmmnet.etcd.client import Client, Event, Range, Told, Watch, Watched
from vmmnet.etcd.errors import Compacted, EtcdError, StoreError, Unreachable

from ..etcd.keys import FORMAT, Keys, Topic
from ..etcd.mirror import Mirror
from .journal import log
from .settings import Settings

# The watches are started again if the report has not arrived after this many probes.
_SILENT_PROBES = 3
# The largest number of watches beside the first one; each is a connection.
_MORE_STREAMS = 8


class _Stream:
    """A watch, and the thread that waits for its messages."""

    def __init__(
        self,
        watch: Watch,
        topics: list[Topic],
        heard: int,
        report: Event | None,
        put: Callable[[Message], None],
    ) -> None:
        """``heard``: all topics are known up to this revision.

        ``report``: the last report that earlier watches have received.
        """
        self._watch = watch
        self.topics = topics
        self.heard = heard
        self.report = report
        # The topics, and this host's report.
        self.pending = len(topics) + 1
        self._put = put
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def hear(self, told: Told) -> None:
        """Take events of this host's report: everything before them has been received."""
        for event in told.events:
            self.heard, self.report = max(self.heard, event.mod_revision), event

    def close(self) -> None:
        """End it; messages of it that are still in the queue will be ignored."""
        self._watch.close()

    def _run(self) -> None:
        try:
            for told in self._watch:
                self._put(Message(self, told))
        except EtcdError as error:
            self._put(Message(self, error))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            self._put(
                Message(self, Unreachable(f"etcd sent a message that is not valid: {error!r}"))
            )


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a watch, or the error that has ended it."""

    stream: _Stream
    content: Told | EtcdError


class Follower:
    """The mirror, and the watches that keep it in step with the store."""

    def __init__(self, settings: Settings, client: Client, put: Callable[[Message], None]) -> None:
        """``put`` takes the messages of watches, for ``take()``; other threads call it."""
        self._store, self._host = settings.store, settings.host
        self._silence = settings.times.silence
        self._keys = Keys(settings.store.prefix)
        self._client = client
        self._put = put
        self._streams: list[_Stream] = []
        # The last report that all watches had received when they were closed.
        self._witness: Event | None = None
        self._silent_probes = 0
        self.mirror = Mirror()
        #: The mirror has the content of the store at its revision.
        self.is_whole = False
        self.probe_at = 0.0
        #: Revisions: the newest one that was seen; of the last change of an entry.
        self.store_revision = self.changed = 0
        self.resyncs = self.compactions = 0

    # Reading

    def greet(self) -> None:
        """Ask the store for its revision, and whether it has a table that we know."""
        revision, found = self._client.look(self._keys.format)
        if found is None:
            raise StoreError(
                f"{self._store.name}: there is no table: is the prefix wrong, or is the"
                " store still empty ('vmmnet hostvlan add')?"
            )
        if found.value != FORMAT:
            raise StoreError(
                f"{self._store.name}: the table has format"
                f" {found.value.decode(errors='replace')!r}; this agent knows {FORMAT.decode()!r}"
            )
        self.store_revision = revision

    def continues(self) -> bool:
        """Whether etcd proves that it has all that was received; topics continue from there."""
        self.is_whole = self.is_whole and self._is_proven()
        return self.is_whole

    def _is_proven(self) -> bool:
        witness = self._witness
        if witness is None or witness.mod_revision < self.mirror.newest:
            return False
        found = self._client.get(self._keys.agent(self._host))
        if found is None or Event(found.key, found.value, found.mod_revision) != witness:
            log(
                f"{self._store.name} may have been restored from a backup, or be another"
                " etcd: everything is read again"
            )
            return False
        self.mirror.rewind(witness.mod_revision)
        return True

    def read_all(self) -> Mirror:
        """All necessary topics, as after the start."""
        mirror = Mirror(self.mirror.ports)
        self._load(mirror)
        return mirror

    def replace(self, mirror: Mirror) -> None:
        """Go on with a mirror that was read anew."""
        self.mirror, self._witness, self.is_whole = mirror, None, True
        self.resyncs += 1

    def load(self) -> None:
        """Read the topics that are missing."""
        self._load(self.mirror)

    def _load(self, mirror: Mirror) -> None:
        """Read the wanted topics that are missing, and those that become wanted by them."""
        while missing := mirror.missing():
            ranges = [self._keys.topic(self._host, topic) for topic in missing]
            revision, found = self._client.snapshot(ranges)
            for topic, keys in zip(missing, found, strict=True):
                mirror.load(topic, revision, keys)
        mirror.drop_unwanted()

    def look_for_changes(self) -> None:
        """Read the revision of the last change of an entry."""
        _, found = self._client.look(self._keys.changed, serializable=True)
        self.changed = found.mod_revision if found is not None else 0

    def probe(self) -> bool:
        """Check that etcd answers: if it hangs, its connections stay.

        Returns whether the key of this host that has a lease is there.
        """
        self.probe_at = time.monotonic() + self._store.timeout
        alive = self._keys.alive(self._host)
        revision, found = self._client.look(alive, serializable=True)
        self.store_revision = max(self.store_revision, revision)
        self.look_for_changes()
        return found is not None

    # Watching

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many watches that one new watch shall replace them."""
        return len(self._streams) > _MORE_STREAMS

    @property
    def is_complete(self) -> bool:
        """Whether etcd has confirmed all watches."""
        return not any(stream.pending for stream in self._streams)

    @property
    def heard(self) -> int:
        """All that happened up to this revision has been received; 0: nothing is watched."""
        return min((stream.heard for stream in self._streams), default=0)

    @property
    def proof(self) -> Event | None:
        """The report that all watches have received last."""
        reports = {stream.report for stream in self._streams}
        return reports.pop() if len(reports) == 1 else None

    def watch(self) -> int:
        """Watch the topics without a watch; returns the revision that this begins at, or 0."""
        watched = {topic for stream in self._streams for topic in stream.topics}
        resume = [each for each in self.mirror.resume() if each[0] not in watched]
        if not resume:
            return 0
        starts = [start for _, start in resume]
        requests = [Watched(self._keys.topic(self._host, topic), start) for topic, start in resume]
        own = Watched(Range(self._keys.agent(self._host)), max(starts))
        watch = self._client.watch([*requests, own])
        topics = [topic for topic, _ in resume]
        self._streams.append(_Stream(watch, topics, min(starts) - 1, self._witness, self._put))
        self.probe_at = time.monotonic() + self._store.timeout * random.uniform(0.5, 1)
        return max(starts)

    def take(self, message: Message) -> None:
        """Take a message of a watch; raises the error that has ended it."""
        stream, content = message.stream, message.content
        if stream not in self._streams:
            return
        if isinstance(content, EtcdError):
            raise content
        if content.compacted:
            raise Compacted(
                f"etcd has removed revisions before {content.compacted}: everything is read again"
            )
        if content.created:
            stream.pending -= 1
        elif content.request == len(stream.topics):
            stream.hear(content)
        else:
            topic = stream.topics[content.request]
            self.mirror.apply(topic, content.revision, content.events)
            self.store_revision = max(self.store_revision, content.revision)

    def check_watches(self, revision: int, sent_at: float) -> None:
        """Raise Unreachable if a watch has not received the report of a revision in due time."""
        is_awaiting = any(stream.heard < revision for stream in self._streams)
        self._silent_probes = self._silent_probes + 1 if is_awaiting else 0
        is_late = time.monotonic() - sent_at > self._silence
        if is_late and self._silent_probes > _SILENT_PROBES:
            self._silent_probes = 0
            raise Unreachable("etcd answers, but a watch receives nothing: all watches start again")

    def close(self) -> None:
        """End all watches."""
        if self._streams:
            self._witness = self.proof
        while self._streams:
            self._streams.pop().close()

    def lose(self, error: StoreError) -> None:
        """End all watches after an error; a compacted store is read again."""
        self.close()
        if isinstance(error, Compacted):
            self.compactions += 1
            self.is_whole = False
