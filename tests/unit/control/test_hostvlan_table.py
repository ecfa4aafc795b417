# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table: its octets, its changes, and its state after a writer is killed."""

from __future__ import annotations

import itertools
import mmap
import os
import random
import re
import signal
import struct
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from lab.base import paths
from vmmnet.hostvlan.table import layout, verify, writer
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.filestore import FileStore
from vmmnet.hostvlan.table.table import Table, TableDamaged, TableError, TableMissing

A, B, C = 0x525400000001, 0x525400000002, 0x525400000003


def state(path: Path) -> dict[int, Entry]:
    """Return all entries of a table, with a check of every octet."""
    with Table.open(path) as table:
        entries = {entry.mac: entry for entry in table}
        assert len(table) == len(entries)
        assert all(table.get(mac) == entry for mac, entry in entries.items())
    return entries


def put(path: Path, *entries: Entry, **how: Any) -> None:
    with Table.change(path, **how) as change:
        for entry in entries:
            change.set(entry)


def in_child(work: Callable[[], None]) -> int:
    """Start a process that does this and ends with status 0; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """Wait for a process; its status as of a shell."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# The format, read with nothing but its description.


def plain_sum(total: int, *numbers: int) -> int:
    for number in numbers:
        total = (total + number) * 0x9E3779B97F4A7C15 % 2**64
    return total


def plain_key(mac: int) -> int:
    return mac + ((mac ^ mac >> 16 ^ mac >> 32) % 2**16 << 48)


def plain_value(mac: int, kind: int, number: int) -> int:
    check = plain_sum(0, plain_key(mac), kind << 32 | number) >> 34
    return kind << 62 | check << 32 | number


def plain_lookup(octets: bytes, mac: int) -> tuple[int, int]:
    """Slot and value of a MAC, as a reader in another language finds them."""
    buckets = struct.unpack_from("<I", octets, 24)[0]
    x = mac
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD % 2**64
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 % 2**64
    x ^= x >> 33
    bucket = ((x >> 32) * buckets) >> 32
    for _ in range(32):
        for slot in range(4 * bucket, 4 * bucket + 4):
            key, value = struct.unpack_from("<QQ", octets, 4096 + 16 * slot)
            if key == plain_key(mac):
                return slot, value
            if key == 0:
                return -1, 0
        bucket = (bucket + 1) % buckets
    return -1, 0


def test_octets(table: Path) -> None:
    put(
        table,
        Entry.of(0x001122334455, [7]),
        Entry.of(B, [2, 1, 4294967295], [0xC0000201], [0x20010DB8 << 96 | 0x1234]),
        Entry.of(C, [0]),
    )
    octets = table.read_bytes()
    magic, version, header, size, buckets, words, checksum = struct.unpack_from("<8sIIQIII", octets)
    assert (magic, version, header) == (b"VMMNLNID", 2, 4096)
    assert size == len(octets) == 4096 + 64 * buckets + 4 * words
    assert checksum == zlib.crc32(octets[:32])
    superseded, macs, generation, words_used, keys_used = struct.unpack_from("<IIQII", octets, 64)
    assert (superseded, macs, generation, words_used, keys_used) == (0, 3, 1, 11, 3)
    assert struct.unpack_from("<I", octets, 88) == (zlib.crc32(octets[68:88]),)
    assert not any(octets[36:64]) and not any(octets[92:4096])
    assert plain_lookup(octets, 0x001122334455)[1] == plain_value(0x001122334455, 1, 7)
    assert plain_lookup(octets, C)[1] == plain_value(C, 1, 0)
    value = plain_lookup(octets, B)[1]
    assert value == plain_value(B, 2, 0)
    record = struct.unpack_from("<11I", octets, 4096 + 64 * buckets)
    numbers = (0x03010103, 1, 2, 4294967295), (0xC0000201, 0x20010DB8, 0, 0, 0x1234)
    total = plain_sum(0, value, *numbers[0])
    assert record[:5] == (*numbers[0], total >> 32)
    assert record[5:] == (*numbers[1], plain_sum(total, *numbers[1]) >> 32)
    assert table.stat().st_mode & 0o7777 == 0o644


def golden(version: str = "") -> bytes:
    """The table that tests of the reader in C have, too; its octets are given one by one."""
    source = (paths.ROOT / f"tests/fixtures/hostvlan-golden{version}.h").read_text()
    (size,) = re.findall(r"^#define HOSTVLAN_GOLDEN[34]?_SIZE (\d+)$", source, re.MULTILINE)
    octets = bytearray(int(size))
    lines = re.findall(r"^OCTETS\((0x[0-9a-f]{4}), (.*)\)", source, re.MULTILINE)
    assert len(lines) == source.count("\nOCTETS")
    for offset, listed in lines:
        part = bytes(int(each, 16) for each in listed.split(", "))
        octets[int(offset, 16) : int(offset, 16) + len(part)] = part
    return bytes(octets)


#: What it says.
GOLDEN = (
    Entry.of(0x001122334455, [7]),
    Entry.of(0x020000000001, [0]),
    Entry.of(0x525400123456, [1, 0x01020304], [0xC0000201], [0x20010DB8 << 96 | 0x1234]),
)


#: What that of version 3 says.
GOLDEN3 = (
    GOLDEN[0],
    Entry.of(0x020000000001, [0], offers=3),
    Entry.of(
        0x525400123456,
        [1, 0x01020304],
        [0xC0000201],
        [0x20010DB8 << 96 | 0x1234],
        1,
        [0x00005E00010A, 0x020000000001],
    ),
)


#: What that of version 4 says.
GOLDEN4 = (
    GOLDEN[0],
    Entry.of(0x020000000001, [0], [8 << 32 | 0x0A080000]),
    Entry.of(
        0x525400123456,
        [1, 0x01020304],
        [0xC0000201, 8 << 32 | 0xC6336400],
        [
            0x20010DB8 << 96 | 0x1234,
            64 << 128 | 0x20010DB800000001 << 64,
            80 << 128 | 0x20010DB80001 << 80,
        ],
        1,
        [0x00005E00010A],
    ),
)

_EACH_VERSION = [("", GOLDEN), ("3", GOLDEN3), ("4", GOLDEN4)]


@pytest.mark.parametrize(("version", "entries"), _EACH_VERSION)
def test_the_octets_are_those_that_others_read(
    table: Path, version: str, entries: tuple[Entry, ...]
) -> None:
    """For any byte order of this host."""
    put(table, *entries)
    assert table.read_bytes() == golden(version)


@pytest.mark.parametrize(("version", "entries"), _EACH_VERSION)
def test_the_octets_of_others_are_read(
    table: Path, version: str, entries: tuple[Entry, ...]
) -> None:
    table.write_bytes(golden(version))
    assert state(table) == {entry.mac: entry for entry in entries}


def test_hash_of_many_is_that_of_one() -> None:
    random.seed(1)
    macs = [random.getrandbits(48) for _ in range(40_000)] + [0, 1, 2**48 - 1, 2**64 - 1]
    for buckets in (1, 3, 64, 349_526, layout.BUCKETS_MAX):
        many = layout.first_buckets(writer.array("Q", macs), buckets)
        assert list(many) == [layout.first_bucket(mac, buckets) for mac in macs]


# Changes, against a dictionary.


def random_addresses(dice: random.Random, bits: int) -> list[int]:
    """Single addresses and prefixes of two, beside each other."""
    numbers = dice.sample(range(1, 2**31), dice.choice([0, 0, 1, 16]))
    longest = dice.choice([0, 1])
    return [dice.randint(0, longest) << bits | 2 * each for each in numbers]


def random_entry(dice: random.Random, macs: list[int]) -> Entry:
    count = dice.choice([1, 1, 1, 2, 3, 64])
    lnids = dice.sample([0, *range(1, 100), 2**32 - 1], count)
    ip4 = random_addresses(dice, 32)
    ip6 = random_addresses(dice, 128)
    return Entry.of(dice.choice(macs), lnids, ip4, ip6)


def random_change(dice: random.Random, model: dict[int, Entry], macs: list[int]) -> list[Any]:
    """Some entries to set, and MACs to remove."""
    count = dice.choice([1, 1, 1, 1, 2, 5, 40])
    return [
        dice.choice([random_entry(dice, macs), dice.choice([*model, dice.choice(macs)])])
        for _ in range(count)
    ]


def carry_out(path: Path, steps: list[Any], **how: Any) -> None:
    with Table.change(path, **how) as change:
        for step in steps:
            if isinstance(step, Entry):
                change.set(step)
            else:
                change.remove(step)


def expect(model: dict[int, Entry], steps: list[Any]) -> dict[int, Entry]:
    result = dict(model)
    for step in steps:
        if isinstance(step, Entry):
            result[step.mac] = step
        else:
            result.pop(step, None)
    return result


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(table: Path, seed: int) -> None:
    dice = random.Random(seed)
    # Few enough that they come back, many enough that the table grows.
    macs = [dice.getrandbits(40) + 1 for _ in range(600)]
    model: dict[int, Entry] = {}
    generation = 0
    for _ in range(250):
        steps = random_change(dice, model, macs)
        after = expect(model, steps)
        carry_out(table, steps, atomic=dice.random() < 0.7)
        with Table.open(table) as now:
            assert {entry.mac: entry for entry in now} == after
            # As many changes as there were, where something changed at all.
            assert (now.generation > generation) == (after != model or not generation)
            generation = now.generation
        model = after
    assert state(table) == model


def test_one_mac_is_changed_in_place(table: Path) -> None:
    put(table, Entry.of(A, [1]), Entry.of(B, [2]))
    before = table.stat()
    with Table.open(table) as reader:
        for change, lnids in ((Entry.of(A, [1, 3]), (1, 3)), (Entry.of(C, [5]), (5,))):
            generation = reader.generation
            put(table, change)
            entry = reader.get(change.mac)
            assert entry is not None and entry.lnids == lnids
            assert (reader.generation, reader.superseded) == (generation + 1, False)
        with Table.change(table) as removal:
            assert removal.remove(A) and not removal.remove(0x525400000009)
        assert reader.get(A) is None
        assert len(reader) == 2
        # The key stays, and is used again.
        keys = reader.keys_used
        put(table, Entry.of(A, [9]))
        assert reader.get(A) == Entry.of(A, [9]) and reader.keys_used == keys
    assert table.stat().st_ino == before.st_ino


def test_a_record_stays_as_it_is(table: Path) -> None:
    """A reader with a reference to a record finds it unchanged later."""
    put(table, Entry.of(A, [1, 2, 3]), Entry.of(B, [4, 5]))
    with Table.open(table) as reader:
        found = reader.find(A)
        assert found is not None
        key, value = found[1], reader.value(found[0])
        content = reader.content(key, value)
        put(table, Entry.of(A, [6, 7, 8]))
        put(table, Entry.of(B, [6, 7, 8]))
        assert reader.get(A) == Entry.of(A, [6, 7, 8])
        assert reader.content(key, value) == content


def test_nothing_to_change_is_no_change(table: Path) -> None:
    put(table, Entry.of(A, [1]), Entry.of(B, [2, 3]))
    octets, before = table.read_bytes(), table.stat()
    put(table, Entry.of(B, [3, 2]))
    with Table.change(table) as change:
        change.replace([Entry.of(B, [2, 3]), Entry.of(A, [1])])
        change.remove(C)
    assert (change.changed, change.added, change.removed) == (0, 0, 0)
    assert table.read_bytes() == octets and table.stat().st_ino == before.st_ino


def test_several_macs_take_a_new_file(table: Path) -> None:
    put(table, Entry.of(A, [1]), Entry.of(B, [2]))
    table.chmod(0o640)
    with Table.open(table) as reader:
        with Table.change(table) as change:
            change.set(Entry.of(A, [3]))
            change.set(Entry.of(C, [3]))
            change.remove(B)
            assert change.get(A) == Entry.of(A, [3]) and change.get(B) is None
            assert not reader.superseded
        assert (change.changed, change.added, change.removed) == (3, 1, 1)
        # Readers of the old file see the old entries, and its mark.
        assert reader.superseded and reader.get(A) == Entry.of(A, [1])
        assert reader.get(C) is None
        generation = reader.generation
    assert state(table) == {A: Entry.of(A, [3]), C: Entry.of(C, [3])}
    with Table.open(table) as reader:
        assert reader.generation == generation + 1 and not reader.superseded
    assert table.stat().st_mode & 0o7777 == 0o640
    assert [path.name for path in sorted(table.parent.iterdir())] == [
        "lnid.table",
        "lnid.table.lock",
    ]


def test_several_macs_in_place(table: Path) -> None:
    put(table, Entry.of(A, [1]))
    before = table.stat().st_ino
    put(table, Entry.of(A, [2]), Entry.of(B, [2, 3]), Entry.of(C, [4]), atomic=False)
    assert table.stat().st_ino == before
    assert state(table) == {
        A: Entry.of(A, [2]),
        B: Entry.of(B, [2, 3]),
        C: Entry.of(C, [4]),
    }


def test_a_raise_changes_nothing(table: Path) -> None:
    put(table, Entry.of(A, [1]))
    before = table.read_bytes()
    with pytest.raises(RuntimeError), Table.change(table) as change:
        change.set(Entry.of(A, [2]))
        change.set(Entry.of(B, [2]))
        raise RuntimeError
    assert table.read_bytes() == before
    with pytest.raises(ValueError, match="multicast"), Table.change(table) as change:
        change.set(Entry.of(B, [2]))
        change.set(Entry(0x01005E000001, (1,)))
    assert table.read_bytes() == before


def test_keys_of_the_removed_make_room(table: Path) -> None:
    """Tenants come and go: the file does not grow with removed ones."""
    Table.create(table)
    size = table.stat().st_size
    for number in range(1, 200):
        mac = 0x020000000000 + number
        put(table, Entry.of(mac, [1, 2]), Entry.of(mac + 10_000, [1]), atomic=False)
        with Table.change(table) as change:
            change.clear()
            change.set(Entry.of(A, [7]))
    assert table.stat().st_size == size
    assert state(table) == {A: Entry.of(A, [7])}


def test_records_make_room(table: Path) -> None:
    put(table, Entry.of(A, range(1, 65)))
    size = table.stat().st_size
    for number in range(1, 150):
        put(table, Entry.of(A, range(number, number + 64)))
    assert table.stat().st_size == size
    assert state(table) == {A: Entry.of(A, range(149, 213))}


def test_macs_that_want_one_bucket(table: Path) -> None:
    """An attacker has found many MACs with one bucket."""
    Table.create(table)
    with Table.open(table) as empty:
        buckets = empty.geometry.buckets
    numbers = itertools.count(0x020000000000)
    rivals = list(
        itertools.islice((n for n in numbers if layout.first_bucket(n, buckets) == 60), 140)
    )
    for number in rivals:
        put(table, Entry.of(number, [1]))
    assert set(state(table)) == set(rivals)
    with Table.open(table) as grown:
        assert grown.geometry.buckets > buckets


def test_a_million(table: Path) -> None:
    """The paper's data centre fits into 32 MiB."""
    count = 1_048_576
    contents = {0x020000000000 + 7919 * n: 1 + n // 64 for n in range(count)}
    with table.open("wb") as file:
        file.writelines(writer.image(contents, 1))
    assert table.stat().st_size <= 32 << 20
    with Table.open(table) as full:
        assert len(full) == count
        for n in range(0, count, 9973):
            mac = 0x020000000000 + 7919 * n
            assert full.get(mac) == Entry.of(mac, [1 + n // 64])
        assert full.get(0x020000000000 + 7918) is None


# Damaged files.


def spoil(path: Path, at: int, octets: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(octets)


def seal(path: Path) -> None:
    """Make the checksum right, for faults behind it."""
    spoil(path, 32, struct.pack("<I", zlib.crc32(path.read_bytes()[:32])))


def slot_at(path: Path, mac: int) -> int:
    return 4096 + 16 * plain_lookup(path.read_bytes(), mac)[0]


def faults() -> Iterator[tuple[str, Callable[[Path], None], str]]:
    yield "empty", lambda path: path.write_bytes(b""), "it has 0 octets"
    yield "short", lambda path: os.truncate(path, 5000), "has 5000 octets, not the"
    yield "long", lambda path: os.truncate(path, 1 << 20), "octets, not the"
    yield "magic", lambda path: spoil(path, 0, b"#!/bin/s"), "it is not a table"
    yield "version", lambda path: spoil(path, 8, b"\7"), "of version 7; this program knows"
    yield "old version", lambda path: spoil(path, 8, b"\1"), "'vmmnet hostvlan convert' makes it"
    yield "checksum", lambda path: spoil(path, 24, b"\5"), "checksum"
    for name, at, octets, reason in (
        ("header", 12, b"\0\0\1", "the header has 65536 octets"),
        ("buckets", 24, b"\0\0\0\0", "it has 0 buckets"),
        ("many buckets", 24, b"\1\0\100", "buckets; 1 to"),
        ("words", 28, b"\1\0\0\20", "words of records"),
        ("sizes", 24, b"\5\0\0\0", "the header says"),
        ("zero", 40, b"\1", "octets 36 to 63"),
    ):

        def resealed(path: Path, at: int = at, octets: bytes = octets) -> None:
            spoil(path, at, octets)
            seal(path)

        yield name, resealed, reason
    for name, at, octets, reason in (
        ("multicast", 5, b"\1", "not the MAC of a port"),
        ("key", 7, b"\1", "not the MAC of a port"),
        ("kind", 15, b"\xc0", "is not valid"),
        ("no kind", 15, b"\0", "is not valid"),
        ("check", 11, b"\xff", "its check is wrong"),
        ("number", 8, b"\0", "its check is wrong"),
    ):

        def in_slot(path: Path, at: int = at, octets: bytes = octets) -> None:
            spoil(path, slot_at(path, A) + at, octets)

        yield name, in_slot, reason

    def moved(path: Path) -> None:
        mac = 0x525400000009
        spoil(path, slot_at(path, A), struct.pack("<2Q", plain_key(mac), plain_value(mac, 1, 1)))

    yield "moved", moved, "is not where it is looked for|behind an empty slot"

    def of_a_group(path: Path) -> None:
        mac = A | 1 << 40
        spoil(path, slot_at(path, A), struct.pack("<2Q", plain_key(mac), plain_value(mac, 1, 1)))

    yield "of a group", of_a_group, "not the MAC of a port"
    for name, number, reason in (
        ("outside", 1 << 20, "outside of the record area"),
        ("at the end", 4100, "ends outside of the record area|begins with 0x00000000"),
        ("nowhere", 100, "begins with 0x00000000"),
    ):

        def elsewhere(path: Path, number: int = number) -> None:
            spoil(path, slot_at(path, B) + 8, struct.pack("<Q", plain_value(B, 2, number)))

        yield name, elsewhere, reason

    def unsorted(path: Path) -> None:
        value = plain_lookup(path.read_bytes(), B)[1]
        total = plain_sum(0, value, 0x02000002, 3, 2)
        at = 4096 + 64 * 64 + 4 * (value & 0xFFFFFFFF)
        spoil(path, at + 4, struct.pack("<3I", 3, 2, total >> 32))

    yield "unsorted", unsorted, "ascending order"

    def prefixes_of_none(path: Path) -> None:
        at = 4096 + 64 * 64 + 4 * (plain_lookup(path.read_bytes(), B)[1] & 0xFFFFFFFF)
        spoil(path, at, b"\x41\0\0\x41")

    yield "prefixes of no addresses", prefixes_of_none, "prefixes, but no addresses"

    def twice(path: Path) -> None:
        at = slot_at(path, A)
        octets = path.read_bytes()
        assert not any(octets[at + 16 : at + 32])
        spoil(path, at + 16, octets[at : at + 16])

    yield "twice", twice, "is in two slots"


@pytest.mark.parametrize(
    ("fault", "reason"), [pytest.param(*each[1:], id=each[0]) for each in faults()]
)
def test_damage_is_refused(table: Path, fault: Callable[[Path], None], reason: str) -> None:
    put(table, Entry.of(A, [1]), Entry.of(B, [2, 3]))
    fault(table)
    octets = table.read_bytes()
    with pytest.raises(TableDamaged, match=f"lnid.table: .*({reason})"):
        Table.open(table)
    with pytest.raises(TableDamaged, match=reason):
        put(table, Entry.of(C, [1]))
    assert table.read_bytes() == octets


# Bits that are wrong.


def bits(path: Path, at: int, octets: int) -> Iterator[int]:
    """Each bit of these octets, inverted for the time of a turn."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as there:
        for bit in range(8 * octets):
            there[at + bit // 8] ^= 1 << bit % 8
            yield bit
            there[at + bit // 8] ^= 1 << bit % 8


def test_each_bit_of_an_entry_is_found(table: Path) -> None:
    """Of keys, of values, also those of a MAC that was taken out, and of records."""
    put(table, Entry.of(A, [2]), Entry.of(B, [2, 3], [0xC0000201], [1 << 100]), Entry.of(C, [4]))
    with Table.change(table) as change:
        change.remove(C)
    octets = table.read_bytes()
    record = 4096 + 64 * 64 + 4 * (plain_lookup(octets, B)[1] & 0xFFFFFFFF)
    parts = [(mac, slot_at(table, mac), 16) for mac in (A, B, C)]
    for mac, at, length in (*parts, (B, record, 4 * 10)):
        slot = (slot_at(table, mac) - 4096) // 16
        for _ in bits(table, at, length):
            spoiled = table.read_bytes()
            with pytest.raises(TableDamaged, match=f"slot {slot}: "), Table.open(table):
                pass
            with Table.open(table, verify=False) as reader:
                (damage,) = verify.census(reader).damages
                assert (damage.slot, damage.mac) == (slot, mac)
                # A look-up raises, and readers ignore the entry.
                with pytest.raises(TableDamaged):
                    reader.get(mac)
                with pytest.raises(TableDamaged):
                    reader.contents()
            with pytest.raises(TableDamaged, match="nothing is changed"):
                put(table, Entry.of(0x5254000000FF, [1]))
            assert table.read_bytes() == spoiled
    assert table.read_bytes() == octets
    # Nothing of that is left.
    put(table, Entry.of(0x5254000000FF, [1]))
    assert len(state(table)) == 3


def test_each_bit_of_the_header_is_found(table: Path) -> None:
    """Damaged constants are refused; the next change corrects counts and the mark."""
    put(table, Entry.of(A, [2]), Entry.of(B, [2, 3]))
    for _ in bits(table, 0, 64):
        with pytest.raises(TableDamaged), Table.open(table):
            pass
        with pytest.raises(TableDamaged):
            put(table, Entry.of(C, [1]))
    octets = table.read_bytes()
    problems = {64: "it is marked as replaced"}
    for at in (*range(64, 92), 92, 1000, 4095):
        for bit in range(8):
            spoil(table, at, bytes((octets[at] ^ 1 << bit,)))
            (problem,) = FileStore(table).problems()
            assert problems.get(at & ~3, "counters in the header are wrong") in problem
            # A change of one MAC, which would be in place.
            put(table, Entry.of(C, [1]))
            assert list(FileStore(table).problems()) == []
            assert set(state(table)) == {A, B, C}
            table.write_bytes(octets)


def test_what_is_damaged_is_said_anew(table: Path) -> None:
    whole = [Entry.of(A, [2]), Entry.of(B, [2, 3]), Entry.of(C, [4])]
    for entry in (Entry.of(A, [5]), A):
        put(table, *whole)
        spoil(table, slot_at(table, A) + 8, b"\0")
        before = table.stat().st_ino
        with Table.open(table, verify=False) as reader:
            with Table.change(table) as change:
                if isinstance(entry, Entry):
                    change.set(entry)
                else:
                    change.forget(entry)
            # In a new file: nobody finds the slot that was damaged any more.
            assert reader.superseded and table.stat().st_ino != before
        assert state(table) == expect({each.mac: each for each in whole}, [entry])
    # Of two, both.
    put(table, *whole)
    for mac in (A, B):
        spoil(table, slot_at(table, mac) + 8, b"\xff")
    with pytest.raises(TableDamaged, match="import --replace"):
        put(table, Entry.of(A, [5]))
    put(table, Entry.of(A, [5]), Entry.of(B, [6]))
    assert state(table) == {A: Entry.of(A, [5]), B: Entry.of(B, [6]), C: whole[2]}


def test_a_damaged_table_is_replaced(table: Path) -> None:
    """For any damage."""
    for at, octets in ((slot_at, b"\xff\xff\xff"), (lambda *_: 24, b"\1"), (lambda *_: 8, b"\1")):
        put(table, Entry.of(A, [2]), Entry.of(B, [2, 3]), atomic=True)
        table.chmod(0o640)
        spoil(table, at(table, A), octets)
        with Table.change(table, replace=True) as change:
            change.replace([Entry.of(C, [9])])
        assert state(table) == {C: Entry.of(C, [9])}
        assert table.stat().st_mode & 0o7777 == 0o640
    for octets in (b"#!/bin/sh", b"VMMNLNID\7\0\0\0"):
        table.write_bytes(octets.ljust(8192, b"\0"))
        with pytest.raises(TableDamaged), Table.change(table, replace=True) as change:
            change.clear()
        assert table.read_bytes().startswith(octets)


# Other files beside it.


def test_the_files_of_others_stay(table: Path) -> None:
    """A writer removes only files with writers' names and writers' contents."""
    put(table, Entry.of(A, [1]), Entry.of(B, [2]))
    others = ["new-dc", "new-", "new-12x", "new-12", "new", "old", "old-12", "old-dc", "lock.old"]
    for name in others:
        put(table.with_name(f"{table.name}.{name}"), Entry.of(A, [7]))
    locks = [f"{table.name}.{name}.lock" for name in others]
    octets = {path: path.read_bytes() for path in table.parent.iterdir() if path != table}
    put(table, Entry.of(A, [3]))
    put(table, Entry.of(A, [4]), Entry.of(B, [4]))
    for path, before in octets.items():
        if not path.name.endswith(".lock"):
            assert path.read_bytes() == before
    assert sorted(path.name for path in table.parent.iterdir()) == sorted(
        [table.name, f"{table.name}.lock", *(f"{table.name}.{name}" for name in others), *locks]
    )


def test_a_table_is_no_lock(table: Path) -> None:
    other = table.with_name(f"{table.name}.lock")
    put(other, Entry.of(A, [7]))
    octets = other.read_bytes()
    with pytest.raises(TableError, match=r"lnid.table.lock: it is not a lock file of vmmnet"):
        put(table, Entry.of(A, [1]))
    assert other.read_bytes() == octets and not table.exists()


def test_what_killed_writers_have_left_goes(table: Path) -> None:
    put(table, Entry.of(A, [1]))
    new = table.with_name("part")
    new.write_bytes(b"half of it")
    new.rename(table.with_name(f"{table.name}.new-{new.stat().st_ino}"))
    table.with_name(f"{table.name}.new-77").touch()
    put(table, Entry.of(A, [2]))
    assert {path.name for path in table.parent.iterdir()} == {"lnid.table", "lnid.table.lock"}


@pytest.fixture
def censuses(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The tables of which every slot was looked at, each time."""
    looked_at = []
    census = verify.census

    def counted(table: Table) -> verify.Census:
        looked_at.append(table.path)
        return census(table)

    monkeypatch.setattr(verify, "census", counted)
    return looked_at


def test_what_a_writer_has_left_is_not_checked_again(table: Path, censuses: list[Path]) -> None:
    """In place, as a new file, without a change, after one that was given up."""
    put(table, Entry.of(A, [1]), Entry.of(B, [2]))
    put(table, Entry.of(C, [3]))
    put(table, Entry.of(A, [4, 5]), Entry.of(B, [4]))
    put(table, Entry.of(A, [4, 5]))
    with pytest.raises(RuntimeError), Table.change(table) as change:
        change.set(Entry.of(A, [2]))
        raise RuntimeError
    with Table.change(table) as change:
        change.remove(B)
    for number in range(200):
        put(table, Entry.of(A, range(number, number + 64)))
    assert censuses == []
    # Nor is a copy of it, which is as good.
    table.write_bytes(table.read_bytes())
    put(table, Entry.of(A, [2]))
    assert censuses == []


def test_what_somebody_else_has_left_is_checked_once(table: Path, censuses: list[Path]) -> None:
    put(table, Entry.of(A, [1]), Entry.of(B, [2, 3]))
    other = table.with_name("other")
    put(other, Entry.of(A, [7]))
    other.rename(table)
    for number in (1, 2, 3):
        put(table, Entry.of(C, [number]))
        assert censuses == [table]
    # Without a trace in the file's times and size.
    with table.open("r+b") as file, mmap.mmap(file.fileno(), 0) as octets:
        octets[slot_at(table, A) + 5] = 1
    for looks in (2, 3):
        with pytest.raises(TableDamaged, match="not the MAC of a port"):
            put(table, Entry.of(C, [4]))
        assert censuses == [table] * looks


def test_what_a_killed_writer_has_left_is_checked(table: Path, censuses: list[Path]) -> None:
    put(table, Entry.of(A, [1]))

    def work() -> None:
        with Table.change(table):
            os.kill(os.getpid(), signal.SIGKILL)

    assert ended(in_child(work)) == -signal.SIGKILL
    put(table, Entry.of(A, [2]))
    assert censuses == [table]


def test_what_is_no_file(table: Path) -> None:
    with pytest.raises(TableMissing, match="there is no table"):
        Table.open(table)
    with pytest.raises(TableMissing), Table.change(table, create=False):
        pass
    with pytest.raises(TableError, match="there is no folder"):
        put(table.parent / "nowhere" / "lnid.table", Entry.of(A, [1]))
    table.mkdir()
    with pytest.raises(TableError, match=r"regular file|Is a directory"):
        Table.open(table)
    os.mkfifo(table.parent / "fifo")
    with pytest.raises(TableDamaged, match="regular file"):
        Table.open(table.parent / "fifo")
    Table.create(table.parent / "other")
    with pytest.raises(TableError, match="already"):
        Table.create(table.parent / "other")


def test_a_link_leads_to_the_table(table: Path) -> None:
    link = table.parent / "link"
    put(table, Entry.of(A, [1]))
    link.symlink_to(table)
    put(link, Entry.of(A, [2]), Entry.of(B, [2]))
    assert link.is_symlink()
    assert set(state(table)) == {A, B}


# Others at the same time.


def test_writers_lose_nothing(table: Path) -> None:
    """Many writers add their LNID to the same MACs, some in place, some in new files."""
    writers, rounds, macs = 6, 20, [A, B, C]

    def write(own: int) -> Callable[[], None]:
        def work() -> None:
            dice = random.Random(own)
            mine: dict[int, int] = {}
            for turn in range(1, rounds + 1):
                with Table.change(table) as change:
                    chosen = macs if turn == rounds else dice.sample(macs, dice.choice([1, 3]))
                    for mac in chosen:
                        before = change.get(mac)
                        lnids = set(before.lnids if before else ())
                        assert mac not in mine or mine[mac] in lnids
                        lnids.discard(mine.get(mac, 0))
                        mine[mac] = own if turn == rounds else own + 10 * turn
                        change.set(Entry.of(mac, lnids | {mine[mac]}))

        return work

    pids = [in_child(write(own)) for own in range(1, writers + 1)]
    assert [ended(pid) for pid in pids] == [0] * writers
    assert state(table) == {mac: Entry.of(mac, range(1, writers + 1)) for mac in macs}


def test_who_waits_is_told_for_whom(table: Path) -> None:
    hold, held = os.pipe(), os.pipe()

    def work() -> None:
        with Table.change(table) as change:
            change.set(Entry.of(A, [1]))
            os.write(held[1], b"x")
            os.read(hold[0], 1)

    pid = in_child(work)
    os.read(held[0], 1)
    told: list[int] = []

    def waiting(process: int) -> None:
        told.append(process)
        os.write(hold[1], b"x")

    put(table, Entry.of(B, [1]), waiting=waiting)
    assert ended(pid) == 0
    assert told == [pid]
    assert set(state(table)) == {A, B}
    for fd in (*hold, *held):
        os.close(fd)


def test_readers_see_no_mixture(table: Path) -> None:
    """One MAC goes between two long records; two others always change together."""
    sides = [Entry.of(A, range(base, base + 64)) for base in (1, 1001)]
    pairs = [(Entry.of(B, [n]), Entry.of(C, [n])) for n in (1, 2)]
    put(table, sides[0], *pairs[0])
    stop = os.pipe()
    os.set_blocking(stop[0], False)

    def work() -> None:
        for turn in itertools.count():
            put(table, sides[turn % 2])
            put(table, *pairs[turn % 2])
            try:
                os.read(stop[0], 1)
            except BlockingIOError:
                continue
            return

    pid = in_child(work)
    seen: set[tuple[int, ...]] = set()
    generations, files = set(), 0
    try:
        while len(seen) < 2 or files < 60:
            files += 1
            with Table.open(table) as reader:
                both = {entry.mac: entry for entry in reader}
                assert both[B].lnids == both[C].lnids
                assert len(both) == 3
                for _ in range(300):
                    entry = reader.get(A)
                    assert entry in sides
                    seen.add(entry.lnids)
                    generations.add(reader.generation)
                    if reader.superseded:
                        break
    finally:
        os.write(stop[1], b"x")
        assert ended(pid) == 0
        for fd in stop:
            os.close(fd)
    assert len(generations) > 2


# Writers that are killed.


def kill_at_line(number: int) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that kills this process before the n-th line of the writer's."""
    left = number

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != writer.__file__:
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


#: What is changed when the writer is killed: in place, removed, a new file, growth.
KILLED = {
    "a value": [Entry.of(A, [8])],
    "a record": [Entry.of(A, [8, 9], [1], [2])],
    "a new MAC": [Entry.of(C, [8, 9])],
    "removal": [A],
    "a new file": [Entry.of(A, [8]), Entry.of(C, [8, 9]), B],
}


@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in KILLED.items()])
def test_killed_between_any_two_lines(table: Path, steps: list[Any]) -> None:
    before = {A: Entry.of(A, [1]), B: Entry.of(B, [2, 3])}
    after = expect(before, steps)
    outcomes = []
    for line in itertools.count(1, 3):
        for path in table.parent.iterdir():
            path.unlink()
        put(table, *before.values())
        reader = Table.open(table)

        def work(line: int = line) -> None:
            sys.settrace(kill_at_line(line))
            carry_out(table, steps)

        status = ended(in_child(work))
        found = state_of_entries(table)
        assert found in (before, after), line
        outcomes.append(found == after)
        # Its remains do not hinder the next writer, which also marks the old file.
        put(table, Entry.of(0x5254000000FF, [1]))
        assert state(table) == {**found, 0x5254000000FF: Entry.of(0x5254000000FF, [1])}
        same = table.stat().st_ino == reader.identity[1]
        assert reader.superseded != same, line
        reader.close()
        assert {path.name for path in table.parent.iterdir()} == {"lnid.table", "lnid.table.lock"}
        if status == 0:
            break
        assert status == -signal.SIGKILL
    # Old until a moment, new from there on.
    assert outcomes == sorted(outcomes)
    assert outcomes[-1] and not outcomes[0]


def state_of_entries(path: Path) -> dict[int, Entry]:
    """What a table says; its count may be behind by one, as a writer was killed."""
    with Table.open(path) as table:
        return {entry.mac: entry for entry in table}


def test_killed_at_random(table: Path) -> None:
    """A writer that changes without end is killed repeatedly."""
    dice = random.Random(4)
    macs = [dice.getrandbits(40) + 1 for _ in range(50)]
    model: dict[int, Entry] = {}
    put(table)
    for turn in range(25):
        begun = os.pipe()

        def work(turn: int = turn, begun: tuple[int, int] = begun, start: Any = model) -> None:
            own, now = random.Random(turn), start
            while True:
                steps = random_change(own, now, macs)
                os.write(begun[1], b"x")
                carry_out(table, steps)
                now = expect(now, steps)

        pid = in_child(work)
        os.close(begun[1])
        for _ in range(dice.randrange(1, 12)):
            os.read(begun[0], 1)
        for _ in range(dice.randrange(20_000)):
            pass
        os.kill(pid, signal.SIGKILL)
        assert ended(pid) == -signal.SIGKILL
        # It may have begun more by then.
        found = state_of_entries(table)
        own, now = random.Random(turn), model
        for _ in range(10_000):
            if now == found:
                break
            now = expect(now, random_change(own, now, macs))
        assert now == found
        model = found
        os.close(begun[0])
    put(table, Entry.of(A, [1]))
    assert state(table) == {**model, A: Entry.of(A, [1])}
