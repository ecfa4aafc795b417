# SPDX-License-Identifier: GPL-2.0-or-later
"""State of a VM's devices by QMP, and as short lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vmmnet.hostvlan.table import lnid

from . import names
from .host import validator
from .model import Net

#: The beginning of counters of what a policy refuses.
_REFUSED = "refused-"

#: Executes a QMP command with its arguments. Raises Refused.
Ask = Callable[[str, Mapping[str, Any]], Any]


def asked(net: Net) -> dict[str, tuple[str, dict[str, Any]]]:
    """The QMP commands for an element's devices, by kind."""
    nics = net.interfaces
    wanted: dict[str, tuple[str, dict[str, Any]]] = {}
    if net.sockets is not None:
        wanted["vmrpc"] = ("query-vmrpc", {"id": names.SOCKETS, "sockets-limit": 0})
    if any(each.table_of_qemu for each in nics):
        wanted["hostvlan"] = ("query-hostvlan", {})
    if any(each.mip6 for each in nics):
        wanted["mip6"] = ("query-mip6", {})
    if any(each.cvsw for each in nics):
        wanted["cvsw"] = ("query-cvsw", {})
    if net.handoff:
        place = f"/objects/{names.HANDOFF}"
        wanted["handoff"] = ("qom-get", {"path": place, "property": "state"})
    return wanted


def lines(kind: str, answer: Any) -> Iterator[str]:
    """An answer as short lines: ``ID: state``."""
    if kind == "handoff":
        yield f"{names.HANDOFF}: addresses {answer}"
        return
    for each in answer:
        yield f"{each.get('id', kind)}: {', '.join(_KINDS[kind](each))}"


def _vmrpc(device: Mapping[str, Any]) -> Iterator[str]:
    if "address6" in device:
        yield f"address6 {device['address6']} {device.get('address6-claim', '')}".rstrip()
    if device.get("address-state", "here") != "here":
        yield f"the address is {device['address-state']} on this host"
    yield f"{device['sockets-open']} of {device['max-sockets']} sockets"
    if device["sockets-arriving"]:
        yield f"{device['sockets-arriving']} wait for what is missing here"
    if device.get("mappings"):
        yield f"{device['mappings']} addresses of {device.get('pool4')} in use"
    yield from _confined(device)
    counters = device.get("counters", {})
    verdicts = {each: counters.get(f"upstream-{each}", 0) for each in validator.VERDICTS}
    if any(verdicts.values()):
        yield f"names {', '.join(f'{count} {each}' for each, count in verdicts.items())}"
    if outages := counters.get("upstream-validator-outages"):
        yield f"outages of the validator: {outages}"


def _confined(device: Mapping[str, Any]) -> Iterator[str]:
    """What its policy has refused, and how its audit log is."""
    counters, audit = device.get("counters", {}), device.get("audit")
    refused = [(name, count) for name, count in counters.items() if name.startswith(_REFUSED)]
    if told := _counted([(name.removeprefix(_REFUSED), n) for name, n in refused], "refused"):
        yield told
    if wrong := counters.get("policy-errors"):
        yield f"mistakes when the policy was read again: {wrong}"
    if audit is None:
        return
    yield f"audit {audit['lines']} lines" + "".join(
        f" and {audit[word]} {word}" for word in ("lost", "pending") if audit[word]
    )
    if audit["blocked"]:
        fate = "nothing begins" if audit["full"] == "wait" else "lines may be lost"
        yield f"the audit log takes nothing, and {fate}"


def _hostvlan(port: Mapping[str, Any]) -> Iterator[str]:
    yield lnid.named(port.get("lnids", [])) if port.get("lnids") else "no LNID"
    if "generation" in port:
        yield f"table {port['table']} of generation {port['generation']}"
    if "error" in port:
        yield f"table {port['table']}: {port['error']}"
    for word, direction in (("sent", "send"), ("received", "receive")):
        counts = port[direction]
        ended = [(name, count) for name, count in counts.items() if name != "passed"]
        yield f"{counts['passed']} {word}{_dropped(ended)}"


def _mip6(node: Mapping[str, Any]) -> Iterator[str]:
    reason = node.get("reason", "none")
    yield str(node["state"]) + ("" if reason == "none" else f" ({reason})")
    yield f"home {node['home-address']}, agent {node.get('home-agent', 'unknown')}"
    if "care-of" in node:
        yield f"care-of {node['care-of']}"
    if "remaining" in node:
        yield f"bound for {node['remaining']} s more"
    ended = [(each["reason"], each["count"]) for each in node["dropped"]]
    yield f"{node['sent']} sent, {node['received']} received by the tunnel{_dropped(ended)}"


def _cvsw(card: Mapping[str, Any]) -> Iterator[str]:
    session, table = card["session"], card["table"]
    heard = f", heard {session['heard']} s ago" if "heard" in session else ""
    yield f"controller {'there' if session['open'] else 'not there'}{heard}"
    yield f"{table['flows']} of {table['flows-max']} flows"
    yield f"{table['hits']} of {table['lookups']} look-ups found one"
    if card["associations"]:
        yield f"{len(card['associations'])} associations of ESP"
    for word, direction in (("guest", "dropped-from-guest"), ("wire", "dropped-from-wire")):
        ended = [(each["reason"], each["count"]) for each in card[direction]]
        if ended:
            yield f"from the {word}{_dropped(ended).removeprefix(' and')}"


_KINDS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "vmrpc": _vmrpc,
    "hostvlan": _hostvlan,
    "mip6": _mip6,
    "cvsw": _cvsw,
}


def _dropped(counts: Iterable[tuple[str, int]]) -> str:
    """`` and 3 dropped (spoofed 3)``, by reason; empty if none was dropped."""
    told = _counted(counts, "dropped")
    return f" and {told}" if told else ""


def _counted(counts: Iterable[tuple[str, int]], word: str) -> str:
    """``3 dropped (spoofed 3)``; empty if all are 0."""
    there = [(name, count) for name, count in counts if count]
    told = ", ".join(f"{name} {count}" for name, count in there)
    return f"{sum(count for _, count in there)} {word} ({told})" if there else ""
