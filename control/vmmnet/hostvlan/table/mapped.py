# SPDX-License-Identifier: GPL-2.0-or-later
"""A table that is mapped: its header, slots and records as a reader sees them.

``table`` explains how readers and writers work together.
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
from typing import Self

from vmmnet.values import mac as macs

from . import layout
from .entry import Entry

# How often a snapshot is tried again because a writer has changed the table.
_SNAPSHOTS = 16


class TableError(Exception):
    """A table cannot be used; the message names the file and says why."""


class TableMissing(TableError):
    """There is no table."""


class TableDamaged(TableError):
    """The file is not a table, not one of this version, or a damaged one."""


class TableForeign(TableDamaged):
    """The file is not a table, or has an unknown version."""


class TableOutdated(TableDamaged):
    """The file is a table of an older version."""


class TableUnsettled(TableError):
    """The table is changed, but a step after that has failed."""


class Mapped:
    """The file of a table, mapped: a snapshot that follows in-place changes.

    After a change of several MACs the path is that of another file; see
    ``superseded``.  No other thread may use it while one closes it.
    """

    _versions: tuple[int, ...] = layout.VERSIONS

    def __init__(self, path: Path, fd: int, *, writable: bool = False) -> None:
        """Map the file ``fd``, which the caller still owns; raises TableDamaged."""
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
        #: The version of the format.
        self.version = layout.version(page)
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self.map = mmap.mmap(fd, status.st_size, mmap.MAP_SHARED, access)
        self._octets = memoryview(self.map)
        # An access through one of these is one load of its size.
        self._quads = self._octets[: self.geometry.records_at].cast("Q")
        self._words = self._octets[: layout.HEADER_SIZE].cast("I")

    @classmethod
    def open_writable(cls, path: Path) -> Self:
        """Map a table for a writer, which holds the lock; checks only the header."""
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

    # The header.

    def _u32(self, offset: int) -> int:
        return self._words[offset // 4]

    @property
    def superseded(self) -> bool:
        """Whether another file has replaced this one: open the path again."""
        return bool(self._u32(layout.SUPERSEDED))

    @property
    def generation(self) -> int:
        """Grows by one with each change."""
        return self._quads[layout.GENERATION // 8]

    @property
    def words_used(self) -> int:
        """How many words of the record area are in use."""
        return self._u32(layout.WORDS_USED)

    @property
    def keys_used(self) -> int:
        """How many slots have a key, those of removed MACs included."""
        return self._u32(layout.KEYS_USED)

    @property
    def is_counted(self) -> bool:
        """Whether the checksum of the counters is right; it is not while a writer works."""
        return layout.is_counted(self.map[: layout.HEADER_SIZE])

    def __len__(self) -> int:
        """How many MACs are in the table."""
        return self._u32(layout.MACS)

    # The slots.

    def slots(self) -> tuple[array[int], array[int]]:
        """Copies of all keys and of all values at one moment.

        If a writer changes the table during each try, the copies are of several moments.
        """
        start, end = layout.HEADER_SIZE, self.geometry.records_at
        for _ in range(_SNAPSHOTS):
            generation = self.generation
            keys = array("Q", self.map[start:end])[::2]
            # After the keys: a writer stores a new key after its value.
            values = array("Q", self.map[start:end])[1::2]
            if self.generation == generation:
                break
        return keys, values

    def find(self, mac: int) -> tuple[int, int] | None:
        """The slot of a MAC and its key; the key is 0 if the MAC is new and would go there.

        None: there is no room for the MAC.  Raises layout.Damaged for a key that
        differs from the MAC's key in one bit.
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
        """The value in a slot, now."""
        return self._quads[layout.HEADER_SIZE // 8 + 2 * slot + 1]

    def content(self, key: int, value: int) -> layout.Content | None:
        """The content of a value or of its record; None: no content.  Raises layout.Damaged."""
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
        """The encoded content of a MAC, now; raises TableDamaged."""
        try:
            found = self.find(mac)
            if found is None or not found[1]:
                return None
            return self.content(found[1], self.value(found[0]))
        except layout.Damaged as error:
            raise TableDamaged(f"{self.path}: {macs.text(mac)}: {error}") from None

    def get(self, mac: int) -> Entry | None:
        """The entry of a MAC, now; raises TableDamaged."""
        content = self.content_of(mac)
        return None if content is None else self._decode(mac, content)

    def __contains__(self, mac: int) -> bool:
        return self.get(mac) is not None

    def __iter__(self) -> Iterator[Entry]:
        """All entries at one moment, in no order; raises TableDamaged."""
        for mac, content in self.contents().items():
            yield self._decode(mac, content)

    def contents(self, without: Container[int] = ()) -> dict[int, layout.Content]:
        """The encoded content of each MAC; raises TableDamaged.

        The slots in ``without`` are left out.
        """
        keys, values = self.slots()
        whole = layout.sealed(keys, values) == (keys, values) and not without
        # A short way for most slots: there can be a million of them.
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

    def __exit__(self, *_: object) -> None:
        self.close()
