# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks the daemon over its UNIX socket."""

from __future__ import annotations

import http.client
import json
import os
import socket
from pathlib import Path
from typing import Any

from vmmnet.command.status import Refused

DEFAULT = Path("/run/vmmnet/cvsw.sock")
VARIABLE = "VMMNET_CVSW"
_PATIENCE = 60.0


def default_path() -> Path:
    """The daemon's default socket."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def nobody(path: Path) -> str:
    """What to say if nothing listens at a path."""
    return f"no controller answers at {path}: is 'vmmnet cvsw run' running there?"


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Client:
    """One daemon."""

    def __init__(self, path: Path, timeout: float = _PATIENCE) -> None:
        self._path, self._timeout = path, timeout

    def ask(self, method: str, resource: str, body: object = None) -> Any:
        """Return the answer. Raises Refused with the daemon's reason, or if it does not run."""
        connection = _Connection(self._path, self._timeout)
        try:
            octets = None if body is None else json.dumps(body).encode()
            connection.request(method, resource, octets)
            answer = connection.getresponse()
            value = json.loads(answer.read())
        except (FileNotFoundError, ConnectionRefusedError):
            raise Refused(nobody(self._path)) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Refused(f"{self._path}: {error}") from None
        finally:
            connection.close()
        if answer.status != 200:
            raise Refused(str(value.get("error")))
        return value
