# SPDX-License-Identifier: GPL-2.0-or-later
"""Our DNS programs, for tests."""

from __future__ import annotations

from pathlib import Path

from . import paths, tools
from .lock import locked


def program(name: str) -> Path:
    """Build the DNS programs, if they are not built, and return one of them."""
    with locked("vmmnet-dns"):
        tools.run(["make", "-C", paths.ROOT, "dns"])
    return paths.BUILD / "dns" / name


def compile_zone(origin: str, text: str, image: Path) -> None:
    """Put the image of a zone, given as a master file, where it is to be served from."""
    source = image.with_suffix(".zone")
    source.write_text(text)
    tools.run([program("vmmnet-zone"), "compile", origin, source, "-o", image])
