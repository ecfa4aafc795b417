# SPDX-License-Identifier: GPL-2.0-or-later
"""A table that is mapped: its header, slots and records as a reader sees them.

``table`` tells how readers and writers get along.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import sys
from array import array
from collections.abc import Container, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from . import layout
from . import mac as macs
from .entry import Entry

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


class Mapped:
    """The file of a table, mapped: a snapshot that follows in-place changes.

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
