# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt show``: the element of a domain, and whether the domain is as it says."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from vmmnet.hostvlan import output
from vmmnet.hostvlan.options import Refused, Status

from . import connect, document, element
from .element import BadElement, Cvsw, Interface, Mip6, Net, Sockets
from .expand import drift, made
from .model import options


def run(given: argparse.Namespace) -> int:
    """``show DOMAIN``."""
    with connect.opened(given.connect) as daemon:
        defined = document.parse(daemon.defined(given.domain))
        running = None
        if daemon.is_running(given.domain):
            running = document.parse(daemon.running(given.domain))
    try:
        net, found = element.read(defined), drift(defined)
    except BadElement as error:
        raise Refused(f"{given.domain}: {error}") from None
    same = running is None or made(running) == made(defined)
    name = defined.findtext("name")
    if given.json:
        output.print_json(
            {
                "domain": name,
                "uuid": defined.findtext("uuid"),
                "running": running is not None,
                "runs-as-defined": None if running is None else same,
                "net": None if net is None else _net_json(net),
                "drift": found,
            }
        )
        return Status.DONE
    state = "shut off"
    if running is not None:
        state = "running" if same else "running with other words; these count from its next start"
    for line in output.columns([("domain", f"{name}: {state}"), *_rows(net), *_drift(found)]):
        print(line)
    return Status.DONE


def _rows(net: Net | None) -> Iterator[tuple[str, str]]:
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
    yield "digest", net.digest or "none"


def _drift(found: list[str]) -> Iterator[tuple[str, str]]:
    for number, each in enumerate(found or ["none"]):
        yield "" if number else "drift", each


def _words(given: dict[str, Any]) -> str:
    return " ".join(f"{name}={_text(value)}" for name, value in given.items()) or "defaults"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value)


def _nic(nic: Interface) -> dict[str, Any]:
    """What is asked for a NIC, without the parts that have options of their own."""
    given = {
        "mac": nic.mac,
        "hostvlan": nic.hostvlan,
        "check-sender": nic.check_sender,
        "l2-control": nic.l2_control,
    }
    return {name: value for name, value in given.items() if value is not None}


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
    """The same with types of JSON."""
    return {name: _plain_value(value) for name, value in given.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, tuple):
        return list(map(str, value))
    return value if isinstance(value, bool | int) else str(value)
