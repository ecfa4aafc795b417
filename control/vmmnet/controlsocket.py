# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of control sockets: a request is a line, an answer is text and a last line."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

# Time-out, seconds: a daemon answers at once or not at all.
_PATIENCE = 10.0


class Unanswered(Exception):
    """There is no answer; the message says why."""


class NotRunning(Unanswered):
    """Nothing listens at the path."""


class Refused(Exception):
    """The answer is an error, which is the message."""


def ask(path: Path, lines: str) -> str:
    """Send a request; return its answer without the last line.

    Raises Unanswered or Refused.
    """
    text = _received(path, lines)
    if not text:
        raise Unanswered(f"{path}: it closed the connection")
    body, _, last = text.removesuffix("\n").rpartition("\n")
    if not text.endswith("\n"):
        raise Unanswered(f"{path}: the answer is cut off")
    if last.startswith("error "):
        raise Refused("\n".join(filter(None, (body, last.removeprefix("error ")))))
    if last != "ok":
        raise Unanswered(f"{path}: the answer is cut off")
    return f"{body}\n" if body else ""


def probe(path: Path) -> None:
    """Look whether anybody listens, and say nothing to him.  Raises Unanswered."""
    with _connected(path):
        pass


def _received(path: Path, lines: str) -> str:
    parts = []
    with _connected(path) as connection:
        # A daemon that has hung up may have said why.
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(f"{lines}\n".encode())
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1 << 16):
                parts.append(part)
    return b"".join(parts).decode(errors="replace")


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[socket.socket]:
    """A connection; its errors are Unanswered."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(str(path))
            yield connection
    except FileNotFoundError:
        raise NotRunning(f"{path} does not exist") from None
    except ConnectionRefusedError:
        raise NotRunning(f"{path}: nothing listens there") from None
    except TimeoutError:
        raise Unanswered(f"{path}: no answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise Unanswered(f"{path}: {error.strerror or error}") from None
