# SPDX-License-Identifier: GPL-2.0-or-later
"""The unit that validates names for a VM, vmmnet-validate@UUID: its options, what it says."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmnet import controlsocket

from . import whole

#: Where the units make their sockets, each in a folder of its instance's name.
SOCKETS = Path("/run/vmmnet-validate")
#: The folder of their options, below the one of claims; the unit reads a file of its instance.
FOLDER = "libvirt/validate"
PACKAGE = "vmmnet-validate"
#: Where systemd keeps what ``set-property --runtime`` has set (systemd.unit(5)).
DROP_INS = Path("/run/systemd/system.control")

#: systemctl(1): the unit is not loaded, or not there.
_NOT_LOADED = 5

#: What a question comes to (RFC 4033, 5).
VERDICTS = ("secure", "insecure", "bogus", "indeterminate")

#: What neither systemd nor its files of variables take as it is.
_SPECIAL = set("\"'\\$\n")


class ValidatorError(Exception):
    """It cannot be started or stopped; the message says why."""


@dataclass(frozen=True)
class Wanted:
    """The options of a unit, and the servers that it may talk to; none: those of the host."""

    words: tuple[str, ...]
    servers: tuple[str, ...] = ()

    def text(self) -> str:
        """The file of its variables.  Raises ValidatorError."""
        for word in self.words:
            if special := _SPECIAL & set(word):
                told = f"{word!r} has {''.join(sorted(special))!r}, which a unit's option has not"
                raise ValidatorError(told)
        return "OPTIONS='" + " ".join(f'"{word}"' for word in self.words) + "'\n"


def socket(uuid: str) -> Path:
    """The socket of a VM's unit."""
    return SOCKETS / uuid / "socket"


def control(vm: str) -> Path:
    """The control socket of a VM's unit."""
    return SOCKETS / vm / "control"


def unit(uuid: str) -> str:
    """The name of a VM's unit."""
    return f"vmmnet-validate@{uuid}.service"


def wanted(options: Iterable[tuple[str, object]], user: int) -> Wanted:
    """What a VM wants, by options of the element, for a QEMU that runs as this user."""
    given = {name: str(value) for name, value in options if value is not None}
    words = [f"--{name}={value}" for name, value in given.items()]
    servers = (each.partition("@")[0] for each in given.get("dns", "").split("+") if each)
    return Wanted((f"--allow={user}", *words), tuple(each.partition("%")[0] for each in servers))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ValidatorError(f"{words[0]}: {error.strerror}") from None


def _systemctl(*words: str, tolerated: int = 0) -> None:
    done = _run("systemctl", *words)
    if done.returncode not in (0, tolerated):
        told = " ".join(done.stderr.split()) or f"status {done.returncode}"
        hint = f" Install {PACKAGE}." if told.endswith("not found.") else ""
        raise ValidatorError(f"'systemctl {' '.join(words)}': {told}{hint}")


def _last_words(uuid: str, begun: float) -> str:
    """The last line of a VM's validator since a time; empty: none."""
    with contextlib.suppress(ValidatorError):
        _run("journalctl", "--sync")
        own = (f"--unit={unit(uuid)}", f"--identifier={PACKAGE}", f"--since=@{begun:.6f}")
        said = _run("journalctl", "-q", "-n1", "--output=cat", *own).stdout.strip()
        return said.removeprefix(f"{PACKAGE}: ")
    return ""


def start(run: Path, uuid: str, wanted: Wanted) -> Iterator[str]:
    """Start a VM's unit, or leave it as it is if it runs with these options; yields what was done.

    Raises ValidatorError and OSError.
    """
    file, text = run / FOLDER / uuid, wanted.text()
    try:
        is_new = file.read_text() != text
    except FileNotFoundError:
        is_new = True
    if is_new:
        # set-property adds servers to those that are set.
        yield from stop(run, uuid)
        whole.write(file, text)
    if is_new and wanted.servers:
        allowed = ("IPAddressDeny=any", f"IPAddressAllow={' '.join(wanted.servers)}")
        _systemctl("set-property", "--runtime", unit(uuid), *allowed)
    begun = time.time()
    try:
        _systemctl("restart" if is_new else "start", unit(uuid))
    except ValidatorError:
        if told := _last_words(uuid, begun):
            raise ValidatorError(f"{unit(uuid)}: {told}") from None
        raise
    yield f"{unit(uuid)} validates"


def _is_stopping(uuid: str) -> bool:
    """Does systemd stop it, as when the host shuts down?

    It does so after libvirt-guests, which waits for the hook: the hook must not wait for it.
    """
    return " stop " in _run("systemctl", "list-jobs", "--no-legend", unit(uuid)).stdout


def stop(run: Path, uuid: str) -> Iterator[str]:
    """Stop a VM's unit, if it was started; yields what was done.  Raises ValidatorError."""
    file = run / FOLDER / uuid
    if file.exists():
        ends = f"{unit(uuid)} stops with the host"
        if not _is_stopping(uuid):
            # The package may have been removed.
            _systemctl("stop", unit(uuid), tolerated=_NOT_LOADED)
            ends = f"{unit(uuid)} is stopped"
        # Settings of set-property would outlive the VM.  "revert" removes the administrator's own
        # drop-in files, too.
        shutil.rmtree(DROP_INS / f"{unit(uuid)}.d", ignore_errors=True)
        file.unlink()
        yield ends


def behind(socket: Path) -> dict[str, Any] | None:
    """What the validator at a socket for QEMU says of itself; None: it listens, and is no unit's.

    Raises controlsocket.Unanswered, Refused.
    """
    if socket.parent.parent == SOCKETS:
        return asked(control(socket.parent.name))
    controlsocket.probe(socket)
    return None


def asked(control: Path) -> dict[str, Any]:
    """What a validator says of itself: servers, clients, questions by verdict.

    Raises controlsocket.Unanswered, Refused.
    """
    told: dict[str, Any] = {"servers": []}
    for line in controlsocket.ask(control, "show").splitlines():
        key, _, value = line.partition(" ")
        if key == "server":
            told["servers"].append(value)
        else:
            with contextlib.suppress(ValueError):
                told[key] = int(value)
    return told


def line(told: Mapping[str, Any]) -> str:
    """What it says, in short."""
    clients = told.get("clients", 0)
    verdicts = [f"{told[each]:,} {each}" for each in VERDICTS if each in told]
    return ", ".join(
        (
            f"{clients or 'no'} client{'' if clients == 1 else 's'}",
            f"{told.get('questions', 0):,} questions ({', '.join(verdicts)})",
            f"servers {' '.join(told['servers']) or 'none'}",
        )
    )
