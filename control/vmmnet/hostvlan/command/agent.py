# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan agent``: the command line of ``host.agent``."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import NoReturn

from vmmnet.command.parser import Parser, typed
from vmmnet.command.status import Refused, UsageError
from vmmnet.values import hostname, mac

from ..host import hostports
from . import options

CONTROL = Path("/run/vmmnet/hostvlan.sock")


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add ``agent`` to the sub-commands."""
    parser = subparsers.add_parser(
        "agent",
        help="keep this host's table in step with a store in etcd",
        description="Copy the part of a table in etcd that this host's ports need into the host's\n"
        "table, and keep it in step. Without etcd the last table stays in force.\n\n"
        "  vmmnet hostvlan agent --store etcd://192.0.2.1:2379/vmmnet --metrics 127.0.0.1:9108",
    )
    parser.set_defaults(run=run, parser=parser)
    options.add_stores(parser)
    parser.add_argument(
        "--host",
        metavar="NAME",
        type=typed(hostname.check),
        default=socket.gethostname(),
        help="what the store calls this host (default: %(default)s)",
    )
    parser.add_argument(
        "--ports",
        metavar="FOLDER",
        type=Path,
        default=hostports.FOLDER,
        help="files with the MACs of this host's ports, one for each VM (default: %(default)s)",
    )
    parser.add_argument(
        "--port",
        metavar="MAC",
        type=typed(mac.parse),
        action="append",
        default=[],
        help="a port that is always here; can be given several times",
    )
    parser.add_argument(
        "--control",
        metavar="PATH",
        type=Path,
        default=CONTROL,
        help="the socket at which 'vmmnet show hostvlan' asks (default: %(default)s)",
    )
    parser.add_argument(
        "--metrics",
        metavar="ADDRESS:PORT",
        type=typed(address_and_port),
        help="serve Prometheus at http://ADDRESS:PORT/metrics",
    )
    options.add_qmp(parser, "with --metrics, ")


#: Debian's packages, by the modules that the agent imports.
_PACKAGES = {
    "prometheus_client": "python3-prometheus-client",
    "systemd": "python3-systemd",
}


def _lacks(module: str) -> str:
    """A sentence about a missing package."""
    name = module.partition(".")[0]
    return f"'agent' needs Python's package {name}: apt install {_PACKAGES.get(name, name)}"


def address_and_port(spelled: str) -> tuple[str, int]:
    """Read ADDRESS:PORT, an IPv6 address in brackets; raises ValueError."""
    host, colon, port = spelled.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"'{spelled}': an IPv6 address is in brackets, such as [::1]:9108")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"'{spelled}' is not ADDRESS:PORT, such as 127.0.0.1:9108")
    return host, int(port)


def run(given: argparse.Namespace) -> NoReturn:
    """``agent``: entry point of the sub-command."""
    try:
        from ..host.agent import Agent
        from ..host.settings import Settings
    except ModuleNotFoundError as error:
        raise Refused(_lacks(error.name or "")) from None

    try:
        host = hostname.check(given.host)
    except hostname.BadHost as error:
        raise UsageError(f"--host: {error}") from error
    settings = Settings(
        store=options.store_config(given),
        host=host,
        table=options.table_path(given).absolute(),
        folder=given.ports,
        fixed=frozenset(given.port),
        control=given.control,
        metrics=given.metrics,
        qmp=given.qmp,
    )
    Agent(settings).run()
