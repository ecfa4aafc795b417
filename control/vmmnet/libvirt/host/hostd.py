# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of vmmnet-hostd, the privileged helper: its lines, and what its answers mean."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmnet import controlsocket

SOCKET = Path("/run/vmmnet/hostd.sock")

_REMEDY = "'systemctl start vmmnet-hostd'"


class HostdError(Exception):
    """It does not answer, or refuses; the message says why."""


class NotRunning(HostdError):
    """It does not run."""


class _Refused(HostdError):
    """It refuses."""


def _ask(path: Path, request: str) -> str:
    try:
        return controlsocket.ask(path, request)
    except controlsocket.NotRunning as error:
        raise NotRunning(f"{error}: {_REMEDY}") from None
    except controlsocket.Unanswered as error:
        raise HostdError(f"vmmnet-hostd: {error}") from None
    except controlsocket.Refused as error:
        raise _Refused(f"vmmnet-hostd: {error}") from None


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered VM."""

    #: ``away``, ``here`` or ``leaving``.
    state: str
    #: Addresses, each with its interface.
    addresses: tuple[tuple[str, str], ...] = ()


def register(
    uuid: str, pid_file: Path, addresses: Sequence[tuple[str, str]], path: Path = SOCKET
) -> None:
    """Register addresses, each with its interface, for the QEMU of a pid file.

    Raises HostdError.
    """
    lines = [f"register {uuid} {pid_file}", *(f"address6 {each} {dev}" for each, dev in addresses)]
    _ask(path, "\n".join([*lines, "end"]))


def forget(uuid: str, path: Path = SOCKET) -> None:
    """Unregister a VM, if it is registered.  Raises HostdError."""
    try:
        _ask(path, f"forget {uuid}")
    except NotRunning:
        # The state file has its registrations while it does not run.
        if path.with_suffix(".state").exists():
            raise
    except HostdError:
        if f"vm {uuid} " in _ask(path, "show"):
            raise


def probe(path: Path = SOCKET) -> None:
    """Check that it answers, also by refusing this user.  Raises HostdError."""
    with contextlib.suppress(_Refused):
        _ask(path, "show")


def registered(uuid: str, path: Path = SOCKET) -> Registration | None:
    """The registration of a VM; None: none. Raises HostdError, also without permission."""
    state, addresses, about = None, list[tuple[str, str]](), ""
    for line in _ask(path, "show").splitlines():
        words = line.split(" ", 3)
        if words[0] == "vm" and len(words) > 2:
            about = words[1]
            state = words[2] if about == uuid else state
        elif words[0] == "address6" and about == uuid and len(words) > 2:
            addresses.append((words[1], words[2]))
    return None if state is None else Registration(state, tuple(addresses))
