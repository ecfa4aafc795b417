# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet cvsw``: its sub-commands, and how they end."""

from __future__ import annotations

import argparse

from vmmnet.command.parser import Parser, Run, subcommand
from vmmnet.command.status import Refused, Status, carry_out, refuse

from . import ask, daemon, events
from .client import DEFAULT, VARIABLE

_BRIEF = "program the switches in VMs' NICs from one file of tenants"
_TEXT = f"""\
Keep the switches in NICs (virtio-net-cvsw-pci) at what a file of tenants says:
flows, tunnels, keys, MTUs, offloads. Switches connect to 'run'; the other commands ask it.

  vmmnet cvsw check tenants.yaml                  is the file right?
  vmmnet cvsw run --listen 0.0.0.0:6653 tenants.yaml
  ovs-vsctl set-controller br0 tcp:ADDRESS:6653
  vmmnet cvsw show                                what has become of each NIC
  vmmnet cvsw diff tenants.yaml                   what a changed file would change
  vmmnet cvsw apply tenants.yaml                  and have it so
  vmmnet cvsw events --follow                     what NICs tell by themselves

exit status: {Status.DONE:d}  done
             {Status.REFUSED:d}  it cannot be done; nothing is changed
             {Status.USAGE:d}  the command line is wrong
             {Status.FAULTS:d}  'check' has found a fault
             {Status.UNWRITTEN:d}  the answer could not be written
             {Status.INTERRUPTED:d}  interrupted
environment: {VARIABLE}, the socket of 'run' (default: {DEFAULT})
"""


def add_command(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add ``cvsw`` to the command ``vmmnet``."""
    parser = rooms.add_parser("cvsw", help=_BRIEF, description=_TEXT)
    parser.set_defaults(execute=execute)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    daemon.add_command(subparsers)
    ask.add_commands(subparsers)
    events.add_command(subparsers)
    _add_commands_of_files(subparsers)


def _add_commands_of_files(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Commands that read a file need PyYAML; the other rooms work without it."""
    try:
        from .plan import command as files
    except ModuleNotFoundError as error:
        reason = daemon.lacks(error.name or "")
        for name in ("check", "lnids"):
            parser = subcommand(subparsers, name, _refused(f"'{name}' {reason}"), reason, "")
            parser.add_argument("file", metavar="FILE", nargs="?")
        return
    files.add_commands(subparsers)


def _refused(reason: str) -> Run:
    def run(given: argparse.Namespace) -> int:
        raise Refused(reason)

    return run


def execute(given: argparse.Namespace) -> int:
    """Run the sub-command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except Refused as error:
        return refuse(given, "cvsw", str(error))
