# SPDX-License-Identifier: GPL-2.0-or-later
"""What a controller has, as lines: of ``show``, and of its control socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vmmnet.command import output

_ROLES = {
    "equal": "a controller that is none of ours is its master; this one is an equal",
    "slave": "a controller that is none of ours is its master, and keeps this one from its NICs",
}
_COLUMNS = ("NIC", "MAC", "tenant", "state", "switch", "port", "flows", "MTU")
STATES = ("ready", "programming", "reading", "keys", "refused", "away", "lost", "no switch",
           "slave", "standby")  # fmt: skip


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
                f" set again {count_of(each['repairs'], 'time')}"
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
        each = ", ".join(f"{answer['states'][s]:,} {s}" for s in STATES if s in answer["states"])
        yield f"{count_of(sum(answer['states'].values()), 'NIC')} in the file: {each}"


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
    "offloads": lambda nic: "" if nic["offloads"] is None else said(nic["offloads"]),
    "mended": lambda nic: _number(nic["counters"]["flows_mended"]),
    "events": lambda nic: _number(sum(nic["counters"][name] for name in _EVENTS)),
}


def _row(nic: dict[str, Any], more: Sequence[str], before: dict[str, int] | None) -> Sequence[str]:
    flows = "-" if nic["flows"] is None else f"{nic['flows']}/{nic['wanted']}"
    row = [nic["name"], nic["mac"], nic["tenant"], nic["state"], nic["switch"] or "-",
           str(nic["port"] or "-"), flows, str(nic["mtu"] or "-"),
           *(_MORE[name](nic) or "-" for name in more)]  # fmt: skip
    if before is not None:
        now = changes_of({"nics": [nic]})[nic["mac"]]
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
            f"{who}: {count_of(nic['wrong_key'], 'registration')} signed with another key than"
            " the file's: is its control-secret the same?"
        )


def said(value: object) -> str:
    """A value of the file as text: a list, a number, or none."""
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "-" if value is None else str(value)


def count_of(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def changes_of(answer: dict[str, Any]) -> dict[str, int]:
    """How often flows of each NIC were changed, by MAC."""
    return {
        nic["mac"]: nic["counters"]["flows_set"] + nic["counters"]["flows_deleted"]
        for nic in answer["nics"]
    }
