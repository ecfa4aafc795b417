# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the element, each with the arguments and overrides that it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .. import schema
from .arguments import Argument

_ON, _OFF = ("on", "yes", "true", "y"), ("off", "no", "false", "n")
# Types of net.rng that are numbers; QEMU also accepts other forms ('0x10').
# Types of lists separated by blanks, and the type of their elements.
_LISTS = {"addresses6": "address6", "spis": "spi", "paths": "path"}
_NUMBERS = (
    "spi",
    "prefixLength",
    "window",
    "flowCount",
    "maskCount",
    "mtu",
    "socketCount",
    "queueCount",
)


class CannotSay(Exception):
    """The element cannot express something; the message says why."""


@dataclass(frozen=True)
class Kept:
    """Something that stays, and why."""

    name: str
    reason: str
    about: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Part:
    """What of a domain becomes a part of the element."""

    #: For people.
    name: str
    #: By the name of an element: the attributes that it gets.
    attributes: Mapping[str, Mapping[str, str]]
    #: What it takes the place of.
    arguments: tuple[Argument, ...]
    #: The MAC address of the NIC that it is about.
    mac: str = ""
    #: What is overridden by it: alias and property.
    properties: frozenset[tuple[str, str]] = frozenset()
    #: Keys, which go as well if nobody else uses them.
    keys: tuple[Argument, ...] = ()
    #: The NIC has a name of libvirt's, by which it is not known any more.
    renames: bool = False
    #: Bus and slot of the sockets; empty: as QEMU likes.
    place: tuple[str, str] = ("", "")
    #: The part without which this one is nothing.
    needs: Part | None = None

    @property
    def ids(self) -> list[str]:
        """IDs in QEMU that go."""
        return [each.id for each in self.arguments if each.id and each.option != "-object"]


def attributes(
    tag: str, pairs: Iterable[tuple[str, str]], others: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Options of QEMU as attributes of an element; ``others``: those with another name there.

    Raises CannotSay.
    """
    known = schema.attributes(tag)
    result: dict[str, str] = {}
    for option, value in pairs:
        name = (others or {}).get(option, option)
        if name not in known:
            raise CannotSay(f"the element has no '{option}'")
        kind = schema.kind(tag, name)
        text = _text(_LISTS.get(kind, kind), option, value)
        if kind == "paths" and " " in text:
            raise CannotSay(f"{option} has a list, whose paths have no blanks, and not '{text}'")
        if kind in _LISTS and name in result:
            text = f"{result[name]} {text}"
        result[name] = text
    return result


def _text(kind: str, option: str, value: str) -> str:
    """A value of QEMU in the element's form."""
    if kind == "onOff":
        if value in (*_ON, *_OFF):
            return "on" if value in _ON else "off"
    elif kind in _NUMBERS:
        if re.fullmatch("0[0-7]+", value):
            return str(int(value, 8))
        try:
            return str(int(value, 0))
        except ValueError:
            raise CannotSay(f"{option}={value} is no number") from None
    return value
