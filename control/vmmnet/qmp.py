# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the QEMU Machine Protocol, one command at a time."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

#: Default time-out of an answer, seconds; enough on a busy machine.
PATIENCE = 180.0


class QmpError(RuntimeError):
    """QEMU refused a command; the message is QEMU's description."""


class Qmp:
    """A connection to a QMP socket, past the greeting."""

    def __init__(
        self, connection: socket.socket, patience: float = PATIENCE, *, oob: bool = False
    ) -> None:
        """Greet, within ``patience`` seconds; ``oob`` allows out_of_band()."""
        self._socket = connection
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []
        self._next_message(time.monotonic() + patience)
        self.command("qmp_capabilities", patience, **({"enable": ["oob"]} if oob else {}))

    def _next_message(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("QMP: no answer in time")
            self._socket.settimeout(left)
            data = self._socket.recv(1 << 16)
            if not data:
                raise QmpError("QEMU closed the QMP connection")
            self._buffer += data
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        message: dict[str, Any] = json.loads(line)
        return message

    def command(self, name: str, timeout: float = PATIENCE, **arguments: object) -> Any:
        """Execute a command and return what it returns.

        Underscores in the names of arguments stand for QMP's dashes.
        """
        named = {key.replace("_", "-"): value for key, value in arguments.items()}
        return self.execute(name, named, timeout)

    def execute(self, name: str, arguments: Mapping[str, object], timeout: float = PATIENCE) -> Any:
        """Execute a command with unchanged arguments."""
        return self._request({"execute": name, "arguments": dict(arguments)}, timeout)

    def out_of_band(self, name: str, timeout: float = PATIENCE, **arguments: object) -> Any:
        """Execute one of the commands that a QEMU takes while its main loop waits."""
        return self._request({"exec-oob": name, "arguments": arguments}, timeout)

    def _request(self, request: Mapping[str, object], timeout: float) -> Any:
        name = request.get("execute", request.get("exec-oob"))
        with self._lock:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            deadline = time.monotonic() + timeout
            while True:
                message = self._next_message(deadline)
                if "event" in message:
                    self._events.append(message)
                elif "error" in message:
                    raise QmpError(f"{name}: {message['error']['desc']}")
                else:
                    return message["return"]

    def wait_event(self, name: str, timeout: float = PATIENCE, **data: object) -> dict[str, Any]:
        """Return the first event of this name whose data contains ``data``."""
        deadline = time.monotonic() + timeout
        with self._lock:
            seen = 0
            while True:
                for index, event in enumerate(self._events[seen:], seen):
                    content: dict[str, Any] = event.get("data", {})
                    if event["event"] == name and data.items() <= content.items():
                        del self._events[index]
                        return event
                seen = len(self._events)
                message = self._next_message(deadline)
                if "event" in message:
                    self._events.append(message)

    def forget_events(self) -> None:
        """Forget past events, so that only new ones count."""
        self.command("query-version")
        self._events.clear()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
