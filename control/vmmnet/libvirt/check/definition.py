# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of a domain's definition: its expansion, the daemon, and the running domain."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from vmmnet.hostvlan.table import filestore

from .. import names
from ..element import BadElement, Net
from ..expand import OLDEST, drift, made
from .facts import Domain, Finding, Host

# Types of interfaces with a tap of QEMU.
_TAPS = ("bridge", "network", "ethernet", "direct")


def bad(domain: Domain, error: BadElement) -> Finding:
    """A finding about an invalid element."""
    return Finding(domain.name, str(error), _define(domain, "correct it there"))


def left_over(domain: Domain, differs: list[str]) -> Finding:
    """A finding about a domain without the element, whose start the hook refuses."""
    told = f"it has no <vmmnet:net> any more, and what was made of that: {'; '.join(differs)}"
    return Finding(domain.name, told, _define(domain, "put the element back if it is wanted"))


def check(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check the definition and the running domain."""
    try:
        yield from _drift(domain, net)
    except BadElement as error:
        yield bad(domain, error)
    if net.interfaces and domain.version is not None and domain.version < OLDEST:
        version = ".".join(map(str, domain.version))
        told = f"{version} is too old: a NIC uses these netdevs by qemu:override, which 8.2 has"
        yield Finding("libvirt", told, "install libvirt 8.2 or later")
    if domain.running is not None:
        yield from _running(domain, net, host)
        yield from _plugged_anew(domain, net, host)


def _drift(domain: Domain, net: Net) -> Iterator[Finding]:
    differs = drift(domain.defined)
    if not differs:
        return
    if domain.is_file:
        # Not defined yet: 'define' replaces old parts.
        if net.digest is not None:
            told = "; ".join(differs)
            yield Finding(domain.name, told, f"{_define(domain)} replaces it", "note")
        return
    yield Finding(domain.name, "; ".join(differs), _define(domain))


def _define(domain: Domain, between: str = "") -> str:
    """How to define the domain again; ``between``: after a change of its file."""
    name = shlex.quote(domain.name)
    change = [between] if between else []
    if domain.is_file:
        return ", ".join((*change, f"'vmmnet libvirt define {name}'"))
    read = f"'virsh dumpxml --inactive --security-info {name} >FILE'"
    return ", ".join((read, *change, "'vmmnet libvirt define FILE'"))


def _running(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    if made(domain.running) != made(domain.defined):
        told = "it runs with other settings than it is defined with"
        yield Finding(domain.name, told, "they apply from its next start on", "note")
    tables = [each.hostvlan for each in net.interfaces if each.hostvlan is not None]
    if not tables:
        return
    defined = _nics(domain.defined)
    for mac, nic in _nics(domain.running).items():
        if mac in defined or mac in host.filtered():
            continue
        told = "the NIC was plugged in while the domain ran, and has no HostVLAN before it"
        yield Finding(mac, told, _attach(nic, mac, str(tables[0])))


def _plugged_anew(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """A NIC that was plugged in again: libvirt applies no override to it."""
    running = _nics(domain.running)
    for each in net.interfaces:
        nic = running.get(each.mac)
        if names.id_of("hostvlan", each.mac) not in domain.empty or nic is None:
            continue
        if nic.get("type") not in _TAPS or each.mac in host.filtered():
            continue
        told = (
            "the NIC was plugged out and in again while the domain ran,"
            " and has no HostVLAN before it any more"
        )
        attach = _attach(nic, each.mac, str(each.hostvlan))
        yield Finding(each.mac, told, f"{attach}, or end the domain and start it")


def _attach(nic: Any, mac: str, table: str) -> str:
    """How to attach HostVLAN to a running NIC."""
    target = nic.find("target")
    tap = "INTERFACE" if target is None else target.get("dev", "INTERFACE")
    where = "" if table == str(filestore.DEFAULT) else f" --table {shlex.quote(table)}"
    return f"'vmmnet hostvlan attach {tap} {mac}{where}'"


def _nics(domain: Any) -> dict[str, Any]:
    found = domain.iterfind("devices/interface/mac")
    return {each.get("address", "").lower(): each.getparent() for each in found}
