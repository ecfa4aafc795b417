# SPDX-License-Identifier: GPL-2.0-or-later
"""A control socket of a daemon in Python: the protocol of docs/control.md, on asyncio.

A daemon without a loop runs ``Background``, whose thread asks its ``Daemon`` for answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from . import log

#: Octets of a request with its LF.
LINE_MAX = 1024
#: Connections at the same time, and those of one user other than root.
CLIENTS_MAX, OF_USER_MAX = 256, 64
# Seconds of a client, for a line and for reading its answer.
_PATIENCE = 5.0
# Seconds between two looks whether the socket is there.
_LOOK_EVERY = 1.0
#: The first words of requests.
WORDS = ("show", "metrics", "log")

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Say = Callable[[str], None]


class Daemon(Protocol):
    """What a daemon tells of itself."""

    def show(self) -> str:
        """What it has, as lines."""

    def value(self) -> Any:
        """The same for programs."""

    def metrics(self) -> str:
        """Its numbers, in Prometheus' text format."""


class _Refused(Exception):
    """The request is wrong; the message says why."""


@contextlib.asynccontextmanager
async def listening(
    path: Path, mode: int, serve: Serve, say: Say, *, late: bool = False
) -> AsyncIterator[None]:
    """Serve a socket with a file mode, and make it again if others remove it.

    ``say`` is told when they did.  Raises OSError; with ``late`` it tries again instead.
    """
    server: asyncio.Server | None = None
    told = ""

    async def begin(what: str) -> None:
        nonlocal server, told
        try:
            again = await _begin(path, mode, serve)
        except OSError as error:
            why = error.strerror or str(error)
            if why != told:
                say(f"{path}{what}: {why}")
            told = why
            return
        if server is not None:
            server.close()
        if what or told:
            say(f"{path}{what}: it is there {'again' if what else 'now'}")
        server, told = again, ""

    async def keep() -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if server is None:
                await begin("")
            elif not path.exists():
                await begin(" was removed")

    if late:
        await begin("")
    else:
        server = await _begin(path, mode, serve)
    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        if server is not None:
            server.close()
            await server.wait_closed()
            path.unlink(missing_ok=True)


async def _begin(path: Path, mode: int, serve: Serve) -> asyncio.Server:
    """Listen. Raises OSError."""
    _make_room(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)
    clients = Counter[int]()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        user = _peer(writer)
        clients[user] += 1
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                if clients.total() > CLIENTS_MAX or (user and clients[user] > OF_USER_MAX):
                    writer.write(b"error too many connections\n")
                    await writer.drain()
                else:
                    await serve(reader, writer)
        finally:
            clients[user] -= 1
            writer.close()

    return await asyncio.start_unix_server(client, sock=made, limit=LINE_MAX)


def _make_room(path: Path) -> None:
    """Remove the socket of a dead daemon; keep one that answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            if not path.is_socket():
                raise FileExistsError(0, "there is a file that is no socket") from None
            path.unlink()
            return
    raise OSError(0, "another daemon answers there")


async def line_of(reader: asyncio.StreamReader) -> bytes:
    """The next line with its LF; nothing at the end.  Raises ValueError if it is too long."""
    async with asyncio.timeout(_PATIENCE):
        return await reader.readline()


async def converse(
    daemon: Daemon, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer a line, and those after it, until the client closes."""
    while line:
        try:
            body, last = _answer(daemon, line.decode("ascii", "replace").rstrip("\n"), writer), "ok"
        except _Refused as error:
            body, last = "", f"error {error}"
        writer.write(f"{body}{last}\n".encode())
        async with asyncio.timeout(_PATIENCE):
            await writer.drain()
        try:
            line = await line_of(reader)
        except ValueError:
            writer.write(too_long())
            return


def too_long() -> bytes:
    """The answer to a line that is too long, which ends the connection."""
    return f"error a line has at most {LINE_MAX} octets\n".encode()


def _answer(daemon: Daemon, line: str, writer: asyncio.StreamWriter) -> str:
    match line.split(" "):
        case ["show"]:
            return daemon.show()
        case ["show", "json"]:
            return json.dumps(daemon.value(), ensure_ascii=False) + "\n"
        case ["metrics"]:
            return daemon.metrics()
        case ["log"]:
            return f"log level {log.level()}\n"
        case ["log", level]:
            if _peer(writer) not in (0, os.geteuid()):
                raise _Refused("log: only root and the daemon's user may do that")
            if level not in log.LEVELS:
                raise _Refused(f"log: '{level}' is none of {', '.join(log.LEVELS)}")
            log.set_level(level)
            return f"log level {level}\n"
    raise _Refused(f"'{line}' is no request: there are show, show json, metrics, log, log LEVEL")


def _peer(writer: asyncio.StreamWriter) -> int:
    """The user of a client."""
    client = writer.get_extra_info("socket")
    _, uid, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


class Background:
    """A control socket in a thread of its own, for a daemon that goes on without one."""

    def __init__(self, path: Path, mode: int, daemon: Daemon, say: Say) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                line = await line_of(reader)
            except ValueError:
                writer.write(too_long())
                return
            await converse(daemon, line, reader, writer)

        async def run() -> None:
            async with listening(path, mode, serve, say, late=True):
                await self._stop.wait()

        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(run()), name="control", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()
