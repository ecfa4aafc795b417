# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream for a migration that is slow until a test opens it."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

#: Octets a second while it is slow.
RATE = 1 << 20
_CHUNK = 1 << 15


class SlowStream:
    """Forwards a connection of one UNIX socket to another one.  A context manager.

    The opposite direction is not slow.
    """

    def __init__(self, here: Path, there: Path) -> None:
        self._there = there
        self._open = threading.Event()
        self._ends: list[socket.socket] = []
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        self._thread.join()

    def open(self) -> None:
        """Switch to full speed."""
        self._open.set()

    def cut(self) -> None:
        """End the connection, and accept no other."""
        self._open.set()
        for each in (self._listener, *self._ends):
            # The connection has ended already.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with self._listener, contextlib.ExitStack() as stack:
            try:
                source, _ = self._listener.accept()
            except OSError:
                return
            stack.enter_context(source)
            target = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            target.connect(str(self._there))
            self._ends = [source, target]
            back = threading.Thread(target=self._pass, args=(target, source), daemon=True)
            back.start()
            self._pass(source, target, slow=True)
            back.join()

    def _pass(self, source: socket.socket, target: socket.socket, slow: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                target.sendall(data)
                if slow:
                    self.begin = self.begin or data
                    self.passed += len(data)
                    self._open.wait(len(data) / RATE)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
