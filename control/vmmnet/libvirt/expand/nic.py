# SPDX-License-Identifier: GPL-2.0-or-later
"""A NIC of the domain, and HostVLAN before it.

    guest --- NIC (ua-…) --- hostvlan (vmmnet-hostvlan-…) --- what libvirt makes (hostua-…)

The NIC stays libvirt's, with its model and its place, and is told to use another netdev.
"""

from __future__ import annotations

from lxml import etree  # type: ignore[import-untyped]

from .. import names
from ..element import BadElement, Interface, Net
from . import qemu
from .qemu import Words

# Frames of these do not pass through QEMU.
_PAST = {
    "vhostuser": "its frames go past QEMU to another process",
    "vdpa": "its frames go past QEMU to hardware",
    "hostdev": "it is a device of the host, whose frames go past QEMU",
}


def put(domain: etree._Element, net: Net | None) -> list[Words]:
    """Make NICs what the element asks of them; returns the words for the command line."""
    wanted = {} if net is None else {each.mac: each for each in net.interfaces}
    _forget_others(domain, set(wanted))
    return [_put(domain, each) for each in wanted.values()]


def nics(domain: etree._Element) -> list[etree._Element]:
    """The NICs of a domain."""
    return list(domain.iterfind("devices/interface"))


def mac_of(nic: etree._Element) -> str:
    """The MAC address of a NIC in small letters; empty if libvirt is to make one up."""
    address = nic.find("mac")
    return "" if address is None else address.get("address", "").lower().replace("-", ":")


def alias_of(nic: etree._Element) -> str:
    """The alias of a NIC; empty if it has none."""
    alias = nic.find("alias")
    return "" if alias is None else alias.get("name", "")


def driver_of(nic: etree._Element) -> str:
    """What carries a virtio NIC's frames, ``qemu`` or ``vhost``; empty for libvirt's choice."""
    driver = nic.find("driver")
    return "" if driver is None else driver.get("name", "")


def is_virtio(nic: etree._Element) -> bool:
    """Whether vhost could take a NIC's frames past QEMU."""
    model = nic.find("model")
    return model is not None and model.get("type", "").startswith("virtio")


def _put(domain: etree._Element, wanted: Interface) -> Words:
    nic = _find(domain, wanted)
    _check(nic, wanted)
    if is_virtio(nic):
        _child(nic, "driver").set("name", "qemu")
    if not alias_of(nic).startswith(names.USER_ALIAS):
        _child(nic, "alias").set("name", names.alias_of(wanted.mac))
    alias, filter_ = alias_of(nic), names.filter_of(wanted.mac)
    theirs = qemu.properties(domain, alias)
    if "netdev" in theirs and not qemu.is_ours(theirs):
        right = (
            f"qemu:override has the netdev '{theirs['netdev']}' for it already:"
            " take that or this out"
        )
        raise _bad(wanted, right)
    qemu.override(domain, alias, "netdev", filter_)
    return Words("-netdev", _netdev(wanted, filter_, alias))


def _netdev(wanted: Interface, filter_: str, alias: str) -> str:
    words = {
        "id": filter_,
        # libvirt's name for what it makes for the NIC.
        "netdev": f"host{alias}",
        "table": str(wanted.hostvlan),
        "check-sender": wanted.check_sender,
        "l2-control": wanted.l2_control,
    }
    given = {name: value for name, value in words.items() if value is not None}
    return ",".join(["hostvlan", *(f"{name}={_text(value)}" for name, value in given.items())])


def _text(value: str | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.replace(",", ",,")


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


def _check(nic: etree._Element, wanted: Interface) -> None:
    """Its frames have to come through QEMU."""
    kind = nic.get("type", "")
    twin = "HostVLAN is for other types; docs/hostvlan-bpf.md has it on an interface of the host"
    if kind in _PAST:
        raise _bad(wanted, f"the NIC is of the type '{kind}', so that {_PAST[kind]}: {twin}")
    if driver_of(nic) not in ("", "qemu"):
        right = (
            f"the NIC has <driver name='{driver_of(nic)}'/>, so that its frames go past QEMU:"
            " write <driver name='qemu'/>, or leave the name out"
        )
        raise _bad(wanted, right)


def _forget_others(domain: etree._Element, wanted: set[str]) -> None:
    """Take out what was made for NICs that the element does not name any more."""
    kept = {alias_of(each) for each in nics(domain) if mac_of(each) in wanted}
    for alias in qemu.aliases(domain):
        if alias not in kept:
            qemu.forget(domain, alias, "netdev")
    for nic in nics(domain):
        ours = alias_of(nic).startswith(names.OUR_ALIAS)
        right = mac_of(nic) in wanted and alias_of(nic) == names.alias_of(mac_of(nic))
        if ours and not right:
            qemu.forget(domain, alias_of(nic), "netdev")
            nic.remove(nic.find("alias"))


def _child(parent: etree._Element, tag: str) -> etree._Element:
    node = parent.find(tag)
    return etree.SubElement(parent, tag) if node is None else node


def _bad(wanted: Interface, right: str) -> BadElement:
    node = etree.Element(names.net("interface"))
    return BadElement(node, "mac", wanted.mac, right, wanted.line)
