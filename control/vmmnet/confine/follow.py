# SPDX-License-Identifier: GPL-2.0-or-later
"""Read a log as it grows, also when it is rotated."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

from vmmnet.inotify import FolderWatch

from .lines import LINE_MAX, Tell

_CHUNK = 1 << 16


class Growing:
    """The whole lines of a file that grows.

    A file of the same name may take its place: the old one is read on until the new one has
    something, as its writer turns to the new one some time after it was renamed. A file that
    becomes shorter is read from its beginning.
    """

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path, self._tell = path, tell
        self._file: BinaryIO | None = None
        self._rest = b""

    def lines(self) -> Iterator[bytes]:
        """The lines that are there now. Raises OSError."""
        yield from self._grown()
        found = self._successor()
        if found is not None:
            # The writer may have written to the old file before it turned to the new one.
            yield from self._grown()
            self._replace(found)
            yield from self._grown()

    def _successor(self) -> BinaryIO | None:
        """The file of that name, if it is another one than before and is to be read."""
        try:
            found = self._path.open("rb")
        except FileNotFoundError:
            return None
        with contextlib.ExitStack() as made:
            made.callback(found.close)
            status = os.fstat(found.fileno())
            if self._file is not None:
                old = os.fstat(self._file.fileno())
                if (old.st_dev, old.st_ino) == (status.st_dev, status.st_ino):
                    if status.st_size >= self._file.tell():
                        return None
                elif not status.st_size:
                    return None
            made.pop_all()
        return found

    def _replace(self, file: BinaryIO) -> None:
        if self._rest:
            self._tell(f"{self._path}: the last line before another file is cut")
        self.close()
        self._file, self._rest = file, b""

    def _grown(self) -> Iterator[bytes]:
        while self._file is not None and (more := self._file.read(_CHUNK)):
            *whole, rest = (self._rest + more).split(b"\n")
            # Of a line that is too long its beginning is kept.
            self._rest = rest[:LINE_MAX]
            yield from (line + b"\n" for line in whole)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def follow(path: Path, tell: Tell) -> Generator[bytes, None, None]:
    """The lines of a log, and those to come, without an end. Raises OSError."""
    growing = Growing(path, tell)
    if not path.exists():
        tell(f"{path} is not there yet")
    with FolderWatch(path.absolute().parent, growing=True) as watch, contextlib.closing(growing):
        while True:
            yield from growing.lines()
            # A reader shows what there is before it waits.
            yield b""
            watch.wait()
