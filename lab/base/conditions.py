# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditions of a measurement, which a reader needs to repeat it."""

from __future__ import annotations

import os
import platform
import re
import time
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


def machine() -> str:
    """Commit, host kernel, processors and the day, in one line."""
    day = time.strftime("%Y-%m-%d")
    suite = tools.peers_suite()
    peers = f"peers of Debian {suite}; " if suite else ""
    return f"{commit()}; {peers}host Linux {platform.release()}, {processors()}; {day}"
