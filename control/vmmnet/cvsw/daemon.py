# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet cvsw run``: the daemon's command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from vmmnet.hostvlan.options import Parser, Refused, Status, typed

from . import client

_STATE = Path("/var/lib/vmmnet/cvsw.json")
_PORT = 6653
_TEXT = f"""\
Serve until a signal ends it. Switches connect by OpenFlow 1.0 or 1.3; a NIC of
the file that registers through one of them is brought to what the file says,
and kept there. SIGHUP reads the file again, as 'apply' does.

Without FILE, the one of the last run is taken. The state file has its path and
numbers of associations; keys are nowhere but in memory. Needs Python's packages
os-ken, cryptography and yaml (Debian: python3-os-ken, python3-cryptography,
python3-yaml).

  vmmnet cvsw run --listen 192.0.2.1:{_PORT} /etc/vmmnet/tenants.yaml
"""


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add it to the command line."""
    parser = subparsers.add_parser("run", help="the daemon", description=_TEXT)
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument(
        "--listen",
        metavar="ADDR:PORT",
        type=typed(_place),
        default=("127.0.0.1", _PORT),
        help=f"where switches connect (default: 127.0.0.1:{_PORT}); port 0: any",
    )
    add_socket(parser, "where the other commands ask")
    parser.add_argument(
        "--state", metavar="FILE", type=Path, default=_STATE, help=f"default: {_STATE}"
    )
    parser.add_argument(
        "--rekey-every",
        metavar="SECONDS",
        type=typed(_seconds),
        default=3600.0,
        help="how old keys of ESP become (default: 3600); 0: any age",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="the file of tenants")


def add_socket(parser: argparse.ArgumentParser, text: str) -> None:
    """The daemon's socket."""
    parser.add_argument(
        "--socket",
        metavar="PATH",
        type=Path,
        default=None,
        help=f"{text} (default: ${client.VARIABLE}, or {client.DEFAULT})",
    )


def socket_path(given: argparse.Namespace) -> Path:
    """The socket that is meant."""
    path: Path = given.socket or client.default_path()
    return path


def run(given: argparse.Namespace) -> int:
    """``run [FILE]``."""
    try:
        from .control import controller
        from .control.keys import Timing
        from .plan.read import BadPlan
    except ModuleNotFoundError as error:
        raise Refused(f"'run' {lacks(error.name or '')}") from None
    host, port = given.listen
    socket = socket_path(given)
    for path in (socket, given.state):
        if not path.absolute().parent.is_dir():
            _make(path.absolute().parent)
    try:
        controller.run(
            controller.Options(
                host, port, socket, given.state, given.file, Timing(rekey_every=given.rekey_every)
            )
        )
    except (controller.StartError, BadPlan) as error:
        raise Refused(str(error)) from None
    return Status.DONE


#: Packages by what is imported from them: Debian's name, and pip's.
_PACKAGES = {
    "os_ken": ("python3-os-ken", "os-ken"),
    "cryptography": ("python3-cryptography", "cryptography"),
    "yaml": ("python3-yaml", "PyYAML"),
}


def lacks(module: str) -> str:
    """What to do about a package that is not there."""
    debian, pip = _PACKAGES.get(module.partition(".")[0], (module, module))
    return f"needs Python's package {pip}: apt install {debian}, or pip install {pip}"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}") from None


def _place(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"'{text}' is no ADDR:PORT, like 127.0.0.1:{_PORT} or [::1]:{_PORT}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value != 0 and not 1 <= value < 1e9:
        raise ValueError(f"'{text}' is no number of seconds: at least 1, or 0 for never")
    return value
