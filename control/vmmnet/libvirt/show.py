# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt show``: the element of a domain, and whether the domain is as it says."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from vmmnet.hostvlan import output
from vmmnet.hostvlan.options import Refused, Status

from . import connect, document, element
from .element import BadElement, Interface, Net, Sockets
from .expand import drift, made


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
        yield "sockets", _words(net.sockets)
    for each in net.interfaces:
        yield "NIC", _words(each)
    yield "handoff", "on" if net.handoff else "off"
    yield "digest", net.digest or "none"


def _drift(found: list[str]) -> Iterator[tuple[str, str]]:
    for number, each in enumerate(found or ["none"]):
        yield "" if number else "drift", each


def _words(part: Sockets | Interface) -> str:
    return " ".join(f"{name}={_text(value)}" for name, value in _given(part).items()) or "defaults"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _given(part: Sockets | Interface) -> dict[str, Any]:
    """Options that are given, by their names in QEMU."""
    values = {
        each.name.replace("_", "-"): getattr(part, each.name) for each in dataclasses.fields(part)
    }
    return {name: value for name, value in values.items() if value is not None and name != "line"}


def _net_json(net: Net) -> dict[str, Any]:
    return {
        "sockets": None if net.sockets is None else _json(net.sockets),
        "interfaces": list(map(_json, net.interfaces)),
        "handoff": net.handoff,
        "digest": net.digest,
    }


def _json(part: Sockets | Interface) -> dict[str, Any]:
    plain = (bool, int)
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in _given(part).items()
    }
