# SPDX-License-Identifier: GPL-2.0-or-later
"""Ask vmmnet-hostd, the helper with privileges: lines on a UNIX stream socket, an answer each."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

SOCKET = Path("/run/vmmnet/hostd.sock")

# It answers at once, or not at all; libvirt waits meanwhile.
_PATIENCE = 10.0
_LONGEST_ANSWER = 1 << 12


class HostdError(Exception):
    """It does not answer, or refuses; the message says why."""


def _ask(path: Path, request: str) -> None:
    answer = _answer(path, request)
    if answer != "ok":
        text = answer.removeprefix("error ") or "it closed the connection"
        raise HostdError(f"vmmnet-hostd: {text}")


def _answer(path: Path, request: str) -> str:
    """The first line of the answer; empty: it closed the connection."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(str(path))
            connection.sendall(request.encode())
            with connection.makefile("rb") as answers:
                return answers.readline(_LONGEST_ANSWER).decode(errors="replace").strip()
    except FileNotFoundError:
        raise HostdError(f"{path} does not exist: 'systemctl start vmmnet-hostd'") from None
    except TimeoutError:
        raise HostdError(f"{path}: no answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise HostdError(f"{path}: {error.strerror}") from None


def register(
    uuid: str, pid_file: Path, addresses: Sequence[tuple[str, str]], path: Path = SOCKET
) -> None:
    """Let the QEMU whose number will be in a file have addresses, each with its interface.

    Raises HostdError.
    """
    lines = [f"register {uuid} {pid_file}", *(f"address6 {each} {dev}" for each, dev in addresses)]
    _ask(path, "\n".join([*lines, "end", ""]))


def forget(uuid: str, path: Path = SOCKET) -> None:
    """Take from a VM what it was let have.  Raises HostdError."""
    _ask(path, f"forget {uuid}\n")


def probe(path: Path = SOCKET) -> None:
    """Whether it answers, be it that this user may not ask.  Raises HostdError."""
    if not _answer(path, "show\n"):
        raise HostdError(f"{path}: it closed the connection")
