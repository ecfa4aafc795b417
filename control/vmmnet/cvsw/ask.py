# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that ask the daemon: apply, diff, show, flows, top, rekey."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from vmmnet import controlsocket
from vmmnet.command import output
from vmmnet.command.parser import Parser, Run, subcommand, typed
from vmmnet.command.status import Refused, Status

from . import client, daemon
from .client import Client
from .control import wording

# Also clears what is below: the list may have become shorter.
_HOME = "\033[H\033[J"
#: NICs that are named in one line.
_NAMED_MAX = 8


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add them to the command line."""
    for name, run, brief, text in (
        ("apply", run_apply, "put a file into force", _APPLY),
        ("diff", run_diff, "what a file would change", _DIFF),
    ):
        parser = _command(subparsers, name, run, brief, text)
        parser.add_argument("file", metavar="FILE", type=Path, help="the file of tenants")
    parser = _command(subparsers, "show", run_show, "all NICs and their states", _SHOW)
    _add_filters(parser)
    parser = _command(subparsers, "flows", run_flows, "the flows of a NIC", _FLOWS)
    action = parser.add_argument("nic", metavar="NIC", help="its name in the file, or its MAC")
    action.completer = complete_nics  # type: ignore[attr-defined]
    parser = _command(subparsers, "top", run_top, "all NICs, repeatedly", _TOP)
    _add_filters(parser)
    parser.add_argument(
        "--interval", metavar="SECONDS", type=typed(_interval), default=1.0,
        help="seconds between two reports (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--count", metavar="N", type=typed(_count), default=0,
        help="number of reports (default: until interrupted)",
    )  # fmt: skip
    _command(subparsers, "rekey", run_rekey, "replace all ESP keys now", _REKEY)


_APPLY = """\
Have the controller read a file of tenants and program all NICs accordingly.
A file with a fault changes nothing. The controller takes it as its own: it
reads it again when it starts, and on SIGHUP.
"""
_DIFF = "Show what 'apply' would change: NICs, and their flows. '-' is removed, '+' is added.\n"
_SHOW = """\
Show all NICs of the file, and those that are in no file. States:

  ready        it has all that the file says
  programming  that is on its way
  reading      its table is being read
  keys         but for keys of peers that are not there
  refused      it has refused something; what, is said below
  away         it has not registered
  lost         it does not answer any more
  no switch    its switch has no connection to the controller
  slave        its switch obeys a controller that is none of ours
  standby      another controller leads: ask that one
"""
_FLOWS = "Show a NIC's flows, missing ones ('+') and superfluous ones ('-').\n"
_TOP = "Show NICs as 'show' does, repeatedly, and the changes in between.\n"
_REKEY = "Replace all ESP keys, as happens automatically after --rekey-every seconds.\n"


def _command(
    subparsers: argparse._SubParsersAction[Parser],
    name: str,
    run: Run,
    brief: str,
    text: str,
) -> Parser:
    parser = subcommand(subparsers, name, run, brief, text)
    daemon.add_socket(parser, "where 'run' listens")
    return parser


def _add_filters(parser: Parser) -> None:
    parser.add_argument(
        "--state", metavar="STATE", action="append", choices=wording.STATES,
        help="NICs in this state only; may be repeated",
    )  # fmt: skip
    parser.add_argument("--tenant", metavar="NAME", help="NICs of this tenant only")


def _ask(given: argparse.Namespace, method: str, resource: str, body: object = None) -> Any:
    return Client(daemon.socket_path(given)).ask(method, resource, body)


def _file(given: argparse.Namespace) -> dict[str, str]:
    if not given.file.exists():
        raise Refused(f"{given.file}: no such file")
    return {"file": str(given.file.absolute())}


# --- apply, diff, rekey ---------------------------------------------------------------------


def run_apply(given: argparse.Namespace) -> int:
    """``apply FILE``."""
    answer = _ask(given, "PUT", "/plan", _file(given))
    if given.json:
        output.print_json(answer)
        return Status.DONE
    members = sum(len(tenant["nics"]) for tenant in answer["tenants"])
    changes = [change["what"] for change in answer["changes"]]
    about = ", ".join(
        f"{changes.count(what)} {what}" for what in ("new", "changed", "removed") if what in changes
    )
    print(
        f"{given.file}: {wording.count_of(members, 'NIC')} of"
        f" {wording.count_of(len(answer['tenants']), 'tenant')}; {about or 'nothing changes'}"
    )
    if answer["by"]:
        print(f"{answer['by']}, which leads, carries it out: its 'show' has the NICs it reaches")
    elif answer["waiting"]:
        print(f"not reached, and programmed when they are: {_waiting(answer)}")
    return Status.DONE


def run_diff(given: argparse.Namespace) -> int:
    """``diff FILE``."""
    changes = _ask(given, "POST", "/plan/diff", _file(given))
    if given.json:
        output.print_json(changes)
        return Status.DONE
    for change in changes:
        print(f"{change['name']} ({change['mac']}): {change['what']}")
        for each in change["settings"]:
            print(
                f"  {each['name']} {wording.said(each['before'])} -> {wording.said(each['after'])}"
            )
        print_changes(change)
    if not changes:
        print("nothing changes")
    return Status.DONE


def run_rekey(given: argparse.Namespace) -> int:
    """``rekey``."""
    answer = _ask(given, "POST", "/rekey")
    if given.json:
        output.print_json(answer)
    elif answer["by"]:
        print(f"{answer['by']}, which leads, replaces them: its 'show' has the NICs it reaches")
    else:
        print(f"{wording.count_of(answer['pairs'], 'association')} replaced")
        if answer["pairs_waiting"]:
            print(f"{answer['pairs_waiting']:,} wait for NICs not reached: {_waiting(answer)}")
    return Status.DONE


def _waiting(answer: dict[str, Any]) -> str:
    """The NICs that are not reached, and their states."""
    named = [f"{nic['name']} ({nic['state']})" for nic in answer["waiting"]]
    more = [f"{len(named) - _NAMED_MAX:,} more"] if len(named) > _NAMED_MAX else []
    return ", ".join(named[:_NAMED_MAX] + more)


def print_changes(change: dict[str, Any]) -> None:
    """Print removed and added flows."""
    for sign, flows in (("-", change["delete"]), ("+", change["set"])):
        for flow in flows:
            print(f"  {sign} {flow}")


# --- show, flows, top -----------------------------------------------------------------------


def run_show(given: argparse.Namespace) -> int:
    """``show``."""
    answer = _look(given)
    if given.json:
        output.print_json(answer)
        return Status.DONE
    print("\n".join(wording.describe(answer)))
    return Status.DONE


def run_flows(given: argparse.Namespace) -> int:
    """``flows NIC``."""
    answer = _ask(given, "GET", f"/nics/{given.nic}/flows")
    if given.json:
        output.print_json(answer)
        return Status.DONE
    if answer["table"] is None:
        raise Refused(f"{answer['name']} ({answer['mac']}) is {answer['state']}: {_WHY_NOT_READ}")
    for flow in answer["table"]:
        print(f"  {flow}")
    print_changes(answer)
    return Status.DONE


_WHY_NOT_READ = "its table has not been read"


def run_top(given: argparse.Namespace) -> int:
    """``top``."""
    screen = sys.stdout.isatty() and not given.json
    shown, before = 0, dict[str, int]()
    while True:
        answer = _look(given)
        if given.json:
            output.print_json({"time": time.time(), **answer})
        else:
            print((_HOME if screen else "") + "\n".join(wording.describe(answer, before)))
        sys.stdout.flush()
        before = wording.changes_of(answer)
        shown += 1
        if shown == given.count:
            return Status.DONE
        time.sleep(given.interval)


def _look(given: argparse.Namespace) -> dict[str, Any]:
    path = daemon.socket_path(given)
    try:
        answer: dict[str, Any] = json.loads(controlsocket.ask(path, "show json"))
    except controlsocket.NotRunning:
        raise Refused(client.nobody(path)) from None
    except (controlsocket.Unanswered, controlsocket.Refused) as error:
        raise Refused(str(error)) from None
    nics = answer["nics"]
    if given.tenant is not None and given.tenant not in {nic["tenant"] for nic in nics}:
        raise Refused(f"--tenant {given.tenant}: the file has no such tenant")
    answer["nics"] = [
        nic
        for nic in nics
        if given.tenant in (None, nic["tenant"])
        and (given.state is None or nic["state"] in given.state)
    ]
    return answer


# --- words ----------------------------------------------------------------------------------


def complete_nics(parsed_args: Any, **_: Any) -> list[str]:
    """The daemon's NICs, by name and by MAC address."""
    try:
        path = getattr(parsed_args, "socket", None) or client.default_path()
        answer = Client(Path(path), 1.0).ask("GET", "/nics")
    except Refused:
        return []
    return [word for nic in answer["nics"] for word in (nic["name"], nic["mac"])]


def _interval(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 3600:
        raise ValueError(f"'{text}' is no number of seconds from 0.1 to 3600")
    return value


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ValueError(f"'{text}' is no number of reports: 1 or more")
    return int(text)
