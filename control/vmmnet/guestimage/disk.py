# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout of the disk, and its boot loader: for SeaBIOS, and any PC's BIOS.

    sector 0       GRUB's boot.img (440 bytes), the partition table
    sector 1       GRUB's core.img, which sector 0 reads
    sector 2048    the root file system, up to the end

boot.img and core.img expect these places, so neither has to be patched. For UEFI:

    sector 0       the partition table
    sector 2048    the EFI system partition, whose only file is GRUB
    sector 18432   the root file system, up to the end
"""

from __future__ import annotations

import struct
from pathlib import Path

from . import esp

SECTOR = 512
#: Start of the first partition, bytes.
OFFSET = 1 << 20
#: Start of the root file system behind an EFI system partition.
OFFSET_EFI = OFFSET + esp.SIZE

# Places where boot.img has the first sector of core.img, and core.img its second one.
_BOOT_CODE = 440
_BOOT_START = 0x5C
_CORE_START = SECTOR - 12
_LINUX, _EFI = 0x83, 0xEF
_ACTIVE, _PASSIVE = 0x80, 0
_TABLE_END = b"\x55\xaa"
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
    table = signature + bytes(2) + _entry(_ACTIVE, _LINUX, OFFSET, size) + bytes(48) + _TABLE_END
    return boot[:_BOOT_CODE] + table + core


def first_sectors_efi(loader: bytes, size: int, signature: bytes) -> bytes:
    """The same for UEFI, up to the root file system; ``loader`` is GRUB. Raises BadLoader."""
    if loader[:2] != b"MZ":
        raise BadLoader("GRUB's core.img is no program of UEFI")
    try:
        partition = esp.partition(loader)
    except ValueError as error:
        raise BadLoader(f"GRUB's core.img {error}") from None
    entries = _entry(_PASSIVE, _EFI, OFFSET, OFFSET_EFI) + _entry(_ACTIVE, _LINUX, OFFSET_EFI, size)
    table = signature + bytes(2) + entries + bytes(32) + _TABLE_END
    return (bytes(_BOOT_CODE) + table).ljust(OFFSET, b"\0") + partition


def _entry(flag: int, kind: int, start: int, end: int) -> bytes:
    """A partition from ``start`` to before ``end``, bytes, for the table."""
    sectors = start // SECTOR, (end - start) // SECTOR
    return struct.pack("<B3sB3sII", flag, _BEYOND, kind, _BEYOND, *sectors)


def blank(path: Path, size: int) -> None:
    """Create a sparse file of ``size`` bytes."""
    with path.open("xb") as file:
        file.truncate(size)


def write(path: Path, sectors: bytes) -> None:
    """Put the first sectors onto a disk."""
    with path.open("r+b") as file:
        file.write(sectors)


def file_system(path: Path, folder: Path, size: int, uuid: str, start: int) -> list[str]:
    """The command of mke2fs for the file system from ``start`` on, with a folder's files."""
    # GRUB must support each feature, so the host's defaults are not used.
    features = (
        "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,"
        "sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum"
    )
    return [
        *("mke2fs", "-q", "-F", "-t", "ext4", "-O", features, "-b", "4096", "-m", "1"),
        *("-U", uuid, "-L", "vmmnet-guest", "-d", str(folder), "-E", f"offset={start}"),
        *(str(path), f"{(size - start) // 1024}k"),
    ]
