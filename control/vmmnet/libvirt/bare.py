# SPDX-License-Identifier: GPL-2.0-or-later
"""NICs without HostVLAN on a network where another NIC of the same domain has it.

Such a NIC reaches all tenants there.  It is no design but an oversight: somebody has plugged it in
and put HostVLAN onto its tap by hand, and the tap goes when the VM is saved or moves.
"""

from __future__ import annotations

from typing import Any

from . import document, element
from .element import BadElement, Net


def of(domain: Any, net: Net) -> list[str]:
    """Their MAC addresses."""
    has = {each.mac: each for each in net.interfaces if each.hostvlan is not None}
    there = [(mac, _places(each)) for mac, each in document.nics(domain).items()]
    guarded = {place for mac, places in there if mac in has for place in places}
    return [mac for mac, places in there if mac not in has and places & guarded]


def wrong(domain: Any, net: Net) -> BadElement | None:
    """What is wrong with the first of them; None: there is none."""
    found = of(domain, net)
    table = next((each.hostvlan for each in net.interfaces if each.hostvlan), None)
    if not found or table is None:
        return None
    right = (
        f"the NIC {found[0]} has no HostVLAN, on a network where another NIC of the domain has it:"
        f" write <vmmnet:interface mac='{found[0]}' hostvlan='{table}' ebpf='on'/> into it, or"
        " leave ebpf out to have it in QEMU"
    )
    return BadElement(element.find(domain), "", "", right)


def _places(node: Any) -> set[tuple[str, str]]:
    """Where a NIC is attached: by the network's name, or the host's interface."""
    source = node.find("source")
    if source is None:
        return set()
    return {(kind, source.get(kind)) for kind in ("bridge", "network", "dev") if source.get(kind)}
