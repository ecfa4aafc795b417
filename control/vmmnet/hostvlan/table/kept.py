# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an agent keeps a table: who else changes it is told, as the agent would undo that.

The agent locks the file TABLE.agent while it runs.  The file has the agent's process and
its store; it stays when the agent ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Keeper:
    """The agent that keeps a table."""

    process: int
    #: The store's URL.
    store: str


def _file(table: Path) -> Path:
    return table.with_name(f"{table.name}.agent")


def keeper(table: Path) -> Keeper | None:
    """The agent that keeps a table; None: there is none, or it is not known."""
    try:
        # As the agent does: a link to a table leads to the same file.
        with _file(table.resolve()).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                said = json.loads(file.read())
                return Keeper(int(said["process"]), str(said["store"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


@contextlib.contextmanager
def keeping(table: Path, store: str) -> Iterator[Keeper | None]:
    """Keep a table while in the ``with`` block; yields another agent that keeps it already.

    Raises OSError if the file cannot be made.
    """
    with _file(table.resolve()).open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield keeper(table)
            return
        file.truncate(0)
        file.write(json.dumps({"process": os.getpid(), "store": store}).encode("ascii"))
        file.flush()
        yield None
