# SPDX-License-Identifier: GPL-2.0-or-later
"""The command ``vmmnet``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vmmnet import VERSION
from vmmnet.command import output
from vmmnet.command.parser import Parser
from vmmnet.command.status import Status
from vmmnet.cvsw import command as cvsw
from vmmnet.guestimage import command as guestimage
from vmmnet.hostvlan.command import main as hostvlan
from vmmnet.libvirt import command as libvirt

if TYPE_CHECKING:
    from vmmnet.command.completion import Completer


def parser() -> Parser:
    """The command line."""
    result = Parser(
        prog="vmmnet", description="The control plane of vmmnet, the network inside QEMU."
    )
    result.add_argument("--version", action="version", version=f"vmmnet {VERSION}")
    rooms = result.add_subparsers(metavar="ROOM", required=True, title="rooms")
    for room in (cvsw, guestimage, hostvlan, libvirt):
        room.add_command(rooms)
    return result


def completer() -> Completer:
    """What completes the values of arguments."""
    from vmmnet.command.completion import named
    from vmmnet.hostvlan.command.completion import VALUES

    return named(VALUES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    try:
        with output.checked():
            return _run(list(sys.argv[1:] if arguments is None else arguments))
    except output.ReaderGone:
        return Status.DONE
    except output.Unwritten as error:
        output.say(f"vmmnet: the answer cannot be written: standard output: {error}")
        return Status.UNWRITTEN


def _run(words: Sequence[str]) -> int:
    line = parser()
    if "_ARGCOMPLETE" in os.environ:
        # Only a shell that asks waits for argcomplete.
        from vmmnet.command.completion import Finder

        Finder()(line, default_completer=completer())
    given = line.parse_args(words)
    status: int = given.execute(given)
    return status


if __name__ == "__main__":
    sys.exit(main())
