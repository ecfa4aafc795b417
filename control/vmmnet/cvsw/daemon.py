# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet cvsw run``: the daemon's command line."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from vmmnet.command.parser import Parser, typed
from vmmnet.command.status import Refused, Status, UsageError
from vmmnet.etcd import place
from vmmnet.etcd.errors import StoreError
from vmmnet.values import hostname

from . import client

if TYPE_CHECKING:
    import ssl

_STATE = Path("/var/lib/vmmnet/cvsw.json")
_PREFIX = "/vmmnet/cvsw"
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

With --state etcd://..., several controllers share the work: one leads, the others
take over when it has gone. The file that was applied by any of them is in etcd;
FILE is taken if there is none yet. The NICs' keys stay in files, which each of
their hosts has to have.

  vmmnet cvsw run --listen 192.0.2.1:{_PORT} --state etcd://192.0.2.9:2379
  ovs-vsctl set-controller br0 tcp:192.0.2.1:{_PORT} tcp:192.0.2.2:{_PORT}
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
        "--state",
        metavar="FILE|URL",
        type=typed(_state),
        default=_STATE,
        help=f"a file (default: {_STATE}), or etcd://HOST:PORT[,HOST:PORT...][/PREFIX], etcds://"
        f" with TLS (default of PREFIX: {_PREFIX})",
    )
    parser.add_argument(
        "--rekey-every",
        metavar="SECONDS",
        type=typed(_seconds),
        default=3600.0,
        help="lifetime of ESP keys (default: 3600); 0: unlimited",
    )
    group = parser.add_argument_group("TLS with switches, all three or none")
    for name, text in (
        ("cert", "our certificate (PEM)"),
        ("key", "its key (PEM)"),
        ("ca", "authority of the switches' certificates (PEM)"),
    ):
        group.add_argument(f"--tls-{name}", metavar="FILE", type=Path, help=text)
    group = parser.add_argument_group("several controllers, with --state etcd://...")
    group.add_argument(
        "--name",
        type=typed(hostname.check),
        help="this controller's name for the others (default: the host's name)",
    )
    place.add_options(group, "--state")
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
    """The path of the daemon's socket."""
    path: Path = given.socket or client.default_path()
    return path


def run(given: argparse.Namespace) -> int:
    """``run [FILE]``."""
    state, context = _state_of(given), _tls(given)
    try:
        from .control import controller, life
        from .control.nics.keys import Timing
        from .plan.read import BadPlan
    except ModuleNotFoundError as error:
        raise Refused(f"'run' {lacks(error.name or '')}") from None
    host, port = given.listen
    commands = socket_path(given)
    for path in (commands, state):
        if isinstance(path, Path) and not path.absolute().parent.is_dir():
            _make(path.absolute().parent)
    try:
        life.run(
            controller.Options(
                host,
                port,
                commands,
                state,
                given.file,
                Timing(rekey_every=given.rekey_every),
                given.name or socket.gethostname(),
                context,
            )
        )
    except (life.StartError, BadPlan) as error:
        raise Refused(str(error)) from None
    return Status.DONE


#: Packages by imported module: Debian's name, and pip's.
_PACKAGES = {
    "os_ken": ("python3-os-ken", "os-ken"),
    "cryptography": ("python3-cryptography", "cryptography"),
    "systemd": ("python3-systemd", "systemd-python"),
    "yaml": ("python3-yaml", "PyYAML"),
}


def lacks(module: str) -> str:
    """What to do about a missing package."""
    debian, pip = _PACKAGES.get(module.partition(".")[0], (module, module))
    return f"needs Python's package {pip}: apt install {debian}, or pip install {pip}"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}") from None


def _state(text: str) -> Path | place.Config:
    if "://" not in text:
        return Path(text)
    try:
        return place.parse_url(text, option="--state", prefix=_PREFIX)
    except StoreError as error:
        raise ValueError(str(error).removeprefix("--state ")) from None


def _state_of(given: argparse.Namespace) -> Path | place.Config:
    """The state file, or etcd with its credentials. Raises UsageError."""
    state: Path | place.Config = given.state
    if isinstance(state, place.Config):
        try:
            return place.with_options(state, given)
        except StoreError as error:
            raise UsageError(str(error)) from None
    names = ("name", "state_user", "state_password_file", "state_ca", "state_cert", "state_key")
    for name in names:
        if getattr(given, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for --state etcd://..., and --state is the file {state}")
    return state


def _tls(given: argparse.Namespace) -> ssl.SSLContext | None:
    """TLS for switches, if configured. Raises UsageError, Refused."""
    files = {f"--tls-{name}": getattr(given, f"tls_{name}") for name in ("cert", "key", "ca")}
    if not any(files.values()):
        return None
    missing = [option for option, path in files.items() if path is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing: --tls-cert, --tls-key and --tls-ca go"
                         " together")  # fmt: skip
    from .wire import tls

    try:
        return tls.context(*files.values())
    except tls.BadFiles as error:
        raise Refused(str(error)) from None


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
