# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of the repository's sources and builds."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
#: For programs that import the product, and this package.
PYTHONPATH = f"{ROOT / 'control'}:{ROOT}"


def closed_folder(place: Path) -> Path | None:
    """The outermost folder on the way to ``place`` that other users cannot enter."""
    for folder in (*reversed(place.parents), place):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def digest(parts: Iterable[bytes | str | Path]) -> str:
    """Hash texts and the contents of files into a name for what they produce."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            data = str(part.relative_to(ROOT)).encode() + b"\0" + part.read_bytes()
        else:
            data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:16]


def sources_below(folder: Path) -> list[Path]:
    """Every regular file below ``folder``, in a stable order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
