# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain of libvirt that runs an image, for ``vmmnet libvirt define``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from vmmnet.libvirt import names

#: The emulator of packages, and of ``make install``.
EMULATORS = (
    Path("/usr/bin/qemu-system-x86_64-vmmnet"),
    Path("/usr/local/bin/qemu-system-x86_64"),
)


def text(name: str, image: Path, form: str, address6: str | None) -> str:
    """The domain ``name`` as XML: two processors, 1 GiB, a serial console, and no NIC."""
    ElementTree.register_namespace("vmmnet", names.NET)
    domain = Element("domain", type="kvm")
    _add(domain, "name", name)
    net = SubElement(SubElement(domain, "metadata"), names.net("net"))
    SubElement(net, names.net("sockets"), {"address6": address6} if address6 else {})
    _add(domain, "memory", "1", unit="GiB")
    _add(domain, "vcpu", "2")
    system = SubElement(domain, "os")
    _add(system, "type", "hvm", arch="x86_64", machine="q35")
    SubElement(system, "boot", dev="hd")
    SubElement(SubElement(domain, "features"), "acpi")
    SubElement(domain, "cpu", mode="maximum")
    devices = SubElement(domain, "devices")
    emulator = next((each for each in EMULATORS if each.exists()), EMULATORS[0])
    _add(devices, "emulator", str(emulator))
    disk = SubElement(devices, "disk", type="file", device="disk")
    SubElement(disk, "driver", name="qemu", type=form)
    SubElement(disk, "source", file=str(image))
    SubElement(disk, "target", dev="vda", bus="virtio")
    SubElement(devices, "console", type="pty")
    _add(SubElement(devices, "rng", model="virtio"), "backend", "/dev/urandom", model="random")
    ElementTree.indent(domain)
    return ElementTree.tostring(domain, encoding="unicode") + "\n"


def _add(parent: Element, tag: str, content: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = content
