# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF at the host's interface of a NIC, for the hook and for ``protect``."""

from __future__ import annotations

from typing import Any

from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs

from . import document
from .model import Interface


class NotAttached(Exception):
    """HostVLAN is not at the interface; the message says why."""


def attach(domain: Any, wanted: Interface) -> str:
    """Attach it to the NIC of a domain whose interfaces exist; returns the interface's name.

    One that is attached already keeps its counters. Raises NotAttached.
    """
    assert wanted.hostvlan is not None
    interface = interface_of(domain, wanted.mac)
    if not interface:
        raise NotAttached(f"the NIC {wanted.mac} has no interface of the host: {_WHICH}")
    try:
        attached = twin.attach(
            interface,
            macs.parse(wanted.mac),
            wanted.hostvlan,
            check_sender=bool(wanted.check_sender),
            l2_control=bool(wanted.l2_control),
            ra_guard=bool(wanted.ra_guard),
            dhcp_guard=bool(wanted.dhcp_guard),
        )
    except (twin.TwinError, OSError) as error:
        raise NotAttached(f"HostVLAN of {wanted.mac} in eBPF: {error}") from None
    if not attached.whole:
        places = ", ".join(attached.missing)
        raise NotAttached(f"HostVLAN of {wanted.mac} is missing at {interface}: {places}")
    return interface


_WHICH = "only a tap or a macvtap is one"


def interface_of(domain: Any, mac: str) -> str | None:
    """The host's interface of a running domain's NIC; empty: it has none; None: no such NIC."""
    nic = document.nics(domain).get(mac)
    if nic is None:
        return None
    target = nic.find("target")
    return "" if target is None else str(target.get("dev", ""))
