# SPDX-License-Identifier: GPL-2.0-or-later
"""Files with keys, in a folder of the VM's, for the QEMU that is about to start.

They are in /run, which is memory.  Only QEMU's user reads them, and only while it starts.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

# Users may pass to the file that is theirs, and not see which VMs there are.
_PASS = 0o711


def put(folder: Path, values: Mapping[str, bytes], user: int) -> None:
    """Have a file for each value, in base64, and nothing else; ``user`` is QEMU's number.

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
        # It was its owner's to change: this follows no link.
        shutil.rmtree(folder)
    except FileNotFoundError:
        return False
    return True
