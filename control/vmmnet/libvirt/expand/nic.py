# SPDX-License-Identifier: GPL-2.0-or-later
"""A NIC of the domain that gets another netdev, or another device type.

It stays libvirt's, with its address, queues and model; ``chain`` makes the netdevs before it.
"""

from __future__ import annotations

from uuid import UUID

from lxml import etree  # type: ignore[import-untyped]

from .. import keys, names
from ..element import BadElement, Interface, Net
from . import chain, qemu
from .qemu import Words

# Frames of these do not pass through QEMU.
_PAST = {
    "vhostuser": "its frames bypass QEMU, to another process",
    "vdpa": "its frames bypass QEMU, to hardware",
    "hostdev": "it is a device of the host, whose frames bypass QEMU",
}
#: Types of NICs with an interface of the host, which libvirt names in ``<target dev=…>``.
INTERFACES = ("bridge", "network", "ethernet", "direct")


def put(domain: etree._Element, net: Net | None) -> list[Words]:
    """Change NICs as the element says; returns the arguments for the command line."""
    named = () if net is None else net.interfaces
    wanted = {each.mac: each for each in named if not each.ebpf}
    _forget_others(domain, set(wanted))
    for each in named:
        if each.ebpf:
            _check_interface(domain, each)
    return [words for each in wanted.values() for words in _put(domain, each)]


def missing(domain: etree._Element, net: Net) -> BadElement | None:
    """The first NIC of the element with ``ebpf`` that the domain has not; None: it has all.

    ``put`` does not mind, as such a NIC may be plugged out while the domain runs.
    """
    for each in net.interfaces:
        try:
            _find(domain, each)
        except BadElement as error:
            return error
    return None


def nics(domain: etree._Element) -> list[etree._Element]:
    """The NICs of a domain."""
    return list(domain.iterfind("devices/interface"))


def mac_of(nic: etree._Element) -> str:
    """The MAC address of a NIC in lower case; empty if libvirt chooses one."""
    address = nic.find("mac")
    return "" if address is None else address.get("address", "").lower().replace("-", ":")


def alias_of(nic: etree._Element) -> str:
    """The alias of a NIC; empty if it has none."""
    alias = nic.find("alias")
    return "" if alias is None else alias.get("name", "")


def driver_of(nic: etree._Element) -> str:
    """The backend driver of a virtio NIC, ``qemu`` or ``vhost``; empty: libvirt's choice."""
    driver = nic.find("driver")
    return "" if driver is None else driver.get("name", "")


def model_of(nic: etree._Element) -> str:
    """The model of a NIC; empty: libvirt's choice."""
    model = nic.find("model")
    return "" if model is None else model.get("type", "")


def is_virtio(nic: etree._Element) -> bool:
    """Whether a NIC's frames could bypass QEMU by vhost."""
    return model_of(nic).startswith("virtio")


def _put(domain: etree._Element, wanted: Interface) -> list[Words]:
    nic = _find(domain, wanted)
    _check(nic, wanted)
    if is_virtio(nic):
        _child(nic, "driver").set("name", "qemu")
    if not alias_of(nic).startswith(names.USER_ALIAS):
        _child(nic, "alias").set("name", names.alias_of(wanted.mac))
    address = nic.find("address")
    kind = "" if address is None else address.get("type", "")
    alias, properties = alias_of(nic), chain.properties(wanted, kind)
    ours = qemu.overridden(domain, alias)
    for name, value in qemu.properties(domain, alias).items():
        if name in properties and name not in ours:
            right = f"qemu:override has the {name} '{value}' for it already: take that or this out"
            raise _bad(wanted, right)
    qemu.override(domain, alias, properties)
    # libvirt's name of the NIC's netdev.
    return chain.words(wanted, f"host{alias}", _uuid(domain, wanted))


def _uuid(domain: etree._Element, wanted: Interface) -> str:
    """The UUID of the domain, as libvirt writes it."""
    uuid = (domain.findtext("uuid") or "").strip().lower()
    if not uuid and any(isinstance(each.source, UUID) for each in keys.of(wanted)):
        right = "its keys are where the domain's UUID says, which it has not yet: write <uuid>"
        raise _bad(wanted, right)
    return uuid


def _find(domain: etree._Element, wanted: Interface) -> etree._Element:
    found = [each for each in nics(domain) if mac_of(each) == wanted.mac]
    if len(found) > 1:
        raise _bad(wanted, "two NICs of the domain have this MAC address: give each its own")
    if found:
        return found[0]
    known = [mac_of(each) for each in nics(domain) if mac_of(each)]
    there = f"; there are {', '.join(known)}" if known else ""
    right = (
        f"no <interface> of the domain has this MAC address{there}:"
        f" write <mac address='{wanted.mac}'/> into the one that is meant"
    )
    raise _bad(wanted, right)


def _check_interface(domain: etree._Element, wanted: Interface) -> None:
    """Check that a NIC has an interface of the host's, if the domain has the NIC."""
    for each in nics(domain):
        kind = each.get("type", "")
        if mac_of(each) == wanted.mac and kind not in INTERFACES:
            right = (
                f"the NIC is of the type '{kind}', without an interface of the host where eBPF"
                f" could be: take one of {', '.join(INTERFACES)}, or leave ebpf out"
            )
            raise _bad(wanted, right)


def _check(nic: etree._Element, wanted: Interface) -> None:
    """Check that its frames come through QEMU."""
    kind = nic.get("type", "")
    if kind in _PAST:
        right = (
            f"the NIC is of the type '{kind}', so that {_PAST[kind]}: take another type, or"
            " HostVLAN on an interface of the host (docs/hostvlan-bpf.md)"
        )
        raise _bad(wanted, right)
    if driver_of(nic) not in ("", "qemu"):
        right = (
            f"the NIC has <driver name='{driver_of(nic)}'/>, so that its frames bypass QEMU:"
            " write <driver name='qemu'/>, or leave the name out"
        )
        raise _bad(wanted, right)
    if nic.find("teaming") is not None:
        right = (
            "the NIC has <teaming>, so that the guest's frames go by another one, which is the"
            " host's own, and bypass QEMU: take <teaming> out"
        )
        raise _bad(wanted, right)
    if wanted.cvsw is not None and not is_virtio(nic):
        right = "the switch is a virtio NIC: write <model type='virtio'/> into the <interface>"
        raise _bad(wanted, right)


def _forget_others(domain: etree._Element, wanted: set[str]) -> None:
    """Remove our parts of NICs that the element no longer names."""
    kept = {alias_of(each) for each in nics(domain) if mac_of(each) in wanted}
    for alias in qemu.aliases(domain):
        if alias not in kept:
            qemu.override(domain, alias, {})
    for nic in nics(domain):
        ours = alias_of(nic).startswith(names.OUR_ALIAS)
        right = mac_of(nic) in wanted and alias_of(nic) == names.alias_of(mac_of(nic))
        if ours and not right:
            qemu.override(domain, alias_of(nic), {})
            nic.remove(nic.find("alias"))


def _child(parent: etree._Element, tag: str) -> etree._Element:
    node = parent.find(tag)
    return etree.SubElement(parent, tag) if node is None else node


def _bad(wanted: Interface, right: str) -> BadElement:
    node = etree.Element(names.net("interface"))
    return BadElement(node, "mac", wanted.mac, right, wanted.line)
