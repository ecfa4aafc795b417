# SPDX-License-Identifier: GPL-2.0-or-later
"""The program at a puppet's end: does what a test tells it, a line of Python at a time.

It runs in the guest, on the host and on the peer, so that all of them do the
same.  A request is a line of JSON, [number, source]; each has a thread of its
own, as it may block.  An answer is a line, number and JSON: ["value", what the
source comes to], ["errno", the name of the error] or ["failed", a traceback].
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import select
import socket
import struct
import sys
import threading
import traceback
import zlib
from typing import Any

BLOCK = bytes(number * 7 % 251 for number in range(1 << 16))
_printing = threading.Lock()


def connect(host: str, port: int, user_timeout_ms: int = 0) -> socket.socket:
    """A connection, by TCP; one that is not answered ends after that time."""
    s = socket.create_connection((host, port))
    if user_timeout_ms:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, user_timeout_ms)
    return s


def listen(port: int, backlog: int = 64, address: str = "") -> socket.socket:
    """A listener on all IPv4 addresses, or on one address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=backlog)


def fill(s: socket.socket) -> int:
    """Send until no more fits; return how many bytes that were."""
    total = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            # A part of a block may have been sent: go on behind it.
            total += s.send(BLOCK[total % len(BLOCK) :], socket.MSG_DONTWAIT)
    return total


def stuff(s: socket.socket, patience: float = 0.3) -> int:
    """Send until no more fits for a time, as SO_SNDTIMEO has it; return how much that was."""
    seconds, rest = divmod(int(patience * 1e6), 1_000_000)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, rest))
    total = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            total += s.send(BLOCK[total % len(BLOCK) :])
    return total


def take(s: socket.socket, size: int) -> bytes:
    """Receive so many bytes, or as many as there are before the end."""
    data = b""
    while len(data) < size and (part := s.recv(size - len(data))):
        data += part
    return data


def pump(s: socket.socket, size: int) -> tuple[int, int]:
    """Send so many bytes; return their number and checksum."""
    total = check = 0
    while total < size:
        part = BLOCK[: size - total]
        s.sendall(part)
        check = zlib.crc32(part, check)
        total += len(part)
    return total, check


def stream(s: socket.socket, end: threading.Event) -> tuple[int, int]:
    """Send until told to end, then end the stream; return bytes and checksum."""
    total = check = 0
    while not end.is_set():
        s.sendall(BLOCK)
        check = zlib.crc32(BLOCK, check)
        total += len(BLOCK)
    s.shutdown(socket.SHUT_WR)
    return total, check


def drain(s: socket.socket) -> tuple[int, int]:
    """Receive to the end of the stream; return bytes and checksum."""
    total = check = 0
    while data := s.recv(1 << 18):
        check = zlib.crc32(data, check)
        total += len(data)
    return total, check


def reset(s: socket.socket) -> None:
    """End a connection by a reset."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def events(s: socket.socket, wanted: int, seconds: float = 20) -> list[str]:
    """What poll() says, by name."""
    poll = select.poll()
    poll.register(s, wanted)
    found = poll.poll(seconds * 1000)
    names = ("POLLIN", "POLLOUT", "POLLRDHUP", "POLLERR", "POLLHUP")
    return [name for name in names if found and found[0][1] & getattr(select, name)]


def outcome(call: Any, *arguments: Any) -> Any:
    """What a call returns, or the name of its error; for several in a row."""
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))


def _value(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return value.decode() if isinstance(value, bytes) else repr(value)
    return value


def _answer(source: str, names: dict[str, Any]) -> list[Any]:
    try:
        try:
            code = compile(source, "<test>", "eval")
        except SyntaxError:
            exec(compile(source, "<test>", "exec"), names)
            return ["value", None]
        return ["value", _value(eval(code, names))]
    except OSError as error:
        # Those of getaddrinfo() are no errno.
        known = not isinstance(error, socket.gaierror)
        return ["errno", errno.errorcode.get(error.errno or 0) if known else str(error)]
    except Exception:
        return ["failed", traceback.format_exc()]


def _work(number: int, source: str, names: dict[str, Any]) -> None:
    text = json.dumps(_answer(source, names))
    with _printing:
        print(number, text, flush=True)


def main() -> None:
    """Serve until the end of the input."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    names: dict[str, Any] = {**globals()}
    for line in sys.stdin:
        number, source = json.loads(line)
        threading.Thread(target=_work, args=(number, source, names), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
