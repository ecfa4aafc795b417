# SPDX-License-Identifier: GPL-2.0-or-later
"""Change a table: in place for one MAC, in a new file for several.

Stores go to the mapping in the order in which a reader may see them; what
lies between two of them is told in ``table``.  The lock
file holds the process that has the lock, for those who wait to read.  When
nobody has it, it holds the seal of the table: a checksum of all its octets, as
a writer has left them who knew them to be good.  The next one need not look
at each slot then, which takes a second for a million of them, and the
checksum milliseconds.  Whoever else has written to the file has broken the
seal, and a writer that was killed has left none: all is checked again.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import threading
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from . import layout, verify
from .entry import Entry
from .table import Table, TableDamaged, TableError, TableMissing, TableUnsettled

# Slots of a new file for so many MACs: room for a quarter more before the next
# file, and 1,048,576 MACs in 31 MiB.
_SLOTS_FOR = 23
_MACS = 12
_BUCKETS_MIN = 64
_WORDS_MIN = 4096
_NEW_MODE = 0o644
_NOTE_SIZE = 32
# More changes than this are compared with the whole table at once.
_MANY = 256


def _store32(table: Table, offset: int, number: int) -> None:
    ctypes.c_uint32.from_buffer(table.map, offset).value = number


def _store64(table: Table, offset: int, number: int) -> None:
    # One aligned store of the machine: nobody sees half of it.
    ctypes.c_uint64.from_buffer(table.map, offset).value = number


_barrier = threading.Lock()


def _fence() -> None:
    """Let no store after this be seen before one that is ahead of it.

    x86 keeps the order by itself.  Elsewhere a release and the acquire that
    follows it do.
    """
    for _ in range(2):
        with _barrier:
            pass


def _seal(checksum: int) -> bytes:
    """What the lock file holds of a good table, by the CRC-32 of its octets."""
    return _note(f"sealed {checksum:08x}")


def _note(text: str = "") -> bytes:
    """What is written to the lock file: always as long, over what is there."""
    return text.ljust(_NOTE_SIZE - 1).encode() + b"\n"


def _sync(table: Table, start: int, length: int) -> None:
    """Bring a part of the mapping to where it outlives a power failure."""
    begin = start - start % mmap.PAGESIZE
    table.map.flush(begin, start + length - begin)


class Change:
    """A change of a table, under its lock.

    It is carried out when the ``with`` block ends without an exception, and
    otherwise nothing is.  ``get()`` and iteration see what has been set.
    """

    def __init__(
        self,
        path: Path,
        create: bool,
        atomic: bool,
        waiting: Callable[[int], None] | None,
    ) -> None:
        """See Table.change(), which makes these."""
        # rename() is to replace the table, not a link to it.
        self.path = Path(os.path.realpath(path))
        #: The table as it was at the start; None: there was none.
        self.base: Table | None = None
        #: How many MACs were given other content, and how many of them came or
        #: went; known after the commit.
        self.changed = self.added = self.removed = 0
        self._create, self._atomic = create, atomic
        self._waiting = waiting
        self._pending: dict[int, layout.Content | None] = {}
        self._cleared = False
        self._lock: int | None = None
        #: Whether readers can see anything of it.
        self._published = False
        # Of the table as it is now; empty: not known to be good.
        self._seal = b""

    # What the caller wants.

    def get(self, mac: int) -> Entry | None:
        """What the table will say of a MAC; raises TableDamaged."""
        if mac in self._pending:
            content = self._pending[mac]
            return None if content is None else layout.decode(mac, content)
        if self._cleared or self.base is None:
            return None
        return self.base.get(mac)

    def __iter__(self) -> Iterator[Entry]:
        """All that the table will say, in no order."""
        for mac, content in self._after().items():
            yield layout.decode(mac, content)

    def set(self, entry: Entry) -> None:
        """Let the table say this of the entry's MAC, and nothing else.

        Raises ValueError for an entry that ``Entry.of()`` would refuse.
        """
        self._pending[entry.mac] = layout.encode(entry)

    def remove(self, mac: int) -> bool:
        """Let the table say nothing of a MAC; False: it did not anyway."""
        if self.get(mac) is None:
            return False
        self._pending[mac] = None
        return True

    def clear(self) -> None:
        """Let the table say nothing of any MAC but those that are set hereafter."""
        self._pending.clear()
        self._cleared = True

    def replace(self, entries: Iterable[Entry]) -> None:
        """Let the table say this and nothing else."""
        self.clear()
        for entry in entries:
            self.set(entry)

    # The lock, and what a killed writer left.

    def __enter__(self) -> Self:
        self._acquire()
        try:
            self._recover()
            self._open_base()
        except OSError as error:
            self._release()
            raise TableError(f"{error.filename or self.path}: {error.strerror}") from error
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._commit()
        except OSError as failure:
            raise self._failed(failure.strerror) from failure
        finally:
            self._release()

    def _failed(self, reason: str | None) -> TableError:
        if not self._published:
            return TableError(f"{self.path}: {reason}: nothing is changed")
        return TableUnsettled(
            f"{self.path}: {reason}: the table is changed, but who goes by it may not know, and a"
            " power failure may undo it: any further change mends that"
        )

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _acquire(self) -> None:
        path = self._beside(".lock")
        if not self.path.parent.is_dir():
            raise TableError(f"{self.path}: there is no folder {self.path.parent}: make it first")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            # Who can open it can keep writers waiting: nobody else shall.
            lock = os.open(path, flags, 0o600)
        except OSError as error:
            raise TableError(f"{path}: {error.strerror}") from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._waiting:
                    holder = os.pread(lock, 16, 0).decode(errors="replace").strip()
                    self._waiting(int(holder) if holder.isdigit() else 0)
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._seal = os.pread(lock, _NOTE_SIZE, 0)
            os.pwrite(lock, _note(str(os.getpid())), 0)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock

    def _release(self) -> None:
        if self.base is not None:
            self.base.close()
        if self._lock is not None:
            # A full disk costs the next writer a second, and no more.
            with contextlib.suppress(OSError):
                os.pwrite(self._lock, self._seal or _note(), 0)
            os.close(self._lock)
            self._lock = None

    def _recover(self) -> None:
        """Finish or undo what a writer was killed at."""
        prefix = f"{self.path.name}.new-"
        for path in self.path.parent.iterdir():
            if path.name.startswith(prefix):
                path.unlink(missing_ok=True)
        self._supersede()

    def _supersede(self) -> None:
        """Mark the file that is called TABLE.old, unless it is the table itself still."""
        old = self._beside(".old")
        if not old.exists():
            return
        in_force = self.path.exists() and old.samefile(self.path)
        if not in_force:
            # What is damaged is nobody's to wait for.
            with contextlib.suppress(TableDamaged), Table.open_writable(old) as table:
                _store32(table, layout.SUPERSEDED, 1)
        old.unlink()

    def _open_base(self) -> None:
        found, self._seal = self._seal, b""
        try:
            self.base = Table.open_writable(self.path)
        except TableMissing:
            if not self._create:
                raise
            return
        seal = _seal(zlib.crc32(self.base.map))
        if found != seal:
            self._heal(self.base)
            seal = _seal(zlib.crc32(self.base.map))
        self._seal = seal

    def _heal(self, table: Table) -> None:
        """Check the whole table, and count again what a killed writer may have miscounted."""
        try:
            counted = verify.census(table)
        except layout.Damaged as error:
            raise TableDamaged(f"{self.path}: {error}") from None
        if table.words_used > table.geometry.words:
            raise TableDamaged(
                f"{self.path}: {table.words_used} words of records are in use,"
                f" of {table.geometry.words}"
            )
        if len(table) != counted.macs:
            _store32(table, layout.MACS, counted.macs)
        if table.keys_used != counted.keys:
            _store32(table, layout.KEYS_USED, counted.keys)
        if table.words_used < counted.words_end:
            _store32(table, layout.WORDS_USED, counted.words_end)

    # The commit.

    def _before(self) -> dict[int, layout.Content]:
        return self.base.contents() if self.base is not None else {}

    def _after(self) -> dict[int, layout.Content]:
        result = {} if self._cleared else self._before()
        for mac, content in self._pending.items():
            if content is None:
                result.pop(mac, None)
            else:
                result[mac] = content
        return result

    def _commit(self) -> None:
        if self.base is None:
            after = self._after()
            self.changed = self.added = len(after)
            self._rebuild(after)
            return
        differing = self._differing(self.base)
        if not differing:
            return
        in_place = len(differing) == 1 or not self._atomic
        if not in_place or not self._change_in_place(self.base, differing):
            # Those that did fit in place are in it already, and stay as they are.
            self._rebuild(self._after())

    def _differing(self, base: Table) -> dict[int, layout.Content | None]:
        """What is to be changed, in the order in which it was given."""
        pending = self._pending
        few = not self._cleared and len(pending) <= _MANY
        before = self._contents(base, pending) if few else base.contents()
        result = {mac: new for mac, new in pending.items() if before.get(mac) != new}
        if self._cleared:
            result |= {mac: None for mac in before if mac not in pending}
        self.changed = len(result)
        self.removed = sum(new is None for new in result.values())
        self.added = sum(mac not in before for mac in result)
        return result

    def _contents(self, base: Table, macs: Iterable[int]) -> dict[int, layout.Content]:
        """What the table holds of these MACs."""
        result = {}
        for mac in macs:
            content = base.content_of(mac)
            if content is not None:
                result[mac] = content
        return result

    def _change_in_place(
        self, table: Table, differing: Mapping[int, layout.Content | None]
    ) -> bool:
        """Change one MAC after another; False: one did not fit."""
        self._seal = b""
        done = 0
        for mac, content in differing.items():
            if not self._put(table, mac, content):
                break
            done += 1
        if done:
            _store64(table, layout.GENERATION, table.generation + 1)
            table.map.flush()
        self._seal = _seal(zlib.crc32(table.map))
        return done == len(differing)

    def _put(self, table: Table, mac: int, content: layout.Content | None) -> bool:
        found = table.find(mac)
        if found is None:
            return False
        slot, key = found
        if not key and (content is None or table.keys_used >= table.geometry.keys_max):
            return content is None
        value = self._write(table, content)
        if value is None:
            return False
        before = table.value(slot) if key else 0
        at = layout.HEADER_SIZE + layout.SLOT_SIZE * slot
        if not key:
            _store32(table, layout.KEYS_USED, table.keys_used + 1)
        _fence()
        self._published = True
        _store64(table, at + 8, value)
        if not key:
            _fence()
            _store64(table, at, mac)
        _store32(table, layout.MACS, len(table) + bool(value) - bool(before))
        return True

    def _write(self, table: Table, content: layout.Content | None) -> int | None:
        """The value that leads to a content, whose record is written; None: no room."""
        if not isinstance(content, bytes):
            return content or 0
        offset, words = table.words_used, len(content) // layout.WORD_SIZE
        if offset + words > table.geometry.words:
            return None
        # Raised first: a writer that is killed here loses words, but no
        # later one writes over a record.
        _store32(table, layout.WORDS_USED, offset + words)
        at = table.geometry.records_at + layout.WORD_SIZE * offset
        _sync(table, 0, layout.HEADER_SIZE)
        table.map[at : at + len(content)] = content
        _sync(table, at, len(content))
        return layout.record_value(offset)

    def _rebuild(self, contents: Mapping[int, layout.Content]) -> None:
        """Write a new file with these contents and let it take the place of the old."""
        if self.path.exists() != (self.base is not None):
            raise TableError(f"{self.path}: somebody else has made or removed it meanwhile")
        new = self._beside(f".new-{os.getpid()}")
        try:
            checksum = self._write_file(new, image(contents, self._generation()))
            old = self._beside(".old")
            if self.base is not None:
                os.link(self.path, old)
            new.rename(self.path)
            self._published = True
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        self._seal = _seal(checksum)
        self._supersede()
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _generation(self) -> int:
        return self.base.generation + 1 if self.base is not None else 1

    def _write_file(self, path: Path, parts: Iterable[bytes]) -> int:
        """Write a new file and sync it; returns the checksum of all of it."""
        checksum = 0
        with path.open("xb") as file:
            if self.base is not None:
                status = os.fstat(file.fileno())
                if self.base.owner != (status.st_uid, status.st_gid):
                    os.fchown(file.fileno(), *self.base.owner)
            os.fchmod(file.fileno(), self.base.mode if self.base is not None else _NEW_MODE)
            for part in parts:
                checksum = zlib.crc32(part, checksum)
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        return checksum


def image(contents: Mapping[int, layout.Content], generation: int) -> Iterator[bytes]:
    """The octets of a new file, in parts; raises TableError if there are too many."""
    macs = array("Q", contents.keys())
    values = array("Q", bytes(8 * len(macs)))
    records = bytearray()
    for at, content in enumerate(contents.values()):
        if isinstance(content, int):
            values[at] = content
        else:
            values[at] = layout.record_value(len(records) // layout.WORD_SIZE)
            records += content
    words_used = len(records) // layout.WORD_SIZE
    if words_used > layout.WORDS_MAX:
        raise TableError(f"the records of {len(macs)} MAC addresses do not fit into a table")
    words = min(words_used + words_used // 4 + _WORDS_MIN, layout.WORDS_MAX)
    slots = _fill(macs, values)
    geometry = layout.Geometry(len(slots) * 8 // layout.BUCKET_SIZE, words)
    yield layout.pack_header(
        geometry,
        macs=len(macs),
        generation=generation,
        words_used=words_used,
        keys_used=len(macs),
    )
    yield slots.tobytes()
    yield bytes(records)
    yield bytes(layout.WORD_SIZE * (words - words_used))


def _fill(macs: array[int], values: array[int]) -> array[int]:
    """The slots of a file: in as many buckets as it takes."""
    buckets = max(_BUCKETS_MIN, -(-len(macs) * _SLOTS_FOR // (layout.SLOTS * _MACS)))
    while buckets <= layout.BUCKETS_MAX:
        slots = _place(macs, values, buckets)
        if slots is not None:
            return slots
        buckets += buckets // 4
    raise TableError(f"{len(macs)} MAC addresses do not fit into a table")


def _place(macs: array[int], values: array[int], buckets: int) -> array[int] | None:
    """Put each MAC where it is looked for; None: these buckets do not do.

    In the order of their first buckets, so that nobody is far: in any other
    order a few of a million would be some twenty buckets away.
    """
    slots = array("Q", bytes(layout.BUCKET_SIZE * buckets))
    firsts = layout.first_buckets(macs, buckets)
    free, end = 0, layout.SLOTS * buckets
    for each in sorted(first << 32 | at for at, first in enumerate(firsts)):
        first, at = layout.SLOTS * (each >> 32), each & 0xFFFFFFFF
        slot = first if free < first else free
        if slot >= first + layout.SLOTS * layout.PROBE_MAX:
            return None
        free = slot + 1
        if slot >= end:
            # Behind the end comes the beginning, where others are.
            slot = next((slot for slot in range(first) if not slots[2 * slot]), first)
            if slot + end >= first + layout.SLOTS * layout.PROBE_MAX:
                return None
        slots[2 * slot] = macs[at]
        slots[2 * slot + 1] = values[at]
    return slots
