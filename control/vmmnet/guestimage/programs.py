# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds and runs the programs that make an image, and keeps their last output."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from vmmnet.command.status import Refused

#: Program -> Debian's package.
PACKAGES = {
    "mke2fs": "e2fsprogs",
    "mmdebstrap": "mmdebstrap",
    "qemu-img": "qemu-utils",
}
# Users' PATH lacks sbin; a source tree has its own qemu-img.
_BUILD = Path(__file__).resolve().parents[3] / "build"
_PLACES = ("/usr/sbin", "/sbin", str(_BUILD / "qemu-lean"), str(_BUILD / "qemu"))
# Their mounts are private, and end with them.
_ALONE = ("unshare", "--mount", "--propagation=private")
# Lines of a program's output that an error repeats.
_LAST = 12
# Messages of a full disk, which may come long before the end.
_FULL = os.strerror(errno.ENOSPC)


class Failed(Exception):
    """A program failed; ``full``: because of a full disk."""

    def __init__(self, name: str, status: int, last: Sequence[str], full: bool) -> None:
        super().__init__(f"{name} ended with {status}")
        self.last = list(last)
        self.full = full


def find(name: str) -> str:
    """The path of a program. Raises Refused, which names the package."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    if path is None:
        raise Refused(f"needs {name}: apt install {PACKAGES[name]}")
    return path


def run(words: Sequence[str], told: Callable[[str], None], folder: Path) -> None:
    """Run a program; ``told`` gets each line, ``folder`` is for its files.

    Raises Failed.
    """
    last: deque[str] = deque(maxlen=_LAST)
    full = False
    environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    child = subprocess.Popen(
        [*_ALONE, find(words[0]), *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        assert child.stdout is not None
        for line in child.stdout:
            full |= _FULL in line
            if line.strip():
                last.append(line.rstrip())
                told(line.rstrip())
        status = child.wait()
    except BaseException:
        # mmdebstrap waits for its children: signal all of them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        raise
    if status:
        raise Failed(words[0], status, last, full)
