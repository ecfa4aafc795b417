# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ``<vmmnet:net>`` of a domain. ``net.rng`` is its schema; see docs/libvirt-element.md.

This file checks what the schema cannot: addresses, combinations of options, NICs named twice.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Network
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from lxml import etree  # type: ignore[import-untyped]

from . import names, schema, strays, values
from .model import Cvsw, Interface, Mip6, Net, Sockets, options
from .schema import BadElement

__all__ = ["BadElement", "Cvsw", "Interface", "Mip6", "Net", "Sockets", "find", "read"]

T = TypeVar("T")
U = TypeVar("U")
# Options without effect with translate=off.
_TRANSLATING = (
    *("address6", "pool4", "resolver4", "dns", "dnssec", "validator", "trust-anchor"),
    *("insecure", "nat64-prefix", "zone"),
)
# Maximum number of home addresses.
_HOMES = 8
_SIGNALLING, _PAYLOAD = ("signal-out", "signal-in"), ("tunnel-out", "tunnel-in")
_ASSOCIATIONS = (*_SIGNALLING, *_PAYLOAD)
_MORE = tuple(f"more-{each}" for each in _ASSOCIATIONS)
_WAYS = ("spi", "key", "secret")
_ESP = (
    "esp-cipher",
    "esp-payload",
    *(f"{each}-{what}" for each in _ASSOCIATIONS + _MORE for what in _WAYS),
    "replay-window",
)


def find(domain: etree._Element) -> etree._Element | None:
    """The XML element of a domain.

    Raises BadElement if there are several, or one that is meant as ours and is not.
    """
    strays.check(domain)
    found = domain.findall(f"metadata/{names.net('net')}")
    if len(found) > 1:
        raise BadElement(found[1], "", "", "exists twice; a domain has one")
    return found[0] if found else None


def read(domain: etree._Element) -> Net | None:
    """The parsed element of a domain; None if it has none.

    ``domain`` is libvirt's ``<domain>``, of a file, a daemon or a hook. Raises BadElement with
    line, attribute, value and what would be right.
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
        _none_of(node, _TRANSLATING, "has no effect with translate='off': leave one of the two out")
    result = Sockets(
        address6=_value(node, "address6", values.address6),
        guest4=_value(node, "guest4", values.guest4),
        pool4=_value(node, "pool4", values.pool4),
        resolver4=_value(node, "resolver4", values.unicast4),
        dns=_value(node, "dns", values.dns),
        dnssec=node.get("dnssec"),
        validator=_value(node, "validator", Path),
        trust_anchor=_value(node, "trust-anchor", Path),
        insecure=node.get("insecure"),
        nat64_prefix=_value(node, "nat64-prefix", values.nat64),
        translate=_value(node, "translate", values.on),
        policy=_value(node, "policy", Path),
        audit=_value(node, "audit", Path),
        audit_full=node.get("audit-full"),
        zone=node.get("zone"),
        alg=_value(node, "alg", values.on),
        happy_eyeballs=_value(node, "happy-eyeballs", values.on),
        guest_clock=_value(node, "guest-clock", values.on),
        long_values=_value(node, "long-values", values.on),
        ipv6=_value(node, "ipv6", values.on),
        max_sockets=_value(node, "max-sockets", int),
        num_queues=_value(node, "num-queues", int),
        iothread=node.get("iothread"),
        line=node.sourceline or 0,
    )
    if result.audit is None:
        _none_of(node, ("audit-full",), "has no effect without audit='FILE': write that as well")
    if result.dnssec in (None, "off"):
        right = "has no effect without dnssec='strict' or 'permissive': write that as well"
        _none_of(node, ("validator", "trust-anchor", "insecure"), right)
    if result.validator is not None:
        right = "is an option of the vmmnet-validate whose socket 'validator' names: give it there"
        _none_of(node, ("trust-anchor", "insecure"), right)
    if result.resolver4 and result.guest4 and result.resolver4 == result.guest4.ip:
        right = "is the guest's own address, guest4: give the DNS server another one"
        raise BadElement(node, "resolver4", node.get("resolver4"), right)
    return result


def _interface(node: etree._Element) -> Interface:
    mip6, cvsw = node.find(names.net("mip6")), node.find(names.net("cvsw"))
    result = Interface(
        _needed(node, "mac", values.mac),
        _value(node, "hostvlan", Path),
        _value(node, "check-sender", values.on),
        _value(node, "l2-control", values.on),
        _value(node, "ra-guard", values.on),
        _value(node, "dhcp-guard", values.on),
        None if mip6 is None else _mip6(mip6),
        None if cvsw is None else _cvsw(cvsw),
        _value(node, "ebpf", values.on),
        node.sourceline or 0,
    )
    if result.hostvlan is None:
        right = "is an option of HostVLAN: name its table with hostvlan='FILE'"
        _none_of(node, ("check-sender", "l2-control", "ra-guard", "dhcp-guard", "ebpf"), right)
    if result.ebpf and (mip6 is not None or cvsw is not None):
        right = (
            "eBPF is at the host's interface, where the frames are not the guest's own with"
            " Mobile IPv6 or a switch in QEMU: leave one of the two out"
        )
        raise BadElement(node, "ebpf", "on", right)
    if result.hostvlan is None and mip6 is None and cvsw is None:
        right = (
            "this NIC has no setting: name a table with hostvlan='FILE',"
            " or put <vmmnet:mip6> or <vmmnet:cvsw> into it"
        )
        raise BadElement(node, "mac", node.get("mac"), right)
    return result


def _mip6(node: etree._Element) -> Mip6:
    if node.get("ipsec") != "esp":
        _none_of(node, _ESP, "nothing is protected without ipsec='esp': write that as well")
    result = Mip6(
        home_address=_needed(node, "home-address", values.address6),
        more_home_address=_value(node, "more-home-address", values.addresses6) or (),
        heard_addresses=_value(node, "heard-addresses", values.on),
        early_registration=_value(node, "early-registration", values.on),
        home_prefix_length=_needed(node, "home-prefix-length", int),
        home_agent=_needed(node, "home-agent", values.auto_or_address6),
        guest_mac=_value(node, "guest-mac", values.mac),
        router_mac=_value(node, "router-mac", values.mac),
        care_of=_value(node, "care-of", values.auto_or_address6),
        care_of_mac=_value(node, "care-of-mac", values.mac),
        location=node.get("location"),
        mtu=_value(node, "mtu", int),
        ipsec=node.get("ipsec"),
        esp_cipher=node.get("esp-cipher"),
        esp_payload=_value(node, "esp-payload", values.on),
        replay_window=_value(node, "replay-window", values.window),
        **_associations(node),
    )
    _check_homes(node, result)
    if result.ipsec == "esp":
        _check_esp(node, result)
    return result


def _associations(node: etree._Element) -> dict[str, Any]:
    """SPIs and keys, of the first home address and of the further ones."""
    result: dict[str, Any] = {}
    for each in _ASSOCIATIONS:
        name = each.replace("-", "_")
        result[f"{name}_spi"] = _value(node, f"{each}-spi", values.spi)
        result[f"{name}_key"] = _key(node, f"{each}-key", f"{each}-secret", Path, UUID)
    for each in _MORE:
        name = each.replace("-", "_")
        keys = _key(node, f"{each}-key", f"{each}-secret", values.paths, values.uuids)
        result[f"{name}_spi"] = _value(node, f"{each}-spi", values.spis) or ()
        result[f"{name}_key"] = keys or ()
    return result


def _check_homes(node: etree._Element, mip6: Mip6) -> None:
    """Check that home addresses and the home agent are on one link."""
    link = IPv6Network((mip6.home_address, mip6.home_prefix_length), strict=False)
    homes = (mip6.home_address, *mip6.more_home_address)
    more = node.get("more-home-address")
    if any(each not in link for each in homes):
        raise BadElement(node, "more-home-address", more, f"is not all of the home link, {link}")
    if len(set(homes)) < len(homes):
        raise BadElement(node, "more-home-address", more, "names one twice: once is right")
    if len(homes) > _HOMES:
        right = f"a VM has {_HOMES} home addresses at most"
        raise BadElement(node, "more-home-address", more, right)
    agent = mip6.home_agent
    if not isinstance(agent, str) and (agent not in link or agent in homes):
        right = f"is not the agent's own address on the home link, {link}"
        raise BadElement(node, "home-agent", node.get("home-agent"), right)


def _check_esp(node: etree._Element, mip6: Mip6) -> None:
    """Check the options that ESP excludes and needs."""
    used: tuple[str, ...] = _ASSOCIATIONS
    if mip6.esp_payload is False:
        used = _SIGNALLING
        unused = tuple(
            f"{more}{each}-{way}" for more in ("", "more-") for each in _PAYLOAD for way in _WAYS
        )
        _none_of(node, unused, "has no use with esp-payload='off': leave one of them out")
    for name in used:
        if f"{name}-spi" not in node.attrib:
            raise BadElement(node, "ipsec", "esp", f"it takes {name}-spi as well")
        if f"{name}-key" not in node.attrib and f"{name}-secret" not in node.attrib:
            right = f"it takes {name}-key or {name}-secret as well"
            raise BadElement(node, "ipsec", "esp", right)
    if mip6.home_agent == "auto":
        raise BadElement(node, "home-agent", "auto", "the keys are those of one agent: name it")
    if mip6.heard_addresses:
        right = "heard addresses have no keys: leave it out with ipsec='esp'"
        raise BadElement(node, "heard-addresses", "on", right)
    _check_more(node, mip6, used)


def _check_more(node: etree._Element, mip6: Mip6, used: tuple[str, ...]) -> None:
    """Check that each further home address has its own associations."""
    homes, given = len(mip6.more_home_address), options(mip6)
    for name in (f"more-{each}" for each in used):
        spis, keys = len(given.get(f"{name}-spi", ())), len(given.get(f"{name}-key", ()))
        by = f"{name}-secret" if f"{name}-secret" in node.attrib else f"{name}-key"
        for attribute, count in ((f"{name}-spi", spis), (by, keys)):
            if count == homes:
                continue
            right = (
                f"has {count}, and more-home-address {homes}: with ipsec='esp' there is one for"
                " each further home address, in the same order"
            )
            raise BadElement(node, attribute, node.get(attribute, ""), right)


def _key(
    node: etree._Element,
    file: str,
    secret: str,
    parse: Callable[[str], T],
    parse_secret: Callable[[str], U],
) -> T | U | None:
    """Keys as files or as secrets of libvirt; None: neither is given."""
    if file in node.attrib and secret in node.attrib:
        right = f"the key is in a file already, by {file}: leave one of the two out"
        raise BadElement(node, secret, node.get(secret), right)
    return _value(node, file, parse) or _value(node, secret, parse_secret)


def _cvsw(node: etree._Element) -> Cvsw:
    key = _key(node, "control-secret", "secret", Path, UUID)
    if key is None:
        right = (
            "its key is missing: name a file by control-secret, or a secret of libvirt by secret"
        )
        raise BadElement(node, "", "", right)
    return Cvsw(
        control_secret=key,
        miss=node.get("miss"),
        flows=_value(node, "flows", int),
        masks=_value(node, "masks", int),
        link_mtu=_value(node, "link-mtu", int),
        tunnel_gso=node.get("tunnel-gso"),
    )


def _differ(node: etree._Element, interfaces: tuple[Interface, ...]) -> None:
    """Check that no two are about one NIC."""
    seen: set[str] = set()
    for each, child in zip(interfaces, node.findall(names.net("interface")), strict=True):
        if each.mac in seen:
            raise BadElement(child, "mac", child.get("mac"), "exists twice: merge both")
        seen.add(each.mac)


def _none_of(node: etree._Element, attributes: tuple[str, ...], right: str) -> None:
    for name in attributes:
        if name in node.attrib:
            raise BadElement(node, name, node.get(name), right)


def _needed(node: etree._Element, name: str, parse: Callable[[str], T]) -> T:
    """A required attribute."""
    try:
        return parse(node.get(name))
    except ValueError as error:
        raise BadElement(node, name, node.get(name), str(error)) from None


def _value(node: etree._Element, name: str, parse: Callable[[str], T]) -> T | None:
    """An attribute, or None."""
    return _needed(node, name, parse) if name in node.attrib else None
