# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command ends: exit statuses, and why nothing is done."""

from __future__ import annotations

import argparse
import enum
import sys

from . import output


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
