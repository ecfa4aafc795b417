# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ``<vmmnet:net>`` of a domain. ``net.rng`` is its form; docs/libvirt-element.md tells all.

What the form cannot say is checked here: that addresses are ones that a VM can have, that
options go together, that no NIC is named twice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address
from pathlib import Path
from typing import TypeVar

from lxml import etree  # type: ignore[import-untyped]

from vmmnet.hostvlan import mac as macs

from . import names, schema
from .schema import BadElement

__all__ = ["BadElement", "Interface", "Net", "Sockets", "find", "read"]

T = TypeVar("T")
# What there is not with translate=off.
_TRANSLATING = ("address6", "pool4", "resolver4", "dns", "nat64-prefix")
_PREFIXES = (32, 40, 48, 56, 64, 96)
_ADDRESS6 = "is no address that a VM can have: write a global or unique local unicast one"


@dataclass(frozen=True)
class Sockets:
    """virtio-vmrpc with the options that are given; None is QEMU's default."""

    address6: IPv6Address | None = None
    guest4: IPv4Interface | None = None
    pool4: IPv4Network | None = None
    resolver4: IPv4Address | None = None
    dns: str | None = None
    nat64_prefix: str | None = None
    translate: bool | None = None
    policy: Path | None = None
    alg: bool | None = None
    happy_eyeballs: bool | None = None
    guest_clock: bool | None = None
    max_sockets: int | None = None
    num_queues: int | None = None
    iothread: str | None = None
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Interface:
    """A NIC by its MAC address, in small letters, and what stands before it."""

    mac: str
    #: The table of LNIDs; without one there is no HostVLAN.
    hostvlan: Path | None = None
    check_sender: bool | None = None
    l2_control: bool | None = None
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Net:
    """All of the element."""

    sockets: Sockets | None = None
    interfaces: tuple[Interface, ...] = ()
    #: QEMU hands the VM's address to its next host.
    handoff: bool = False
    #: What the last expansion came to; it is no wish of anybody.
    digest: str | None = field(default=None, compare=False)
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)


def find(domain: etree._Element) -> etree._Element | None:
    """The element of a domain as it stands there. Raises BadElement if there are several."""
    found = domain.findall(f"metadata/{names.net('net')}")
    if len(found) > 1:
        raise BadElement(found[1], "", "", "is there twice; a domain has one")
    return found[0] if found else None


def read(domain: etree._Element) -> Net | None:
    """What the element of a domain asks for; None if it has none.

    ``domain`` is the element ``<domain>`` of libvirt, of a file or as a daemon or a hook has
    it. Raises BadElement, which names line, attribute and value and says what would be right.
    """
    node = find(domain)
    if node is None:
        return None
    schema.check(node)
    sockets = node.find(names.net("sockets"))
    interfaces = tuple(map(_interface, node.findall(names.net("interface"))))
    _differ(node, interfaces)
    net = Net(
        None if sockets is None else _sockets(sockets),
        interfaces,
        node.get("handoff") == "on",
        node.get("digest"),
        node.sourceline or 0,
    )
    if net.handoff and not (net.sockets and net.sockets.address6):
        right = "there is no address to hand off: it goes with sockets that have an address6"
        raise BadElement(node, "handoff", "on", right)
    return net


def _sockets(node: etree._Element) -> Sockets:
    if node.get("translate") == "off":
        for name in _TRANSLATING:
            if name in node.attrib:
                right = "has no use with translate='off': leave one of the two out"
                raise BadElement(node, name, node.get(name), right)
    result = Sockets(
        address6=_value(node, "address6", _address6),
        guest4=_value(node, "guest4", _guest4),
        pool4=_value(node, "pool4", _pool4),
        resolver4=_value(node, "resolver4", _unicast4),
        dns=_value(node, "dns", _dns),
        nat64_prefix=_value(node, "nat64-prefix", _nat64),
        translate=_value(node, "translate", _on),
        policy=_value(node, "policy", Path),
        alg=_value(node, "alg", _on),
        happy_eyeballs=_value(node, "happy-eyeballs", _on),
        guest_clock=_value(node, "guest-clock", _on),
        max_sockets=_value(node, "max-sockets", int),
        num_queues=_value(node, "num-queues", int),
        iothread=node.get("iothread"),
        line=node.sourceline or 0,
    )
    if result.resolver4 and result.guest4 and result.resolver4 == result.guest4.ip:
        right = "is the guest's own address, guest4: give the DNS server another one"
        raise BadElement(node, "resolver4", node.get("resolver4"), right)
    return result


def _interface(node: etree._Element) -> Interface:
    mac = macs.text(_value(node, "mac", macs.parse) or 0)
    if "hostvlan" not in node.attrib:
        for name in ("check-sender", "l2-control"):
            if name in node.attrib:
                right = "is an option of HostVLAN: name its table with hostvlan='FILE'"
                raise BadElement(node, name, node.get(name), right)
        right = "nothing is asked for this NIC: name a table with hostvlan='FILE'"
        raise BadElement(node, "mac", node.get("mac"), right)
    return Interface(
        mac,
        _value(node, "hostvlan", Path),
        _value(node, "check-sender", _on),
        _value(node, "l2-control", _on),
        node.sourceline or 0,
    )


def _differ(node: etree._Element, interfaces: tuple[Interface, ...]) -> None:
    """No two are about one NIC."""
    seen: set[str] = set()
    for each, child in zip(interfaces, node.findall(names.net("interface")), strict=True):
        if each.mac in seen:
            raise BadElement(child, "mac", child.get("mac"), "is there twice: make one of the two")
        seen.add(each.mac)


def _value(node: etree._Element, name: str, parse: Callable[[str], T]) -> T | None:
    """An attribute, or None. What ``parse`` says in a ValueError is what would be right."""
    text = node.get(name)
    if text is None:
        return None
    try:
        return parse(text)
    except BadElement:
        raise
    except ValueError as error:
        raise BadElement(node, name, text, str(error)) from None


def _on(text: str) -> bool:
    return text == "on"


def _address6(text: str) -> IPv6Address:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError("is no IPv6 address: write one like 2001:db8:1::c0de") from None
    bad = (address.is_unspecified, address.is_loopback, address.is_link_local)
    if any(bad) or address.is_multicast or address.ipv4_mapped:
        raise ValueError(_ADDRESS6)
    return address


def _unicast4(text: str) -> IPv4Address:
    try:
        address = IPv4Address(text)
    except ValueError:
        raise ValueError("is no IPv4 address: write one like 192.0.0.1") from None
    first = int(address) >> 24
    if first in (0, 127) or first >= 224:
        raise ValueError("is no unicast address: write one like 192.0.0.1")
    return address


def _guest4(text: str) -> IPv4Interface:
    # RFC 7335's prefix is QEMU's default.
    _unicast4(text.partition("/")[0])
    try:
        return IPv4Interface(text if "/" in text else f"{text}/29")
    except ValueError:
        raise ValueError("has a wrong prefix length: write one like 192.0.0.2/29") from None


def _pool4(text: str) -> IPv4Network:
    try:
        network = IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"is no IPv4 prefix ({error}): write one like 198.18.0.0/15") from None
    if not 12 <= network.prefixlen <= 31:
        raise ValueError("has not 2 to 1,048,576 addresses: write one of /12 to /31")
    return network


def _dns(text: str) -> str:
    for server in text.split("+"):
        address, percent, port = server.partition("%")
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise ValueError(f"'{address}' is no IP address: write one like 2001:db8::53") from None
        if percent and not 1 <= int(port) <= 65535:
            raise ValueError(f"'{port}' is no port: write one from 1 to 65535")
    return text


def _nat64(text: str) -> str:
    if text in ("off", "auto"):
        return text
    try:
        prefix = ipaddress.IPv6Network(text)
    except ValueError:
        raise ValueError("is no IPv6 prefix: write one like 64:ff9b::/96") from None
    if prefix.prefixlen not in _PREFIXES:
        lengths = ", ".join(map(str, _PREFIXES))
        raise ValueError(f"is no NAT64 prefix: their lengths are {lengths} (RFC 6052)")
    return text
