# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports on this host: a folder with a file for each VM.

The program that starts a VM, such as a hook of libvirt, writes ``FOLDER/NAME`` with the
MAC of each port, one a line, and removes the file when the VM has ended.  A line that
begins with ``#`` is a comment.  Files whose names begin with ``.`` are ignored: write
such a file and rename it, so that no reader sees a part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vmmnet.inotify import FolderWatch
from vmmnet.values import mac as macs

FOLDER = Path("/run/vmmnet/ports")

# In octets.  Only root may write there, but a mistake must not fill the memory.
_LARGEST_FILE = 1 << 16


@dataclass(frozen=True, slots=True)
class Ports:
    """The content of the folder."""

    macs: frozenset[int]
    #: Sentences about what is wrong with files.
    complaints: tuple[str, ...] = ()


def parse(name: str, text: str) -> Ports:
    """Read one file; each line that is not a MAC gives a complaint."""
    found, complaints = set(), []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        if word:
            try:
                found.add(macs.parse(word))
            except macs.BadMac as error:
                complaints.append(f"{name}, line {number}: {error}")
    return Ports(frozenset(found), tuple(complaints))


def read(folder: Path) -> Ports | None:
    """Read all files of the folder; None: it does not exist, or cannot be read."""
    found: set[int] = set()
    complaints: list[str] = []
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return None
    for file in files:
        if file.name.startswith("."):
            continue
        try:
            with file.open(errors="replace") as stream:
                ports = parse(str(file), stream.read(_LARGEST_FILE))
        except FileNotFoundError:
            continue
        except OSError as error:
            complaints.append(f"{file}: {error.strerror}")
            continue
        found |= ports.macs
        complaints += ports.complaints
    return Ports(frozenset(found), tuple(complaints))


class PortsFolder:
    """Calls ``changed`` with the content of the folder whenever that changes.

    The calls come from a thread of its own.  Without a folder, the content is None.
    """

    def __init__(self, folder: Path, changed: Callable[[Ports | None], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._watch = FolderWatch(folder)
        self._thread = threading.Thread(target=self._run, name="ports", daemon=True)

    def start(self) -> Ports | None:
        """Start the thread; returns the present content of the folder."""
        first = read(self._folder)
        self._last = first
        self._thread.start()
        return first

    def stop(self) -> None:
        """End the thread."""
        self._watch.stop()
        self._thread.join()
        self._watch.__exit__(None, None, None)

    def _run(self) -> None:
        while self._watch.wait():
            ports = read(self._folder)
            if ports != self._last:
                self._last = ports
                self._changed(ports)
