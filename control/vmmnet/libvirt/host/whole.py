# SPDX-License-Identifier: GPL-2.0-or-later
"""Atomic writing of files."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a file atomically, creating its folder. Raises OSError: then nothing has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(text)
        fresh.rename(path)
    except OSError:
        # A part of it would take room on a full disk.
        fresh.unlink(missing_ok=True)
        raise
