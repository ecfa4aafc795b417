# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that sub-commands share, and the store that they name."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from vmmnet.command import output
from vmmnet.command.parser import typed
from vmmnet.command.status import UsageError
from vmmnet.etcd import place
from vmmnet.etcd.errors import StoreError
from vmmnet.etcd.place import Config
from vmmnet.values import mac

from ..host import ports
from ..table import claim, filestore, lnid, offer
from ..table.filestore import FileStore
from ..table.store import Store

_OFFERED = {"router": "router advertisements", "dhcp-server": "messages of a DHCP server"}


def add_mac(parser: argparse.ArgumentParser) -> None:
    """Add the argument MAC."""
    parser.add_argument(
        "mac", metavar="MAC", type=typed(mac.parse), help="MAC address, like 52:54:00:12:34:56"
    )


def add_lnids(parser: argparse.ArgumentParser, nargs: str) -> None:
    """Add the argument LNID."""
    parser.add_argument(
        "lnids",
        metavar="LNID",
        nargs=nargs,
        type=typed(lnid.parse),
        help=f"logical network: 1 to {lnid.MAX}, or '{lnid.WORD}' for one who serves all tenants",
    )


def add_address(parser: argparse._ActionsContainer, text: str, *, known: bool = False) -> None:
    """Add --address; with ``known`` it also takes addresses that only older versions accept."""
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        action="append",
        default=[],
        type=typed(claim.parse_any if known else claim.parse),
        help=f"{text}; can be given several times",
    )


def add_offers(parser: argparse.ArgumentParser, text: str, *, no: bool = False) -> None:
    """Add an option for each offer; with ``no``, also one that takes it away."""
    for word in offer.WORDS:
        group = parser.add_mutually_exclusive_group()
        name = word.replace("-", "_")
        said = text.format(_OFFERED[word])
        group.add_argument(f"--{word}", dest=name, action="store_true", default=None, help=said)
        if no:
            group.add_argument(
                f"--no-{word}",
                dest=name,
                action="store_false",
                default=None,
                help=f"it sends no {_OFFERED[word]}",
            )


def add_also(parser: argparse._ActionsContainer, text: str) -> None:
    """Add --also."""
    parser.add_argument(
        "--also",
        metavar="MAC",
        action="append",
        default=[],
        type=typed(mac.parse),
        help=f"{text}; can be given several times",
    )


def add_qmp(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add --qmp; ``when``: it is for a program that does not ask libvirt."""
    libvirts = "" if when else ", and those of libvirt"
    parser.add_argument(
        "--qmp",
        metavar="PATH",
        action="append",
        help=f"{when}QMP socket of a QEMU, or a pattern of several; can be given several times"
        f" (default: ${ports.VARIABLE}, or '{ports.DEFAULT}'{libvirts})",
    )


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add --table."""
    parser.add_argument(
        "--table",
        metavar="FILE",
        type=Path,
        help=f"the table, as in QEMU's -netdev hostvlan,table=FILE (default:"
        f" ${filestore.VARIABLE}, or {filestore.DEFAULT})",
    )


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add --store and the options for access to etcd."""
    group = parser.add_argument_group(
        "a table in etcd, for many hosts",
        "Files with passwords and certificates are read again when etcd refuses them.",
    )
    group.add_argument(
        "--store",
        metavar="URL",
        help="etcd://HOST:PORT[,HOST:PORT...]/PREFIX, etcds:// with TLS",
    )
    place.add_options(group, "--store")
    group.add_argument(
        "--store-timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long an endpoint may take to answer (%(default)g)",
    )


def add_stores(parser: argparse.ArgumentParser) -> None:
    """Add --table and --store."""
    add_table(parser)
    add_store_options(parser)


def table_path(options: argparse.Namespace) -> Path:
    """The path of the host's table."""
    path: Path = options.table or filestore.default_path()
    return path


def store_config(options: argparse.Namespace) -> Config:
    """Read the options of ``add_store_options()``; raises StoreError."""
    if not options.store:
        raise StoreError("--store is missing, such as --store etcd://127.0.0.1:2379/vmmnet")
    if options.store_timeout <= 0:
        raise StoreError(f"--store-timeout {options.store_timeout:g} is not positive")
    config = replace(place.parse_url(options.store), timeout=options.store_timeout)
    return place.with_options(config, options)


def open_store(options: argparse.Namespace, *, create: bool = False) -> Store:
    """The store that the options name; with ``create``, a change makes a missing one."""
    if options.store:
        if options.table:
            raise UsageError("--table and --store are two places: give one of them")
        from ..etcd.store import EtcdStore

        return EtcdStore(store_config(options), create=create)
    return FileStore(table_path(options), create=create, waiting=say_waiting)


def say_waiting(process: int) -> None:
    """Say for which process a command waits (0: unknown)."""
    by = f" (process {process})" if process else ""
    output.say(f"waiting: another process{by} is changing the table …")
