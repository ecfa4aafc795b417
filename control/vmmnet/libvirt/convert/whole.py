# SPDX-License-Identifier: GPL-2.0-or-later
"""From a hand-written domain to one with the element."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from .. import names
from ..element import BadElement, find
from ..expand import expand, qemu
from . import arguments, nic, sockets
from .arguments import Argument
from .parts import CannotSay, Kept, Part
from .source import Source

# libvirt's names of NICs and of their netdevs.
_NUMBERED = re.compile(r"(?:host)?net\d+")
_FOR_A_NIC = (("-netdev", "hostvlan"), ("-netdev", "mip6"), ("-device", "virtio-net-cvsw-pci"))


@dataclass(frozen=True)
class Converted:
    """A domain with the element, expanded."""

    domain: etree._Element
    #: As text: the new parts of the element, and what they replace.
    parts: tuple[str, ...]
    gone: tuple[str, ...]
    #: What could not be converted and stays.
    kept: tuple[Kept, ...]
    #: Differences from before, in sentences.
    notes: tuple[str, ...]


def convert(domain: etree._Element) -> Converted:
    """A domain with ``<vmmnet:net>`` in place of equivalent arguments and overrides.

    ``domain`` is not changed. What the element cannot express stays, and is named in
    ``kept``. The result is expanded, with virtio-vmrpc in its former slot. Raises BadElement
    about an element that the domain has already, and CannotSay if the next expansion would
    remove what stays.
    """
    source = Source(domain)
    expand(domain)
    parts: list[Part] = []
    kept: list[Kept] = []
    for each in (*sockets.find(source), *nic.find(source)):
        if isinstance(each, Part):
            parts.append(each)
        else:
            kept.append(each)
    while (bad := _first_bad(source, parts)) is not None:
        part, reason = bad
        parts = [each for each in parts if part not in (each, each.needs)]
        kept.append(Kept(part.name, reason, part.arguments))
    gone = _gone(source, parts)
    left = source.left(gone)
    kept += list(_unused(left, kept))
    _check_names(source, left)
    told = [each.name for each in gone]
    told += [
        f"override of {name} of {alias}"
        for part in parts
        for alias, name in sorted(part.properties)
    ]
    return Converted(
        _applied(source, parts) if parts else deepcopy(domain),
        tuple(each.name for each in parts),
        tuple(told),
        tuple(kept),
        tuple(_notes(parts)),
    )


def _first_bad(source: Source, parts: list[Part]) -> tuple[Part, str] | None:
    """A part that would differ from before, and why."""
    for part in parts:
        reason = _user_of(source, parts, part)
        if reason:
            return part, reason
    if not parts or not _fault(source, parts):
        return None
    for number, part in enumerate(parts):
        reason = _fault(source, parts[: number + 1])
        if reason:
            return part, reason
    return None


def _fault(source: Source, parts: list[Part]) -> str:
    """Why these parts would differ from before; empty if they do not."""
    try:
        made = _applied(source, parts)
    except BadElement as error:
        of = f"{error.attribute}={error.value} " if error.attribute else ""
        return of + error.right
    bus, slot = _place(made)
    for part in parts:
        if part.place[0] not in ("", bus) or part.place[1] not in ("", slot):
            there = ", ".join(each for each in part.place if each)
            return f"its place, {there}, is none that the element gives: that is {bus}, {slot}"
    return ""


def _user_of(source: Source, parts: list[Part], part: Part) -> str:
    """Why names that a part would remove are still used; empty if they are not."""
    left = source.left(_gone(source, parts))
    properties = {each for part in parts for each in part.properties}
    overrides = [each for each in source.overrides() if each[:2] not in properties]
    for number in part.ids:
        for each in left:
            if each.mentions(number):
                return f"'{each.name}' uses '{number}'"
        for alias, name, value in overrides:
            if value == number:
                return f"the override of {name} of {alias} uses '{number}'"
    if part.renames:
        right = "which libvirt numbers anew: give each NIC an <alias name='ua-…'/> first"
        for each in left:
            for value in _values(each):
                if _NUMBERED.fullmatch(value):
                    return f"'{each.name}' is about '{value}', {right}"
        for alias, name, _ in overrides:
            if _NUMBERED.fullmatch(alias):
                return f"the override of {name} is about '{alias}', {right}"
    return ""


def _values(argument: Argument) -> Iterator[str]:
    yield from (value for _, value in argument.pairs)
    if argument.option == "-set":
        yield argument.kind.partition(".")[2]


def _gone(source: Source, parts: Iterable[Part]) -> list[Argument]:
    """The arguments that parts replace, and keys without other users."""
    own = {each.number: each for part in parts for each in part.arguments}
    keys = {each.number: each for part in parts for each in part.keys}
    properties = {each for part in parts for each in part.properties}
    left = source.left([*own.values(), *keys.values()])
    values = {value for *name, value in source.overrides() if tuple(name) not in properties}
    for number, key in keys.items():
        if key.id not in values and not any(each.mentions(key.id) for each in left):
            own[number] = key
    return [own[number] for number in sorted(own)]


def _unused(left: list[Argument], kept: list[Kept]) -> Iterator[Kept]:
    """Arguments that stay because no NIC of libvirt uses them."""
    told = [each for one in kept for each in one.about]
    for each in left:
        if (each.option, each.kind) in _FOR_A_NIC and each not in told:
            reason = "no <interface> of the domain uses it, and the element is about these"
            yield Kept(each.name, reason, (each,))
        elif (each.option, each.kind) == ("-object", "vmmnet-handoff") and each not in told:
            yield Kept(each.name, "it goes with sockets that become the element's", (each,))


def _check_names(source: Source, left: list[Argument]) -> None:
    """Check names: the next expansion removes what has its names."""
    for each in left:
        if source.net is None and each.option != "-set" and each.id.startswith(names.OURS):
            raise CannotSay(
                f"{each.name} stays, and 'define' would take it out for its name, which begins"
                f" with '{names.OURS}': give it another ID first"
            )


def _applied(source: Source, parts: list[Part]) -> etree._Element:
    """The domain with these parts, expanded. Raises BadElement."""
    domain = deepcopy(source.domain)
    words = arguments.nodes(domain)
    for each in _gone(source, parts):
        for node in words[each.number : each.number + 2]:
            node.getparent().remove(node)
    for part in parts:
        for alias, name in part.properties:
            qemu.forget(domain, alias, {name})
    for part in parts:
        _put(_element(domain), part)
    line = domain.find(names.qemu("commandline"))
    if line is not None and not len(line):
        domain.remove(line)
    result = expand(domain)
    for part in parts:
        if "sockets" in part.attributes:
            result = _at_its_place(result, part)
    return result


def _put(net: etree._Element, part: Part) -> None:
    for tag, given in part.attributes.items():
        if tag == "net":
            node = net
        elif tag == "interface":
            node = _interface(net, part.mac)
        else:
            parent = _interface(net, part.mac) if part.mac else net
            node = etree.SubElement(parent, names.net(tag))
        node.attrib.update(given)


def _interface(net: etree._Element, mac: str) -> etree._Element:
    for each in net.iterfind(names.net("interface")):
        if each.get("mac", "").lower() == mac:
            return each
    return etree.SubElement(net, names.net("interface"), mac=mac)


def _element(domain: etree._Element) -> etree._Element:
    """The element of a domain, created at libvirt's place if missing."""
    net = find(domain)
    if net is not None:
        return net
    metadata = domain.find("metadata")
    if metadata is None:
        metadata = etree.Element("metadata")
        heads = [
            each for each in domain if each.tag in ("name", "uuid", "genid", "title", "description")
        ]
        if heads:
            heads[-1].addnext(metadata)
        else:
            domain.insert(0, metadata)
    return etree.SubElement(metadata, names.net("net"), nsmap={"vmmnet": names.NET})


def _at_its_place(expanded: etree._Element, part: Part) -> etree._Element:
    """An expansion with the sockets in their former slot."""
    bus, slot = part.place
    if not slot:
        return expanded
    given = {"bus": bus or _place(expanded)[0], "addr": slot}
    words = [
        qemu.Words(each.option, json.dumps(each.json() | given))
        if each.id == names.SOCKETS
        else each
        for each in qemu.ours(expanded)
    ]
    qemu.put(expanded, words)
    return expand(expanded)


def _place(domain: etree._Element) -> tuple[str, str]:
    """Bus and slot of the element's sockets."""
    for words in qemu.ours(domain):
        if words.id == names.SOCKETS:
            given = words.json()
            return str(given.get("bus", "")), str(given.get("addr", ""))
    return "", ""


def _notes(parts: list[Part]) -> Iterator[str]:
    for part in parts:
        if "sockets" in part.attributes and not part.place[1]:
            yield f"{part.name}: its place in PCI was QEMU's choice, and is the element's now"
        if "mip6" in part.attributes:
            yield (
                f"{part.name}: its ID, which a migration goes by, is another one now: the VM"
                " migrates from and to hosts that have it converted"
            )
