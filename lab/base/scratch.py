# SPDX-License-Identifier: GPL-2.0-or-later
"""Short-lived folders with short names: UNIX sockets allow 107 bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from . import process

_PREFIX = "vmmnet-"


def folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder that names its owner; a context manager removes it."""
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")


def reap_stale() -> None:
    """Remove the folders of owners that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = path.name.removeprefix(_PREFIX).split("-")[0]
        if path.is_dir() and owner.isdigit() and process.start_time(int(owner)) is None:
            shutil.rmtree(path, ignore_errors=True)
