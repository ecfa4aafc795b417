# SPDX-License-Identifier: GPL-2.0-or-later
"""Be told when a folder changes, also when it goes and comes back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
from pathlib import Path
from types import TracebackType
from typing import Self

# <linux/inotify.h>
_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_ONLYDIR = 0x1000000
_CHANGES = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _DELETE | _DELETE_SELF | _MOVE_SELF
_COMES_OR_GOES = _CREATE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF

_BUFFER = 1 << 16
# How long until what could not be watched is tried again, milliseconds.
_AGAIN = 2000

_libc = ctypes.CDLL(None, use_errno=True)


def _call(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


class FolderWatch:
    """Tells of changes of the files in a folder, which need not be there yet.

    A context manager.  The folders above it are watched too: what is made,
    moved or removed there can be this folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._fd = _call(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")
        # Who wakes a waiting thread for the last time.
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._arm()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)
        os.close(self._end)

    def wait(self) -> bool:
        """Wait until something may have changed; False: stop() was called.

        What is read after it returns is what there is, or newer: a change
        from then on ends the next call.  Where the system does not let us
        watch, it returns from time to time.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(None if self._is_armed else _AGAIN)]
        if self._end in ready:
            return False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, _BUFFER):
                pass
        # Where folders have come or gone, other ones are to be watched now.
        self._arm()
        return True

    def stop(self) -> None:
        """End wait() in another thread."""
        os.eventfd_write(self._end, 1)

    def _arm(self) -> None:
        """Watch the folder and all above it that exist.

        From the top down: what appears below one that is watched is told.
        """
        self._is_armed = True
        for folder in (*reversed(self._folder.parents), self._folder):
            mask = _CHANGES if folder == self._folder else _COMES_OR_GOES
            try:
                path = os.fsencode(folder)
                _call(_libc.inotify_add_watch(self._fd, path, mask | _ONLYDIR), str(folder))
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError:
                # A loop of links, no right to read, too many watches.
                self._is_armed = False
