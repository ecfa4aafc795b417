# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of a domain's definition: its expansion, the daemon, and the running domain."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

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
    beside = bare.of(domain.running, net)
    for mac, nic in document.nics(domain.running).items():
        if nic.get("type") not in INTERFACES:
            continue
        is_filtered = mac in host.filtered()
        if mac in by_mac:
            if by_mac[mac].ebpf and not is_filtered:
                told = "<vmmnet:net> has HostVLAN in eBPF for the NIC, and its interface has none"
                yield Finding(mac, told, _protect(domain, mac))
        elif is_filtered:
            told = "HostVLAN in eBPF ends when the domain is saved, moves or ends"
            yield Finding(mac, told, f"{_protect(domain, mac)} keeps it")
        elif by_mac:
            yield from _bare(domain, mac, is_beside=mac in beside)


def _bare(domain: Domain, mac: str, *, is_beside: bool) -> Iterator[Finding]:
    """A NIC of the running domain without HostVLAN, which others have."""
    if mac not in document.nics(domain.defined):
        told = "the NIC was plugged in while the domain ran, and has no HostVLAN before it"
        yield Finding(mac, told, _protect(domain, mac))
    elif is_beside:
        told = "the NIC has no HostVLAN before it, on a network where others of the domain have it"
        yield Finding(mac, told, _protect(domain, mac))
    elif domain.is_transient:
        told = "the NIC has no HostVLAN before it, and others of the domain have"
        remedy = f"{_protect(domain, mac)}, if there are tenants on its network"
        yield Finding(mac, told, remedy, "note")


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
        remedy = f"{_protect(domain, each.mac)}, or end the domain and start it"
        yield Finding(each.mac, told, remedy)


def _protect(domain: Domain, mac: str) -> str:
    """How to put HostVLAN onto the interface of a running NIC."""
    return f"'vmmnet libvirt protect {shlex.quote(domain.name)} {mac}'"
