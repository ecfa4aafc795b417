# SPDX-License-Identifier: GPL-2.0-or-later
"""``qemu:commandline`` and ``qemu:override`` of a domain: our parts, and the user's.

libvirt writes the first before the second, and in the first arguments (``qemu:arg``) before
variables (``qemu:env``). New parts are put into libvirt's order.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .. import names

#: The first libvirt with qemu:override, which gives a NIC another netdev.
OLDEST = (8, 2, 0)

_OPTIONS = ("-netdev", "-device", "-object", "-chardev")
# Overridden properties of a switch in a NIC, besides its key.
_SWITCH = ("driver", "control-secret", "miss", "flows", "masks", "link-mtu", "tunnel-gso")


@dataclass(frozen=True)
class Words:
    """An option of QEMU and its value, two arguments of the command line."""

    option: str
    value: str

    @property
    def id(self) -> str:
        """The ID of the value; empty if it has none."""
        return self.member("id")

    @property
    def type(self) -> str:
        """The type of an object."""
        return self.member("qom-type") or self.value.partition(",")[0]

    def member(self, key: str) -> str:
        """A member of the value, which is JSON or ``key=value,…``; empty if it has none."""
        if self.value.lstrip().startswith("{"):
            return str(self.json().get(key, ""))
        match = re.search(rf"(?:^|,){key}=((?:[^,]|,,)*)", self.value)
        return match[1].replace(",,", ",") if match else ""

    def json(self) -> dict[str, Any]:
        """The value as JSON; empty if it is not JSON."""
        try:
            found = json.loads(self.value)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Property:
    """An overridden property: libvirt's name of its type, and its value."""

    type: str
    value: str


def ours(domain: etree._Element) -> list[Words]:
    """Our arguments of the command line."""
    return [words for words, _ in _ours(domain)]


def objects(domain: etree._Element) -> list[Words]:
    """All objects of the command line, also those that are not ours."""
    nodes = domain.iterfind(f"{names.qemu('commandline')}/{names.qemu('arg')}")
    values = [each.get("value", "") for each in nodes]
    return [Words(*two) for two in itertools.pairwise(values) if two[0] == "-object"]


def put(domain: etree._Element, wanted: Sequence[Words]) -> None:
    """Set our arguments, at the place of the former ones, or at the end."""
    before = _ours(domain)
    if [words for words, _ in before] == list(wanted):
        return
    line = domain.find(names.qemu("commandline"))
    if line is None:
        line = _made(domain, "commandline")
    place = _place(line, before)
    for _, nodes in before:
        for node in nodes:
            line.remove(node)
    texts = [text for words in wanted for text in (words.option, words.value)]
    for number, text in enumerate(texts):
        line.insert(place + number, etree.Element(names.qemu("arg"), value=text))
    _drop_empty(line)


def properties(domain: etree._Element, alias: str) -> dict[str, str]:
    """Overridden properties of a device's frontend: names and values."""
    return {each.get("name", ""): each.get("value", "") for each in _properties(domain, alias)}


def overridden(domain: etree._Element, alias: str) -> dict[str, Property]:
    """Our part of them: our netdev, or a switch with our key."""
    found = {
        each.get("name", ""): Property(each.get("type", ""), each.get("value", ""))
        for each in _properties(domain, alias)
    }
    ours = {name for name, each in found.items() if each.value.startswith(names.OURS)}
    if "control-secret" in ours:
        ours.update(_SWITCH)
    return {name: each for name, each in found.items() if name in ours}


def aliases(domain: etree._Element) -> list[str]:
    """Aliases of devices with a property that we override."""
    path = f"{names.qemu('override')}/{names.qemu('device')}"
    found = (each.get("alias", "") for each in domain.iterfind(path))
    return [each for each in dict.fromkeys(found) if overridden(domain, each)]


def override(domain: etree._Element, alias: str, wanted: dict[str, Property]) -> None:
    """Set our properties of a device's frontend."""
    before = overridden(domain, alias)
    if before == wanted:
        return
    forget(domain, alias, set(before))
    if not wanted:
        return
    parent = domain.find(names.qemu("override"))
    if parent is None:
        parent = _made(domain, "override")
    device = next(iter(_overridden(domain, alias)), None)
    if device is None:
        device = etree.SubElement(parent, names.qemu("device"), alias=alias)
    frontend = device.find(names.qemu("frontend"))
    if frontend is None:
        frontend = etree.SubElement(device, names.qemu("frontend"))
    for name, each in wanted.items():
        values = {"name": name, "type": each.type, "value": each.value}
        etree.SubElement(frontend, names.qemu("property"), values)


def forget(domain: etree._Element, alias: str, ours: set[str]) -> None:
    """Remove properties of a device's frontend, and parents that become empty."""
    for device in _overridden(domain, alias):
        for frontend in device.findall(names.qemu("frontend")):
            for each in frontend.findall(names.qemu("property")):
                if each.get("name") in ours:
                    frontend.remove(each)
            _drop_empty(frontend)
        _drop_empty(device)
    parent = domain.find(names.qemu("override"))
    if parent is not None:
        _drop_empty(parent)


def _properties(domain: etree._Element, alias: str) -> list[etree._Element]:
    path = f"{names.qemu('frontend')}/{names.qemu('property')}"
    return [each for device in _overridden(domain, alias) for each in device.iterfind(path)]


def _ours(domain: etree._Element) -> list[tuple[Words, tuple[etree._Element, etree._Element]]]:
    nodes = domain.findall(f"{names.qemu('commandline')}/{names.qemu('arg')}")
    result = []
    number = 0
    while number + 1 < len(nodes):
        words = Words(nodes[number].get("value", ""), nodes[number + 1].get("value", ""))
        if words.option in _OPTIONS and words.id.startswith(names.OURS):
            result.append((words, (nodes[number], nodes[number + 1])))
            number += 1
        number += 1
    return result


def _place(
    line: etree._Element, before: list[tuple[Words, tuple[etree._Element, etree._Element]]]
) -> int:
    """The index for new arguments among the children of ``qemu:commandline``."""
    if before:
        return int(line.index(before[0][1][0]))
    words = line.findall(names.qemu("arg"))
    return int(line.index(words[-1])) + 1 if words else 0


def _overridden(domain: etree._Element, alias: str) -> list[etree._Element]:
    devices = domain.iterfind(f"{names.qemu('override')}/{names.qemu('device')}")
    return [each for each in devices if each.get("alias") == alias]


def _made(domain: etree._Element, tag: str) -> etree._Element:
    """Create a part of the domain at libvirt's place for it."""
    node = etree.Element(names.qemu(tag))
    behind = ("capabilities", "override", "deprecation") if tag == "commandline" else ()
    after = next((each for each in domain if each.tag in map(names.qemu, behind)), None)
    if after is None:
        domain.append(node)
    else:
        after.addprevious(node)
    return node


def _drop_empty(node: etree._Element) -> None:
    if not len(node):
        node.getparent().remove(node)
