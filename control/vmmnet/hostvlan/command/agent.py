# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan agent``: its command line; ``host.agent`` is the agent."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import NoReturn

from ..etcd import hostname
from ..host import hostports, metrics
from ..table import mac
from . import options
from .options import Parser, UsageError

STATUS = Path("/run/vmmnet/hostvlan-agent.json")


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add ``agent`` to the sub-commands."""
    parser = subparsers.add_parser(
        "agent",
        help="keep this host's table as a store in etcd says",
        description="Mirror what this host's ports need of a table in etcd into the host's table,\n"
        "for as long as it runs. Without etcd the last table stays in force.\n\n"
        "  vmmnet hostvlan agent --store etcd://192.0.2.1:2379/vmmnet --metrics 127.0.0.1:9108",
    )
    parser.set_defaults(run=run, parser=parser)
    options.add_stores(parser)
    parser.add_argument(
        "--host",
        metavar="NAME",
        type=options.typed(hostname.check),
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
        type=options.typed(mac.parse),
        action="append",
        default=[],
        help="a port that is always here; can be given several times",
    )
    parser.add_argument(
        "--status",
        metavar="FILE",
        type=Path,
        default=STATUS,
        help="where it says how it is, in JSON (default: %(default)s)",
    )
    parser.add_argument(
        "--metrics",
        metavar="ADDRESS:PORT",
        type=options.typed(metrics.parse_address),
        help="serve Prometheus at http://ADDRESS:PORT/metrics",
    )
    options.add_qmp(parser, "with --metrics, ")


def run(given: argparse.Namespace) -> NoReturn:
    """``agent``: entry point of the sub-command."""
    from ..host.agent import Agent, Settings

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
        status=given.status,
        metrics=given.metrics,
        qmp=given.qmp,
    )
    Agent(settings).run()
