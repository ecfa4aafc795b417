# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of a VM's audit log, for a QEMU that may not make one in its folder.

Only QEMU's user may write it.  A file that is there stays, with what is in it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

_LINK = "it is a link, or no file, and the log is in a file of its own"
_SELINUX = Path("/sys/fs/selinux/enforce")


def make(path: Path, user: int) -> str | None:
    """Make the file, unless it is there, and give it to QEMU's user ID.

    Returns what was done, or None. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(_LINK) from None
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise OSError(_LINK)
        if found.st_uid == user:
            return None
        os.fchown(file, user, -1)
    finally:
        os.close(file)
    _label(path)
    return f"{path} is QEMU's"


def _label(path: Path) -> None:
    """Give it the label that the host's policy has for it."""
    command = shutil.which("restorecon")
    if command is not None and _SELINUX.exists():
        subprocess.run([command, path], check=False)
