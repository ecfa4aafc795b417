# SPDX-License-Identifier: GPL-2.0-or-later
"""Python packages that Debian does not have, only for tests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ..base import paths, tools
from ..base.lock import locked


@locked("wheels")
def installed(requirements: Path) -> Path:
    """Install the wheels of a list with hashes; the folder to import them from.

    Only the packages of the list are installed, which has all dependencies.
    """
    folder = paths.BUILD / "wheels" / paths.digest([requirements])
    if not folder.exists():
        fresh = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(fresh, ignore_errors=True)
        pip = ["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-deps"]
        tools.run([*pip, "--require-hashes", "--target", fresh, "--requirement", requirements])
        fresh.rename(folder)
    return folder


def os_ken() -> Path:
    """Return the folder to import os-ken from, with its dependencies."""
    return installed(paths.ROOT / "tests" / "interop" / "wheels.txt")


def use_os_ken() -> None:
    """Let this process import os-ken from there, also where Debian's, without cases, is."""
    folder = str(os_ken())
    if folder not in sys.path:
        sys.path.insert(0, folder)
