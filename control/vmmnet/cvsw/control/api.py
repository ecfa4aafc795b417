# SPDX-License-Identifier: GPL-2.0-or-later
"""REST over a UNIX socket: HTTP/1.1, JSON, one request a connection.

    GET  /nics  /nics/MAC  /nics/MAC/flows  /switches  /plan  /controllers
    GET  /events  /nics/MAC/events    ?since=N: those after a former ``last``
    PUT  /plan              {"file": PATH}: put it into force
    POST /plan/diff         {"file": PATH}: what that would change
    POST /rekey             all associations anew

A fault is {"error": TEXT}. No answer contains a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import socket
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..plan.read import BadPlan, read
from . import report
from .keeper import File
from .say import say

if TYPE_CHECKING:
    from .controller import Controller
    from .nics.fabric import Fabric

_HEAD_MAX, _BODY_MAX = 8192, 65536
_PATIENCE = 10.0
#: Seconds between two looks whether the socket is there.
_LOOK_EVERY = 1.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class _Fault(Exception):
    """The request is wrong, or its object does not exist."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@contextlib.asynccontextmanager
async def serving(path: Path, controller: Controller) -> AsyncIterator[None]:
    """Serve a socket that only its owner may use, and make it again if others remove it.

    Raises OSError.
    """
    server = await _begin(path, controller)

    async def keep() -> None:
        nonlocal server
        told = ""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if path.exists():
                continue
            try:
                again = await _begin(path, controller)
            except OSError as error:
                why = error.strerror or str(error)
                if why != told:
                    say(f"--socket {path} was removed: {why}")
                told = why
                continue
            server.close()
            server, told = again, ""
            say(f"--socket {path} was removed: it is there again")

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        server.close()
        await server.wait_closed()
        path.unlink(missing_ok=True)


async def _begin(path: Path, controller: Controller) -> asyncio.Server:
    """Listen. Raises OSError."""
    _make_room(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            await _serve(controller, reader, writer)
        writer.close()

    return await asyncio.start_unix_server(serve, sock=made, limit=_HEAD_MAX)


def _make_room(path: Path) -> None:
    """Remove the socket of a dead daemon; keep one that answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(0, "another controller answers there")


async def _serve(
    controller: Controller, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            method, path, body = await _request(reader)
        status, value = 200, await _answer(controller, method, path, body)
    except (BadPlan, ValueError) as error:
        status, value = 400, {"error": str(error)}
    except _Fault as fault:
        status, value = fault.status, {"error": str(fault)}
    octets = json.dumps(value, ensure_ascii=False).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(octets)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + octets)
    await writer.drain()


async def _request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.LimitOverrunError:
        raise _Fault(400, f"a request's head has at most {_HEAD_MAX} octets") from None
    words = head[0].split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _Fault(400, f"'{head[0]}' is no request of HTTP/1.1")
    length = 0
    for line in head[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value) if value.strip().isdigit() else _BODY_MAX + 1
    if length > _BODY_MAX:
        raise _Fault(400, f"a request's body has at most {_BODY_MAX} octets")
    return words[0], words[1], await reader.readexactly(length)


@dataclass(frozen=True)
class _Asked:
    controller: Controller
    parts: list[str]
    body: bytes
    query: dict[str, str] = field(default_factory=dict)

    @property
    def fabric(self) -> Fabric:
        return self.controller.fabric

    def mac(self) -> bytes:
        """The NIC of the path, by name or MAC address."""
        spelled = self.parts[1]
        for nic in report.nics_of(self.fabric.plan):
            if spelled.lower() in (nic.mac.hex(":"), nic.name.lower()):
                return nic.mac
        raise _Fault(404, f"no NIC '{spelled}' is in the plan")

    def since(self) -> int | None:
        """The number after which events are requested."""
        for name in self.query:
            if name != "since":
                raise _Fault(400, f"there is no '{name}': there is since")
        value = self.query.get("since")
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= 20):
            raise _Fault(400, f"since: '{value}' is no number of an event")
        return int(value)

    def file(self) -> Path:
        """The file named in the body."""
        value = json.loads(self.body or b"null")
        name = value.get("file") if isinstance(value, dict) else None
        if not isinstance(name, str) or not name.startswith("/"):
            raise _Fault(400, 'the body has to be {"file": PATH} with an absolute path')
        return Path(name)


async def _answer(controller: Controller, method: str, path: str, body: bytes) -> Any:
    path, _, query = path.partition("?")
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    route = "/".join("MAC" if at == 1 and parts[0] == "nics" else p for at, p in enumerate(parts))
    methods = _ROUTES.get(route)
    if methods is None:
        raise _Fault(404, f"there is no {path}")
    if method not in methods:
        raise _Fault(405, f"{path} takes {', '.join(methods)}, not {method}")
    words = urllib.parse.parse_qsl(query, keep_blank_values=True)
    asked = _Asked(controller, parts, body, dict(words))
    value = methods[method](asked)
    return await value if inspect.isawaitable(value) else value


async def _put_plan(asked: _Asked) -> Any:
    file = File.read(asked.file())
    found = report.changes(asked.fabric, file.plan)
    by = await asked.controller.keeper.apply(file)
    changes = [
        {"mac": about.mac.hex(":"), "name": about.name, "what": what} for _, about, what in found
    ]
    waiting = None if by else report.unreached(asked.fabric)
    return {**report.plan(asked.controller), "changes": changes, "by": by, "waiting": waiting}


def _events(asked: _Asked, mac: bytes | None = None) -> Any:
    shift = time.time() - asyncio.get_running_loop().time()
    return report.events(asked.fabric, mac, asked.since(), shift)


async def _post_rekey(asked: _Asked) -> Any:
    by = await asked.controller.keeper.rekey()
    keys, waiting = asked.fabric.keys, None if by else report.unreached(asked.fabric)
    held = keys.waiting({bytes.fromhex(nic["mac"].replace(":", "")) for nic in waiting or ()})
    return {"pairs": keys.count() - held, "pairs_waiting": held, "by": by, "waiting": waiting}


_ROUTES: dict[str, dict[str, Callable[[_Asked], Any]]] = {
    "nics": {"GET": lambda asked: report.nics(asked.fabric)},
    "nics/MAC": {"GET": lambda asked: report.nic(asked.fabric, asked.mac())},
    "nics/MAC/flows": {"GET": lambda asked: report.flows(asked.fabric, asked.mac())},
    "nics/MAC/events": {"GET": lambda asked: _events(asked, asked.mac())},
    "events": {"GET": _events},
    "switches": {"GET": lambda asked: report.switches(asked.controller)},
    "controllers": {"GET": lambda asked: asked.controller.keeper.sharing()},
    "plan": {"GET": lambda asked: report.plan(asked.controller), "PUT": _put_plan},
    "plan/diff": {"POST": lambda asked: report.differences(asked.fabric, read(asked.file()))},
    "rekey": {"POST": _post_rekey},
}
