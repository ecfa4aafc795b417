# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of the agent that tells the store what this host has: its keys there.

These are an acknowledgement for each MAC that the store assigns to the host, a key with a
lease, and the report.  The reporter notes a key only after it was written.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable

from vmmnet.etcd.client import Client
from vmmnet.etcd.errors import StoreError, Unreachable

from ..etcd import report as reports
from ..etcd.keys import BadValue, Keys, decode_ready, encode_ready, mac_of
from .follower import Follower
from .journal import Journal
from .settings import Settings
from .writer import Writer

# A host's lease lasts this many probe intervals.
_LEASE = 3


class Reporter:
    """The keys of this host in the store."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        follower: Follower,
        writer: Writer,
        errors: Callable[[], tuple[str, ...]],
        journal: Journal,
    ) -> None:
        """``errors`` returns the sentences of a report about what this host cannot do."""
        self._host, self._idle, self._times = settings.host, settings.store.timeout, settings.times
        self._keys = Keys(settings.store.prefix)
        self._client = client
        self._follower, self._writer = follower, writer
        self._errors, self._journal = errors, journal
        # The keys with MACs for which this host is ready: the revisions of their assignments.
        self._acknowledged: dict[int, int] = {}
        #: MACs whose acknowledgements have to be written (the assignment) or removed (None).
        self.unsent: dict[int, int | None] = {}
        self._lease: int | None = None
        self._is_announced = False
        self._began = 0.0
        # The last report, its revision, and when it was sent.
        self._sent: reports.Report | None = None
        self._sent_revision = 0
        self._sent_at = 0.0
        # The change of the store after which the last report was sent.
        self._asked = 0
        #: The table has all changes of the store up to this revision.
        self.held = 0
        self.send_at = 0.0
        self._send_after = settings.times.first_retry
        self.tell_errors = 0

    @property
    def is_due(self) -> bool:
        """Whether a key has to be written."""
        return bool(self.unsent) or not self._is_announced or self._is_report_due()

    # State of the follower

    def begin(self) -> None:
        """The store is followed again."""
        self._began = time.time()
        self._is_announced = False

    def forget_report(self) -> None:
        """New watches will not receive a report of the past."""
        self._sent, self._sent_revision = None, 0

    def expect(self, start: int) -> None:
        """A watch that begins at a revision receives no report from before: a new one is due."""
        if start > self._sent_revision:
            self._sent = None

    def read_acknowledged(self) -> dict[int, int]:
        """The acknowledgements of this host in the store, those of earlier runs included."""
        result = {}
        for _, page in self._client.pages(self._keys.status(self._host)):
            for kv in page:
                with contextlib.suppress(BadValue):
                    result[mac_of(kv.key)] = decode_ready(kv.value)
        return result

    def restart(self, acknowledged: dict[int, int]) -> None:
        """Everything was read again."""
        self._acknowledged, self._lease = acknowledged, None
        self._asked = self.held = 0

    def probed(self, is_alive: bool) -> None:
        """The store answers; ``is_alive``: the key with the lease is there.

        What was received makes a report due.  Raises Unreachable if a watch has not received
        the last report in due time.
        """
        if self._follower.mirror.revision > self._sent_revision:
            self._sent = None
        self._is_announced = False
        if not is_alive:
            # Acknowledgements of this host may be gone, too.
            self._acknowledged, self._lease = self.read_acknowledged(), None
        self._follower.check_watches(self._sent_revision, self._sent_at)

    def note_progress(self) -> None:
        """Note the revision up to which the table has all changes, and what is to be told."""
        mirror, applied = self._follower.mirror, self._writer.applied
        if self._follower.is_whole and not self._writer.is_behind and not mirror.missing():
            self.held = max(self.held, self._follower.heard)
        gone = dict.fromkeys(self._acknowledged.keys() - mirror.assigned.keys())
        ready = {
            mac: revision
            for mac, revision in mirror.assigned.items()
            if mac in applied and self._acknowledged.get(mac) != revision
        }
        self.unsent = {**gone, **ready}

    # Writing

    def send(self) -> None:
        """Write the keys that are due; try again later if etcd refuses."""
        try:
            self._announce()
            self._send_report()
            if not self._writer.is_behind:
                self._acknowledge()
        except Unreachable:
            raise
        except StoreError as error:
            # The table is right: only 'move' waits in vain, and 'check' lists this host.
            self.tell_errors += 1
            self.send_at = time.monotonic() + self._send_after * random.uniform(0.5, 1)
            self._send_after = min(2 * self._send_after, self._times.last_retry)
            self._journal.say(
                "telling",
                f"{error}: this host cannot report for which MACs it is ready: tried again until"
                " it can",
            )
            return
        self._send_after = self._times.first_retry
        self._journal.over("telling", "this host reports again for which MACs it is ready")

    def _acknowledge(self) -> None:
        """Acknowledge the assigned MACs that the table has."""
        for mac, revision in list(self.unsent.items()):
            ready = self._keys.ready(self._host, mac)
            if revision is None:
                self._client.delete(ready)
                del self._acknowledged[mac]
            else:
                self._client.put(ready, encode_ready(revision))
                self._acknowledged[mac] = revision
            del self.unsent[mac]

    def _announce(self) -> None:
        """Keep the key whose lease ends when this host no longer follows the store."""
        if self._is_announced:
            return
        if self._lease is None or not self._client.keep_alive(self._lease):
            lease = self._client.grant(math.ceil(_LEASE * self._idle))
            self._client.put(self._keys.alive(self._host), b"", lease)
            self._lease, self._sent = lease, None
        if self._sent is not None and self._sent.errors != self._errors():
            self._sent = None
        self._is_announced = True

    def _is_report_due(self) -> bool:
        """Whether a report is due: with a new revision, or to learn how far the watches are."""
        changed = self._follower.changed
        if self._sent is None:
            return True
        if self._sent.revision >= changed:
            return False
        return self.held >= changed or self._asked < changed

    def _send_report(self) -> None:
        """Write the report if it is due."""
        if not self._is_report_due():
            return
        report = reports.Report(
            since=int(self._began),
            at=int(time.time()),
            revision=self.held,
            entries=len(self._writer.applied),
            ports=len(self._follower.mirror.ports),
            errors=self._errors(),
        )
        revision = self._client.put(self._keys.agent(self._host), reports.encode(report))
        self._sent, self._sent_revision, self._asked = report, revision, self._follower.changed
        self._sent_at = time.monotonic()
