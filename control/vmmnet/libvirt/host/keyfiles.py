# SPDX-License-Identifier: GPL-2.0-or-later
"""Key files in a folder of the VM, for a QEMU that starts.

They are in /run, which is memory.  Only QEMU's user may read them, and they exist only during
the start.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

# Users may reach their own file, but not list the VMs.
_PASS = 0o711


def put(folder: Path, values: Mapping[str, bytes], user: int) -> None:
    """Write exactly one file for each value, in base64; ``user`` is QEMU's user ID.

    Raises OSError; what was written until then stays until ``drop``.
    """
    drop(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.chmod(_PASS)
    folder.mkdir(0o700)
    for name, value in values.items():
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(folder / name, flags, 0o400), "wb") as out:
            out.write(base64.b64encode(value))
            os.fchown(out.fileno(), user, -1)
    folder.chmod(0o500)
    os.chown(folder, user, -1)


def drop(folder: Path) -> bool:
    """Remove the folder with all its files; returns whether there was one. Raises OSError."""
    try:
        # Its owner may have changed it: follow no link.
        shutil.rmtree(folder)
    except FileNotFoundError:
        return False
    return True
