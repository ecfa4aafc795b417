# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of ``tests/interop``, which hold a core of ours against somebody else's."""

from __future__ import annotations

from pathlib import Path

from . import paths, tools
from .lock import locked


@locked("agree")
def built(name: str) -> Path:
    """Build one of them."""
    folder = paths.BUILD / "agree"
    tools.require("meson", "ninja")
    if not (folder / "build.ninja").exists():
        tools.run(["meson", "setup", folder, paths.ROOT / "tests"])
    tools.run(["ninja", "-C", folder, f"interop/{name}"])
    return folder / "interop" / name
