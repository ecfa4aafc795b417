# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout of the disk, and its boot loader: for SeaBIOS, and any PC's BIOS.

    sector 0       GRUB's boot.img (440 bytes), the partition table
    sector 1       GRUB's core.img, which sector 0 reads
    sector 2048    the root file system, up to the end

boot.img and core.img expect these places, so neither has to be patched.
"""

from __future__ import annotations

import struct
from pathlib import Path

SECTOR = 512
#: Start of the partition, bytes.
OFFSET = 1 << 20

# Places where boot.img has the first sector of core.img, and core.img its second one.
_BOOT_CODE = 440
_BOOT_START = 0x5C
_CORE_START = SECTOR - 12
_LINUX = 0x83
_ACTIVE = 0x80
# Cylinder, head and sector that stand for sectors beyond their range.
_BEYOND = b"\xfe\xff\xff"


class BadLoader(ValueError):
    """GRUB's images cannot be copied unchanged."""


def first_sectors(boot: bytes, core: bytes, size: int, signature: bytes) -> bytes:
    """The sectors before the partition of a disk of ``size`` bytes.

    ``boot`` and ``core`` are GRUB's images, ``signature`` the disk's, 4 bytes.
    Raises BadLoader.
    """
    if len(boot) != SECTOR or struct.unpack_from("<Q", boot, _BOOT_START) != (1,):
        raise BadLoader("GRUB's boot.img does not look for the rest at sector 1")
    if len(core) < SECTOR or struct.unpack_from("<Q", core, _CORE_START) != (2,):
        raise BadLoader("GRUB's core.img does not go on at sector 2")
    if SECTOR + len(core) > OFFSET:
        raise BadLoader(f"GRUB's core.img is too long: {len(core)} bytes before {OFFSET}")
    start, sectors = OFFSET // SECTOR, (size - OFFSET) // SECTOR
    entry = struct.pack("<B3sB3sII", _ACTIVE, _BEYOND, _LINUX, _BEYOND, start, sectors)
    table = signature + bytes(2) + entry + bytes(48) + b"\x55\xaa"
    return boot[:_BOOT_CODE] + table + core


def blank(path: Path, size: int) -> None:
    """Create a sparse file of ``size`` bytes."""
    with path.open("xb") as file:
        file.truncate(size)


def write(path: Path, sectors: bytes) -> None:
    """Put the first sectors onto a disk."""
    with path.open("r+b") as file:
        file.write(sectors)


def file_system(path: Path, folder: Path, size: int, uuid: str) -> list[str]:
    """The command of mke2fs for the disk's file system, with a folder's files."""
    # GRUB must support each feature, so the host's defaults are not used.
    features = (
        "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,"
        "sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum"
    )
    return [
        *("mke2fs", "-q", "-F", "-t", "ext4", "-O", features, "-b", "4096", "-m", "1"),
        *("-U", uuid, "-L", "vmmnet-guest", "-d", str(folder), "-E", f"offset={OFFSET}"),
        *(str(path), f"{(size - OFFSET) // 1024}k"),
    ]
