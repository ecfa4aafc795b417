# SPDX-License-Identifier: GPL-2.0-or-later
"""Which ports are on this host: a folder with a file for each VM.

Who starts a VM, such as a hook of libvirt, writes ``FOLDER/NAME`` with the MAC
of each of its ports, one a line, and removes it when the VM has ended.  A line
that begins with ``#`` is a remark.  A name that begins with ``.`` is nobody's:
write there and rename, so that no half of a file is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vmmnet.inotify import FolderWatch

from ..table import mac as macs

FOLDER = Path("/run/vmmnet/ports")

# Root alone may write there; a slip shall not fill the memory all the same.
_LARGEST_FILE = 1 << 16


@dataclass(frozen=True, slots=True)
class Ports:
    """What the folder says."""

    macs: frozenset[int]
    #: What was wrong with files, in sentences.
    complaints: tuple[str, ...] = ()


def parse(name: str, text: str) -> Ports:
    """Read one file; lines that are no MAC are complained of, the others count."""
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
    """Read all files of the folder; None if there is none, or if it cannot be read."""
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
    """Tells ``changed`` what the folder says, at first and whenever it changes.

    It runs in a thread of its own.  While there is no folder, it tells None.
    """

    def __init__(self, folder: Path, changed: Callable[[Ports | None], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._watch = FolderWatch(folder)
        self._thread = threading.Thread(target=self._run, name="ports", daemon=True)

    def start(self) -> Ports | None:
        """Begin; returns what the folder says now."""
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
