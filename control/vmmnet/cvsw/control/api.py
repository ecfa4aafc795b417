# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's UNIX socket: its control socket (docs/control.md), and REST.

REST is HTTP/1.1, JSON, one request a connection.

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
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmmnet import controlserver

from ..plan.read import BadPlan, read
from . import report
from .keeper import File
from .say import say
from .told import Told

if TYPE_CHECKING:
    from .controller import Controller
    from .nics.fabric import Fabric

_HEAD_MAX, _BODY_MAX = 8192, 65536
_PATIENCE = 10.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class _Fault(Exception):
    """The request is wrong, or its object does not exist."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@contextlib.asynccontextmanager
async def serving(path: Path, controller: Controller) -> AsyncIterator[None]:
    """Serve a socket that only its owner may use.  Raises OSError."""
    told = Told(controller)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await controlserver.line_of(reader)
        except ValueError:
            writer.write(controlserver.too_long())
            return
        if line.split(b" ")[0].strip().decode("latin-1") in controlserver.WORDS:
            await controlserver.converse(told, line, reader, writer)
        else:
            await _serve(controller, line, reader, writer)

    async with controlserver.listening(path, 0o600, serve, lambda text: say(f"--socket {text}")):
        yield


async def _serve(
    controller: Controller, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer a request of HTTP that begins with a line."""
    try:
        async with asyncio.timeout(_PATIENCE):
            method, path, body = await _request(line, reader)
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


async def _request(first: bytes, reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    lines = [first]
    while lines[-1] not in (b"\r\n", b"\n"):
        lines.append(await reader.readline())
        if not lines[-1]:
            raise asyncio.IncompleteReadError(b"".join(lines), None)
        if sum(map(len, lines)) > _HEAD_MAX:
            raise _Fault(400, f"a request's head has at most {_HEAD_MAX} octets")
    head = [line.decode("latin-1").rstrip("\r\n") for line in lines]
    words = head[0].split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _Fault(400, f"'{head[0]}' is no request of HTTP/1.1")
    length = 0
    for each in head[1:]:
        name, _, value = each.partition(":")
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
