# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that make an image: found, run, and what they said last."""

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

from vmmnet.hostvlan.command.options import Refused

#: Program -> Debian's package.
PACKAGES = {
    "mke2fs": "e2fsprogs",
    "mmdebstrap": "mmdebstrap",
    "qemu-img": "qemu-utils",
}
# Users have no sbin; a tree has a qemu-img that is built.
_BUILD = Path(__file__).resolve().parents[3] / "build"
_PLACES = ("/usr/sbin", "/sbin", str(_BUILD / "qemu-lean"), str(_BUILD / "qemu"))
# Their mounts are seen by nobody else, and go with them.
_ALONE = ("unshare", "--mount", "--propagation=private")
# Of what a program says, the lines that an error repeats.
_LAST = 12
# So they say it, long before the end.
_FULL = os.strerror(errno.ENOSPC)


class Failed(Exception):
    """A program ended with an error; ``full``: it, or one that it ran, has met a full disk."""

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
    """Run a program to its end; ``told`` hears each line, ``folder`` is for its files.

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
        # mmdebstrap waits for those that it has started: all of them hear of it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        raise
    if status:
        raise Failed(words[0], status, last, full)
