# SPDX-License-Identifier: GPL-2.0-or-later
"""Our DNS programs, for tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..base import paths, tools
from ..base.lock import locked


@cache
def built() -> Path:
    """Build the DNS programs and libraries, if needed; return the build folder."""
    with locked("programs"):
        tools.run(["make", "-C", paths.ROOT, "dns"])
    return paths.BUILD / "programs"


def library() -> Path:
    """Return the folder of the client library, of its NSS module, and of ``dns-lookup``."""
    return built() / "net/dns/client"


def program(name: str) -> Path:
    """Return the path of a program."""
    return built() / "dnsd" / name


def compile_zone(origin: str, text: str, image: Path) -> Path:
    """Compile a master file into a zone image at the served path."""
    source = image.with_suffix(".zone")
    source.write_text(text)
    tools.run([program("vmmnet-zone"), "compile", origin, source, "-o", image])
    return image
