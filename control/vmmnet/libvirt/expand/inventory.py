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


def _nics(domain: etree._Element) -> Iterator[Item]:
    overridden = dict.fromkeys(qemu.aliases(domain))
    for each in sorted(nic.nics(domain), key=nic.mac_of):
        alias = nic.alias_of(each)
        if alias not in overridden and not alias.startswith(names.OUR_ALIAS):
            continue
        overridden.pop(alias, None)
        driver = nic.driver_of(each) if nic.is_virtio(each) else "of its model"
        name = f"NIC {nic.mac_of(each)}"
        yield Item(f"{name}: alias", alias)
        yield Item(f"{name}: driver", driver)
        yield Item(f"{name}: netdev", qemu.properties(domain, alias).get("netdev", ""))
    for alias in overridden:
        yield Item(
            f"qemu:override of {alias}: netdev", qemu.properties(domain, alias).get("netdev", "")
        )


def _words(domain: etree._Element) -> Iterator[Item]:
    seen: dict[str, int] = {}
    for words in qemu.ours(domain):
        name = f"{words.option} {words.id}"
        seen[name] = seen.get(name, 0) + 1
        again = f" ({seen[name]})" if seen[name] > 1 else ""
        yield Item(name + again, words.value)
