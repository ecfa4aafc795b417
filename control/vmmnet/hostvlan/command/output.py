# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands say: text for people, JSON for programs, progress on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from ..table import exchange, lnid, mac, offer
from ..table.entry import Entry

# Seconds between two lines of a progress.
_INTERVAL = 0.1


def lnids(numbers: Iterable[int]) -> str:
    """LNIDs for people: ``global, 3``."""
    return ", ".join(map(lnid.text, numbers))


def named_lnids(numbers: Sequence[int]) -> str:
    """The same with the word before them."""
    if list(numbers) == [lnid.GLOBAL]:
        return "the global LNID"
    return f"{'LNID' if len(numbers) == 1 else 'LNIDs'} {lnids(numbers)}"


def macs(count: int) -> str:
    """So many MAC addresses, in words."""
    return f"{count:,} MAC address{'' if count == 1 else 'es'}"


def more(entry: Entry) -> str:
    """What most have not, for people: ``router, also as 00:00:5e:00:01:0a``."""
    also = [f"also as {mac.text(each)}" for each in entry.also]
    return ", ".join([*offer.words(entry.offers), *also])


def entry_or_null(entry: Entry | None) -> dict[str, Any] | None:
    """The same of what may be missing."""
    return exchange.entry_json(entry) if entry else None


def print_json(value: object) -> None:
    """Print one value, for programs."""
    print(json.dumps(value, ensure_ascii=False))


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a table of text, as wide as it takes."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def say(text: str) -> None:
    """Tell people something that is not the result of a command; or nobody, on a full disk."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


class Unwritten(Exception):
    """The standard output takes no more; the message says why."""


class ReaderGone(Unwritten):
    """Who has read the standard output has left."""


class _Checked:
    """A stream whose failures nobody takes for those of a table or a socket."""

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
    """Let what cannot be printed raise Unwritten, at the end at the latest."""
    with contextlib.ExitStack() as opened:
        # Python has none where the shell has closed it.
        stream = sys.stdout or opened.enter_context(Path(os.devnull).open("w"))
        try:
            with contextlib.redirect_stdout(cast(TextIO, _Checked(stream))):
                try:
                    yield
                finally:
                    sys.stdout.flush()
        except Unwritten:
            # Python writes the rest of its buffer once more when it ends.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            raise


class Progress:
    """A line on the terminal that says how far long work has come; silent elsewhere.

    Called as ``store.Progress`` is.
    """

    def __init__(self, what: str, total: int = 0) -> None:
        """``total`` stands in where the caller does not know it."""
        self._what, self._total = what, total
        self._shown = False
        self._next = time.monotonic() + _INTERVAL
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """So many are done."""
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

    def over(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Pass on what is there and count it."""
        for done, entry in enumerate(entries, 1):
            if not done & 0xFFF:
                self(done, 0)
            yield entry
        self.end()
