# SPDX-License-Identifier: GPL-2.0-or-later
"""Our parts of a domain, also if changed since, and their digest."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lxml import etree  # type: ignore[import-untyped]

from .. import names
from . import nic, qemu

_DIGITS = 16
_NIC, _DRIVER = "NIC ", ": driver"
# The driver of a virtio NIC, and of another one.
_QEMU, _ITS_OWN = "qemu", "its own"
_OTHER = {_QEMU: _ITS_OWN, _ITS_OWN: _QEMU}
# How many NICs are tried: the time doubles with each.
_TRIED = 8


@dataclass(frozen=True)
class Item:
    """A part of an expansion: a name for messages, and its relevant contents."""

    name: str
    text: str


def made(domain: etree._Element) -> list[Item]:
    """Our parts: NICs by MAC address, and arguments in their order."""
    return [*_nics(domain), *_words(domain)]


def digest(domain: etree._Element) -> str:
    """A digest of our parts: 16 hexadecimal digits, equal for equal parts.

    It does not protect against an attacker, who can edit the digest, too.
    """
    return _digest(made(domain))


def other_models(domain: etree._Element, wanted: str) -> list[str]:
    """MAC addresses of the NICs whose change from virtio, or to it, gives the digest ``wanted``.

    A digest alone does not tell; so this tries. Empty: no such change does.
    """
    items = made(domain)
    places = [at for at, each in enumerate(items) if each.name.endswith(_DRIVER)][:_TRIED]
    for count in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, count):
            tried = [
                replace(each, text=_OTHER.get(each.text, each.text)) if at in chosen else each
                for at, each in enumerate(items)
            ]
            if _digest(tried) == wanted:
                names_of = [items[at].name for at in chosen]
                return [each.removeprefix(_NIC).removesuffix(_DRIVER) for each in names_of]
    return []


def _digest(items: list[Item]) -> str:
    text = "".join(f"{each.name}\0{each.text}\0" for each in items)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def asked(domain: etree._Element) -> dict[tuple[str, str], set[str]]:
    """What QEMU must support for our parts: kinds by their option, without its ``-``.

    For a device also its properties: QEMU lists those that it has.
    """
    result: dict[tuple[str, str], set[str]] = {}
    for words in qemu.ours(domain):
        if words.option == "-chardev":
            continue  # every QEMU has those
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
        alias, name = nic.alias_of(each), f"{_NIC}{nic.mac_of(each)}"
        ours = alias.startswith(names.OUR_ALIAS)
        if nic.mac_of(each) not in asked and alias not in overridden and not ours:
            continue
        overridden.pop(alias, None)
        yield Item(f"{name}: alias", alias)
        driver = nic.driver_of(each) if nic.is_virtio(each) else _ITS_OWN
        yield Item(f"{name}{_DRIVER}", driver)
        yield from _overridden(domain, name, alias)
    for alias in overridden:
        yield from _overridden(domain, f"device {alias}", alias)


def _overridden(domain: etree._Element, name: str, alias: str) -> Iterator[Item]:
    for each, value in sorted(qemu.overridden(domain, alias).items()):
        yield Item(f"{name}: override of {each}", value.value)


def _asked(domain: etree._Element) -> set[str]:
    """MAC addresses of the element's NICs, valid or not, without those that stay libvirt's."""
    path = f"metadata/{names.net('net')}/{names.net('interface')}"
    found = domain.iterfind(path)
    return {each.get("mac", "").lower() for each in found if each.get("ebpf") != "on"}


def _words(domain: etree._Element) -> Iterator[Item]:
    seen: dict[str, int] = {}
    for words in qemu.ours(domain):
        name = f"{words.option} {words.id}"
        seen[name] = seen.get(name, 0) + 1
        again = f" ({seen[name]})" if seen[name] > 1 else ""
        yield Item(name + again, words.value)
