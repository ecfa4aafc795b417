# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts that sub-commands share: the parser, options, the store, exit statuses."""

from __future__ import annotations

import argparse
import difflib
import enum
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from vmmnet.etcd import place
from vmmnet.etcd.errors import StoreError
from vmmnet.etcd.place import Config
from vmmnet.values import address, mac

from ..host import ports
from ..table import filestore, lnid, offer
from ..table.filestore import FileStore
from ..table.store import Store
from . import output

T = TypeVar("T")

_OFFERED = {"router": "router advertisements", "dhcp-server": "messages of a DHCP server"}
Run = Callable[[argparse.Namespace], int]


class Status(enum.IntEnum):
    """The exit status of a command."""

    DONE = 0
    #: It cannot be done: something does not exist, or the system refuses.
    REFUSED = 1
    #: The command line is wrong; nothing was done.
    USAGE = 2
    #: ``check`` has found a fault.
    FAULTS = 3
    #: The table is changed, but some port or host still uses the old one.
    BEHIND = 4
    #: The answer could not be written; a change is made.
    UNWRITTEN = 5
    INTERRUPTED = 130


class Refused(Exception):
    """A command cannot be carried out; the message says why and what to do."""


class UsageError(Exception):
    """Arguments of the command line do not go together."""


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one sentence, without the list of all options."""

    #: Returns a hint about a word that the command does not take, or nothing.
    hint: Callable[[str], str] = staticmethod(lambda _: "")
    #: Whether it was given a word that is not one of several choices.
    is_lost = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """For a word that is not one of the choices, name the nearest one, or all."""
        if action.choices is None or value in action.choices:
            return
        self.is_lost = True
        words = [str(each) for each in action.choices]
        near = difflib.get_close_matches(str(value), words, n=1)
        hint = f"is it '{near[0]}'?" if near else f"there are {', '.join(words)}"
        raise argparse.ArgumentError(action, f"there is no '{value}': {hint}")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an error about a word too many names the sub-command."""
        given, left = self.parse_known_args(args, namespace)
        if left:
            of: Parser = getattr(given, "parser", self)
            hint = of.hint(left[0])
            of.error(f"'{left[0]}' is a word too many{f': {hint}' if hint else ''}")
        return given

    def error(self, message: str) -> NoReturn:
        """End with the message and where help is."""
        self.exit(Status.USAGE, f"{self.prog}: {message}\nSee '{self.prog} --help'.\n")


def carry_out(given: argparse.Namespace) -> int:
    """Run the sub-command of a parsed command line; returns its exit status.

    The caller handles Refused and the errors of its room.
    """
    try:
        status: int = given.run(given)
        sys.stdout.flush()
        return status
    except UsageError as error:
        given.parser.error(str(error))
        return Status.USAGE
    except KeyboardInterrupt:
        return Status.INTERRUPTED


def refuse(given: argparse.Namespace, room: str, text: str, status: Status = Status.REFUSED) -> int:
    """Print, as text or JSON, why nothing is done; returns the exit status."""
    if getattr(given, "json", False):
        output.print_json({"error": text})
    else:
        output.say(f"vmmnet {room}: {text}")
    return status


def typed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Make a type for argparse from a function that raises ValueError."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def command(
    subparsers: argparse._SubParsersAction[Parser], name: str, run: Run, brief: str, text: str
) -> Parser:
    """Add a sub-command: ``brief`` is for the list of commands, ``text`` for its help."""
    parser = subparsers.add_parser(name, help=brief, description=text)
    parser.set_defaults(run=run, parser=parser)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser


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
        type=typed(address.parse_any if known else address.parse),
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
    """Add --qmp."""
    parser.add_argument(
        "--qmp",
        metavar="PATH",
        action="append",
        help=f"{when}QMP socket of a QEMU, or a pattern of several; can be given several times"
        f" (default: ${ports.VARIABLE}, or '{ports.DEFAULT}')",
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
    """The store that the options name; with ``create``, a missing file is made."""
    if options.store:
        if options.table:
            raise UsageError("--table and --store are two places: give one of them")
        from ..etcd.store import EtcdStore

        return EtcdStore(store_config(options))
    return FileStore(table_path(options), create=create, waiting=say_waiting)


def say_waiting(process: int) -> None:
    """Say for which process a command waits (0: unknown)."""
    by = f" (process {process})" if process else ""
    output.say(f"waiting: another process{by} is changing the table …")
