# SPDX-License-Identifier: GPL-2.0-or-later
"""Wait for events, with a limit, instead of sleeping for a guessed time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

T = TypeVar("T")

#: How many times slower this machine is than others by its nature.
SLOWNESS = float(os.environ.get("VMMNET_PATIENCE") or 1)
#: Limit in seconds for events that come at once on an idle machine. Only a failure takes so long,
#: and no test fails because of other load.
PATIENCE = 180.0 * SLOWNESS

#: Limit of a program that a test runs in a guest: it ends first, and says what it waited for.
INNER = PATIENCE / 3

# Interval of polling for conditions without an event, in seconds.
_INTERVAL = 0.02

# States of /proc/net/{tcp,udp}: a listening TCP socket, an unconnected UDP one.
_LISTENING = {"tcp": "0A", "udp": "07"}
# A child enters its namespace before it executes the program; until then it is in that of the
# tests.
_LAUNCHERS = ("ip", "nsenter")


class Timeout(TimeoutError):
    """The awaited event did not happen in time."""


def until(condition: Callable[[], T], what: str, timeout: float = PATIENCE) -> T:
    """Evaluate ``condition`` until it is true and return its value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout(f"{what}: not within {timeout:g} s")
        time.sleep(_INTERVAL)


def _has_listener(pid: int, port: int, protocol: str) -> bool:
    suffix = f":{port:04X}"
    if Path(f"/proc/{pid}/exe").readlink().name in _LAUNCHERS:
        return False
    for table in (protocol, f"{protocol}6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(suffix) and fields[3] == _LISTENING[protocol]:
                return True
    return False


def listening(
    pid: int, port: int, protocol: Literal["tcp", "udp"] = "tcp", timeout: float = PATIENCE
) -> None:
    """Wait for a bound ``port`` in the network namespace of process ``pid``."""

    def bound() -> bool:
        try:
            return _has_listener(pid, port, protocol)
        except OSError as error:
            raise RuntimeError(f"process {pid} ended before it used port {port}") from error

    until(bound, f"{protocol} port {port} of process {pid}", timeout)


def accepting(path: Path, is_gone: Callable[[], object]) -> None:
    """Wait until a server takes connections at its UNIX socket.

    A bound socket exists, but refuses connections until the server listens. The wait also ends when
    ``is_gone``.
    """

    def taken() -> object:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            return client.connect_ex(str(path)) == 0 or is_gone()

    until(taken, f"{path} takes connections")
