# SPDX-License-Identifier: GPL-2.0-or-later
"""Write initramfs archives: the "newc" format that the kernel unpacks.

See Documentation/driver-api/early-userspace/buffer-format.rst of Linux.
Archives may be concatenated when each is padded to four bytes, which is how
a boot adds its own files to the common ones.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class File:
    """The content and the permission bits of a regular file."""

    data: bytes
    mode: int = 0o644


def _entry(inode: int, mtime: int, name: str, mode: int, data: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, mtime, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def archive(files: Mapping[str, File], mtime: int = 0) -> bytes:
    """Pack files, named by absolute paths, together with their folders.

    ``mtime`` is when all of them were changed, in seconds of the epoch.
    """
    folders: dict[str, None] = {}
    for name in files:
        for parent in reversed(PurePosixPath(name.lstrip("/")).parents):
            if str(parent) != ".":
                folders.setdefault(str(parent))
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in folders]
    entries += [
        (name.lstrip("/"), stat.S_IFREG | file.mode, file.data) for name, file in files.items()
    ]
    entries.append(("TRAILER!!!", 0, b""))
    return b"".join(_entry(inode, mtime, *entry) for inode, entry in enumerate(entries, 1))
