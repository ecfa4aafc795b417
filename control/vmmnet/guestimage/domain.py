# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain of libvirt that runs an image, for ``vmmnet libvirt define``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from vmmnet.architecture import ARM64, HOST, Architecture
from vmmnet.libvirt import names


def text(
    name: str, image: Path, form: str, address6: str | None, architecture: Architecture = HOST
) -> str:
    """The domain ``name`` as XML: two processors, 1 GiB, a serial console, and no NIC."""
    ElementTree.register_namespace("vmmnet", names.NET)
    domain = Element("domain", type="kvm")
    _add(domain, "name", name)
    net = SubElement(SubElement(domain, "metadata"), names.net("net"))
    SubElement(net, names.net("sockets"), {"address6": address6} if address6 else {})
    _add(domain, "memory", "1", unit="GiB")
    _add(domain, "vcpu", "2")
    system = SubElement(domain, "os")
    _add(system, "type", "hvm", arch=architecture.qemu, machine=architecture.machine)
    if architecture == ARM64:
        # Its GRUB has no signature.
        system.set("firmware", "efi")
        firmware = SubElement(system, "firmware")
        for feature in ("secure-boot", "enrolled-keys"):
            SubElement(firmware, "feature", enabled="no", name=feature)
    SubElement(system, "boot", dev="hd")
    SubElement(SubElement(domain, "features"), "acpi")
    SubElement(domain, "cpu", mode="maximum")
    devices = SubElement(domain, "devices")
    # Of the package, or of ``make install``.
    installed = Path(f"/usr/local/bin/qemu-system-{architecture.qemu}")
    ours = architecture.emulator
    emulator = installed if installed.exists() and not ours.exists() else ours
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
