# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of ``tests/interop``, which compare our cores with other implementations."""

from __future__ import annotations

from pathlib import Path

from ..base import paths, tools
from ..base.lock import locked

#: The flags of QEMU's build that affect the run time.
_AS_IN_QEMU = ("-Doptimization=2", "-Dc_args=-ftrivial-auto-var-init=zero")


@locked("agree")
def built(name: str, *, as_in_qemu: bool = False) -> Path:
    """Build a program, optionally with QEMU's flags for such code."""
    folder = paths.BUILD / ("agree-qemu" if as_in_qemu else "agree")
    tools.require("meson", "ninja")
    if not (folder / "build.ninja").exists():
        options = _AS_IN_QEMU if as_in_qemu else ()
        tools.run(["meson", "setup", "-Dprograms=[]", *options, folder, paths.ROOT])
    path = f"tests/interop/{name}"
    tools.run(["ninja", "-C", folder, path])
    return folder / path
