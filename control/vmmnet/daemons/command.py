# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet show``, ``metrics`` and ``log``: one daemon, or all that run on this host."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from vmmnet import controlsocket, log
from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused, Status, UsageError, carry_out, refuse
from vmmnet.controlsocket import NotRunning, Unanswered

from . import validators
from .known import DAEMONS, Daemon

_VALIDATE = "validate"

_SHOW = """\
Show what a daemon of this host has: its VMs, bindings, zones, NICs or ports.
Without a name, ask every daemon that runs here.

  vmmnet show                  all of them
  vmmnet show ha --json        the bindings of the home agent, for programs
  vmmnet show validate         who validates names for which VM, and what came out
"""
_METRICS = """\
Print the counters of a daemon of this host in Prometheus' text format; without
a name, those of all that run here.
"""
_LOG = """\
Print how much a daemon of this host writes to its log, or change it while it
runs.

  vmmnet log                   the level of each
  vmmnet log dnsd debug        have one of them tell more, until it is restarted
"""


def add_commands(rooms: argparse._SubParsersAction[Parser]) -> None:
    """Add them to the command ``vmmnet``."""
    for name, run, brief, text in (
        ("show", run_show, "what the daemons of this host have", _SHOW),
        ("metrics", run_metrics, "what the daemons of this host have counted", _METRICS),
        ("log", run_log, "how much the daemons of this host log", _LOG),
    ):
        parser = subcommand(rooms, name, run, brief, text)
        parser.set_defaults(execute=execute)
        briefs = {each.name: each.brief for each in DAEMONS}
        if run is run_show:
            briefs[_VALIDATE] = "who validates names for VMs"
        listed = "; ".join(f"{name}: {text}" for name, text in briefs.items())
        parser.add_argument(
            "daemon",
            metavar="DAEMON",
            nargs="?",
            choices=[*briefs],
            help=listed,
        )
        if run is run_log:
            parser.add_argument("level", metavar="LEVEL", nargs="?", choices=log.LEVELS)
        parser.add_argument(
            "--path", metavar="PATH", type=Path, help="its socket, if it is not the default one"
        )


def execute(given: argparse.Namespace) -> int:
    """Run the command of a parsed command line; returns its exit status."""
    try:
        return carry_out(given)
    except Refused as error:
        return refuse(given, given.parser.prog.rpartition(" ")[2], str(error))


def _asked(
    given: argparse.Namespace, request: str, *, others: bool = False
) -> Iterator[tuple[Daemon, str]]:
    """Those that run, or the one that is named, each with its answer to a request.

    One of several that does not answer is told on standard error.  Raises Refused, also if none
    runs, but with ``others``.
    """
    named = [each for each in DAEMONS if each.name == given.daemon]
    if given.path is not None and not named:
        raise UsageError("--path needs the name of a daemon")
    running = 0
    for each in named or DAEMONS:
        try:
            answer = controlsocket.ask(given.path or each.path, request)
        except NotRunning as error:
            if named:
                raise Refused(f"{each.name} does not run: {error}") from None
            continue
        except (Unanswered, controlsocket.Refused) as error:
            if named:
                raise Refused(f"{each.name}: {error}") from None
            output.say(f"vmmnet {given.parser.prog.rpartition(' ')[2]}: {each.name}: {error}")
            continue
        running += 1
        yield each, answer
    if not running and not others:
        raise Refused("no daemon of vmmnet runs on this host, or answers this user")


def run_show(given: argparse.Namespace) -> int:
    """``show [DAEMON]``."""
    if given.daemon == _VALIDATE:
        return _show_validators(given)
    found = [] if given.daemon else validators.asked(validators.places())
    told = list(_asked(given, "show json" if given.json else "show", others=bool(found)))
    if given.json:
        answers = {each.name: json.loads(text) for each, text in told}
        if found:
            answers[_VALIDATE] = {each.vm: each.json() for each in found}
        output.print_json(answers[given.daemon] if given.daemon else answers)
        return Status.DONE
    for each, text in told:
        if given.daemon:
            print(text, end="")
        else:
            _print_under(each.name, text.splitlines())
    if found:
        _print_under(_VALIDATE, [each.line() for each in found])
    return Status.DONE


def _print_under(title: str, lines: list[str]) -> None:
    print(f"{title}:")
    print("".join(f"  {line}\n" for line in lines), end="")


def _show_validators(given: argparse.Namespace) -> int:
    """``show validate``."""
    if given.path is None:
        found = validators.asked(validators.places())
    else:
        found = validators.asked({given.path.parent.name: given.path})
    if not found:
        raise Refused("names are validated for no VM on this host")
    if given.json:
        output.print_json({each.vm: each.json() for each in found})
    else:
        print("".join(f"{each.line()}\n" for each in found), end="")
    return Status.REFUSED if any(each.error for each in found) else Status.DONE


def run_metrics(given: argparse.Namespace) -> int:
    """``metrics [DAEMON]``."""
    texts = {each.name: text for each, text in _asked(given, "metrics")}
    if given.json:
        output.print_json(texts)
    else:
        print("".join(texts.values()), end="")
    return Status.DONE


def run_log(given: argparse.Namespace) -> int:
    """``log [DAEMON [LEVEL]]``."""
    asked = _asked(given, f"log {given.level}" if given.level else "log")
    levels = {each.name: text.split()[-1] for each, text in asked}
    if given.json:
        output.print_json(levels)
    else:
        print("".join(f"{name} {level}\n" for name, level in levels.items()), end="")
    return Status.DONE
