# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the host's resources for a VM's sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from .. import sharing
from ..element import Net, Sockets
from ..host import conf
from .facts import Domain, Finding, Host

_PING = "net.ipv4.ping_group_range"
_PORTS = "net.ipv4.ip_unprivileged_port_start"
_HTTP = 80
# QEMU's default, and its other descriptors.
_SOCKETS = 16384
_OTHERS = 256


def check(domain: Domain, net: Net, host: Host) -> Iterator[Finding]:
    """Check addresses, ports, ping, descriptors; nothing for a domain without sockets."""
    if net.sockets is None:
        return
    if net.sockets.address6 is not None:
        address = str(net.sockets.address6)
        yield from _handoff(address, host) if net.handoff else _address(address, host)
        yield from _shared(address, domain)
    yield from _ping(host)
    yield from _ports(host)
    yield from _descriptors(net.sockets, host)


def _address(address: str, host: Host) -> Iterator[Finding]:
    told = host.address6_missing(address)
    if not told:
        return
    try:
        device = host.address6_device(address)
    except ValueError:
        # host.conf is used only with handoff='on'.
        device = None
    if device is None:
        told += ", and in no prefix of its interfaces: routers have to have a route to it"
    remedy = (
        f"'ip -6 address add {address}/128 dev {device or 'INTERFACE'}', or handoff='on' of"
        " <vmmnet:net> lets vmmnet-hostd do it"
    )
    yield Finding(f"address6 {address}", told, remedy)


def _shared(address: str, domain: Domain) -> Iterator[Finding]:
    for name, runs in domain.sharing.items():
        remedy = f"give one of the two another address6, or never run '{name}' beside it"
        told = sharing.told(name, runs)
        severity: Literal["fault", "note"] = "fault" if runs else "note"
        yield Finding(f"address6 {address}", told, remedy, severity)


def _handoff(address: str, host: Host) -> Iterator[Finding]:
    silent = host.hostd()
    if silent:
        yield Finding("vmmnet-hostd", silent, "'systemctl enable --now vmmnet-hostd'")
    try:
        device = host.address6_device(address)
    except ValueError:
        # The check of the hook has told it.
        return
    if device is not None and not host.has_interface(device):
        told = f"this host has no interface {device}, which is its 'address6-device'"
        yield Finding(str(conf.PATH), told, f"make {device}, or correct the line")
    if device is None:
        told = "is in no prefix of an interface of this host, so that vmmnet-hostd has no place"
        remedy = f"name one: 'address6-device INTERFACE' in {conf.PATH}"
        yield Finding(f"address6 {address}", told, remedy)


def _ping(host: Host) -> Iterator[Finding]:
    user, text = host.user(), host.sysctl(_PING)
    if user is None or text is None:
        return
    first, last = map(int, text.split())
    if not any(first <= each <= last for each in user.groups):
        told = f"is '{first} {last}', without a group of QEMU's user, {user.name}: no ping"
        group = min(user.groups)
        if first <= last:
            # The remedy keeps the groups that are allowed already.
            first, last = min(first, group), max(last, group)
        else:
            first = last = group
        yield Finding(_PING, told, f"'sysctl {_PING}=\"{first} {last}\"'")


def _ports(host: Host) -> Iterator[Finding]:
    text = host.sysctl(_PORTS)
    if text is not None and int(text) > _HTTP:
        told = f"is {text}, so that servers of the guest get no port below that"
        yield Finding(_PORTS, told, f"'sysctl {_PORTS}={_HTTP}', if it needs some", "note")


def _descriptors(sockets: Sockets, host: Host) -> Iterator[Finding]:
    settings = host.qemu_conf()
    if settings is None:
        told = "is readable by root only, so that its user and max_files are not known"
        yield Finding("qemu.conf", told, "run this as root", "note")
        return
    wanted = sockets.max_sockets or _SOCKETS
    needed = wanted + _OTHERS
    text = settings.get("max_files", "0")
    limit = int(text) if text.isdecimal() else 0
    if limit >= needed:
        return
    have = f"is {limit}" if limit else "is not set, so that QEMU has as many as the daemon"
    told = f"{have}; {wanted} sockets take {needed}, and a guest without gets EMFILE"
    remedy = f"'max_files = {needed}' in qemu.conf, 'systemctl restart libvirtd' (or virtqemud)"
    # Without max-sockets, the domain may never use the default number.
    yield Finding("max_files", told, remedy, "fault" if limit or sockets.max_sockets else "note")
