# SPDX-License-Identifier: GPL-2.0-or-later
"""Connects the user's terminal to a console of a guest.

python3 -m lab.terminal SOCKET      the shell of a guest that VMMNET_KEEP keeps; Ctrl-] leaves it
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

LEAVE = b"\x1d"  # Ctrl-]


def size() -> tuple[int, int]:
    """Columns and lines of the terminal."""
    return shutil.get_terminal_size()


@contextlib.contextmanager
def _raw(fd: int) -> Iterator[None]:
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def attach(path: Path, alive: Callable[[], bool] = lambda: True) -> None:
    """Connect standard input and output to the UNIX socket of a console.

    Returns when the console closes, when ``alive`` is false, or when the user
    presses Ctrl-].
    """
    keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as console, _raw(keyboard):
        console.connect(str(path))
        while alive():
            readable, _, _ = select.select([console, keyboard], [], [], 0.3)
            if console in readable:
                data = console.recv(65536)
                if not data:
                    return
                _write_all(screen, data)
            if keyboard in readable:
                data = os.read(keyboard, 4096)
                if not data or LEAVE in data:
                    return
                console.sendall(data)


if __name__ == "__main__":
    attach(Path(sys.argv[1]))
