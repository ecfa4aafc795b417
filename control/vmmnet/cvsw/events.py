# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet cvsw events``: events that NICs sent to the controller."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Status

from . import daemon
from .ask import complete_nics
from .client import Client

_BRIEF = "events of NICs: frames for the controller, flows that ended"
_TEXT = """\
Show what NICs, or one, have told the controller of their own accord, oldest
first: frames that a flow outputs to it (packet-in), and flows that have ended
(flow-removed). The last 50 of each NIC are kept; 'show --json' counts all.

  vmmnet cvsw events --follow          and what comes, until interrupted
  vmmnet cvsw events -f --json         each as an object in a line
"""
#: Seconds between two requests.
_INTERVAL = 0.5


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add it to the command line."""
    parser = subcommand(subparsers, "events", run, _BRIEF, _TEXT)
    daemon.add_socket(parser, "where 'run' listens")
    parser.add_argument("-f", "--follow", action="store_true", help="also print new ones")
    action = parser.add_argument(
        "nic", metavar="NIC", nargs="?", help="its name in the file, or its MAC (default: all)"
    )
    action.completer = complete_nics  # type: ignore[attr-defined]


def run(given: argparse.Namespace) -> int:
    """``events [NIC]``."""
    client = Client(daemon.socket_path(given))
    resource = f"/nics/{given.nic}/events" if given.nic else "/events"
    answer = client.ask("GET", resource)
    if given.json and not given.follow:
        output.print_json(answer)
        return Status.DONE
    told: dict[str, int] = {}
    while True:
        for line in _as_json(answer) if given.json else _lines(answer, told):
            print(line)
        sys.stdout.flush()
        if not given.follow:
            return Status.DONE
        if not answer["events"]:
            time.sleep(_INTERVAL)
        answer = client.ask("GET", f"{resource}?since={answer['last']}")


def _as_json(answer: dict[str, Any]) -> Iterator[str]:
    return (json.dumps(event, ensure_ascii=False) for event in answer["events"])


def _lines(answer: dict[str, Any], told: dict[str, int]) -> Iterator[str]:
    """Events as lines; ``told`` has the number of each NIC's last one."""
    for event in answer["events"]:
        name = event["name"] or event["mac"]
        missing = event["number"] - told.get(event["mac"], event["number"] - 1) - 1
        if missing > 0:
            yield f"{name}: {missing:,} more, not kept as they came too fast"
        told[event["mac"]] = event["number"]
        yield f"{_time(event['time'])}  {name}  {event['what']}  {event['text']}"


def _time(seconds: float) -> str:
    """Local time, to the millisecond."""
    whole = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03}"
