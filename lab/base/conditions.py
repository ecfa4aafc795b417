# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditions of a measurement, which a reader needs to repeat it."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence
from pathlib import Path

from . import paths, tools


def commit() -> str:
    """The commit of the tree, and whether there are uncommitted changes."""
    try:
        name = tools.run(["git", "-C", paths.ROOT, "describe", "--always", "--abbrev=12"]).strip()
        changed = tools.run(["git", "-C", paths.ROOT, "status", "--porcelain", "-uno"]).strip()
    except (tools.MissingTool, tools.CommandFailed):
        return "no commit"
    return f"commit {name}{', changed' if changed else ''}"


def processors() -> str:
    """Model and number of the processors."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{os.cpu_count()} processors ({found[1] if found else platform.machine()})"


def _versions(packages: Sequence[str], *, own: bool = False) -> str:
    known = ((package, tools.version(package, own=own)) for package in packages)
    return ", ".join(f"{package} {version}" for package, version in known if version)


def machine(*packages: str, own: Sequence[str] = ()) -> str:
    """Commit, peers, host kernel, processors and the day, in one line.

    ``packages`` are Debian's of the peers, ``own`` those that this machine's also were peers.
    """
    suite, versions = tools.peers_suite(), _versions(packages)
    peers = f"peers of Debian {suite or tools.OWN_SUITE}" if suite or versions else ""
    if versions:
        peers += f" ({versions})"
    if own:
        peers += f" and {tools.OWN_SUITE} ({_versions(own, own=True)})"
    day = time.strftime("%Y-%m-%d")
    parts = [commit(), peers, f"host Linux {platform.release()}, {processors()}", day]
    return "; ".join(part for part in parts if part)
