# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of vmmnet-hostd, the privileged helper: requests and answers as lines."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOCKET = Path("/run/vmmnet/hostd.sock")

# Time-out, seconds: it answers at once or not at all, and libvirt waits meanwhile.
_PATIENCE = 10.0
_LONGEST_ANSWER = 1 << 12
_REMEDY = "'systemctl start vmmnet-hostd'"


class HostdError(Exception):
    """It does not answer, or refuses; the message says why."""


class NotRunning(HostdError):
    """It does not run."""


def _ask(path: Path, request: str) -> None:
    answer = _answer(path, request)
    if answer != "ok":
        text = answer.removeprefix("error ") or "it closed the connection"
        raise HostdError(f"vmmnet-hostd: {text}")


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered VM."""

    #: ``away``, ``here`` or ``leaving``.
    state: str
    #: Addresses, each with its interface.
    addresses: tuple[tuple[str, str], ...] = ()


def _answer(path: Path, request: str) -> str:
    """The last line of the answer; empty: it closed the connection."""
    *_, last = ["", *_lines(path, request)]
    return last


def _lines(path: Path, request: str) -> Iterator[str]:
    """The lines of the answer, until one of them ends it."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(str(path))
            connection.sendall(request.encode())
            with connection.makefile("rb") as answers:
                while line := answers.readline(_LONGEST_ANSWER).decode(errors="replace").strip():
                    yield line
                    if line == "ok" or line.startswith("error "):
                        return
    except FileNotFoundError:
        raise NotRunning(f"{path} does not exist: {_REMEDY}") from None
    except ConnectionRefusedError:
        raise NotRunning(f"{path}: nothing listens there: {_REMEDY}") from None
    except TimeoutError:
        raise HostdError(f"{path}: no answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise HostdError(f"{path}: {error.strerror}") from None


def register(
    uuid: str, pid_file: Path, addresses: Sequence[tuple[str, str]], path: Path = SOCKET
) -> None:
    """Register addresses, each with its interface, for the QEMU of a pid file.

    Raises HostdError.
    """
    lines = [f"register {uuid} {pid_file}", *(f"address6 {each} {dev}" for each, dev in addresses)]
    _ask(path, "\n".join([*lines, "end", ""]))


def forget(uuid: str, path: Path = SOCKET) -> None:
    """Unregister a VM, if it is registered.  Raises HostdError."""
    try:
        _ask(path, f"forget {uuid}\n")
    except NotRunning:
        # The state file has its registrations while it does not run.
        if path.with_suffix(".state").exists():
            raise
    except HostdError:
        if any(line.startswith(f"vm {uuid} ") for line in _lines(path, "show\n")):
            raise


def probe(path: Path = SOCKET) -> None:
    """Check that it answers, also by refusing this user.  Raises HostdError."""
    if not _answer(path, "show\n"):
        raise HostdError(f"{path}: it closed the connection")


def registered(uuid: str, path: Path = SOCKET) -> Registration | None:
    """The registration of a VM; None: none. Raises HostdError, also without permission."""
    lines = list(_lines(path, "show\n"))
    if not lines or lines[-1] != "ok":
        text = lines[-1].removeprefix("error ") if lines else "it closed the connection"
        raise HostdError(f"vmmnet-hostd: {text}")
    state, addresses, about = None, list[tuple[str, str]](), ""
    for line in lines[:-1]:
        words = line.split(" ", 3)
        if words[0] == "vm" and len(words) > 2:
            about = words[1]
            state = words[2] if about == uuid else state
        elif words[0] == "address6" and about == uuid and len(words) > 2:
            addresses.append((words[1], words[2]))
    return None if state is None else Registration(state, tuple(addresses))
