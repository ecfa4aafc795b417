# SPDX-License-Identifier: GPL-2.0-or-later
"""The device virtio-vmrpc-pci, and a PCI slot that libvirt gives to no other device.

libvirt does not see devices on the command line, and cannot reserve a root port. So the device
is on the root bus, in the highest free slot. libvirt fills that bus from slot 1, eight root
ports to a slot, and on q35 the chipset's devices begin at 0x1a; the machine virt has none.
"""

from __future__ import annotations

import json
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from vmmnet.architecture import AMD64, ARM64

from .. import names, validation
from ..element import BadElement, Net, Sockets
from ..model import options
from . import qemu
from .qemu import Words

# By machine: the root bus, and its slots in order of preference.
_PCI = ("pci.0", range(0x1F, 0x02, -1))
_PCIE = ("pcie.0", range(0x19, 0x01, -1))


def put(domain: etree._Element, net: Net | None) -> list[Words]:
    """Arguments of QEMU for the element's device."""
    if net is None or net.sockets is None:
        return []
    sockets = net.sockets
    place = _place(domain, sockets)
    # In JSON, as libvirt's devices are: QEMU creates devices in the other form before these.
    device = {"driver": "virtio-vmrpc-pci", "id": names.SOCKETS, **place, **_options(domain, net)}
    words = [Words("-device", json.dumps(device, separators=(",", ":"), ensure_ascii=False))]
    return _handoff(domain, net) + _audit(sockets) + words


def _options(domain: etree._Element, net: Net) -> dict[str, Any]:
    """Options by their names in QEMU, with types of JSON."""
    sockets = net.sockets
    assert sockets is not None
    uuid = ""
    if validation.is_by_unit(sockets):
        uuid = _uuid(domain, net, "dnssec", str(sockets.dnssec))
    # QEMU does not get the options of vmmnet-validate.
    told = {"validator": validation.socket(sockets, uuid), "trust-anchor": None, "insecure": None}
    given = {name: value for name, value in (options(sockets) | told).items() if value is not None}
    if sockets.audit is not None:
        given["audit"] = names.AUDIT
    return {
        name: value if isinstance(value, bool | int) else str(value)
        for name, value in given.items()
    }


def _audit(sockets: Sockets) -> list[Words]:
    """The file of the audit log, to whose end QEMU writes."""
    if sockets.audit is None:
        return []
    path = str(sockets.audit).replace(",", ",,")
    return [Words("-chardev", f"file,id={names.AUDIT},path={path},append=on")]


def _handoff(domain: etree._Element, net: Net) -> list[Words]:
    if not net.handoff:
        return []
    uuid = _uuid(domain, net, "handoff", "on")
    return [Words("-object", f"vmmnet-handoff,id={names.HANDOFF},vm={uuid}")]


def _uuid(domain: etree._Element, net: Net, attribute: str, value: str) -> str:
    """The UUID, by which the host names the VM for an attribute."""
    uuid = (domain.findtext("uuid") or "").strip().lower()
    if not uuid:
        right = "the host names the VM by its UUID, which the domain has not yet: write <uuid>"
        raise BadElement(etree.Element(names.net("net")), attribute, value, right, net.line)
    return uuid


def _place(domain: etree._Element, sockets: Sockets) -> dict[str, str]:
    """The device's slot; it keeps a slot that it has."""
    bus, slots = _root(domain, sockets)
    taken = _taken(domain)
    free = [each for each in slots if each not in taken]
    if not free:
        raise _bad(sockets, f"the bus {bus} is full: take a device out")
    before = _slot_before(domain, bus)
    return {"bus": bus, "addr": f"{before if before in free else free[0]:#x}"}


def _root(domain: etree._Element, sockets: Sockets) -> tuple[str, range]:
    kind = domain.find("os/type")
    machine = "" if kind is None else kind.get("machine", "")
    if "q35" in machine or machine.split("-")[0] == "virt":
        return _PCIE
    if machine.split("-")[0] == "pc":
        return _PCI
    if machine:
        right = f"the machine '{machine}' has no PCI that is known here: q35, pc and virt have"
        if machine == "microvm":
            right += "; without libvirt the device is on virtio-mmio (docs/microvm.md)"
    else:
        usual = ARM64 if kind is not None and kind.get("arch") == ARM64.qemu else AMD64
        right = f"the place of the device depends on it: write <type machine='{usual.machine}'>"
    raise _bad(sockets, right)


def _slot_before(domain: etree._Element, bus: str) -> int | None:
    for words in qemu.ours(domain):
        if words.id == names.SOCKETS and words.option == "-device":
            found = words.json()
            return _number(str(found.get("addr")), 16) if found.get("bus") == bus else None
    return None


def _taken(domain: etree._Element) -> set[int | None]:
    """Slots of the root bus that the domain gives to other devices."""
    found = domain.iterfind("devices/*/address[@type='pci']")
    root = (each for each in found if not _number(each.get("bus", "0")))
    return {_number(each.get("slot", "0")) for each in root}


def _number(text: str, base: int = 0) -> int | None:
    """A number as libvirt reads it; None if invalid, which libvirt refuses itself."""
    try:
        return int(text, base)
    except ValueError:
        return None


def _bad(sockets: Sockets, right: str) -> BadElement:
    return BadElement(etree.Element(names.net("sockets")), "", "", right, sockets.line)
