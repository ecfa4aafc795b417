# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks between processes, as tests run in parallel and share builds."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from . import paths


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time build the thing called ``name``."""
    folder = paths.BUILD / "guest"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
