# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt show``: the element and the state of domains."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from vmmnet import libvirtd
from vmmnet.command import output
from vmmnet.command.status import Refused, Status, UsageError

from . import devices, state
from .element import Cvsw, Interface, Mip6, Net, Sockets
from .host import validator
from .host.history import Event
from .model import options
from .state import Here, State, Validator


def run(given: argparse.Namespace) -> int:
    """``show DOMAIN`` and ``show --all``."""
    if given.all == (given.domain is not None):
        raise UsageError("name a domain, or all with --all: one of the two")
    with libvirtd.opened(given.connect) as daemon:
        if not given.all:
            _show(given, [state.of(daemon, given.domain)])
            return Status.DONE
        found, wrong = _all(daemon)
    _show(given, found, wrong)
    return Status.REFUSED if wrong else Status.DONE


def _all(daemon: libvirtd.Daemon) -> tuple[list[State], dict[str, str]]:
    """Domains with the element, and errors of others."""
    found: list[State] = []
    wrong: dict[str, str] = {}
    for name in daemon.names():
        try:
            each = state.of(daemon, name)
        except Refused as error:
            wrong[name] = str(error)
            continue
        # A domain without its element may still have claims.
        if each.net is not None or (each.here is not None and each.here.note is not None):
            found.append(each)
    return found, wrong


def _show(
    given: argparse.Namespace, found: list[State], wrong: dict[str, str] | None = None
) -> None:
    wrong = wrong or {}
    if given.json:
        shown: list[dict[str, Any]] = [_whole_json(each) for each in found]
        shown += [{"domain": name, "error": text} for name, text in wrong.items()]
        output.print_json(shown if given.all else shown[0])
        return
    for number, each in enumerate(found):
        if number:
            print()
        for line in output.columns(list(_whole(each))):
            print(line)
    for text in wrong.values():
        output.say(f"vmmnet libvirt: {text}")
    if not found and not wrong:
        print("no domain has <vmmnet:net>")


def _whole(each: State) -> Iterator[tuple[str, str]]:
    yield "domain", f"{each.name}: {_running(each)}"
    yield from _listed("changed", each.changes)
    yield from _rows(each)
    yield from _listed("drift", each.drift or ["none"])
    if each.here is None:
        yield "claims", "they are another host's: run this there"
    else:
        yield from _listed("claims", list(_claims(each.here)) or ["none"])
        yield from _listed("hook", [_event(event) for event in each.here.events] or ["no event"])
        if each.here.validator is not None:
            yield "validator", _validator(each.here.validator)
    told = [line for kind, answer in each.devices.items() for line in devices.lines(kind, answer)]
    told += [f"{kind}: {why}" for kind, why in each.mute.items()]
    yield from _listed("devices", told)


def _running(each: State) -> str:
    if not each.is_running:
        return "shut off"
    if each.runs_as_defined:
        return "running"
    return "running with other settings; these apply from its next start"


def _claims(here: Here) -> Iterator[str]:
    note = here.note
    if note is None:
        return
    if note.ports is not None:
        yield f"{note.ports} has {' '.join(here.macs) or 'nothing any more'}"
    if note.handed:
        yield f"vmmnet-hostd: {_hostd(here)}"
    if note.arriving:
        yield "it was announced, and has not started"
    if note.owed:
        yield "it has ended, and this could not be given back: the next event of any VM does"


def _hostd(here: Here) -> str:
    if here.silent:
        return here.silent
    if here.registration is None:
        return "does not know it"
    addresses = [f"{address} on {device}" for address, device in here.registration.addresses]
    return ", ".join((here.registration.state, *addresses))


def _validator(found: Validator) -> str:
    who = found.unit or str(found.socket)
    if found.silent:
        return f"{who} is away: {found.silent}"
    return f"{who}: {'listens' if found.told is None else validator.line(found.told)}"


def _event(event: Event) -> str:
    done = "; ".join(event.did)
    refused = f"refused: {event.failed}" if event.failed is not None else ""
    return f"{event.time} {event.event}: {'; '.join(filter(None, (done, refused)))}"


def _rows(state: State) -> Iterator[tuple[str, str]]:
    net = state.net
    if net is None:
        yield "net", "the domain has no <vmmnet:net>"
        return
    if net.sockets is not None:
        yield "sockets", _words(options(net.sockets))
    for each in net.interfaces:
        yield "NIC", _words(_nic(each))
        if each.mip6 is not None:
            yield "  mip6", _words(options(each.mip6))
        if each.cvsw is not None:
            yield "  cvsw", _words(options(each.cvsw))
    yield "handoff", "on" if net.handoff else "off"
    digest = net.digest or "none"
    if state.is_running and state.running_digest != net.digest:
        digest += f"; it runs with {state.running_digest or 'none'}"
    yield "digest", digest


def _listed(title: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    """A row for each, with the title in the first."""
    for number, each in enumerate(texts):
        yield "" if number else title, each


def _words(given: dict[str, Any]) -> str:
    return " ".join(f"{name}={_text(value)}" for name, value in given.items()) or "defaults"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value)


def _nic(nic: Interface) -> dict[str, Any]:
    """The settings of a NIC, without mip6 and cvsw."""
    given = {
        "mac": nic.mac,
        "hostvlan": nic.hostvlan,
        "ebpf": nic.ebpf,
        "check-sender": nic.check_sender,
        "l2-control": nic.l2_control,
        "ra-guard": nic.ra_guard,
        "dhcp-guard": nic.dhcp_guard,
    }
    return {name: value for name, value in given.items() if value is not None}


def _whole_json(each: State) -> dict[str, Any]:
    here = each.here
    return {
        "domain": each.name,
        "uuid": each.uuid,
        "running": each.is_running,
        "runs-as-defined": each.runs_as_defined,
        "changes": each.changes,
        "running-digest": each.running_digest,
        "net": None if each.net is None else _net_json(each.net),
        "drift": each.drift,
        "claims": None if here is None or here.note is None else _claims_json(here),
        "events": None if here is None else [dataclasses.asdict(event) for event in here.events],
        "validator": None if here is None else _validator_json(here.validator),
        "devices": dict(each.devices),
        "errors": dict(each.mute),
    }


def _claims_json(here: Here) -> dict[str, Any]:
    assert here.note is not None
    known = here.registration
    return {
        "ports": here.note.ports,
        "macs": list(here.macs),
        "arriving": here.note.arriving,
        "owed": here.note.owed,
        "hostd": None
        if known is None
        else {
            "state": known.state,
            "addresses": [{"address": a, "interface": dev} for a, dev in known.addresses],
        },
        "hostd-error": here.silent or None,
    }


def _validator_json(found: Validator | None) -> dict[str, Any] | None:
    if found is None:
        return None
    place = {"socket": str(found.socket), "unit": found.unit}
    return {**place, **(found.told or {}), "error": found.silent or None}


def _net_json(net: Net) -> dict[str, Any]:
    return {
        "sockets": _json(net.sockets),
        "interfaces": [
            {**_plain(_nic(each)), "mip6": _json(each.mip6), "cvsw": _json(each.cvsw)}
            for each in net.interfaces
        ],
        "handoff": net.handoff,
        "digest": net.digest,
    }


def _json(part: Sockets | Mip6 | Cvsw | None) -> dict[str, Any] | None:
    return None if part is None else _plain(options(part))


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """The same in types of JSON."""
    return {name: _plain_value(value) for name, value in given.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, tuple):
        return list(map(str, value))
    return value if isinstance(value, bool | int) else str(value)
