# SPDX-License-Identifier: GPL-2.0-or-later
"""Change a table: in place for one MAC, in a new file for several.

Stores to the mapping are made in the order in which readers may see them; ``table``
explains what a crash between two of them leaves.

While a writer has the lock, the lock file holds its PID, for those that wait.  At
other times it holds the seal of the table: a checksum of all octets, from a writer
that knew them to be good.  If the seal is right, the next writer need not check
each slot: for a million MACs, that takes a second, and the checksum milliseconds.
If something else has written to the file, the seal is wrong, and a writer that was
killed leaves no seal: then everything is checked again, and a damaged table gets no
new seal.  If only the counters in the header are wrong, the next change makes a new
file, with new counters.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import re
import stat
import threading
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from vmmnet.values.mac import text as mac_text

from . import layout, verify
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

# A new file has this many slots for this many MACs: room for a quarter more MACs
# before the next file.  1,048,576 MACs take 31 MiB.
_SLOTS_FOR = 23
_MACS = 12
_BUCKETS_MIN = 64
_WORDS_MIN = 4096
_NEW_MODE = 0o644
_NOTE_SIZE = 32
# For more changes than this, read the whole table to compare.
_MANY = 256
#: This command repairs any damage.
REPLACE = "'vmmnet hostvlan import --replace' of a backup makes a new table in its place"


def _store32(table: Mapped, offset: int, number: int) -> None:
    ctypes.c_uint32.from_buffer(table.map, offset).value = number


def _store64(table: Mapped, offset: int, number: int) -> None:
    # One aligned store of the CPU: readers never see half of it.
    ctypes.c_uint64.from_buffer(table.map, offset).value = number


_barrier = threading.Lock()


def _fence() -> None:
    """Order stores: readers see all stores before this call before any after it.

    x86 does this anyway.  On other CPUs, the unlock (release) of a lock and the next
    lock (acquire) do it.
    """
    for _ in range(2):
        with _barrier:
            pass


def _seal(checksum: int) -> bytes:
    """The content of the lock file for a good table with this CRC-32."""
    return _note(f"sealed {checksum:08x}")


def _note(text: str = "") -> bytes:
    """A text for the lock file, padded: it always overwrites the whole content."""
    return text.ljust(_NOTE_SIZE - 1).encode() + b"\n"


def _sync(table: Mapped, start: int, length: int) -> None:
    """Write a part of the mapping to the disk, so that it survives a power failure."""
    begin = start - start % mmap.PAGESIZE
    table.map.flush(begin, start + length - begin)


class Change:
    """A change of a table, under its lock.

    It is committed when the ``with`` block ends without an exception; after an
    exception, nothing is changed.  get() and iteration see the new entries.
    """

    def __init__(
        self,
        path: Path,
        create: bool,
        atomic: bool,
        replace: bool,
        waiting: Callable[[int], None] | None,
    ) -> None:
        """See Table.change(), which makes these."""
        # rename() is to replace the table, not a link to it.
        self.path = Path(os.path.realpath(path))
        #: The table as it was at the start; None: there was none.
        self.base: Mapped | None = None
        #: After the commit: how many MACs have other content, and how many of these
        #: were added or removed.
        self.changed = self.added = self.removed = 0
        #: The generation of the file at the path, if that is not the base.
        self.generation = 0
        self._create, self._atomic, self._replace = create, atomic, replace
        self._waiting = waiting
        self._pending: dict[int, layout.Content | None] = {}
        self._cleared = False
        self._lock: int | None = None
        #: Whether readers can see anything of it.
        self._published = False
        # The seal of the table as it is now; empty: it is not known to be good.
        self._seal = b""
        # The damage in the base, and whether the change needs a new file.
        self._damages: tuple[verify.Damage, ...] = ()
        self._renew = False

    # The caller's changes.

    def get(self, mac: int) -> Entry | None:
        """The new entry of a MAC; raises TableDamaged."""
        if mac in self._pending:
            content = self._pending[mac]
            return None if content is None else layout.decode(mac, content)
        if self._cleared or self.base is None:
            return None
        return self.base.get(mac)

    def __iter__(self) -> Iterator[Entry]:
        """All new entries, in no order."""
        for mac, content in self._after().items():
            yield layout.decode(mac, content)

    def set(self, entry: Entry) -> None:
        """Set the entry of a MAC, in place of the one that it may have.

        Raises ValueError for an entry that ``Entry.of()`` would refuse.
        """
        self._pending[entry.mac] = layout.encode(entry)

    def forget(self, mac: int) -> None:
        """Remove a MAC, whose entry may be damaged."""
        self._pending[mac] = None

    def remove(self, mac: int) -> bool:
        """Remove a MAC; returns False if it is not in the table."""
        if self.get(mac) is None:
            return False
        self._pending[mac] = None
        return True

    def clear(self) -> None:
        """Remove all MACs; those that are set after this call will be in the table."""
        self._pending.clear()
        self._cleared = True

    def replace(self, entries: Iterable[Entry]) -> None:
        """Remove all MACs and set these entries."""
        self.clear()
        for entry in entries:
            self.set(entry)

    # The lock, and the files of a killed writer.

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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
            f"{self.path}: {reason}: the table is changed, but readers may not know that, and a"
            " power failure may undo it: any further change repairs that"
        )

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _acquire(self) -> None:
        path = self._beside(".lock")
        if not self.path.parent.is_dir():
            raise TableError(f"{self.path}: there is no folder {self.path.parent}: make it first")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            # A process that can open the file can block writers: allow only the owner.
            lock = os.open(path, flags, 0o600)
        except OSError as error:
            raise TableError(f"{path}: {error.strerror}") from error
        try:
            if os.fstat(lock).st_size > _NOTE_SIZE:
                raise TableError(f"{path}: it is not a lock file of vmmnet: give it another name")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._waiting:
                    holder = os.pread(lock, 16, 0).decode(errors="replace").strip()
                    self._waiting(int(holder) if holder.isdigit() else 0)
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._seal = os.pread(lock, _NOTE_SIZE, 0)
            # On a full disk, processes that wait do not learn the PID.
            with contextlib.suppress(OSError):
                os.pwrite(lock, _note(str(os.getpid())), 0)
        except OSError as error:
            os.close(lock)
            raise TableError(f"{path}: {error.strerror}: nothing is changed") from error
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock

    def _release(self) -> None:
        if self.base is not None:
            self.base.close()
        if self._lock is not None:
            # On a full disk there is no seal, and the next writer needs a second more.
            with contextlib.suppress(OSError):
                os.pwrite(self._lock, self._seal or _note(), 0)
            os.close(self._lock)
            self._lock = None

    def _recover(self) -> None:
        """Finish or undo the work of a writer that was killed."""
        for path, _ in beside(self.path, "new"):
            path.unlink(missing_ok=True)
        self._supersede()

    def _supersede(self) -> None:
        """Mark the files TABLE.old-INODE as superseded, unless one is still the table."""
        for old, inode in beside(self.path, "old"):
            in_force = self.path.exists() and inode == self.path.stat().st_ino
            if not in_force:
                # QEMUs do not use a damaged file, so it needs no mark.
                with contextlib.suppress(TableDamaged), Mapped.open_writable(old) as table:
                    _store32(table, layout.SUPERSEDED, 1)
            old.unlink()

    def _open_base(self) -> None:
        found, self._seal = self._seal, b""
        try:
            self.base = Mapped.open_writable(self.path)
        except TableMissing:
            if not self._create:
                raise
            return
        except TableForeign:
            raise
        except TableDamaged as error:
            if self._replace:
                return
            if isinstance(error, TableOutdated):
                raise
            raise TableDamaged(f"{error}; nothing is changed: {REPLACE}") from None
        seal = _seal(zlib.crc32(self.base.map))
        if found == seal or self._is_whole(self.base):
            self._seal = seal

    def _is_whole(self, table: Mapped) -> bool:
        """Check all of the table; returns False if the change needs a new file."""
        counted = verify.census(table)
        self._damages = counted.damages
        self._renew = (
            bool(self._damages)
            or table.superseded
            or not table.is_counted
            or (len(table), table.keys_used) != (counted.macs, counted.keys)
            or not counted.words_end <= table.words_used <= table.geometry.words
        )
        return not self._renew

    def refuse_damaged(self) -> None:
        """Raise TableDamaged if the change would leave a damaged entry."""
        left = [each for each in self._damages if each.mac not in self._pending]
        if not left or self._cleared:
            return
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        raise TableDamaged(f"{self.path}: {left[0]}{more}; nothing is changed: {way_out(left)}")

    # The commit.

    def _before(self) -> dict[int, layout.Content]:
        if self.base is None:
            return {}
        return self.base.contents(without={each.slot for each in self._damages})

    def _after(self) -> dict[int, layout.Content]:
        result = {} if self._cleared else self._before()
        for mac, content in self._pending.items():
            if content is None:
                result.pop(mac, None)
            else:
                result[mac] = content
        return result

    def _commit(self) -> None:
        self.refuse_damaged()
        if self.base is None:
            after = self._after()
            self.changed = self.added = len(after)
            self._rebuild(after)
            return
        differing = self._differing(self.base)
        if not differing and not self._damages:
            return
        in_place = (len(differing) == 1 or not self._atomic) and not self._renew
        if not in_place or not self._change_in_place(self.base, differing):
            # Some may have been changed in place before one did not fit.
            self._rebuild(self._after())

    def _differing(self, base: Mapped) -> dict[int, layout.Content | None]:
        """The contents that differ from the base, in the order of the calls."""
        pending = self._pending
        few = not self._cleared and not self._damages and len(pending) <= _MANY
        before = self._contents(base, pending) if few else self._before()
        result = {mac: new for mac, new in pending.items() if before.get(mac) != new}
        if self._cleared:
            result |= {mac: None for mac in before if mac not in pending}
        self.changed = len(result)
        self.removed = sum(new is None for new in result.values())
        self.added = sum(mac not in before for mac in result)
        return result

    def _contents(self, base: Mapped, macs: Iterable[int]) -> dict[int, layout.Content]:
        """The contents of these MACs in the base."""
        result = {}
        for mac in macs:
            content = base.content_of(mac)
            if content is not None:
                result[mac] = content
        return result

    def _change_in_place(
        self, table: Mapped, differing: Mapping[int, layout.Content | None]
    ) -> bool:
        """Change one MAC after another; returns False if one did not fit."""
        self._seal = b""
        done = 0
        for mac, content in differing.items():
            if not self._put(table, mac, content):
                break
            done += 1
        if done:
            _store64(table, layout.GENERATION, table.generation + 1)
            _store32(table, layout.COUNTED, layout.counted(table.map[: layout.HEADER_SIZE]))
            table.map.flush()
        self._seal = _seal(zlib.crc32(table.map))
        return done == len(differing)

    def _put(self, table: Mapped, mac: int, content: layout.Content | None) -> bool:
        found = table.find(mac)
        if found is None:
            return False
        if content is not None and layout.version_of(content) > table.version:
            return False
        slot, key = found
        if not key and (content is None or table.keys_used >= table.geometry.keys_max):
            return content is None
        value = self._write(table, layout.key_of(mac), content)
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
            _store64(table, at, layout.key_of(mac))
        came, went = layout.kind(value) != layout.NONE, layout.kind(before) != layout.NONE
        _store32(table, layout.MACS, len(table) + came - went)
        return True

    def _write(self, table: Mapped, key: int, content: layout.Content | None) -> int | None:
        """The value for a content, whose record is written first; None: no room."""
        if content is None:
            return layout.none_value(key)
        if isinstance(content, int):
            return layout.inline_value(key, content)
        offset, words = table.words_used, layout.sealed_words(content)
        if offset + words > table.geometry.words:
            return None
        # Raised first: if the writer is killed here, these words are lost, but no later
        # writer overwrites a record.
        _store32(table, layout.WORDS_USED, offset + words)
        at = table.geometry.records_at + layout.WORD_SIZE * offset
        _sync(table, 0, layout.HEADER_SIZE)
        value = layout.record_value(key, offset)
        octets = layout.seal_record(value, content)
        table.map[at : at + len(octets)] = octets
        _sync(table, at, len(octets))
        return value

    def _rebuild(self, contents: Mapping[int, layout.Content]) -> None:
        """Write a new file with these contents and replace the old one."""
        before = self._status()
        if (before is not None) != (self.base is not None) and not self._replace:
            raise TableError(f"{self.path}: another program has made or removed it meanwhile")
        with self._new_file() as (new, fd):
            checksum = self._write_file(fd, image(contents, self._generation()), before)
            if before is not None:
                with contextlib.suppress(FileExistsError):
                    os.link(self.path, self._beside(f".old-{before.st_ino}"))
            new.rename(self.path)
            self._published = True
        self._seal = _seal(checksum)
        self._supersede()
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _status(self) -> os.stat_result | None:
        """The status of the file at the path; None: there is none."""
        try:
            return self.path.stat()
        except FileNotFoundError:
            return None

    def _generation(self) -> int:
        return (self.base.generation if self.base is not None else self.generation) + 1

    @contextlib.contextmanager
    def _new_file(self) -> Iterator[tuple[Path, int]]:
        """A new file beside the table; it is removed after an exception."""
        path = self._beside(f".new-{os.getpid()}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o600)
        try:
            # beside() takes a file with content for ours only by the inode in its name.
            named = self._beside(f".new-{os.fstat(fd).st_ino}")
            path = path.rename(named)
            yield path, fd
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def _write_file(self, fd: int, parts: Iterable[bytes], like: os.stat_result | None) -> int:
        """Write a new file and sync it; returns the CRC-32 of its content."""
        checksum = 0
        status = os.fstat(fd)
        if like is not None and (like.st_uid, like.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(fd, like.st_uid, like.st_gid)
        os.fchmod(fd, stat.S_IMODE(like.st_mode) if like is not None else _NEW_MODE)
        with open(fd, "wb", closefd=False) as file:
            for part in parts:
                checksum = zlib.crc32(part, checksum)
                file.write(part)
            file.flush()
            os.fsync(fd)
        return checksum


def beside(table: Path, what: str) -> Iterator[tuple[Path, int]]:
    """The files that writers have named TABLE.new-INODE or TABLE.old-INODE, and their inodes.

    Other files are left out: a file is ours if its name has its inode number, or if
    it is empty.
    """
    form = re.compile(re.escape(f"{table.name}.{what}-") + "([0-9]+)")
    for path in list(table.parent.iterdir()):
        match = form.fullmatch(path.name)
        if match:
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                ours = status.st_ino == int(match[1]) or not status.st_size
                if stat.S_ISREG(status.st_mode) and ours:
                    yield path, status.st_ino


def is_at_rest(table: Path) -> bool:
    """Whether no writer is at work; False if this is unknown."""
    try:
        lock = os.open(table.with_name(f"{table.name}.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def way_out(damages: Sequence[verify.Damage]) -> str:
    """A sentence about how to repair the damage."""
    whose = {each.mac for each in damages}
    number = whose.pop()
    if whose or number is None:
        return REPLACE
    spelled = mac_text(number)
    return (
        f"'vmmnet hostvlan remove {spelled}' removes the address, 'set {spelled} LNID…' with"
        f" --address or --no-addresses sets its entry again; or {REPLACE}"
    )


def image(contents: Mapping[int, layout.Content], generation: int) -> Iterator[bytes]:
    """The octets of a new file, in parts; raises TableError if it would be too large."""
    macs = array("Q", contents.keys())
    parts = array("Q", bytes(8 * len(macs)))
    words_used, long = 0, []
    for at, content in enumerate(contents.values()):
        if isinstance(content, int):
            parts[at] = layout.part(layout.INLINE, content)
        else:
            parts[at] = layout.part(layout.RECORD, words_used)
            words_used += layout.sealed_words(content)
            long.append((at, content))
    if words_used > layout.WORDS_MAX:
        raise TableError(f"the records of {len(macs)} MAC addresses do not fit into a table")
    keys, values = layout.sealed(macs, parts)
    records = b"".join(layout.seal_record(values[at], content) for at, content in long)
    words = min(words_used + words_used // 4 + _WORDS_MIN, layout.WORDS_MAX)
    slots = _fill(macs, keys, values)
    geometry = layout.Geometry(len(slots) * 8 // layout.BUCKET_SIZE, words)
    yield layout.pack_header(
        geometry,
        # The oldest version that can hold the contents, for programs that read no newer.
        version=max((layout.version_of(each) for _, each in long), default=layout.VERSION),
        macs=len(macs),
        generation=generation,
        words_used=words_used,
        keys_used=len(macs),
    )
    yield slots.tobytes()
    yield records
    yield bytes(layout.WORD_SIZE * (words - words_used))


def _fill(macs: array[int], keys: array[int], values: array[int]) -> array[int]:
    """The slots of a file, in as many buckets as necessary."""
    buckets = max(_BUCKETS_MIN, -(-len(macs) * _SLOTS_FOR // (layout.SLOTS * _MACS)))
    while buckets <= layout.BUCKETS_MAX:
        slots = _place(macs, keys, values, buckets)
        if slots is not None:
            return slots
        buckets += buckets // 4
    raise TableError(f"{len(macs)} MAC addresses do not fit into a table")


def _place(
    macs: array[int], keys: array[int], values: array[int], buckets: int
) -> array[int] | None:
    """Put each MAC into a slot where a search finds it; None: too few buckets.

    MACs are placed in the order of their first buckets, so that none is far from it:
    in any other order, a few of a million would be about twenty buckets away.
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
            # After the last bucket, the search goes on at the first, which has MACs.
            slot = next((slot for slot in range(first) if not slots[2 * slot]), first)
            if slot + end >= first + layout.SLOTS * layout.PROBE_MAX:
                return None
        slots[2 * slot] = keys[at]
        slots[2 * slot + 1] = values[at]
    return slots
