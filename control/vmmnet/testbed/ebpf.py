# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's programs for interfaces, compiled, and the program that compares data paths."""

from __future__ import annotations

from pathlib import Path

from vmmnet.hostvlan import twin

from . import paths, tools
from .lock import locked


@locked("bpf")
def compiled() -> Path:
    """Compile the programs, if they are not, to where ``twin`` looks for them."""
    tools.run(["make", "-s", "-C", paths.ROOT, "bpf"])
    return twin.OBJECT


@locked("agree")
def agree() -> Path:
    """Build what feeds both data paths the same frames."""
    folder, name = paths.BUILD / "agree", "hostvlan-agree"
    tools.require("meson", "ninja")
    if not (folder / "build.ninja").exists():
        tools.run(["meson", "setup", folder, paths.ROOT / "tests"])
    tools.run(["ninja", "-C", folder, f"interop/{name}"])
    return folder / "interop" / name
