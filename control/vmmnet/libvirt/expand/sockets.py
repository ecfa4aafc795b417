# SPDX-License-Identifier: GPL-2.0-or-later
"""The device virtio-vmrpc-pci, and a place in PCI that libvirt gives to nobody else.

libvirt does not see devices on the command line. On machines with PCIe it keeps a root port
free that is not hot-pluggable, as it wants hot-pluggable places for devices of its own. On
``pc`` the device takes the highest slot that is free, as libvirt fills slots from the lowest.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .. import names
from ..element import BadElement, Net, Sockets
from . import qemu
from .qemu import Words

_MODEL = "pcie-root-port"
_SLOTS = range(0x1F, 0x02, -1)


def put(domain: etree._Element, net: Net | None) -> list[Words]:
    """Give the domain the device that its element asks for; returns words for QEMU."""
    if net is None or net.sockets is None:
        _remove_ports(domain)
        return []
    sockets = net.sockets
    machine = _machine(domain, sockets)
    if machine.startswith("pc") and "q35" not in machine:
        _remove_ports(domain)
        place = {"bus": "pci.0", "addr": f"{_slot(domain, sockets):#x}"}
    else:
        _put_port(domain)
        place = {"bus": names.PORT, "addr": "0x0"}
    # JSON: QEMU makes devices that are written otherwise before those that libvirt writes so,
    # the root port among them.
    device = {"driver": "virtio-vmrpc-pci", "id": names.SOCKETS, **place, **_options(sockets)}
    words = [Words("-device", json.dumps(device, separators=(",", ":"), ensure_ascii=False))]
    return _handoff(domain, net) + words


def ports(domain: etree._Element) -> list[etree._Element]:
    """The root ports that an expansion has made: one, if nobody has copied it."""
    controllers = domain.iterfind("devices/controller[@type='pci']")
    return [each for each in controllers if _alias(each) == names.PORT]


def describe(port: etree._Element) -> str:
    """What matters of a root port."""
    target = port.find("target")
    hotplug = "on" if target is None else target.get("hotplug", "on")
    return f"model={port.get('model')} hotplug={hotplug}"


def _options(sockets: Sockets) -> dict[str, Any]:
    """Options by their names in QEMU, with types of JSON."""
    result: dict[str, Any] = {}
    for each in dataclasses.fields(sockets):
        value = getattr(sockets, each.name)
        if value is None or each.name == "line":
            continue
        plain = value if isinstance(value, bool | int) else str(value)
        result[each.name.replace("_", "-")] = plain
    return result


def _handoff(domain: etree._Element, net: Net) -> list[Words]:
    if not net.handoff:
        return []
    uuid = (domain.findtext("uuid") or "").strip()
    if not uuid:
        right = "QEMU names the VM by its UUID, which the domain has not yet: write <uuid>"
        raise BadElement(etree.Element(names.net("net")), "handoff", "on", right, net.line)
    return [Words("-object", f"vmmnet-handoff,id={names.HANDOFF},vm={uuid}")]


def _machine(domain: etree._Element, sockets: Sockets) -> str:
    kind = domain.find("os/type")
    machine = "" if kind is None else kind.get("machine", "")
    known = "q35" in machine or machine.split("-")[0] in ("pc", "virt")
    if known:
        return machine
    if machine:
        right = f"the machine '{machine}' has no PCI that is known here: q35, pc and virt have"
    else:
        right = "the place of the device depends on the machine: write <type machine='q35'>"
    raise _bad(sockets, right)


def _put_port(domain: etree._Element) -> None:
    found = ports(domain)
    for port in found[1:]:
        port.getparent().remove(port)
    port = found[0] if found else _new_port(domain)
    if port.get("model") != _MODEL:
        port.set("model", _MODEL)
    target = port.find("target")
    if target is None:
        target = etree.Element("target")
        port.insert(0, target)
    target.set("hotplug", "off")


def _new_port(domain: etree._Element) -> etree._Element:
    devices = domain.find("devices")
    if devices is None:
        devices = etree.SubElement(domain, "devices")
    port = etree.Element("controller", type="pci", model=_MODEL)
    etree.SubElement(port, "target")
    etree.SubElement(port, "alias", name=names.PORT)
    others = devices.findall("controller")
    if others:
        others[-1].addnext(port)
    else:
        devices.append(port)
    return port


def _remove_ports(domain: etree._Element) -> None:
    for port in ports(domain):
        port.getparent().remove(port)


def _slot(domain: etree._Element, sockets: Sockets) -> int:
    """Where the device is, or is to be, on ``pci.0``."""
    taken = _taken(domain)
    before = next((each for each in qemu.ours(domain) if each.id == names.SOCKETS), None)
    if before is not None:
        had = json.loads(before.value)
        slot = int(str(had.get("addr", "0")), 16) if had.get("bus") == "pci.0" else 0
        if slot in _SLOTS and slot not in taken:
            return slot
    for slot in _SLOTS:
        if slot not in taken:
            return slot
    raise _bad(sockets, "the bus pci.0 is full: take a device out, or write machine='q35'")


def _taken(domain: etree._Element) -> set[int]:
    found = domain.iterfind("devices/*/address[@type='pci']")
    first = (each for each in found if not int(each.get("bus", "0"), 0))
    return {int(each.get("slot", "0"), 0) for each in first}


def _alias(node: etree._Element) -> str:
    alias = node.find("alias")
    return "" if alias is None else alias.get("name", "")


def _bad(sockets: Sockets, right: str) -> BadElement:
    return BadElement(etree.Element(names.net("sockets")), "", "", right, sockets.line)
