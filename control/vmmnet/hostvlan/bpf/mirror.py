# SPDX-License-Identifier: GPL-2.0-or-later
"""A table's copy in the kernel, where the programs of the eBPF twin read it.

Theory of operation
===================

The copy is an array of the kernel that is mapped here, with the octets of the
file as they are.  It is in an array of maps, ``tables``, as its only element.
So there are two ways to change it, as with the file:

In place, one MAC at a time, in the writer's order: record, value, key.  That
is possible where no more than one slot differs from the file, and this slot
has the same key or none yet, and no record differs that was there before.

As a whole: a new array is filled, checked to be what the file says, and put
into ``tables``.  A program that judges a frame has the old or the new one.

Which of both is found out by comparing all octets, not from what the writer
says: nothing can be missed then, whoever was killed at what, and the file's
inode number may be that of an older file.  Comparing 27 MiB takes
milliseconds.

The file may be changed in place while it is read.  A value is read by one load
of 64 bits, or its surroundings are read until they are the same twice.  Who
has changed it calls sync() afterwards, and so what is copied last is the last.
Two who copy at a time would undo each other's work: the caller has a lock.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import struct
import threading
from collections.abc import Iterator

from ..table import layout
from ..table.table import Table, TableDamaged
from . import bpf

_ELEMENT = layout.BUCKET_SIZE
_FLAGS = bpf.F_MMAPABLE | bpf.F_INNER_MAP
# Compared at once; a multiple of a slot.
_CHUNK = 1 << 16
# How often a part of the file is read again that others change meanwhile.
_TRIES = 100
# The elements of the header with what never changes in a file, and with what does.
_CONSTANT, _CHANGING = 0, layout.GENERATION // _ELEMENT
# Up to the next number of 64 bits.
_CHANGING_END = layout.COUNTED_END + layout.WORD_SIZE

_barrier = threading.Lock()


class Unsteady(Exception):
    """The file is being written over all the time, by somebody who is no writer of ours."""


def generation(tables: int) -> int | None:
    """The generation of the copy that is in force; None: there is none."""
    with _in_force(tables) as inner:
        element = None if inner is None else bpf.lookup(inner, _CHANGING, _ELEMENT)
    if element is None:
        return None
    (number,) = struct.unpack_from("<Q", element, layout.GENERATION % _ELEMENT)
    return int(number)


def is_copied(tables: int, table: Table) -> bool:
    """Whether the copy in force has the octets of the file."""
    with _in_force(tables) as inner:
        if inner is None or not _is_of(inner, table):
            return False
        geometry = table.geometry
        with _mapped(inner, geometry) as there:
            parts = _differing(table.map, there, layout.HEADER_SIZE, geometry.file_size)
            return _same_numbers(table.map, there) and not any(parts)


def copy(tables: int, table: Table, *, check: bool) -> bool | None:
    """Make the copy in ``tables`` what the table says.

    True: it was changed in place; False: a new one was put there; None: it
    was the same.  With ``check`` all of a file is looked at that is copied
    as a whole.  Raises TableDamaged, Unsteady, and OSError from the kernel;
    what was in force stays.
    """
    done: bool | None = False
    with _in_force(tables) as inner:
        if inner is not None:
            _refuse_other_version(inner, table)
        if inner is not None and _is_of(inner, table):
            with _mapped(inner, table.geometry) as there:
                done = _change(there, table)
    if done is False:
        if check:
            table.verify()
        _replace(tables, table)
    return done


@contextlib.contextmanager
def _in_force(tables: int) -> Iterator[int | None]:
    """Open the array that is in force."""
    element = bpf.lookup(tables, 0, 4)
    if element is None:
        yield None
        return
    with bpf.closing(bpf.map_by_id(int.from_bytes(element, "little"))) as inner:
        yield inner


def _is_of(inner: int, table: Table) -> bool:
    """Whether an array was made for a table of this size."""
    first = bpf.lookup(inner, _CONSTANT, _ELEMENT)
    return first is not None and first == table.map[: len(first)]


def _refuse_other_version(inner: int, table: Table) -> None:
    """Raise TableDamaged if the programs that go by an array could not read the table."""
    first = bpf.lookup(inner, _CONSTANT, _ELEMENT) or bytes(_ELEMENT)
    version = layout.version(first)
    if version not in (0, *layout.VERSIONS):
        raise TableDamaged(
            f"{table.path}: it is of version {table.version} of the format, and the programs on"
            f" the interfaces that go by it read version {version}: 'vmmnet hostvlan detach' all"
            " of them, then 'attach' them again"
        )


@contextlib.contextmanager
def _mapped(fd: int, geometry: layout.Geometry) -> Iterator[mmap.mmap]:
    access = mmap.PROT_READ | mmap.PROT_WRITE
    with mmap.mmap(fd, _elements(geometry) * _ELEMENT, mmap.MAP_SHARED, access) as there:
        yield there


def _elements(geometry: layout.Geometry) -> int:
    return -(-geometry.file_size // _ELEMENT)


# In place.


def _change(there: mmap.mmap, table: Table) -> bool | None:
    """Change the copy in place; None: it was the same; False: that cannot be done."""
    file, geometry = table.map, table.geometry
    (used,) = struct.unpack_from("<I", there, layout.WORDS_USED)
    old_end = min(geometry.records_at + layout.WORD_SIZE * used, geometry.file_size)
    slots = list(itertools.islice(_differing_slots(file, there, geometry), 2))
    if len(slots) > 1 or any(_differing(file, there, geometry.records_at, old_end)):
        return False
    new = list(_differing(file, there, old_end, geometry.file_size))
    if not slots and not new and _same_numbers(file, there):
        return None
    for part in new:
        there[part] = file[part]
    if slots and not _change_slot(there, table, slots[0]):
        return False
    _copy_numbers(there, table)
    return True


def _differing(file: mmap.mmap, there: mmap.mmap, start: int, end: int) -> Iterator[slice]:
    """The parts that are not the same."""
    for at in range(start, end, _CHUNK):
        part = slice(at, min(at + _CHUNK, end))
        if file[part] != there[part]:
            yield part


def _differing_slots(file: mmap.mmap, there: mmap.mmap, geometry: layout.Geometry) -> Iterator[int]:
    """Where the slots are that are not the same."""
    for part in _differing(file, there, layout.HEADER_SIZE, geometry.records_at):
        for at in range(part.start, part.stop, layout.SLOT_SIZE):
            slot = slice(at, at + layout.SLOT_SIZE)
            if file[slot] != there[slot]:
                yield at


def _change_slot(there: mmap.mmap, table: Table, at: int) -> bool:
    """Store a slot of the file; False: it was another address's."""
    quad = at // 8
    with _quads(table.map, table.geometry) as ours, _quads(there, table.geometry) as theirs:
        # A key that is there has its value: the value is loaded after it.
        key, value = ours[quad], ours[quad + 1]
        if theirs[quad] not in (0, key):
            return False
        if key:
            _check_slot(there, table, at, key, value)
        _fence()
        theirs[quad + 1] = value
        _fence()
        theirs[quad] = key
    return True


def _check_slot(there: mmap.mmap, table: Table, at: int, key: int, value: int) -> None:
    """See that a slot is good, and copy its record; raises TableDamaged."""
    try:
        found = table.find(layout.mac_of(key))
        if found != ((at - layout.HEADER_SIZE) // layout.SLOT_SIZE, key):
            raise layout.Damaged(f"the key {key:#018x} is not where it is looked for")
        content = table.content(key, value)
        if content is not None:
            layout.decode(layout.mac_of(key), content)
    except layout.Damaged as error:
        raise TableDamaged(f"{table.path}: {error}") from None
    if isinstance(content, bytes):
        record = layout.seal_record(value, content)
        start = table.geometry.records_at + layout.WORD_SIZE * layout.number(value)
        there[start : start + len(record)] = record


@contextlib.contextmanager
def _quads(octets: mmap.mmap, geometry: layout.Geometry) -> Iterator[memoryview]:
    """Header and slots as numbers that are loaded and stored as a whole."""
    with memoryview(octets) as all_of_it, all_of_it[: geometry.records_at] as part:
        with part.cast("Q") as quads:
            yield quads


def _fence() -> None:
    """Let no store after this be seen before one that is ahead of it; see ``writer``."""
    for _ in range(2):
        with _barrier:
            pass


def _same_numbers(file: mmap.mmap, there: mmap.mmap) -> bool:
    part = slice(layout.SUPERSEDED, _CHANGING_END)
    return file[part] == there[part]


def _copy_numbers(there: mmap.mmap, table: Table) -> None:
    with _quads(table.map, table.geometry) as ours, _quads(there, table.geometry) as theirs:
        for quad in range(layout.SUPERSEDED // 8, _CHANGING_END // 8):
            theirs[quad] = ours[quad]


# As a whole.


def _replace(tables: int, table: Table) -> None:
    """Put a new array into force, filled from the file."""
    entries = _elements(table.geometry)
    with bpf.closing(bpf.array_create("hostvlan_table", _ELEMENT, entries, _FLAGS)) as inner:
        with _mapped(inner, table.geometry) as there:
            _fill(there, table)
        bpf.update(tables, 0, struct.pack("=I", inner))


def _fill(there: mmap.mmap, table: Table) -> None:
    """Copy the file, slots before the records that they lead to."""
    end = table.geometry.file_size
    for at in range(0, end, _CHUNK):
        part = slice(at, min(at + _CHUNK, end))
        for _ in range(_TRIES):
            octets = table.map[part]
            if table.map[part] == octets:
                there[part] = octets
                break
        else:
            raise Unsteady(f"{table.path}: it changes faster than it can be read")
