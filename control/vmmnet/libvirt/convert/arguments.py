# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments of ``qemu:commandline`` as QEMU parses them.

An option's value is ``KIND,NAME=VALUE,…``, in which a comma of a value is doubled, or JSON.
``-set GROUP.ID.NAME=VALUE`` adds to an earlier one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .. import names

# The key of a value's first word, which may be omitted.
_KINDS = {"-netdev": "type", "-device": "driver", "-object": "qom-type"}
_SET = re.compile(r"([^.]+)\.([^.]+)\.([^=]+)=(.*)", re.DOTALL)
# Stands for a doubled comma while splitting; XML does not have this character.
_COMMA = "\0"


@dataclass(frozen=True)
class Argument:
    """An option with its value, or another word (without ``option``)."""

    #: Index of its first word.
    number: int
    option: str
    text: str
    #: ``hostvlan`` of ``-netdev hostvlan,…``; for ``-set`` group and ID.
    kind: str = ""
    #: Names and values in order, without kind and ID.
    pairs: tuple[tuple[str, str], ...] = ()
    id: str = ""

    @property
    def name(self) -> str:
        """For people."""
        if self.option == "-set":
            return f"-set {self.text}"
        return f"{self.option} {self.id or self.text}".strip()

    def values(self, name: str) -> list[str]:
        """All values of a name."""
        return [value for each, value in self.pairs if each == name]

    def mentions(self, number: str) -> bool:
        """Whether it refers to something else with this ID."""
        if not self.option:
            return re.search(rf"(?<![\w.-]){re.escape(number)}(?![\w-])", self.text) is not None
        if self.option == "-set" and self.kind.partition(".")[2] == number:
            return True
        return any(value == number for _, value in self.pairs)


def read(domain: etree._Element) -> list[Argument]:
    """The command line of a domain."""
    texts = [each.get("value", "") for each in nodes(domain)]
    result = []
    number = 0
    while number < len(texts):
        # QEMU treats two dashes as one.
        option = re.sub("^--", "-", texts[number])
        if (option in _KINDS or option == "-set") and number + 1 < len(texts):
            result.append(_argument(number, option, texts[number + 1]))
            number += 2
        else:
            result.append(Argument(number, "", texts[number]))
            number += 1
    return result


def nodes(domain: etree._Element) -> list[etree._Element]:
    """The ``qemu:arg`` elements of a domain."""
    return list(domain.iterfind(f"{names.qemu('commandline')}/{names.qemu('arg')}"))


def rename(domain: etree._Element, new: dict[str, str]) -> None:
    """Change IDs on the command line, also in references."""
    words = nodes(domain)
    for each in read(domain):
        if each.option:
            node = words[each.number + 1]
            node.set("value", _renamed(each.option, each.text, new))


def _argument(number: int, option: str, text: str) -> Argument:
    if option == "-set":
        match = _SET.fullmatch(text)
        if match is None:
            return Argument(number, option, text)
        group, target, name, value = match.groups()
        return Argument(number, option, text, f"{group}.{target}", ((name, value),))
    given = _of_json(text) if _is_json(text) else _of_text(text, _KINDS[option])
    # The last of several values of a name counts, except in lists.
    last = dict(given)
    pairs = tuple((name, value) for name, value in given if name not in (_KINDS[option], "id"))
    return Argument(number, option, text, last.get(_KINDS[option], ""), pairs, last.get("id", ""))


def _is_json(text: str) -> bool:
    return text.startswith("{")


def _of_text(text: str, first: str) -> list[tuple[str, str]]:
    result = []
    for number, piece in enumerate(text.replace(",,", _COMMA).split(",")):
        name, equals, value = piece.partition("=")
        if not equals and number == 0:
            name, value = first, name
        elif not equals:
            # A name alone means 'on', with the prefix 'no' 'off'.
            name, value = (name[2:], "off") if name.startswith("no") else (name, "on")
        result.append((name, value.replace(_COMMA, ",")))
    return result


def _of_json(text: str) -> list[tuple[str, str]]:
    try:
        given = json.loads(text)
    except ValueError:
        return []
    return [(name, each) for name, value in given.items() for each in _leaves(name, value)]


def _leaves(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield "on" if value else "off"
    elif isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        for each in inside:
            yield from _leaves(name, each)
    elif name == "addr" and isinstance(value, int):
        # A number is slot * 8 + function.
        yield f"{value >> 3:#x}.{value & 7}"
    else:
        yield str(value)


def _renamed(option: str, text: str, new: dict[str, str]) -> str:
    if option == "-set":
        match = _SET.fullmatch(text)
        if match is None:
            return text
        group, target, name, value = match.groups()
        return f"{group}.{new.get(target, target)}.{name}={new.get(value, value)}"
    if _is_json(text):
        try:
            given = json.loads(text)
        except ValueError:
            return text
        changed = _walked(given, lambda each: new.get(each, each))
        if changed == given:
            return text
        return json.dumps(changed, separators=(",", ":"), ensure_ascii=False)
    pieces = []
    for piece in text.replace(",,", _COMMA).split(","):
        name, equals, value = piece.partition("=")
        pieces.append(name + equals + new.get(value, value))
    return ",".join(pieces).replace(_COMMA, ",,")


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    """JSON with each string mapped."""
    if isinstance(value, dict):
        return {name: _walked(each, change) for name, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, change) for each in value]
    return change(value) if isinstance(value, str) else value
