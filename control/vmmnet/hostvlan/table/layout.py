# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of an LNID table, format versions 2 to 4: include/vmmnet/hostvlan.h in Python.

Pure functions for the header, the slot of a MAC, and the content of keys, values
and records.  ``mapped`` reads files with them, ``writer`` writes.
"""

from __future__ import annotations

import functools
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from vmmnet.values import mac

from . import claim, further, lnid
from .entry import Entry

MAGIC = b"VMMNLNID"
#: The version of a table, unless a record needs a newer one: for offers and further
#: MACs, or for prefixes.
VERSION, WITH_RIGHTS, WITH_PREFIXES = 2, 3, 4
#: The versions that can be read.
VERSIONS = (VERSION, WITH_RIGHTS, WITH_PREFIXES)
HEADER_SIZE = 4096
SLOT_SIZE = 16
#: Slots in a bucket.
SLOTS = 4
BUCKET_SIZE = SLOTS * SLOT_SIZE
#: A MAC is in its first bucket or in one of the next; at most this many are searched.
PROBE_MAX = 32
BUCKETS_MAX = 1 << 22
WORDS_MAX = 1 << 28
WORD_SIZE = 4

# Offsets of the header's fields that change: u32, but GENERATION is u64.
SUPERSEDED = 64
MACS = 68
GENERATION = 72
WORDS_USED = 80
KEYS_USED = 84
# CRC-32 of the fields from MACS to KEYS_USED; the rest of the header is 0.
COUNTED = 88
COUNTED_END = 92

_FIXED = struct.Struct("<8sIIQII")
_CHECKSUM = struct.Struct("<I")

KIND_SHIFT = 62
NONE, INLINE, RECORD = 0, 1, 2
_CHECK_SHIFT = 32
_CHECK = (1 << KIND_SHIFT) - (1 << _CHECK_SHIFT)
#: The bits of a value that hold its number, and those of a key that hold the MAC.
NUMBER = (1 << 32) - 1
MAC = (1 << 48) - 1

#: What a table holds for a MAC: its only LNID, or the octets of its record
#: without the check words.
Content = int | bytes


class Damaged(ValueError):
    """Octets are not a valid part of a table; the message says what is wrong."""


class Foreign(Damaged):
    """The file is not a table, or has an unknown version."""


class Outdated(Damaged):
    """The file is a table of an older version."""


class Geometry(NamedTuple):
    """The fields of a header that never change in a file."""

    buckets: int
    words: int

    @property
    def file_size(self) -> int:
        """The size of the whole file, in octets."""
        return HEADER_SIZE + BUCKET_SIZE * self.buckets + WORD_SIZE * self.words

    @property
    def slots(self) -> int:
        """The number of slots in all buckets."""
        return SLOTS * self.buckets

    @property
    def records_at(self) -> int:
        """The offset of the record area in the file, in octets."""
        return HEADER_SIZE + BUCKET_SIZE * self.buckets

    @property
    def keys_max(self) -> int:
        """How many keys may be used before a larger file is needed."""
        return SLOTS * self.buckets * 65 // 100


class Counts(NamedTuple):
    """The head of a record: the lengths of its lists, and the MAC's offers."""

    lnids: int
    ip4: int = 0
    ip6: int = 0
    offers: int = 0
    also: int = 0
    #: Whether any of the addresses is a prefix.
    prefixes: bool = False

    @property
    def host_bits(self) -> int:
        """The number of words of the addresses' numbers of host bits."""
        return -(-(self.ip4 + self.ip6) // 4) if self.prefixes else 0

    @property
    def addresses(self) -> int:
        """The number of words of the IP addresses."""
        return self.ip4 + 4 * self.ip6 + self.host_bits

    @property
    def ends(self) -> tuple[int, ...]:
        """The end of each part of a content, in words; in a record, a check follows each."""
        sizes = [each for each in (self.addresses, 2 * self.also) if each]
        return tuple(accumulate([1 + self.lnids, *sizes]))


def pack_header(
    geometry: Geometry,
    *,
    version: int,
    macs: int,
    generation: int,
    words_used: int,
    keys_used: int,
) -> bytes:
    """The first page of a file."""
    fixed = _FIXED.pack(
        MAGIC, version, HEADER_SIZE, geometry.file_size, geometry.buckets, geometry.words
    )
    page = bytearray(HEADER_SIZE)
    page[: len(fixed)] = fixed
    _CHECKSUM.pack_into(page, len(fixed), zlib.crc32(fixed))
    struct.pack_into("<II", page, MACS, macs, 0)
    struct.pack_into("<QII", page, GENERATION, generation, words_used, keys_used)
    _CHECKSUM.pack_into(page, COUNTED, counted(page))
    return bytes(page)


def version(page: bytes) -> int:
    """The format version in a header."""
    found: int = _FIXED.unpack_from(page)[1]
    return found


def counted(page: bytes | bytearray | memoryview) -> int:
    """The checksum of a header's counters."""
    return zlib.crc32(page[MACS:COUNTED])


def is_counted(page: bytes) -> bool:
    """Whether the checksum of a header's counters is right, and the rest of it is 0."""
    return _CHECKSUM.unpack_from(page, COUNTED) == (counted(page),) and not any(page[COUNTED_END:])


def parse_header(page: bytes, size: int, known: Sequence[int] = VERSIONS) -> Geometry:
    """Read the fixed part of a header; raises Damaged if it or the file's size is wrong."""
    if size < HEADER_SIZE or len(page) < _FIXED.size + _CHECKSUM.size:
        raise Damaged(f"it has {size} octets; a table has {HEADER_SIZE} at least")
    magic, found, header_size, file_size, buckets, words = _FIXED.unpack_from(page)
    if magic != MAGIC:
        raise Foreign(f"it is not a table: it begins with {magic!r}, not {MAGIC!r}")
    if found not in known:
        versions = f"version {known[0]}"
        if len(known) > 1:
            versions = f"versions {known[0]} to {known[-1]}"
        text = f"it is a table of version {found}; this program knows {versions}"
        if 0 < found < known[0]:
            raise Outdated(f"{text}: 'vmmnet hostvlan convert' makes it that")
        raise Foreign(text)
    (checksum,) = _CHECKSUM.unpack_from(page, _FIXED.size)
    expected = zlib.crc32(page[: _FIXED.size])
    if checksum != expected:
        raise Damaged(f"the header's checksum is {checksum:#010x}, not {expected:#010x}")
    if header_size != HEADER_SIZE:
        raise Damaged(f"the header has {header_size} octets, not {HEADER_SIZE}")
    if not 1 <= buckets <= BUCKETS_MAX:
        raise Damaged(f"it has {buckets} buckets; 1 to {BUCKETS_MAX} are allowed")
    if words > WORDS_MAX:
        raise Damaged(f"it has {words} words of records; {WORDS_MAX} are allowed")
    if any(page[_FIXED.size + _CHECKSUM.size : SUPERSEDED]):
        raise Damaged("octets 36 to 63 of the header are not 0")
    geometry = Geometry(buckets, words)
    if file_size != geometry.file_size:
        raise Damaged(
            f"the header says {file_size} octets, the sum of its parts is {geometry.file_size}"
        )
    if size != file_size:
        raise Damaged(f"the file has {size} octets, not the {file_size} that its header says")
    return geometry


_MIX1 = 0xFF51AFD7ED558CCD
_MIX2 = 0xC4CEB9FE1A85EC53
_MASK64 = (1 << 64) - 1


def mix(number: int) -> int:
    """The 64-bit hash of a MAC (the last steps of MurmurHash3)."""
    number ^= number >> 33
    number = number * _MIX1 & _MASK64
    number ^= number >> 33
    number = number * _MIX2 & _MASK64
    return number ^ number >> 33


def first_bucket(number: int, buckets: int) -> int:
    """The bucket in which the search for a MAC begins."""
    return ((mix(number) >> 32) * buckets) >> 32


# As many lanes as fit into a CPU cache.
_LANES = 1 << 14


def first_buckets(macs: array[int], buckets: int) -> array[int]:
    """first_bucket() of many MACs (an array of type Q), ten times as fast as one by one.

    One long integer is a vector of MACs.  Each MAC has a lane of 128 bits and uses
    the lower half of it, so that 64-bit products do not reach the next lane.
    """
    result = array("Q")
    for part in _batches(macs):
        low64, low32 = _vector(_MASK64, len(part)), _vector(NUMBER, len(part))
        x = _lanes(part)
        x ^= x >> 33 & low64
        x = x * _MIX1 & low64
        x ^= x >> 33 & low64
        x = x * _MIX2 & low64
        x ^= x >> 33 & low64
        result.extend(_unlaned((x >> 32 & low32) * buckets >> 32 & low32, len(part)))
    return result


def _batches(numbers: array[int]) -> Iterator[array[int]]:
    for start in range(0, len(numbers), _LANES):
        yield numbers[start : start + _LANES]


@functools.lru_cache(maxsize=16)
def _vector(number: int, count: int) -> int:
    """The same number in each of some lanes."""
    return int.from_bytes((number.to_bytes(16, "little")) * count, "little")


def _lanes(part: array[int]) -> int:
    lanes = array("Q", bytes(16 * len(part)))
    lanes[::2] = part
    return int.from_bytes(lanes.tobytes(), "little")


def _unlaned(vector: int, count: int) -> array[int]:
    return array("Q", vector.to_bytes(16 * count, "little"))[::2]


_FACTOR = 0x9E3779B97F4A7C15


def add(total: int, number: int) -> int:
    """Add a number to a checksum, as hostvlan_sum() in C."""
    return (total + number) * _FACTOR & _MASK64


def key_of(mac: int) -> int:
    """The key of a MAC: above its 48 bits is the exclusive or of its three 16-bit parts."""
    return mac | ((mac ^ mac >> 16 ^ mac >> 32) & 0xFFFF) << 48


def mac_of(key: int) -> int:
    """The inverse of key_of()."""
    return key & MAC


def _value(key: int, kind: int, number: int) -> int:
    check = add(add(0, key), kind << 32 | number) >> 34
    return kind << KIND_SHIFT | check << _CHECK_SHIFT | number


def none_value(key: int) -> int:
    """The value of a slot whose MAC was removed."""
    return _value(key, NONE, 0)


def inline_value(key: int, lnid: int) -> int:
    """The value of a slot whose MAC has one LNID and no addresses."""
    return _value(key, INLINE, lnid)


def record_value(key: int, offset: int) -> int:
    """The value of a slot whose record begins at this word of the record area."""
    return _value(key, RECORD, offset)


def part(kind: int, number: int) -> int:
    """A value without its check, for sealed()."""
    return kind << KIND_SHIFT | number


def kind(value: int) -> int:
    """The kind of a value: NONE, INLINE, RECORD, or 3, which is not valid."""
    return value >> KIND_SHIFT


def number(value: int) -> int:
    """The number in a value: an LNID or the offset of a record."""
    return value & NUMBER


def check_slot(key: int, value: int) -> None:
    """Raise Damaged for a key or a value that no writer stores."""
    if key & MAC & mac.FORBIDDEN or key != key_of(key & MAC):
        raise Damaged(f"the key {key:#018x} is not the MAC of a port")
    if kind(value) > RECORD or (kind(value) == NONE and number(value)):
        raise Damaged(f"the value {value:#018x} is not valid")
    if value != _value(key, kind(value), number(value)):
        raise Damaged(f"the value {value:#018x} is damaged: its check is wrong")


def macs_of(keys: array[int]) -> array[int]:
    """mac_of() of many keys."""
    result = array("Q")
    for part in _batches(keys):
        result.extend(_unlaned(_lanes(part) & _vector(MAC, len(part)), len(part)))
    return result


def sealed(macs: array[int], parts: array[int]) -> tuple[array[int], array[int]]:
    """The keys and the values of many MACs; ``parts`` has their kinds and numbers.

    Check bits in ``macs`` and ``parts`` are ignored.  Called with the keys and the
    values of a table, it returns the same if all of their checks are right.  It is
    much faster than one by one: see first_buckets().
    """
    keys, values = array("Q"), array("Q")
    at = 0
    for part in _batches(macs):
        count = len(part)
        low64, low32 = _vector(_MASK64, count), _vector(NUMBER, count)
        mac = _lanes(part) & _vector(MAC, count)
        key = mac | ((mac ^ mac >> 16 ^ mac >> 32) & _vector(0xFFFF, count)) << 48
        value = _lanes(parts[at : at + count])
        total = key * _FACTOR & low64
        total += (value >> 30 & _vector(3 << 32, count)) | (value & low32)
        total = (total & low64) * _FACTOR
        check = total >> 2 & _vector(_CHECK, count)
        keys.extend(_unlaned(key, count))
        values.extend(_unlaned(value & _vector(_MASK64 ^ _CHECK, count) | check, count))
        at += len(part)
    return keys, values


def encode(entry: Entry) -> Content:
    """Encode an entry; raises ValueError where ``Entry.of()`` does."""
    number, lnids, ip4, ip6, offers, also = entry
    if len(lnids) == 1 and not (ip4 or ip6 or offers or also):
        # Most entries are like this one; an import has a million of them.
        mac.check(number)
        return lnid.check(lnids)[0]
    entry = Entry.of(*entry)
    host_bits = bytes((*(each >> 32 for each in entry.ip4), *(each >> 128 for each in entry.ip6)))
    counts = Counts(len(lnids), len(ip4), len(ip6), offers, len(also), any(host_bits))
    ip4_words = [number & NUMBER for number in entry.ip4]
    ip6_words = [number >> shift & NUMBER for number in entry.ip6 for shift in (96, 64, 32, 0)]
    also_words = [number >> shift & NUMBER for number in entry.also for shift in (32, 0)]
    size = WORD_SIZE * counts.host_bits
    bits_words = _words(host_bits.ljust(size, b"\0")[:size])
    words = (_head(counts), *entry.lnids, *ip4_words, *ip6_words, *bits_words, *also_words)
    return struct.pack(f"<{len(words)}I", *words)


def decode(number: int, content: Content) -> Entry:
    """The inverse of encode(); raises Damaged."""
    if isinstance(content, int):
        return Entry(number, (content,))
    words = _words(content)
    counts = _counts(words[0])
    ip4_at = 1 + counts.lnids
    ip6_at = ip4_at + counts.ip4
    bits_at = ip6_at + 4 * counts.ip6
    also_at = bits_at + counts.host_bits
    host_bits = struct.pack(f"<{counts.host_bits}I", *words[bits_at:also_at])
    ip4 = _with_host_bits(words[ip4_at:ip6_at], host_bits, 32)
    ip6 = _with_host_bits(_joined(words[ip6_at:bits_at], 4), host_bits[counts.ip4 :], 128)
    if any(host_bits[counts.ip4 + counts.ip6 :]):
        raise Damaged("the numbers of host bits of a record go on after the last address")
    lnids, also = words[1:ip4_at], _joined(words[also_at:], 2)
    for what, numbers in (("LNIDs", lnids), ("other MAC addresses", also)):
        if any(one >= other for one, other in pairwise(numbers)):
            raise Damaged(f"the {what} of a record are not in ascending order")
    try:
        further.check(number, also)
    except mac.BadMac as error:
        raise Damaged(f"the other MAC addresses of a record: {error}") from None
    return Entry(number, lnids, ip4, ip6, counts.offers, also)


def _with_host_bits(numbers: Sequence[int], host_bits: bytes, bits: int) -> tuple[int, ...]:
    """Addresses as in ``claim``; raises Damaged."""
    if not host_bits:
        return tuple(numbers)
    result = tuple(of << bits | each for each, of in zip(numbers, host_bits, strict=False))
    if not all(claim.is_valid(each, bits) for each in result):
        raise Damaged("a record has a prefix that is none")
    return result


def _joined(words: Sequence[int], each: int) -> tuple[int, ...]:
    """Numbers of this many words each, the most significant word first."""
    result = []
    for at in range(0, len(words), each):
        number = 0
        for word in words[at : at + each]:
            number = number << 32 | word
        result.append(number)
    return tuple(result)


def seal_record(value: int, content: bytes) -> bytes:
    """The octets of the record to which a value points: a content with its checks."""
    words = _words(content)
    ends = _counts(words[0]).ends
    # The checksum of each part begins with that of the first, which has the LNIDs.
    first = _sum(add(0, value), words[: ends[0]])
    parts = [content[: WORD_SIZE * ends[0]], _CHECKSUM.pack(first >> 32)]
    for begin, end in pairwise(ends):
        total = _sum(first, words[begin:end])
        parts += [content[WORD_SIZE * begin : WORD_SIZE * end], _CHECKSUM.pack(total >> 32)]
    return b"".join(parts)


def open_record(value: int, octets: bytes) -> bytes:
    """The inverse of seal_record(); raises Damaged."""
    begin, parts = 0, []
    for checks, end in enumerate(_counts(_words(octets)[0]).ends):
        parts.append(octets[begin : WORD_SIZE * (end + checks)])
        begin = WORD_SIZE * (end + checks + 1)
    content = b"".join(parts)
    if seal_record(value, content) != octets:
        raise Damaged(f"the record at word {number(value)} is damaged: its check is wrong")
    return content


def _words(octets: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(octets) // WORD_SIZE}I", octets)


def _sum(total: int, words: Iterable[int]) -> int:
    for word in words:
        total = add(total, word)
    return total


def record_words(first: int) -> int:
    """The length, in words, of a record that begins with ``first``; raises Damaged."""
    ends = _counts(first).ends
    return ends[-1] + len(ends)


def sealed_words(content: bytes) -> int:
    """The length, in words, of a content as a record."""
    (first,) = _CHECKSUM.unpack_from(content)
    return record_words(first)


def version_of(content: Content) -> int:
    """The version of the oldest table that can hold a content."""
    if isinstance(content, int):
        return VERSION
    (first,) = _CHECKSUM.unpack_from(content)
    counts = _counts(first)
    if counts.prefixes:
        return WITH_PREFIXES
    return WITH_RIGHTS if counts.offers or counts.also else VERSION


def _head(counts: Counts) -> int:
    one = (counts.lnids + 64 * counts.prefixes) & 0x7F | (counts.offers & 1) << 7
    two = counts.ip4 | (counts.offers & 2) << 4 | (counts.also & 3) << 6
    three = counts.ip6 | (counts.also >> 2) << 5
    return one | two << 8 | three << 16 | (one ^ two ^ three) << 24


def _counts(first: int) -> Counts:
    one, two, three = first & 0xFF, first >> 8 & 0xFF, first >> 16 & 0xFF
    counts = Counts(
        lnids=(one - 1 & 0x3F) + 1,
        ip4=two & 0x1F,
        ip6=three & 0x1F,
        offers=one >> 7 | two >> 4 & 2,
        also=two >> 6 | three >> 5 << 2,
        prefixes=bool(one - 1 & 0x40),
    )
    if first != _head(counts):
        raise Damaged(f"a record begins with {first:#010x}, which is damaged")
    if counts.prefixes and not (counts.ip4 or counts.ip6):
        raise Damaged(f"a record begins with {first:#010x}: prefixes, but no addresses")
    if max(counts.ip4, counts.ip6) > claim.PER_FAMILY:
        raise Damaged(
            f"a record begins with {first:#010x}: {claim.PER_FAMILY} addresses"
            " of a family are allowed"
        )
    return counts
