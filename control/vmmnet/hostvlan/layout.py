# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of an LNID table, format version 1: include/vmmnet/hostvlan.h in Python.

Pure functions: a header, the place of a MAC, what a slot's value and a record
say.  ``table`` reads files with them, ``writer`` writes.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from itertools import pairwise
from typing import NamedTuple

from . import address, lnid, mac
from .entry import Entry

MAGIC = b"VMMNLNID"
VERSION = 1
HEADER_SIZE = 4096
SLOT_SIZE = 16
#: Slots of a bucket.
SLOTS = 4
BUCKET_SIZE = SLOTS * SLOT_SIZE
#: A MAC is in its first bucket or one of the next, so many in all.
PROBE_MAX = 32
BUCKETS_MAX = 1 << 22
WORDS_MAX = 1 << 28
WORD_SIZE = 4

# Where the numbers are that change in a file: u32, but GENERATION is u64.
SUPERSEDED = 64
MACS = 68
GENERATION = 72
WORDS_USED = 80
KEYS_USED = 84

_FIXED = struct.Struct("<8sIIQII")
_CHECKSUM = struct.Struct("<I")

KIND_SHIFT = 62
NONE, INLINE, RECORD = 0, 1, 2
# The upper half of every value that has its LNID inline.
INLINE_HIGH = INLINE << KIND_SHIFT - 32
_RESERVED = (1 << KIND_SHIFT) - (1 << 32)
_LOW = (1 << 32) - 1

#: What a table holds of a MAC: the value of its slot if that says it all, or
#: the octets of its record.
Content = int | bytes


class Damaged(ValueError):
    """Octets are not those of a table; the message says what is wrong."""


class Geometry(NamedTuple):
    """The numbers of a header that never change in a file."""

    buckets: int
    words: int

    @property
    def file_size(self) -> int:
        """Octets of the whole file."""
        return HEADER_SIZE + BUCKET_SIZE * self.buckets + WORD_SIZE * self.words

    @property
    def slots(self) -> int:
        """Slots of all buckets."""
        return SLOTS * self.buckets

    @property
    def records_at(self) -> int:
        """Where in the file the record area begins."""
        return HEADER_SIZE + BUCKET_SIZE * self.buckets

    @property
    def keys_max(self) -> int:
        """How many keys may be used before a bigger file is due."""
        return SLOTS * self.buckets * 65 // 100


def pack_header(
    geometry: Geometry, *, macs: int, generation: int, words_used: int, keys_used: int
) -> bytes:
    """The first page of a file."""
    fixed = _FIXED.pack(
        MAGIC, VERSION, HEADER_SIZE, geometry.file_size, geometry.buckets, geometry.words
    )
    page = bytearray(HEADER_SIZE)
    page[: len(fixed)] = fixed
    _CHECKSUM.pack_into(page, len(fixed), zlib.crc32(fixed))
    struct.pack_into("<II", page, MACS, macs, 0)
    struct.pack_into("<QII", page, GENERATION, generation, words_used, keys_used)
    return bytes(page)


def parse_header(page: bytes, size: int) -> Geometry:
    """Check the fixed part of a header against itself and the file's size; raises Damaged."""
    if size < HEADER_SIZE or len(page) < _FIXED.size + _CHECKSUM.size:
        raise Damaged(f"it has {size} octets; a table has {HEADER_SIZE} at least")
    magic, version, header_size, file_size, buckets, words = _FIXED.unpack_from(page)
    if magic != MAGIC:
        raise Damaged(f"it is not a table: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        raise Damaged(f"it is a table of version {version}; this program knows version {VERSION}")
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
        raise Damaged(f"the header counts {file_size} octets, its parts {geometry.file_size}")
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
    """Where the search for a MAC begins."""
    return ((mix(number) >> 32) * buckets) >> 32


# As many lanes as fit into a processor's cache.
_LANES = 1 << 14


def first_buckets(macs: array[int], buckets: int) -> array[int]:
    """first_bucket() of many MACs (an array of type Q), ten times as fast as one by one.

    One long integer is a vector of MACs.  Each has a lane of 128 bits, of
    which the lower half is used, so that products of 64 bits do not meet.
    """
    result = array("Q")
    for start in range(0, len(macs), _LANES):
        part = macs[start : start + _LANES]
        lanes = array("Q", bytes(16 * len(part)))
        lanes[::2] = part
        ones = int.from_bytes((b"\1" + bytes(15)) * len(part), "little")
        low64, low32 = ones * _MASK64, ones * _LOW
        x = int.from_bytes(lanes.tobytes(), "little")
        x ^= x >> 33 & low64
        x = x * _MIX1 & low64
        x ^= x >> 33 & low64
        x = x * _MIX2 & low64
        x ^= x >> 33 & low64
        x = (x >> 32 & low32) * buckets >> 32 & low32
        result.extend(array("Q", x.to_bytes(16 * len(part), "little"))[::2])
    return result


def kind(value: int) -> int:
    """NONE, INLINE or RECORD; raises Damaged for a value that nobody writes."""
    result = value >> KIND_SHIFT
    if value & _RESERVED or result > RECORD or (result == NONE and value):
        raise Damaged(f"the value {value:#018x} is none of a table")
    return result


def inline_value(lnid: int) -> int:
    """The value of a slot whose MAC has one LNID and no addresses."""
    return INLINE << KIND_SHIFT | lnid


def record_value(offset: int) -> int:
    """The value of a slot whose record begins at this word of the record area."""
    return RECORD << KIND_SHIFT | offset


def record_offset(value: int) -> int:
    """The opposite of record_value()."""
    return value & _LOW


def encode(entry: Entry) -> Content:
    """What a table holds of an entry; raises ValueError where ``Entry.of()`` does."""
    number, lnids, ip4, ip6 = entry
    if len(lnids) == 1 and not ip4 and not ip6:
        # Most are like this, and of a million at a time.
        mac.check(number)
        return INLINE << KIND_SHIFT | lnid.check(lnids)[0]
    entry = Entry.of(*entry)
    counts = len(entry.lnids) | len(entry.ip4) << 8 | len(entry.ip6) << 16
    parts = [number >> shift & _LOW for number in entry.ip6 for shift in (96, 64, 32, 0)]
    words = (counts, *entry.lnids, *entry.ip4, *parts)
    return struct.pack(f"<{len(words)}I", *words)


def decode(number: int, content: Content) -> Entry:
    """The opposite of encode(); raises Damaged."""
    if isinstance(content, int):
        return Entry(number, (content & _LOW,))
    words = struct.unpack(f"<{len(content) // WORD_SIZE}I", content)
    n_lnids, n_ip4, n_ip6 = _counts(words[0])
    ip4_at = 1 + n_lnids
    ip6_at = ip4_at + n_ip4
    parts = words[ip6_at:]
    ip6 = tuple(
        parts[at] << 96 | parts[at + 1] << 64 | parts[at + 2] << 32 | parts[at + 3]
        for at in range(0, 4 * n_ip6, 4)
    )
    lnids = words[1:ip4_at]
    if any(one >= other for one, other in pairwise(lnids)):
        raise Damaged("the LNIDs of a record are not in ascending order")
    return Entry(number, lnids, words[ip4_at:ip6_at], ip6)


def record_words(first: int) -> int:
    """How many words a record has that begins with ``first``; raises Damaged."""
    n_lnids, n_ip4, n_ip6 = _counts(first)
    return 1 + n_lnids + n_ip4 + 4 * n_ip6


def _counts(first: int) -> tuple[int, int, int]:
    n_lnids, n_ip4, n_ip6 = first & 0xFF, first >> 8 & 0xFF, first >> 16 & 0xFF
    if first >> 24 or not 1 <= n_lnids <= lnid.PER_MAC:
        raise Damaged(f"a record begins with {first:#010x}: 1 to {lnid.PER_MAC} LNIDs are allowed")
    if n_ip4 > address.PER_FAMILY or n_ip6 > address.PER_FAMILY:
        raise Damaged(
            f"a record begins with {first:#010x}: {address.PER_FAMILY} addresses"
            " of a family are allowed"
        )
    return n_lnids, n_ip4, n_ip6
