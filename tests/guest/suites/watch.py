# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that reports line by line, and may hang or crash at any of them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

_TAIL = 3000
_LAST_WORDS = 5.0


class Watched:
    """A program in a session of its own; what it prints is its report.

    A context manager, which ends the program and all that it started.
    """

    def __init__(
        self,
        command: Sequence[str],
        limit: float,
        folder: str | None = None,
    ) -> None:
        """Start it; it may be silent for ``limit`` seconds."""
        self._limit = limit
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed by __exit__
        self._child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._child.stdout is not None
        self._report = self._child.stdout
        #: Whether it was silent for longer than it may be.
        self.hangs = False

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._report.close()
        self._errors.close()

    def lines(self) -> Iterator[str]:
        """What it reports, until it ends or is silent for too long."""
        rest = b""
        while select.select([self._report], [], [], self._limit)[0]:
            part = os.read(self._report.fileno(), 1 << 16)
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
        self.hangs = True

    def status(self, plea: signal.Signals) -> int:
        """How it ended; what hangs gets a signal that has it tell where it is."""
        if self.hangs:
            self._child.send_signal(plea)
        try:
            return self._child.wait(_LAST_WORDS if self.hangs else self._limit)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL

    def last_words(self) -> str:
        """The end of its error output."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL))
        return self._errors.read().decode(errors="replace")
