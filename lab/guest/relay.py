# SPDX-License-Identifier: GPL-2.0-or-later
"""The network between the two sides of a migration, which a test can lose."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Self

_CHUNK = 1 << 16


class Relay:
    """Forwards the connections of one UNIX socket to another one.  A context manager."""

    def __init__(self, here: Path, there: Path) -> None:
        self.here = here
        self._there = there
        self._answers = threading.Event()
        self._answers.set()
        self._lost = b""
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(here))
        self._listener.listen()

    def __enter__(self) -> Self:
        self._start(self._serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._ends):
            each.close()

    def hold_answers(self) -> None:
        """Forward nothing to the source from now on, until cut() loses it."""
        self._answers.clear()

    def lose(self, answer: bytes) -> None:
        """Forward no answer to the source that consists of these octets."""
        self._lost = answer

    def cut(self) -> None:
        """End the connections; new ones are forwarded."""
        for each in self._ends:
            with contextlib.suppress(OSError):  # it has ended already
                each.shutdown(socket.SHUT_RDWR)
        self._answers.set()

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is shut down at the end
            while True:
                source = self._listener.accept()[0]
                target = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                target.connect(str(self._there))
                self._ends += [source, target]
                self._start(self._forward, source, target, False)
                self._start(self._forward, target, source, True)

    def _forward(self, one: socket.socket, other: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):  # cut
            while data := one.recv(_CHUNK):
                if answers:
                    self._answers.wait()
                    data = data.replace(self._lost, b"") if self._lost else data
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
