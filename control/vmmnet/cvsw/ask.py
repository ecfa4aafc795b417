# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that ask the daemon: apply, diff, show, flows, top, rekey."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vmmnet.command import output
from vmmnet.command.parser import Parser, Run, subcommand, typed
from vmmnet.command.status import Refused, Status

from . import client, daemon
from .client import Client

# Also clears what is below: the list may have become shorter.
_HOME = "\033[H\033[J"
#: NICs that are named in one line.
_NAMED_MAX = 8
_ROLES = {
    "equal": "a controller that is none of ours is its master; this one is an equal",
    "slave": "a controller that is none of ours is its master, and keeps this one from its NICs",
}
_COLUMNS = ("NIC", "MAC", "tenant", "state", "switch", "port", "flows", "MTU")


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
_STATES = ("ready", "programming", "reading", "keys", "refused", "away", "lost", "no switch",
           "slave", "standby")  # fmt: skip
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
        "--state", metavar="STATE", action="append", choices=_STATES,
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
        f"{given.file}: {_count_of(members, 'NIC')} of"
        f" {_count_of(len(answer['tenants']), 'tenant')}; {about or 'nothing changes'}"
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
            print(f"  {each['name']} {_said(each['before'])} -> {_said(each['after'])}")
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
        print(f"{_count_of(answer['pairs'], 'association')} replaced")
        if answer["pairs_waiting"]:
            print(f"{answer['pairs_waiting']:,} wait for NICs not reached: {_waiting(answer)}")
    return Status.DONE


def _waiting(answer: dict[str, Any]) -> str:
    """The NICs that are not reached, and their states."""
    named = [f"{nic['name']} ({nic['state']})" for nic in answer["waiting"]]
    more = [f"{len(named) - _NAMED_MAX:,} more"] if len(named) > _NAMED_MAX else []
    return ", ".join(named[:_NAMED_MAX] + more)


def _said(value: object) -> str:
    """A value of the file as text: a list, a number, or none."""
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "-" if value is None else str(value)


def print_changes(change: dict[str, Any]) -> None:
    """Print removed and added flows."""
    for sign, flows in (("-", change["delete"]), ("+", change["set"])):
        for flow in flows:
            print(f"  {sign} {flow}")


def _count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- show, flows, top -----------------------------------------------------------------------


def run_show(given: argparse.Namespace) -> int:
    """``show``."""
    answer = _look(given)
    if given.json:
        output.print_json(answer)
        return Status.DONE
    print("\n".join(describe(answer)))
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
            print((_HOME if screen else "") + "\n".join(describe(answer, before)))
        sys.stdout.flush()
        before = _changes_of(answer)
        shown += 1
        if shown == given.count:
            return Status.DONE
        time.sleep(given.interval)


def look(of: Client) -> dict[str, Any]:
    """All NICs of a controller, its switches and its fellows.  Raises Refused."""
    answer = {
        **of.ask("GET", "/nics"),
        "switches": of.ask("GET", "/switches"),
        "sharing": of.ask("GET", "/controllers"),
    }
    answer["states"] = dict(Counter(nic["state"] for nic in answer["nics"]))
    return answer


def _look(given: argparse.Namespace) -> dict[str, Any]:
    answer = look(Client(daemon.socket_path(given)))
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


def _changes_of(answer: dict[str, Any]) -> dict[str, int]:
    return {
        nic["mac"]: nic["counters"]["flows_set"] + nic["counters"]["flows_deleted"]
        for nic in answer["nics"]
    }


def describe(answer: dict[str, Any], before: dict[str, int] | None = None) -> Iterator[str]:
    """One report as text, with the changes since the last one."""
    yield from _sharing(answer["sharing"])
    switches = ", ".join(f"{each['switch']} (OpenFlow {each['openflow']})"
                         for each in answer["switches"])  # fmt: skip
    yield f"switches: {switches or 'none is connected'}"
    for each in answer["switches"]:
        for twin in each["twins"]:
            yield (
                f"refused: a switch at {twin} has the datapath-id {each['switch']} of the one at"
                f" {each['address']}"
            )
        if each["role"] in _ROLES:
            yield f"switch {each['switch']}: {_ROLES[each['role']]}"
        if each["repairs"]:
            yield (
                f"switch {each['switch']}: others have removed or changed our flows:"
                f" set again {_count_of(each['repairs'], 'time')}"
            )
    if answer["nics"]:
        more = [name for name, value in _MORE.items() if any(map(value, answer["nics"]))]
        head = [*_COLUMNS, *more, *(["changes"] if before is not None else [])]
        rows = [head, *(_row(nic, more, before) for nic in answer["nics"])]
        yield from output.columns(rows)
    elif answer["states"]:
        yield "no NIC is so"
    else:
        yield "no NIC: there is no file yet, see 'vmmnet cvsw apply'"
    for nic in answer["nics"]:
        yield from _faults(nic)
    for each in answer["unknown"]:
        yield (
            f"unknown: {each['mac']} at switch {each['switch']}, port {each['port']}:"
            f" in no file; it is not programmed ({each['frames']:,} control frames)"
        )
    if answer["states"]:
        each = ", ".join(f"{answer['states'][s]:,} {s}" for s in _STATES if s in answer["states"])
        yield f"{_count_of(sum(answer['states'].values()), 'NIC')} in the file: {each}"


def _sharing(sharing: dict[str, Any] | None) -> Iterator[str]:
    """Several controllers: the leader, and those that cannot lead."""
    if sharing is None:
        return
    if sharing["error"]:
        yield f"etcd: {sharing['error']}"
    said = []
    for each in sharing["controllers"]:
        own = " (this one)" if each["name"] == sharing["self"] else ""
        does = "stands by"
        if each["name"] == sharing["leader"]:
            does = "leads"
        elif sharing["error"] and not own:
            does = "is not heard of"
        said.append(f"{each['name']}{own} {does}")
    yield f"controllers: {', '.join(said) or 'none is known'}"
    for each in sharing["controllers"]:
        if each["fault"]:
            yield f"{each['name']} cannot lead: {each['fault']}"


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


_EVENTS = ("packet_ins", "flows_removed", "events_unknown")
#: Columns that are shown if one NIC has a value there.
_MORE: dict[str, Callable[[dict[str, Any]], str]] = {
    "offloads": lambda nic: "" if nic["offloads"] is None else _said(nic["offloads"]),
    "mended": lambda nic: _number(nic["counters"]["flows_mended"]),
    "events": lambda nic: _number(sum(nic["counters"][name] for name in _EVENTS)),
}


def _row(nic: dict[str, Any], more: Sequence[str], before: dict[str, int] | None) -> Sequence[str]:
    flows = "-" if nic["flows"] is None else f"{nic['flows']}/{nic['wanted']}"
    row = [nic["name"], nic["mac"], nic["tenant"], nic["state"], nic["switch"] or "-",
           str(nic["port"] or "-"), flows, str(nic["mtu"] or "-"),
           *(_MORE[name](nic) or "-" for name in more)]  # fmt: skip
    if before is not None:
        now = _changes_of({"nics": [nic]})[nic["mac"]]
        row.append(f"{now - before.get(nic['mac'], now):,}")
    return row


def _faults(nic: dict[str, Any]) -> Iterator[str]:
    who = f"{nic['name']} ({nic['mac']})"
    for each in nic["troubles"]:
        yield f"{who}: {each['about']}: {each['error']}" + (
            f": {each['flow']}" if each["flow"] else ""
        )
    if nic["offloads_lacking"]:
        yield f"{who}: its guest has not negotiated {', '.join(nic['offloads_lacking'])}"
    if nic["wrong_key"]:
        yield (
            f"{who}: {_count_of(nic['wrong_key'], 'registration')} signed with another key than"
            " the file's: is its control-secret the same?"
        )


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
