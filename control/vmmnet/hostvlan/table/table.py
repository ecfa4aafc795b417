# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of a host: a file that every QEMU maps, and that one writer changes.

Theory of operation
===================

A table maps MAC addresses to logical networks.  A host has one table, a file.
QEMUs map it shared and read-only and look up a MAC for each frame, without a
lock, while a writer changes the file.  ``layout`` has the format, ``mapped`` reads
a file, ``verify`` checks it, ``writer`` changes it, and ``Table`` combines them.

Readers.  The writer publishes the content of a slot by one aligned 64-bit store,
so a reader sees the old or the new content of a MAC, and never a mixture.  A slot
belongs to one MAC for the lifetime of the file, and records are never overwritten:
a value that a reader has found stays valid for its MAC.

Writers.  flock() on TABLE.lock admits one writer at a time.  It changes one MAC in
place.  It changes several MACs in a copy, which it renames to TABLE.  It also makes
a copy if the change does not fit into the file; the copy is larger, and without
the keys of removed MACs and the records that are not in use (compaction).  The
writer then marks the old file as superseded, and its readers open the path again.

Crashes.  A writer can be killed between any two stores.  A change in place is
published completely or not at all; the counters in the header are raised before
the slots and words that they count are used.  A copy takes effect with rename().
The mark on the old file comes after that.  The old file has no other name then, so
it is called TABLE.old-INODE until it is marked, and the next writer finds it.
A writer that was killed leaves no seal in TABLE.lock (see ``writer``); the next one
then checks and counts everything.

Damage.  Keys, values and records have checksums (``layout``).  Damaged content is
never sealed again as if it were good: a change that would keep it is refused.  A
change that sets a damaged MAC anew, or that replaces the whole table, is made as a
new file.

Big-endian hosts are refused: their QEMUs would read other numbers.

    with Table.change(path) as change:          # all or nothing
        change.set(Entry.of(0x525400123456, [1, 2]))
        change.remove(0x525400123457)
    with Table.open(path) as table:
        entry = table.get(0x525400123456)
        for entry in table: ...
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from . import verify
from .entry import Entry
from .mapped import (
    Mapped,
    TableDamaged,
    TableError,
    TableForeign,
    TableMissing,
    TableOutdated,
    TableUnsettled,
)
from .writer import Change

__all__ = [
    "Entry",
    "Table",
    "TableDamaged",
    "TableError",
    "TableForeign",
    "TableMissing",
    "TableOutdated",
    "TableUnsettled",
]


class Table(Mapped):
    """A table opened for reading: a snapshot that follows in-place changes.

    After a change of several MACs the path is that of another file; see
    ``superseded``.  No other thread may use it while one closes it.
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Open a table for reading; with ``verify``, check all of it.

        Raises TableMissing, TableDamaged, or TableError for errors of the system.
        """
        table = cls._open(Path(path), os.O_RDONLY)
        if verify:
            try:
                table.verify()
            except BaseException:
                table.close()
                raise
        return table

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> None:
        """Make an empty table; raises TableError if there is one already."""
        with cls.change(path) as change:
            if change.base is not None:
                raise TableError(f"{path}: there is a table already")

    @staticmethod
    def change(
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        atomic: bool = True,
        replace: bool = False,
        waiting: Callable[[int], None] | None = None,
    ) -> Change:
        """Change a table: a context manager that commits at its end.

        With ``create``, a missing table is made.  Without ``atomic``, several MACs are
        changed in place, in the given order, as long as they fit: readers see each
        MAC old or new, but can see some MACs new while others are still old.  With
        ``replace``, the caller will call clear(), so a damaged table is accepted.
        If another process is writing, ``waiting`` is called once with its PID (0:
        unknown).

        All of the table is checked, unless its checksum is the one that the last
        writer left: for a million MACs, that takes milliseconds in place of a second.

        Raises TableMissing, TableDamaged, or TableError for errors of the system, on
        entry and at the end.  The table is then unchanged, except after
        TableUnsettled.
        """
        return Change(Path(path), create, atomic, replace, waiting)

    def verify(self) -> None:
        """Check every slot and record; raises TableDamaged with the first fault."""
        for damage in verify.census(self).damages:
            raise TableDamaged(f"{self.path}: {damage}")
