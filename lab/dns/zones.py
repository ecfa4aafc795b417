# SPDX-License-Identifier: GPL-2.0-or-later
"""Zone images for tests: the tool that makes them, and functions that damage them."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..base import wait
from . import room as dns_room

PAGE = 4096
# Offsets in the header page, docs/dns-image.md.
CHECKSUM, FLAGS, SECTIONS = 12, 84, 352
NODES, HASH, ORDER, NSEC3, SUMS = range(5)


def zone(*words: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Run vmmnet-zone and return its exit status and output."""
    command = [dns_room.program("vmmnet-zone"), *words]
    text = stdin.decode() if stdin is not None else ""
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=wait.PATIENCE, check=False
    )


def compiled(folder: Path, name: str, text: str, *options: str, origin: str = "example.") -> Path:
    """Compile the text of a master file, which must be right, and return the image."""
    source, image = folder / f"{name}.zone", folder / f"{name}.vzi"
    source.write_text(text)
    done = zone("compile", origin, source, "-o", image, *options)
    assert done.returncode == 0, done.stderr
    return image


def generated(path: Path, records: int, *options: str) -> Path:
    """Write a zone in the shape of .NET."""
    with path.open("wb") as out:
        words: Sequence[str | Path] = [
            dns_room.program("zonegen"),
            "--records",
            str(records),
            *options,
        ]
        subprocess.run(words, stdout=out, check=True, timeout=wait.PATIENCE)
    return path


def _table() -> list[int]:
    table = []
    for octet in range(256):
        crc = octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC32C = _table()


def crc32c(data: bytes | bytearray) -> int:
    """The checksum of a page."""
    crc = 0xFFFFFFFF
    for octet in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


def section(data: bytes | bytearray, number: int) -> tuple[int, int]:
    """Offset and length of a section."""
    offset, length = struct.unpack_from("<QQ", data, SECTIONS + 24 * number)
    return int(offset), int(length)


def sealed(data: bytearray) -> bytes:
    """Return the image with corrected checksums, as an attacker would make it."""
    sums = section(data, SUMS)[0]
    for number, at in enumerate(range(PAGE, sums, PAGE)):
        struct.pack_into("<I", data, sums + 4 * number, crc32c(data[at : at + PAGE]))
    struct.pack_into("<I", data, SECTIONS + 24 * SUMS + 16, crc32c(data[sums:]))
    struct.pack_into("<I", data, CHECKSUM, 0)
    struct.pack_into("<I", data, CHECKSUM, crc32c(data[:PAGE]))
    return bytes(data)


def node(data: bytes | bytearray, name: bytes) -> int:
    """Offset in the file of the node of a name in wire form."""
    offset, length = section(data, NODES)
    end = offset + length
    while offset < end:
        size, _, name_len = struct.unpack_from("<IBB", data, offset)
        if data[offset + 8 : offset + 8 + name_len] == name:
            return offset
        offset += size
    raise KeyError(name)
