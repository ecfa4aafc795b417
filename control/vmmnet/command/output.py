# SPDX-License-Identifier: GPL-2.0-or-later
"""The output of commands: text for people, JSON for programs, progress on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

T = TypeVar("T")
# Seconds between two updates of a progress line.
_INTERVAL = 0.1


def print_json(value: object) -> None:
    """Print one value as JSON."""
    print(json.dumps(value, ensure_ascii=False))


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a text table; each column is as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def say(text: str) -> None:
    """Print a message to the standard error, and ignore a full disk."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def end_errors() -> None:
    """Forget what the standard error has not taken: Python 3.14 ends with 120 if it cannot."""
    try:
        if sys.stderr:
            sys.stderr.flush()
    except (OSError, ValueError):
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Have what a stream still holds go nowhere: at its end, Python tries again to write it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Unwritten(Exception):
    """The standard output cannot be written; the message says why."""


class ReaderGone(Unwritten):
    """The reader of the standard output has closed the pipe."""


class _Checked:
    """A stream that raises Unwritten, so that its errors differ from those of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write; raises Unwritten."""
        with _failures():
            return self._stream.write(text)

    def flush(self) -> None:
        """Flush; raises Unwritten."""
        with _failures():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone(error.strerror) from error
    except OSError as error:
        raise Unwritten(error.strerror) from error


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """Make errors of the standard output raise Unwritten, at the end at the latest."""
    with contextlib.ExitStack() as opened:
        # It is None if the shell has closed it.
        stream = sys.stdout or opened.enter_context(Path(os.devnull).open("w"))
        try:
            with contextlib.redirect_stdout(cast(TextIO, _Checked(stream))):
                try:
                    yield
                finally:
                    sys.stdout.flush()
        except Unwritten:
            _drop(stream)
            raise


class Progress:
    """A progress line on the terminal; without a terminal, nothing."""

    def __init__(self, what: str, total: int = 0) -> None:
        """``total`` is used if the caller does not know the total."""
        self._what, self._total = what, total
        self._shown = False
        self._next = time.monotonic() + _INTERVAL
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show how many are done."""
        if not self._terminal or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        total = total or self._total
        share = f" of {total:,} ({100 * done // total} %)" if total else ""
        sys.stderr.write(f"\r\033[K{self._what}: {done:,}{share}")
        sys.stderr.flush()
        self._shown = True

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self._shown = False

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items and count them."""
        for done, item in enumerate(items, 1):
            if not done & 0xFFF:
                self(done, 0)
            yield item
        self.end()
