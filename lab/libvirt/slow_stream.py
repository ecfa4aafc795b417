# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream for a migration that is slow until a test opens it."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Self

#: Octets a second while it is slow.
RATE = 1 << 20
_CHUNK = 1 << 15


class SlowStream:
    """Forwards connections of one UNIX socket to another one.  A context manager.

    For post-copy libvirt 11.3 has QEMU open a second one.  The opposite direction is not slow.
    """

    def __init__(self, here: Path, there: Path) -> None:
        self._there = there
        self._open = threading.Event()
        self._ends: list[socket.socket] = []
        self._is_cut = False
        #: Forwarded octets: their number, and the first of them.
        self.passed = 0
        self.begin = b""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(here))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, name="slow stream", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._thread.join()

    def open(self) -> None:
        """Switch to full speed."""
        self._open.set()

    def cut(self) -> None:
        """End the connections, and accept no other."""
        self._is_cut = True
        self._open.set()
        _shut(self._listener, *self._ends)

    def _serve(self) -> None:
        with self._listener, contextlib.ExitStack() as stack:
            # Cutting ends it, as does a destination that is gone.
            with contextlib.suppress(OSError):
                while True:
                    self._forward(stack)

    def _forward(self, stack: contextlib.ExitStack) -> None:
        source = stack.enter_context(self._listener.accept()[0])
        target = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        target.connect(str(self._there))
        self._ends += [source, target]
        if self._is_cut:
            _shut(source, target)
        for words in (source, target, True), (target, source, False):
            thread = threading.Thread(target=self._pass, args=words, daemon=True)
            thread.start()
            stack.callback(thread.join)

    def _pass(self, source: socket.socket, target: socket.socket, slow: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                target.sendall(data)
                if slow:
                    self.begin = self.begin or data
                    self.passed += len(data)
                    self._open.wait(len(data) / RATE)
        _shut(source, target)


def _shut(*ends: socket.socket) -> None:
    for each in ends:
        # It may have ended already.
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
