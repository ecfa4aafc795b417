# SPDX-License-Identifier: GPL-2.0-or-later
"""What is ours in a domain, whoever has changed it since, and a digest of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from .. import names
from . import nic, qemu

_DIGITS = 16


@dataclass(frozen=True)
class Item:
    """A thing that an expansion has made: a name for people, and all that matters of it."""

    name: str
    text: str


def made(domain: etree._Element) -> list[Item]:
    """What is ours: NICs by their MAC addresses, and words in the order that QEMU has them."""
    return [*_nics(domain), *_words(domain)]


def digest(domain: etree._Element) -> str:
    """A digest of what is ours: 16 hexadecimal digits, the same for the same things.

    It is no protection against malice, as whoever edits a domain can edit it, too.
    """
    text = "".join(f"{each.name}\0{each.text}\0" for each in made(domain))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def asked(domain: etree._Element) -> dict[tuple[str, str], set[str]]:
    """What QEMU has to know for what is ours: kinds by their option, without its ``-``.

    Of a device the properties that it is given, too: QEMU tells which it has.
    """
    result: dict[tuple[str, str], set[str]] = {}
    for words in qemu.ours(domain):
        given = words.json()
        kind = str(given.get("driver", "")) or words.value.partition(",")[0]
        known = result.setdefault((words.option.removeprefix("-"), kind), set())
        known.update(set(given) - {"driver", "id", "bus", "addr"})
    for alias in qemu.aliases(domain):
        properties = qemu.overridden(domain, alias)
        if "driver" in properties:
            known = result.setdefault(("device", properties["driver"].value), set())
            known.update(set(properties) - {"driver"})
    return result


def _nics(domain: etree._Element) -> Iterator[Item]:
    overridden = dict.fromkeys(qemu.aliases(domain))
    asked = _asked(domain)
    for each in sorted(nic.nics(domain), key=nic.mac_of):
        alias, name = nic.alias_of(each), f"NIC {nic.mac_of(each)}"
        ours = alias.startswith(names.OUR_ALIAS)
        if nic.mac_of(each) not in asked and alias not in overridden and not ours:
            continue
        overridden.pop(alias, None)
        yield Item(f"{name}: alias", alias)
        yield Item(f"{name}: driver", nic.driver_of(each) if nic.is_virtio(each) else "its own")
        yield from _overridden(domain, name, alias)
    for alias in overridden:
        yield from _overridden(domain, f"device {alias}", alias)


def _overridden(domain: etree._Element, name: str, alias: str) -> Iterator[Item]:
    for each, value in sorted(qemu.overridden(domain, alias).items()):
        yield Item(f"{name}: override of {each}", value.value)


def _asked(domain: etree._Element) -> set[str]:
    """MAC addresses of NICs that the element names, right or wrong."""
    path = f"metadata/{names.net('net')}/{names.net('interface')}"
    return {each.get("mac", "").lower() for each in domain.iterfind(path)}


def _words(domain: etree._Element) -> Iterator[Item]:
    seen: dict[str, int] = {}
    for words in qemu.ours(domain):
        name = f"{words.option} {words.id}"
        seen[name] = seen.get(name, 0) + 1
        again = f" ({seen[name]})" if seen[name] > 1 else ""
        yield Item(name + again, words.value)
