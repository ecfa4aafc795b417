# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides by modes whether QEMU's user can access a file through its path."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .facts import READ, RUN, SEARCH, Host


@dataclass(frozen=True)
class Trouble:
    """The reason why not; with an empty remedy the mode is right."""

    text: str
    remedy: str = ""
    severity: Literal["fault", "note"] = "fault"


def trouble(path: Path, access: int, host: Host, owned: bool = False) -> Trouble | None:
    """Why QEMU's user cannot read or run a file; None: it can.

    ``owned``: a secret, which others must not read; it is read once.
    """
    try:
        *folders, file = host.way(path)
    except (FileNotFoundError, NotADirectoryError):
        return Trouble("does not exist")
    except PermissionError as error:
        told = f"you may not read {error.filename or path}, so it was not checked"
        return Trouble(told, "run this as root", "note")
    except OSError as error:
        return Trouble(f"cannot be had: {error.strerror}")
    if not stat.S_ISREG(file.mode):
        return Trouble("is no file")
    if access == RUN and not file.mode & 0o111:
        return Trouble("is not executable", f"'chmod a+x {word(file.path)}'")
    user = host.user()
    if user is None:
        # Reported once, not for each file.
        return None
    for folder in folders:
        if not user.may(folder, SEARCH):
            told = f"QEMU's user, {user.name}, may not search {folder.path}"
            # QEMU lists the folder of a file that it watches.
            bits = "rx" if access == READ and not owned and folder is folders[-1] else "x"
            return Trouble(told, f"'chmod a+{bits} {word(folder.path)}'")
    if user.may(file, access):
        return None
    if access == RUN:
        return Trouble(
            f"QEMU's user, {user.name}, may not run it", f"'chmod a+rx {word(file.path)}'"
        )
    secret = f"'chown {user.name} {word(file.path)}', 'chmod 400 {word(file.path)}'"
    remedy = secret if owned else f"'chmod a+r {word(file.path)}'"
    return Trouble(f"QEMU's user, {user.name}, may not read it", remedy)


def word(path: Path) -> str:
    """A path quoted for the shell, as root may paste it."""
    return shlex.quote(str(path))
