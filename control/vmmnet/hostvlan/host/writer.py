# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of the agent that writes the table, and copies it to the kernel for eBPF."""

from __future__ import annotations

import contextlib
import math
import time

from ..etcd.mirror import Mirror
from ..table.entry import Entry
from ..table.table import Table, TableDamaged, TableError, TableMissing
from .journal import Journal
from .settings import Settings

# A new file is written for more changes than this number, and than this fraction
# (1/_SHARE) of the table.
_IN_PLACE, _SHARE = 256, 8


class Writer:
    """The table in force; what cannot be written is tried again when it is due."""

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self._path, self._times = settings.table, settings.times
        self._journal = journal
        #: The content of the table, as this agent has written it, and its generation.
        self.applied: dict[int, Entry] = {}
        self.generation = -1
        #: The table lacks changes; when the next try to write it is.
        self.is_behind = False
        self.rewrite_at = 0.0
        #: When the next try to copy the table to the kernel is; inf: it is copied.
        self.copy_at = math.inf
        # Compare every MAC with the table, not only those with events.
        self._compare_all = True
        self.changes = self.write_errors = self.twin_errors = self.bad_values = 0

    def read(self) -> None:
        """Read the table that is in force."""
        try:
            with Table.open(self._path) as table:
                self.applied = {entry.mac: entry for entry in table}
                self.generation = table.generation
        except TableMissing:
            pass
        except TableDamaged as error:
            self._journal.say("table", f"{error}: it is replaced when the store has been read")
        except TableError as error:
            self._journal.say("table", str(error))

    def compare_all(self) -> None:
        """Compare every MAC with the table at the next change."""
        self._compare_all = True

    def check(self) -> None:
        """Compare every MAC if this agent has not made the last change of the table."""
        try:
            with Table.open(self._path, verify=False) as table:
                is_ours = table.generation == self.generation
        except TableError:
            is_ours = False
        self._compare_all = self._compare_all or not is_ours

    def write(self, mirror: Mirror) -> None:
        """Bring the table to the content of the mirror."""
        self._complain(mirror)
        try:
            self._change_table(mirror)
        except TableError as error:
            self.write_errors += 1
            self.is_behind = True
            self.rewrite_at = time.monotonic() + self._times.rewrite
            self._journal.say("table", f"{error}: tried again until it is possible")
            if isinstance(error, TableDamaged):
                self._set_aside()
            return
        self.is_behind = False
        self._journal.over("table", f"{self._path} is written again")

    def _change_table(self, mirror: Mirror) -> None:
        if self._compare_all:
            changes = mirror.changes_of_all(self.applied)
        else:
            changes = mirror.changes(self.applied)
        if not changes and not self._compare_all:
            mirror.settled()
            return
        many = len(changes) > max(_IN_PLACE, len(self.applied) // _SHARE)
        with Table.change(self._path, atomic=many) as change:
            base = change.base
            if base is None:
                self.applied = {}
                changes = mirror.changes_of_all(self.applied)
            elif base.generation != self.generation:
                # Another program has changed the table: read it.
                self.applied = {entry.mac: entry for entry in base}
                changes = mirror.changes_of_all(self.applied)
            for mac, entry in changes:
                if entry is None:
                    change.remove(mac)
                else:
                    change.set(entry)
        for mac, entry in changes:
            if entry is None:
                self.applied.pop(mac, None)
            else:
                self.applied[mac] = entry
        with Table.open(self._path, verify=False) as table:
            self.generation = table.generation
        self.changes += len(changes)
        mirror.settled()
        self._compare_all = False
        self.copy()

    def _complain(self, mirror: Mirror) -> None:
        for complaint in mirror.complaints:
            self.bad_values += 1
            self._journal.say(f"value {complaint}", f"{complaint}: ignored")
        mirror.complaints.clear()

    def _set_aside(self) -> None:
        """Rename a damaged table, which QEMUs do not use anyway."""
        with contextlib.suppress(OSError):
            self._path.rename(self._path.with_name(self._path.name + ".damaged"))
            self.applied.clear()
            self.generation = -1
            self._compare_all = True
            self.rewrite_at = 0.0

    def copy(self) -> None:
        """Copy the table to the kernel for this host's interfaces with eBPF."""
        try:
            from ..bpf import twin
        except ImportError:
            return
        try:
            # The agent has written or checked the file.
            twin.sync(self._path, check=False)
            self.copy_at = math.inf
            self._journal.over("twin", "eBPF has the table again")
        except (twin.TwinError, OSError) as error:
            self.twin_errors += 1
            self.copy_at = time.monotonic() + self._times.recopy
            self._journal.say("twin", f"eBPF: {error}: tried again until it is possible")
