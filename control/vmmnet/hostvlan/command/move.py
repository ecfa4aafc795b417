# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan move``: the command line of ``etcd.move``."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status, UsageError
from vmmnet.etcd.errors import StoreError
from vmmnet.values import hostname
from vmmnet.values import mac as macs

from ..table import exchange
from . import options

if TYPE_CHECKING:
    from ..etcd.move import Move


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add ``move`` to the sub-commands."""
    parser = subcommand(
        subparsers,
        "move",
        run,
        "prepare two hosts for a VM that migrates from one to the other",
        "Have the destination's agent mirror what a VM needs, then have the source's drop it.\n"
        "No other host is concerned. A host on which the VM still runs keeps it in its table.\n\n"
        "  vmmnet hostvlan move 52:54:00:12:34:56 --from a --to b --store etcd://… \\\n"
        "      --run 'virsh migrate --live web1 qemu+ssh://b/system'",
    )
    options.add_mac(parser)
    name = typed(hostname.check)
    for option, target, text in (
        ("--from", "source", "the host where it is"),
        ("--to", "destination", "the host where it will be"),
    ):
        parser.add_argument(
            option, dest=target, metavar="HOST", required=True, type=name, help=text
        )
    parser.add_argument(
        "--run",
        dest="command",
        metavar="COMMAND",
        help="what moves the VM, run when the destination is ready; if it fails, all is as before",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=typed(_seconds),
        default=30.0,
        help="how long the destination has to be ready (default: %(default)g)",
    )
    options.add_store_options(parser)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < threading.TIMEOUT_MAX:
        raise ValueError(f"'{text}' is not a number of seconds above 0")
    return number


def run(given: argparse.Namespace) -> int:
    """``move MAC --from HOST --to HOST``."""
    if given.source == given.destination:
        raise UsageError(f"--from and --to are both '{given.source}'")
    from ..etcd.move import Move
    from ..etcd.store import EtcdStore

    with EtcdStore(options.store_config(given)) as store:
        move = Move(store, given.mac, given.source, given.destination)
        began = time.monotonic()
        entry = move.prepare(given.timeout)
        seconds = time.monotonic() - began
        if given.command:
            _carry_out(move, given.command)
        problem = _finish(move, given)
    if given.json:
        output.print_json(
            {
                "mac": macs.text(given.mac),
                "lnids": exchange.entry_json(entry)["lnids"],
                "from": given.source,
                "to": given.destination,
                "ready_seconds": round(seconds, 3),
                **({"error": problem} if problem else {}),
            }
        )
    else:
        told = "" if problem else f"; {given.source} need not be ready any more"
        print(f"{macs.text(given.mac)}: {given.destination} was ready after {seconds:.2f} s{told}")
        if problem:
            output.say(f"vmmnet hostvlan: {problem}")
    return Status.BEHIND if problem else Status.DONE


def _finish(move: Move, given: argparse.Namespace) -> str | None:
    """Remove the source's assignment; returns a sentence if that fails.

    The VM can run at the destination by now, so the move is not undone.
    """
    try:
        move.finish()
    except StoreError as error:
        return (
            f"{error}: {given.source} may still be ready for {macs.text(given.mac)}: repeat"
            " the command without --run"
        )
    return None


def _carry_out(move: Move, command: str) -> None:
    """Run the command that moves the VM."""
    try:
        words = shlex.split(command)
        status = subprocess.run(words).returncode if words else 0
        problem = f"ended with status {status}" if status else ""
    except (OSError, ValueError) as error:
        problem = str(error)
    except BaseException:
        move.abandon()
        raise
    if problem:
        try:
            move.abandon()
        except StoreError as error:
            raise Refused(
                f"--run '{command}': {problem}; the destination may still be ready for the VM:"
                f" {error}"
            ) from error
        raise Refused(f"--run '{command}': {problem}: nothing is changed")
