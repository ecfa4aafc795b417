# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of a host: a file that every QEMU maps, and that one writer changes.

Theory of operation
===================

A table says of each MAC address in which logical networks it is.  It is one
file a host.  QEMUs map it shared and read-only and look MACs up, frame by
frame, without a lock, while a writer changes it.  ``layout`` has its octets,
this file reads them, ``writer`` changes them, ``verify`` looks for damage.

Readers.  What a slot holds is published by one aligned store of 64 bits, so
that a reader sees the old or the new content of a MAC and never a mixture.
A slot belongs to one MAC for as long as the file lives, and records are never
written over: what was found stays true of its MAC.

Writers.  One at a time, by flock() on TABLE.lock.  A change of one MAC is
made in place.  A change of several is made in a copy that takes the file's
name at once, and so is one that does not fit any more (growth; keys of MACs
that were removed and old records stay behind: compaction).  The old file is
then marked as superseded, and whoever maps it opens the path again.

Crashes.  A writer can be killed between any two stores.  In place it has
published the new value or has not; numbers for the writer are raised before
what they count is used.  With a copy, the rename() is the moment.  The mark
comes after it, and only on the old file, which has no name then: so that it
can be found by the next writer, it has a name, TABLE.old-INODE, until it is
marked.  A writer that was killed leaves no seal in TABLE.lock (see ``writer``),
and the next one checks and counts everything.

Damage.  Keys, values and records have checks (``layout``).  What is damaged is
never written again as if it were good: a change that leaves it where it is, is
refused.  One that says anew what a damaged MAC has, or replaces the table as a
whole, is made, as a new file.

On a big-endian host nothing of this works: its QEMUs would read other numbers.

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
from .verify import census
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

    After a change of several MACs the path leads to another file; see
    ``superseded``.  Not for use by several threads while one closes it.
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Open a table for reading and, unless told otherwise, check all of it.

        Raises TableMissing, TableDamaged, or TableError where the system refuses.
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
        """Change a table: a context manager that commits at its end, or nothing.

        With ``create`` a table that is missing is made.  Without ``atomic``
        several MACs are changed in place, one after another as they were
        given, as long as they fit: each of them is old or new, but readers
        can see some new while others are old.  With ``replace``, clear() is
        going to be called, and a table that is damaged is no hindrance.
        ``waiting`` is called once, with the process that is writing (0:
        unknown), if there is one.

        All of the table is checked, unless it is octet for octet what the last
        writer left: that takes milliseconds for a million MACs, not a second.

        Raises TableMissing, TableDamaged, or TableError where the system
        refuses, on entry and at the end; the table is then as it was, but for
        TableUnsettled.
        """
        return Change(Path(path), create, atomic, replace, waiting)

    def verify(self) -> None:
        """Check every slot and record; raises TableDamaged with the first fault."""
        for damage in census(self).damages:
            raise TableDamaged(f"{self.path}: {damage}")
