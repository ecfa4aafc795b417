# SPDX-License-Identifier: GPL-2.0-or-later
"""Validation of the element by its schema, net.rng, with readable errors.

libxml2 can validate an element, but its messages are not readable, and its time doubles with
each optional attribute: seconds for fourteen. So attributes are validated one at a time, and
the schema's names and the documentation of its types make the messages.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]

from . import names

_FILE = Path(__file__).with_name("net.rng")
_RNG = "{http://relaxng.org/ns/structure/1.0}"
_DOCUMENTATION = "{http://relaxng.org/ns/compatibility/annotations/1.0}documentation"
_PREFIX = "vmmnet"


class BadElement(ValueError):
    """An invalid element; the message says where, and what would be right.

    ``line`` is the file's, where known; ``attribute`` and ``value`` are empty if the error is
    not about a single one.
    """

    def __init__(
        self, node: etree._Element | None, attribute: str, value: str, right: str, line: int = 0
    ) -> None:
        self.line = line or (node.sourceline if node is not None else None) or 0
        self.attribute, self.value, self.right = attribute, value, right
        where = f"line {self.line}: " if self.line else ""
        at = f"<{_written(node)}> " if node is not None else ""
        of = f"{attribute}='{value}': " if attribute else ""
        super().__init__(f"{where}{at}{of}{right}")


@dataclass(frozen=True)
class _Shape:
    """The allowed attributes of an element, with the names of their types, and its children."""

    types: dict[str, str]
    required: frozenset[str]
    children: tuple[str, ...]
    single: frozenset[str]


def check(element: etree._Element) -> None:
    """Raise BadElement if the element, ``vmmnet:net``, does not match the schema."""
    shape = _shapes()[_local(element)]
    for name, value in element.attrib.items():
        if name not in shape.types:
            raise BadElement(element, name, value, _stranger("attribute", name, list(shape.types)))
        right = _complaint(shape.types[name], value)
        if right:
            raise BadElement(element, name, value, right)
    missing = sorted(shape.required - set(element.attrib))
    if missing:
        raise BadElement(element, "", "", f"the attribute '{missing[0]}' is missing")
    if _texts(element):
        raise BadElement(element, "", "", f"has the text '{_texts(element)}'; it takes none")
    seen: set[str] = set()
    for child in element.iterchildren(etree.Element):
        _check_child(element, child, shape, seen)


def attributes(tag: str) -> list[str]:
    """The allowed attributes of an element, in the schema's order."""
    return list(_shapes()[tag].types)


def kind(tag: str, name: str) -> str:
    """The type of an attribute, by its name in the schema."""
    return _shapes()[tag].types[name]


def _check_child(
    node: etree._Element, child: etree._Element, shape: _Shape, seen: set[str]
) -> None:
    local = _local(child)
    if local in shape.children and child.tag != names.net(local):
        right = f"<{local}> is not of the namespace {names.NET}: write <{_PREFIX}:{local}>"
        raise BadElement(node, "", "", right, child.sourceline)
    if local not in shape.children:
        raise BadElement(
            node, "", "", _stranger("element", local, list(shape.children)), child.sourceline
        )
    if local in seen & shape.single:
        raise BadElement(child, "", "", "exists twice; one is right")
    seen.add(local)
    check(child)


def _stranger(kind: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no {kind} '{name}' here: is it '{near[0]}'?"
    return f"there is no {kind} '{name}' here; there are {', '.join(known) or 'none'}"


def _complaint(kind: str, value: str) -> str:
    """The description of a type, if this is no value of it."""
    schema, right = _type(kind)
    probe = etree.Element("value")
    probe.text = value
    return "" if schema.validate(probe) else f"it is to be {right}"


def _texts(node: etree._Element) -> str:
    pieces = [node.text, *(child.tail for child in node)]
    return " ".join(each.strip() for each in pieces if each and each.strip())


def _local(node: etree._Element) -> str:
    return str(etree.QName(node).localname)


def _written(node: etree._Element) -> str:
    """An element's name with its prefix; ours is the one that the documentation has."""
    prefix = _PREFIX if etree.QName(node).namespace == names.NET else node.prefix
    return f"{prefix}:{_local(node)}" if prefix else _local(node)


@functools.cache
def _document() -> etree._Element:
    return etree.parse(str(_FILE)).getroot()


@functools.cache
def _type(kind: str) -> tuple[etree.RelaxNG, str]:
    """A schema of elements whose text is of the type, and the type's documentation."""
    (define,) = (each for each in _defines() if each.get("name") == kind)
    grammar = etree.Element(f"{_RNG}element", name="value")
    grammar.set("datatypeLibrary", _document().get("datatypeLibrary"))
    grammar.extend(deepcopy(each) for each in define if each.tag != _DOCUMENTATION)
    return etree.RelaxNG(grammar), define.findtext(_DOCUMENTATION) or ""


def _defines() -> Iterator[etree._Element]:
    yield from _document().iterchildren(f"{_RNG}define")


@functools.cache
def _shapes() -> dict[str, _Shape]:
    elements = (each.find(f"{_RNG}element") for each in _defines())
    return {each.get("name"): _shape(each) for each in elements if each is not None}


def _shape(element: etree._Element) -> _Shape:
    found = list(element.iter(f"{_RNG}attribute"))
    types = {each.get("name"): each.find(f"{_RNG}ref").get("name") for each in found}
    required = {each.get("name") for each in found if each.getparent() is element}
    inside = [
        each for each in element.iter(f"{_RNG}ref") if each.getparent().tag != f"{_RNG}attribute"
    ]
    single = {each.get("name") for each in inside if each.getparent().tag == f"{_RNG}optional"}
    children = tuple(each.get("name") for each in inside)
    return _Shape(types, frozenset(required), children, frozenset(single))
