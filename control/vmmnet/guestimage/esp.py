# SPDX-License-Identifier: GPL-2.0-or-later
"""An EFI system partition with one file, the program that UEFI starts of a removable disk.

Its file system is FAT16, of Microsoft's specification of FAT: the boot sector, two tables of
clusters, the root folder, and clusters from number 2 on.
"""

from __future__ import annotations

import struct

#: Bytes of the partition.
SIZE = 8 << 20
#: UEFI's name for 64-bit Arm.
PATH = ("EFI", "BOOT", "BOOTAA64.EFI")

_SECTOR = 512
# With two sectors a cluster there are more than 4,085 clusters and fewer than 65,525: FAT16.
_CLUSTER = 2 * _SECTOR
_TABLE_SECTORS = 32
_ROOT_ENTRIES = 512
_ENTRY = 32
_CLUSTERS_AT = (1 + 2 * _TABLE_SECTORS) * _SECTOR + _ROOT_ENTRIES * _ENTRY
_CLUSTERS = (SIZE - _CLUSTERS_AT) // _CLUSTER
_MEDIA, _END = 0xF8, 0xFFFF
_FOLDER, _FILE = 0x10, 0x20
# 1 January 1980.
_DATE = 1 << 5 | 1


def partition(program: bytes) -> bytes:
    """The partition with ``program``. Raises ValueError: it is too long."""
    length = -(-len(program) // _CLUSTER)
    # Two folders are before it.
    if length + 2 > _CLUSTERS:
        raise ValueError(f"is too long: {len(program)} bytes")
    efi, boot, first = 2, 3, 4
    chain = [*range(first + 1, first + length), _END]
    table = struct.pack(f"<{4 + length}H", 0xFF00 | _MEDIA, _END, _END, _END, *chain)
    table = table.ljust(_TABLE_SECTORS * _SECTOR, b"\0")
    root = _entry(PATH[0], _FOLDER, efi)
    folders = [
        _folder(efi, 0) + _entry(PATH[1], _FOLDER, boot),
        _folder(boot, efi) + _entry(PATH[2], _FILE, first, len(program)),
    ]
    data = b"".join(each.ljust(_CLUSTER, b"\0") for each in folders) + program
    whole = _boot_sector() + 2 * table + root.ljust(_ROOT_ENTRIES * _ENTRY, b"\0") + data
    return whole.ljust(SIZE, b"\0")


def _boot_sector() -> bytes:
    layout = struct.pack(
        "<3s8sHBHBHHBHHHII",
        *(b"\xeb\x3c\x90", b"MSWIN4.1", _SECTOR, _CLUSTER // _SECTOR, 1, 2, _ROOT_ENTRIES),
        *(SIZE // _SECTOR, _MEDIA, _TABLE_SECTORS, 32, 64, 0, 0),
    )
    more = struct.pack("<BBBI11s8s", 0x80, 0, 0x29, 0x766D6D6E, b"NO NAME    ", b"FAT16   ")
    return (layout + more).ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"


def _folder(own: int, parent: int) -> bytes:
    return _entry(".", _FOLDER, own) + _entry("..", _FOLDER, parent)


def _entry(name: str, kind: int, cluster: int, size: int = 0) -> bytes:
    stem, _, suffix = (name, "", "") if name in (".", "..") else name.partition(".")
    short = f"{stem:8}{suffix:3}".encode()
    return struct.pack("<11sB8xHHHHI", short, kind, 0, 0, _DATE, cluster, size)
