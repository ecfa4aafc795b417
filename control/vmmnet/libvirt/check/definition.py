# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of a domain's definition: its expansion, the daemon, and the running domain."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vmmnet.hostvlan.table import filestore

from .. import bare, document, element, names
from ..element import BadElement, Net
from ..expand import INTERFACES, OLDEST, changes, drift, made, missing
from .facts import Domain, Finding, Host


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
        error = missing(domain.defined, net) or bare.wrong(domain.defined, net)
        if error is not None and not domain.is_transient:
            yield bad(domain, error)
    except BadElement as error:
        yield bad(domain, error)
    if net.interfaces and domain.version is not None and domain.version < OLDEST:
        version = ".".join(map(str, domain.version))
        told = f"{version} is too old: a NIC uses these netdevs by qemu:override, which 8.2 has"
        yield Finding("libvirt", told, "install libvirt 8.2 or later")
    for each in net.interfaces if host.hook() is None else ():
        if each.ebpf:
            told = "it has ebpf='on', and a session has no hook that would attach HostVLAN"
            yield Finding(each.mac, told, _define(domain, "leave ebpf out"))
    if domain.running is not None:
        yield from _running(domain, host)
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


def _running(domain: Domain, host: Host) -> Iterator[Finding]:
    if made(domain.running) != made(domain.defined):
        differs = "; ".join(changes(domain.running, domain.defined))
        told = f"it runs with other settings than it is defined with: {differs}"
        yield Finding(domain.name, told, "they apply from its next start on", "note")
    try:
        net = element.read(domain.running) or Net()
    except BadElement:
        # The check of the definition, or the hook, has told it.
        return
    by_mac = {each.mac: each for each in net.interfaces if each.hostvlan is not None}
    table = next((each.hostvlan for each in by_mac.values()), None)
    beside = bare.of(domain.running, net)
    for mac, nic in document.nics(domain.running).items():
        if nic.get("type") not in INTERFACES:
            continue
        is_filtered, remedy = mac in host.filtered(), _protect(domain, host, nic, mac, table)
        if mac in by_mac:
            if by_mac[mac].ebpf and not is_filtered:
                told = "<vmmnet:net> has HostVLAN in eBPF for the NIC, and its interface has none"
                yield Finding(mac, told, remedy)
        elif is_filtered and host.hook() is None:
            # Nobody can do better.
            continue
        elif is_filtered:
            told = "HostVLAN in eBPF ends when the domain is saved, moves or ends"
            yield Finding(mac, told, f"{remedy} keeps it")
        elif by_mac:
            yield from _bare(domain, mac, remedy, is_beside=mac in beside)


def _bare(domain: Domain, mac: str, remedy: str, *, is_beside: bool) -> Iterator[Finding]:
    """A NIC of the running domain without HostVLAN, which others have."""
    if mac not in document.nics(domain.defined):
        told = "the NIC was plugged in while the domain ran, and has no HostVLAN before it"
        yield Finding(mac, told, remedy)
    elif is_beside:
        told = "the NIC has no HostVLAN before it, on a network where others of the domain have it"
        yield Finding(mac, told, remedy)
    elif domain.is_transient:
        told = "the NIC has no HostVLAN before it, and others of the domain have"
        yield Finding(mac, told, f"{remedy}, if there are tenants on its network", "note")


def _plugged_anew(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """A NIC that was plugged in again: libvirt applies no override to it."""
    running = document.nics(domain.running)
    for each in net.interfaces:
        nic = running.get(each.mac)
        if names.id_of("hostvlan", each.mac) not in domain.empty or nic is None:
            continue
        if nic.get("type") not in INTERFACES or each.mac in host.filtered():
            continue
        told = (
            "the NIC was plugged out and in again while the domain ran,"
            " and has no HostVLAN before it any more"
        )
        attach = _protect(domain, host, nic, each.mac, each.hostvlan)
        yield Finding(each.mac, told, f"{attach}, or end the domain and start it")


def _protect(domain: Domain, host: Host, nic: Any, mac: str, table: Path | None) -> str:
    """How to put HostVLAN onto the interface of a running NIC."""
    if host.hook() is None:
        target = nic.find("target")
        tap = "INTERFACE" if target is None else target.get("dev", "INTERFACE")
        where = "" if table in (None, filestore.DEFAULT) else f" --table {shlex.quote(str(table))}"
        return f"'vmmnet hostvlan attach {tap} {mac}{where}'"
    return f"'vmmnet libvirt protect {shlex.quote(domain.name)} {mac}'"
