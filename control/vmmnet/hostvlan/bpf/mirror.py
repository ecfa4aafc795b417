# SPDX-License-Identifier: GPL-2.0-or-later
"""A table's copy in the kernel, which the programs of the eBPF twin read.

Theory of operation
===================

The copy is a BPF array that is mapped here; it has the same octets as the file.  It is
the only element of an array of maps, ``tables``.  As with the file, there are two ways
to change it:

In place, one MAC at a time, in the writer's order: record, value, key.  That is
possible if at most one slot differs from the file, if this slot has the same key or no
key yet, and if no older record differs.

As a whole: a new array is filled, compared with the file, and put into ``tables``.  For
each frame, a program uses the old or the new array.

The kernel opens the element of an array of maps by its ID only, which needs
CAP_SYS_ADMIN; so the array has a name in bpffs as well.  The new one has another name
until it is in force; the ID tells which of the two is.

The choice is made by a comparison of all octets, not by what the writer reports.
Therefore nothing is missed if a process was killed, or if the file has the inode number
of an older one.  Comparing 27 MiB takes milliseconds.

A writer may change the file in place while it is read.  A value is read by one 64-bit
load; other parts are read again until they are the same twice.  Each writer calls
sync() after its change, so the last copy has the last change.  Two copies at the same
time would undo each other's work: the caller holds a lock.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from ..table import layout
from ..table.table import Table, TableDamaged
from . import bpf

_ELEMENT = layout.BUCKET_SIZE
_FLAGS = bpf.F_MMAPABLE | bpf.F_INNER_MAP
# Octets that are compared at once; a multiple of a slot.
_CHUNK = 1 << 16
# How often a part of the file is read again because a writer changes it.
_TRIES = 100
# The elements of the header with its constant fields, and with those that change.
_CONSTANT, _CHANGING = 0, layout.GENERATION // _ELEMENT
# Rounded up to 64 bits.
_CHANGING_END = layout.COUNTED_END + layout.WORD_SIZE

_barrier = threading.Lock()


class Unsteady(Exception):
    """The file changes all the time, so that it cannot be copied: our writers do not do that."""


def generation(tables: int, pin: Path | None) -> int | None:
    """The generation of the copy that is in force; None: there is none."""
    with in_force(tables, pin) as inner:
        element = None if inner is None else bpf.lookup(inner, _CHANGING, _ELEMENT)
    if element is None:
        return None
    (number,) = struct.unpack_from("<Q", element, layout.GENERATION % _ELEMENT)
    return int(number)


def is_copied(tables: int, pin: Path | None, table: Table) -> bool:
    """Whether the copy in force has the octets of the file."""
    with in_force(tables, pin) as inner:
        if inner is None or not _is_of(inner, table):
            return False
        geometry = table.geometry
        with mapped(inner, geometry) as there:
            parts = _differing(table.map, there, layout.HEADER_SIZE, geometry.file_size)
            return _same_numbers(table.map, there) and not any(parts)


def copy(tables: int, pin: Path | None, table: Table, *, check: bool) -> bool | None:
    """Bring the copy in ``tables``, with the name ``pin``, to the content of the table.

    Without a name, it needs CAP_SYS_ADMIN.  Returns True if it was changed in place,
    False if it was replaced, None if it was the same.  With ``check``, a file that is
    copied as a whole is checked.  Raises TableDamaged, Unsteady, and OSError from the
    kernel; the copy is then unchanged.
    """
    done: bool | None = False
    with in_force(tables, pin) as inner:
        if inner is not None:
            _refuse_other_version(inner, table)
        if inner is not None and _is_of(inner, table):
            with mapped(inner, table.geometry) as there:
                done = _change(there, table)
    if done is False:
        if check:
            table.verify()
        _replace(tables, pin, table)
    return done


def _next(pin: Path) -> Path:
    """The name of an array before it is in force; bpffs has no names with dots."""
    return pin.with_name(f"{pin.name}_next")


@contextlib.contextmanager
def in_force(tables: int, pin: Path | None) -> Iterator[int | None]:
    """Open the array that is in force; None: there is none, or we may not open it.

    That of an older vmmnet has no name; it gets one from whoever may open it.
    """
    element = bpf.lookup(tables, 0, 4)
    if element is None:
        yield None
        return
    number = int.from_bytes(element, "little")
    for name in (pin, _next(pin)) if pin is not None else ():
        with contextlib.suppress(FileNotFoundError):
            with bpf.closing(bpf.pinned(name)) as inner:
                if bpf.map_id(inner) == number:
                    break
    else:
        name = None
    try:
        opened = bpf.pinned(name) if name is not None else bpf.map_by_id(number)
    except PermissionError:
        yield None
        return
    with bpf.closing(opened) as inner:
        if pin is not None and name is None:
            pin.unlink(missing_ok=True)
            bpf.pin(inner, pin)
        yield inner


def _is_of(inner: int, table: Table) -> bool:
    """Whether an array was made for a table of this size."""
    first = bpf.lookup(inner, _CONSTANT, _ELEMENT)
    return first is not None and first == table.map[: len(first)]


def _refuse_other_version(inner: int, table: Table) -> None:
    """Raise TableDamaged if the programs that use an array cannot read the table's version."""
    first = bpf.lookup(inner, _CONSTANT, _ELEMENT) or bytes(_ELEMENT)
    version = layout.version(first)
    if version not in (0, *layout.VERSIONS):
        raise TableDamaged(
            f"{table.path}: it is of version {table.version} of the format, and the programs on"
            f" the interfaces that use it read version {version}: 'vmmnet hostvlan detach' all"
            " of them, then 'attach' them again"
        )


@contextlib.contextmanager
def mapped(fd: int, geometry: layout.Geometry) -> Iterator[mmap.mmap]:
    """The octets of an array."""
    access = mmap.PROT_READ | mmap.PROT_WRITE
    with mmap.mmap(fd, _elements(geometry) * _ELEMENT, mmap.MAP_SHARED, access) as there:
        yield there


def _elements(geometry: layout.Geometry) -> int:
    return -(-geometry.file_size // _ELEMENT)


# In place.


def _change(there: mmap.mmap, table: Table) -> bool | None:
    """Change the copy in place (True); None: it is the same; False: that is impossible."""
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
    """Ranges of octets with differences."""
    for at in range(start, end, _CHUNK):
        part = slice(at, min(at + _CHUNK, end))
        if file[part] != there[part]:
            yield part


def _differing_slots(file: mmap.mmap, there: mmap.mmap, geometry: layout.Geometry) -> Iterator[int]:
    """The offsets of slots that differ."""
    for part in _differing(file, there, layout.HEADER_SIZE, geometry.records_at):
        for at in range(part.start, part.stop, layout.SLOT_SIZE):
            slot = slice(at, at + layout.SLOT_SIZE)
            if file[slot] != there[slot]:
                yield at


def _change_slot(there: mmap.mmap, table: Table, at: int) -> bool:
    """Copy a slot of the file; returns False if it belongs to another MAC."""
    quad = at // 8
    with _quads(table.map, table.geometry) as ours, _quads(there, table.geometry) as theirs:
        # Load the value after the key: the writer stores it before.
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
    """Check a slot and copy its record; raises TableDamaged."""
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
    """Header and slots as 64-bit numbers, for single loads and stores."""
    with memoryview(octets) as all_of_it, all_of_it[: geometry.records_at] as part:
        with part.cast("Q") as quads:
            yield quads


def _fence() -> None:
    """Order stores: readers see all stores before this call first; see ``writer``."""
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


def _replace(tables: int, pin: Path | None, table: Table) -> None:
    """Put a new array into force, filled from the file."""
    entries = _elements(table.geometry)
    with bpf.closing(bpf.array_create("hostvlan_table", _ELEMENT, entries, _FLAGS)) as inner:
        with mapped(inner, table.geometry) as there:
            _fill(there, table)
        if pin is not None:
            _next(pin).unlink(missing_ok=True)
            bpf.pin(inner, _next(pin))
        bpf.update(tables, 0, struct.pack("=I", inner))
        if pin is not None:
            _next(pin).rename(pin)


def _fill(there: mmap.mmap, table: Table) -> None:
    """Copy the file, slots before the records to which they point."""
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
