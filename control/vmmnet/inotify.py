# SPDX-License-Identifier: GPL-2.0-or-later
"""Wait for changes in a folder, which may be removed and made again."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Self

# <linux/inotify.h>
_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_ONLYDIR = 0x1000000
_CHANGES = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _DELETE | _DELETE_SELF | _MOVE_SELF
_COMES_OR_GOES = _CREATE | _MOVED_FROM | _MOVED_TO | _DELETE_SELF | _MOVE_SELF

_BUFFER = 1 << 16

# The kernel's limit for links in a path.
_MOST_LINKS = 40

# The interval of checks while a folder cannot be watched.
_LOOK_EVERY_MS = 1000

_libc = ctypes.CDLL(None, use_errno=True)


def _call(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


class FolderWatch:
    """Waits for changes of the files in a folder, which need not exist yet.

    A context manager.  It watches all folders of the path, those of symbolic links
    included: the folder itself can be made, moved or removed in any of them.  If it
    cannot watch all of them, wait() returns once a second.
    """

    def __init__(self, folder: Path, *, growing: bool = False) -> None:
        """``growing``: a file changes with each write, not only when its writer closes it."""
        self._folder = folder.absolute()
        self._changes = _CHANGES | _MODIFY if growing else _CHANGES
        self._fd = _call(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")
        # stop() writes to it to end wait().
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._complete = self._arm()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
        os.close(self._end)

    def wait(self) -> bool:
        """Wait until something may have changed; False: stop() was called.

        Read the folder after it returns: a change from then on ends the next call.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._end, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(None if self._complete else _LOOK_EVERY_MS)]
        if self._end in ready:
            return False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, _BUFFER):
                pass
        # Folders may have been made or removed: watch those of the path as it is now.
        self._complete = self._arm()
        return True

    def stop(self) -> None:
        """End wait() in another thread."""
        os.eventfd_write(self._end, 1)

    def _arm(self) -> bool:
        """Watch the folder and all folders of its path; False: one could not be watched.

        The order is from the root down: a watched folder reports new ones in it.
        """
        complete = True
        *above, folder = _way(self._folder)
        for each in dict.fromkeys([*above, folder]):
            mask = self._changes if each == folder else _COMES_OR_GOES
            path = os.fsencode(each)
            try:
                _call(_libc.inotify_add_watch(self._fd, path, mask | _ONLYDIR), str(each))
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError:
                complete = False
        return complete


def _way(path: Path) -> Iterator[Path]:
    """The folders in which the kernel looks up ``path``, then the folder itself."""
    at, links = Path("/"), 0
    rest = list(reversed(path.parts[1:]))
    while rest:
        yield at
        part = rest.pop()
        if part == "..":
            at = at.parent
            continue
        try:
            target = (at / part).readlink()
        except OSError:
            at /= part
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        if target.is_absolute():
            at = Path("/")
        rest += reversed([part for part in target.parts if part != "/"])
    yield at
