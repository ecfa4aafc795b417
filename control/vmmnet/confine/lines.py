# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of an audit log, and what is missing between them (docs/vmrpc-audit.md)."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

#: A line as an object. Whoever wrote the file may have put anything in its members.
Event = dict[str, Any]
#: Reports trouble to people.
Tell = Callable[[str], None]

#: Octets of a line that is read: a device writes less, and another file may have no lines.
LINE_MAX = 1 << 18

#: Standard input, as a file.
STDIN = Path("-")

_decode = json.JSONDecoder().raw_decode


def parse(text: str) -> Event | None:
    """A line; None: it is none of an audit log."""
    try:
        event, _ = _decode(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict) and isinstance(event.get("event"), str):
        return event
    return None


def is_compressed(path: Path) -> bool:
    """Whether a log is compressed by gzip."""
    return path.suffix == ".gz"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a log, which may be compressed or be the standard input: its lines.

    Raises OSError, also while it is read.
    """
    with contextlib.ExitStack() as made:
        stream: Any = sys.stdin.buffer
        if path != STDIN:
            stream = made.enter_context((gzip.open if is_compressed(path) else open)(path, "rb"))
        try:
            yield _bounded(stream)
        except gzip.BadGzipFile:
            raise OSError(errno.EINVAL, "it is not compressed by gzip", str(path)) from None


def _bounded(stream: Any) -> Iterator[bytes]:
    """The lines of a stream; of one that is too long there is a part."""
    while line := stream.readline(LINE_MAX):
        rest = line
        while len(rest) == LINE_MAX and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_MAX)
        yield line if rest is line or not rest else line + b"\n"


class Reader:
    """Parses the lines of one log, and tells what is wrong with them."""

    def __init__(self, name: str, tell: Tell) -> None:
        self._name, self._tell = name, tell
        self._number = 0
        self._damaged = 0

    def read(self, octets: Iterable[bytes]) -> Iterator[tuple[str, Event]]:
        """Yield each line with its object."""
        for line in self._whole(octets):
            text = line.decode(errors="replace")
            event = parse(text)
            if event is not None:
                self._number += 1
                yield text, event
            elif line.endswith(b"\n"):
                self._number += 1
                self._damaged += 1
                if self._damaged == 1:
                    self._tell(f"{self._name}:{self._number}: this is no line of an audit log")
            else:
                self._tell(f"{self._name}: the last line is cut")

    def _whole(self, octets: Iterable[bytes]) -> Iterator[bytes]:
        """What can be read of a compressed log that is damaged."""
        try:
            yield from octets
        except (EOFError, zlib.error):
            self._tell(f"{self._name}: the rest is cut or damaged")

    def end(self) -> None:
        """Tell how many lines were wrong."""
        if self._damaged > 1:
            self._tell(f"{self._name}: {self._damaged:,} lines are none of an audit log")


#: So many lines of a device are remembered, more than it writes again after an error.
_RECENT = 4096


class Numbers:
    """Notices lines that are missing or come again, by the numbers of each device."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        #: The last number of each device, and the times of its last lines.
        self._last: dict[tuple[Any, Any], tuple[int, list[Any]]] = {}

    def is_new(self, event: Event) -> bool:
        """Whether a line is not there for a second time. Tell what is missing before it."""
        number, key = event.get("seq"), (event.get("vm"), event.get("dev"))
        if not isinstance(number, int):
            return True
        try:
            last, times = self._last.get(key) or (number - 1, [None] * _RECENT)
        except TypeError:  # a list or an object in place of a text
            return True
        time = event.get("time")
        if last - _RECENT < number <= last and times[number % _RECENT] == time:
            return False
        times[number % _RECENT] = time
        self._last[key] = number, times
        if number > last + 1:
            missing = lines(number - last - 1)
            self._tell(f"{source(event)}: {missing} missing between {last} and {number}")
        elif number <= last:
            self._tell(f"{source(event)}: numbers go back from {last} to {number}")
        if event["event"] == "lost":
            count = event.get("count")
            told = f"{count:,}" if isinstance(count, int) else "some"
            self._tell(f"{source(event)}: the device has lost {told} lines before {number}")
        return True


def lines(count: int) -> str:
    """A number of lines, with its verb."""
    return "a line is" if count == 1 else f"{count:,} lines are"


def source(event: Event) -> str:
    """The VM and the device of a line."""
    return printable(" ".join(str(event[key]) for key in ("vm", "dev") if key in event))


def printable(text: object) -> str:
    """A text of a log that is safe for a terminal and for a line of a file."""
    return str(text).encode("ascii", "backslashreplace").decode().translate(_ESCAPES)


_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


def read(paths: Iterable[Path], tell: Tell) -> Iterator[Event]:
    """The lines of whole logs, one after the other, in the order of their first lines.

    Raises OSError.
    """
    numbers = Numbers(tell)
    for path in sorted(paths, key=_begin):
        reader = Reader(str(path), tell)
        with opened(path) as stream:
            for _, event in reader.read(stream):
                if numbers.is_new(event):
                    yield event
        reader.end()


def _begin(path: Path) -> str:
    """The time of the first line of a log, for its place among others."""
    if path == STDIN:
        return ""
    with opened(path) as stream:
        first = parse(next(stream, b"").decode(errors="replace"))
    return str(first.get("time")) if first else ""
