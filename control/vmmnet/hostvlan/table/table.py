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

import mmap
import os
import stat
import struct
import sys
from array import array
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from . import layout
from . import mac as macs
from .entry import Entry

if TYPE_CHECKING:
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

# How often a snapshot is tried while others write.
_SNAPSHOTS = 16


class TableError(Exception):
    """A table cannot be used; the message names the file and says why."""


class TableMissing(TableError):
    """There is no table."""


class TableDamaged(TableError):
    """The file is not a table, not one of this version, or a damaged one."""


class TableForeign(TableDamaged):
    """The file is something else than a table, or one of a version that is not known."""


class TableOutdated(TableDamaged):
    """The file is a table of an older version."""


class TableUnsettled(TableError):
    """A change is made, but the system refused a step after it."""


class Table:
    """A table opened for reading: a snapshot that follows in-place changes.

    After a change of several MACs the path leads to another file; see
    ``superseded``.  Not for use by several threads while one closes it.
    """

    _versions: tuple[int, ...] = layout.VERSIONS

    def __init__(self, path: Path, fd: int, *, writable: bool = False) -> None:
        """Map the file ``fd``, which stays the caller's; raises TableDamaged."""
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise TableForeign(f"{path}: it is not a regular file")
        self.path = path
        #: Device and inode: two tables with the same are the same file.
        self.identity = (status.st_dev, status.st_ino)
        self.mode = stat.S_IMODE(status.st_mode)
        self.owner = (status.st_uid, status.st_gid)
        page = os.pread(fd, layout.HEADER_SIZE, 0)
        try:
            self.geometry = layout.parse_header(page, status.st_size, self._versions)
        except layout.Foreign as error:
            raise TableForeign(f"{path}: {error}") from None
        except layout.Outdated as error:
            raise TableOutdated(f"{path}: {error}") from None
        except layout.Damaged as error:
            raise TableDamaged(f"{path}: {error}") from None
        #: Of the format.
        self.version = layout.version(page)
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self.map = mmap.mmap(fd, status.st_size, mmap.MAP_SHARED, access)
        self._octets = memoryview(self.map)
        # Loads through these are single ones of their size.
        self._quads = self._octets[: self.geometry.records_at].cast("Q")
        self._words = self._octets[: layout.HEADER_SIZE].cast("I")

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
    def open_writable(cls, path: Path) -> Self:
        """Map a table for its writer, who holds the lock; checks the header only."""
        return cls._open(path, os.O_RDWR)

    @classmethod
    def _open(cls, path: Path, flags: int) -> Self:
        if sys.byteorder != "little":
            raise TableError(f"{path}: tables are for little-endian hosts")
        try:
            fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise TableMissing(f"{path}: there is no table") from None
        except OSError as error:
            raise TableError(f"{path}: {error.strerror}") from error
        try:
            return cls(path, fd, writable=flags == os.O_RDWR)
        finally:
            os.close(fd)

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
        from .writer import Change

        return Change(Path(path), create, atomic, replace, waiting)

    # What the header says.

    def _u32(self, offset: int) -> int:
        return self._words[offset // 4]

    @property
    def superseded(self) -> bool:
        """Whether another file has taken this one's place: open the path again."""
        return bool(self._u32(layout.SUPERSEDED))

    @property
    def generation(self) -> int:
        """Grows by one with each change."""
        return self._quads[layout.GENERATION // 8]

    @property
    def words_used(self) -> int:
        """Words of the record area that are taken."""
        return self._u32(layout.WORDS_USED)

    @property
    def keys_used(self) -> int:
        """Slots that are taken, also by MACs that are not in the table any more."""
        return self._u32(layout.KEYS_USED)

    @property
    def is_counted(self) -> bool:
        """Whether the header counts what its writer did; not while one is at work."""
        return layout.is_counted(self.map[: layout.HEADER_SIZE])

    def __len__(self) -> int:
        """How many MACs are in the table."""
        return self._u32(layout.MACS)

    # What the slots say.

    def slots(self) -> tuple[array[int], array[int]]:
        """Copies of all keys, and of all values, as they were at one moment.

        Where a writer is faster than the copies each time, they are of several moments.
        """
        start, end = layout.HEADER_SIZE, self.geometry.records_at
        for _ in range(_SNAPSHOTS):
            generation = self.generation
            keys = array("Q", self.map[start:end])[::2]
            # After the keys: a key that is there has its value.
            values = array("Q", self.map[start:end])[1::2]
            if self.generation == generation:
                break
        return keys, values

    def find(self, mac: int) -> tuple[int, int] | None:
        """The slot of a MAC and its key there, 0 for the slot where it would go.

        None: there is no room for it.  Raises layout.Damaged for a key that
        differs from it in a bit.
        """
        slots, wanted, damaged = self.geometry.slots, layout.key_of(mac), None
        start = layout.SLOTS * layout.first_bucket(mac, self.geometry.buckets)
        found = None
        for step in range(layout.SLOTS * layout.PROBE_MAX):
            slot = (start + step) % slots
            key = self._quads[layout.HEADER_SIZE // 8 + 2 * slot]
            if key == wanted:
                return slot, key
            if key == 0:
                found = slot, key
                break
            if (key ^ wanted).bit_count() == 1:
                damaged = slot, key
        if damaged:
            raise layout.Damaged(f"slot {damaged[0]}: the key {damaged[1]:#018x} is damaged")
        return found

    def value(self, slot: int) -> int:
        """What a slot holds now."""
        return self._quads[layout.HEADER_SIZE // 8 + 2 * slot + 1]

    def content(self, key: int, value: int) -> layout.Content | None:
        """What a value says or leads to; None: nothing.  Raises layout.Damaged."""
        layout.check_slot(key, value)
        return self._content(value)

    def _content(self, value: int) -> layout.Content | None:
        kind, offset = layout.kind(value), layout.number(value)
        if kind != layout.RECORD:
            return offset if kind == layout.INLINE else None
        if offset >= self.geometry.words:
            raise layout.Damaged(f"a record at word {offset} is outside of the record area")
        at = self.geometry.records_at + layout.WORD_SIZE * offset
        (first,) = struct.unpack_from("<I", self.map, at)
        words = layout.record_words(first)
        if offset + words > self.geometry.words:
            raise layout.Damaged(f"a record at word {offset} ends outside of the record area")
        return layout.open_record(value, bytes(self._octets[at : at + layout.WORD_SIZE * words]))

    def content_of(self, mac: int) -> layout.Content | None:
        """What the table holds of a MAC, now, encoded; raises TableDamaged."""
        try:
            found = self.find(mac)
            if found is None or not found[1]:
                return None
            return self.content(found[1], self.value(found[0]))
        except layout.Damaged as error:
            raise TableDamaged(f"{self.path}: {macs.text(mac)}: {error}") from None

    def get(self, mac: int) -> Entry | None:
        """What the table says of a MAC, now; raises TableDamaged."""
        content = self.content_of(mac)
        return None if content is None else self._decode(mac, content)

    def __contains__(self, mac: int) -> bool:
        return self.get(mac) is not None

    def __iter__(self) -> Iterator[Entry]:
        """All entries as they are at one moment, in no order; raises TableDamaged."""
        for mac, content in self.contents().items():
            yield self._decode(mac, content)

    def contents(self, without: Container[int] = ()) -> dict[int, layout.Content]:
        """What the table holds of each MAC, encoded; raises TableDamaged.

        What is in the slots ``without`` is left out.
        """
        keys, values = self.slots()
        whole = layout.sealed(keys, values) == (keys, values) and not without
        # As most are, and a million of them.
        shift, inline, mac, number = layout.KIND_SHIFT, layout.INLINE, layout.MAC, layout.NUMBER
        result: dict[int, layout.Content] = {}
        for slot, (key, value) in enumerate(zip(keys, values, strict=True)):
            if whole and value >> shift == inline:
                if key:
                    result[key & mac] = value & number
                continue
            if not key or slot in without:
                continue
            try:
                content = self.content(key, value)
            except layout.Damaged as error:
                raise TableDamaged(f"{self.path}: slot {slot}: {error}") from None
            if content is not None:
                result[layout.mac_of(key)] = content
        return result

    def _decode(self, mac: int, content: layout.Content) -> Entry:
        try:
            return layout.decode(mac, content)
        except layout.Damaged as error:
            raise TableDamaged(f"{self.path}: {error}") from None

    def verify(self) -> None:
        """Check every slot and record; raises TableDamaged with the first fault."""
        from .verify import census

        for damage in census(self).damages:
            raise TableDamaged(f"{self.path}: {damage}")

    def close(self) -> None:
        """Unmap the file."""
        for view in (self._quads, self._words, self._octets):
            view.release()
        self.map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
