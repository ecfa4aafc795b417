# SPDX-License-Identifier: GPL-2.0-or-later
"""Prepare two hosts for the migration of a VM (the paper, section 3.6.3).

Make before break: the MAC is assigned to the destination, whose agent mirrors its LNIDs
and reports that it is ready.  Then the VM can run there, and the source's assignment is
removed.  No other host is concerned.  A source on which the VM still runs keeps the
MAC while its folder of ports has it.
"""

from __future__ import annotations

import threading
import time

from vmmnet.etcd.client import Range, Watched, delete, unchanged
from vmmnet.etcd.errors import StoreError, Unreachable
from vmmnet.values import mac as macs

from ..table.entry import Entry
from .keys import decode_ready
from .store import EtcdStore

# Seconds between a lost connection to etcd and the next try.
_RETRY = 0.2


class NotMoved(StoreError):
    """The destination cannot be made ready; the message says why and what to do."""


class Move:
    """The move of one MAC from one host to another."""

    def __init__(self, store: EtcdStore, mac: int, source: str, destination: str) -> None:
        self._store = store
        self._mac = mac
        self._source, self._destination = source, destination
        self._assigned = store.keys.assigned(destination, mac)
        self._was_assigned = False
        self._assignment = 0

    def prepare(self, timeout: float) -> Entry:
        """Make the destination ready; returns the entry of the MAC.

        Raises NotMoved if its agent does not report that in ``timeout`` seconds;
        everything is then as it was before.
        """
        entry = self._store.get(self._mac)
        if entry is None:
            raise NotMoved(
                f"{macs.text(self._mac)} is not in {self._store.name}: a VM without LNIDs needs"
                " no move; 'vmmnet hostvlan add' gives it some"
            )
        client = self._store.client
        self._was_assigned = client.get(self._assigned) is not None
        self._assignment = client.put(self._assigned, b"")
        try:
            ready = self._await(timeout)
        except BaseException:
            self.abandon()
            raise
        if not ready:
            self.abandon()
            raise NotMoved(
                f"{self._destination} has not reported in {timeout:g} s that it is ready for"
                f" {macs.text(self._mac)}: is its agent running, with --host {self._destination}"
                " and this --store ('systemctl status vmmnet-hostvlan-agent' there)?"
                f" Nothing is changed: {self._source} keeps it"
            )
        return entry

    def finish(self) -> None:
        """Remove the source's assignment."""
        self._store.client.delete(self._store.keys.assigned(self._source, self._mac))

    def abandon(self) -> None:
        """Remove the destination's assignment, unless it existed before."""
        if not self._was_assigned:
            mine = [unchanged(self._assigned, self._assignment)]
            self._store.client.transact(mine, [delete(self._assigned)])

    def _await(self, timeout: float) -> bool:
        """Wait until the destination reports that it is ready; False: it has not."""
        deadline = time.monotonic() + timeout
        pause = threading.Event()
        while (left := deadline - time.monotonic()) > 0:
            try:
                if self._is_told(left):
                    return True
            except Unreachable:
                pause.wait(min(_RETRY, left))
        return False

    def _is_told(self, timeout: float) -> bool:
        # The agent writes its key after it has read the assignment, so a watch from
        # that revision misses nothing.
        ready = Range(self._store.keys.ready(self._destination, self._mac))
        watch = self._store.client.watch([Watched(ready, self._assignment)])
        timer = threading.Timer(timeout, watch.close)
        timer.start()
        try:
            return any(
                event.value is not None and decode_ready(event.value) >= self._assignment
                for told in watch
                for event in told.events
            )
        finally:
            timer.cancel()
            watch.close()
