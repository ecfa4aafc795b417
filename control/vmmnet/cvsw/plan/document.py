# SPDX-License-Identifier: GPL-2.0-or-later
"""A YAML document with the lines of its values, and its faults.

Scalars have the types of YAML 1.2's core schema (section 10.3.2), not those of
1.1, where 52:54:00:00:01:01 is a number of base 60.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml  # type: ignore[import-untyped]

T = TypeVar("T")
Scalar = str | int | float | bool | None

#: Maximum octets of a file; 10,000 VMs take less than 2 MiB.
SIZE_MAX = 16 << 20
_DEPTH_MAX = 20
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", re.I)
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# libyaml's loader, if PyYAML has it: ten times as fast.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_KINDS = {
    yaml.MappingNode: "a mapping",
    yaml.SequenceNode: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number with a point",
    type(None): "nothing",
}


class BadPlan(Exception):
    """A fault of a file; lines and columns count from 1."""

    def __init__(self, path: Path, line: int, column: int, message: str) -> None:
        super().__init__(path, line, column, message)
        self.path, self.line, self.column, self.message = path, line, column, message

    def __str__(self) -> str:
        """In the form of compilers' messages."""
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Keys:
    """The allowed keys of a mapping, and the required ones among them."""

    required: frozenset[str]
    all: frozenset[str]

    @classmethod
    def of(cls, required: str, optional: str = "") -> Keys:
        """From words."""
        must = frozenset(required.split())
        return cls(must, must | frozenset(optional.split()))


def contents(path: Path) -> bytes:
    """The octets of a file; at most SIZE_MAX + 1, which shows that it is too large."""
    with path.open("rb") as file:
        return file.read(SIZE_MAX + 1)


class Document:
    """A file, and the faults found in it.

    ``octets`` are the file's contents, if they were read elsewhere.
    """

    def __init__(self, path: Path, octets: bytes | None = None) -> None:
        self.path, self._octets = path, octets
        self.faults: list[BadPlan] = []

    def compose(self) -> yaml.Node | None:
        """The document's root; None, and a fault, if it is no YAML or cannot be read."""
        try:
            return self._composed()
        except BadPlan as fault:
            self.faults.append(fault)
            return None

    def _composed(self) -> yaml.Node:
        try:
            octets = contents(self.path) if self._octets is None else self._octets
            if len(octets) > SIZE_MAX:
                raise BadPlan(self.path, 1, 1, f"the file has more than {SIZE_MAX >> 20} MiB")
            text = octets.decode()
            self._check_depth(text)
            root = yaml.compose(text, Loader=_LOADER)
        except OSError as error:
            why = f"the file cannot be read: {error.strerror}"
            raise BadPlan(self.path, 1, 1, why) from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            why = f"an octet {error.object[error.start]:#04x} is no UTF-8"
            raise BadPlan(self.path, line, 1, why) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            why = ", ".join(filter(None, (error.context, error.problem)))
            raise BadPlan(self.path, line, column, f"this is no YAML: {why}") from None
        except yaml.reader.ReaderError as error:
            raise BadPlan(self.path, 1, 1, f"this is no YAML: {error.reason}") from None
        if root is None:
            raise BadPlan(self.path, 1, 1, "the file is empty; a plan has 'tenants' and 'underlay'")
        return root

    def _check_depth(self, text: str) -> None:
        """Limit the depth, as PyYAML's compose() recurses without a limit."""
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH_MAX:
                mark = event.start_mark
                why = f"it is nested more than {_DEPTH_MAX} deep"
                raise BadPlan(self.path, mark.line + 1, mark.column + 1, why)

    def bad(self, node: yaml.Node, message: str) -> None:
        """Note a fault at a node."""
        mark = node.start_mark
        self.faults.append(BadPlan(self.path, mark.line + 1, mark.column + 1, message))

    def sorted_faults(self) -> list[BadPlan]:
        """All of them, in the order of the file."""
        return sorted(self.faults, key=lambda fault: (fault.line, fault.column))

    # --- nodes ------------------------------------------------------------------

    def record(self, node: yaml.Node, what: str, keys: Keys) -> dict[str, yaml.Node]:
        """The present members of a mapping with known keys."""
        found = {}
        items = self._items(node, what)
        for key, value in items:
            if key.value in keys.all:
                found[key.value] = value
            else:
                self.bad(key, _unknown(key.value, what, sorted(keys.all)))
        for name in sorted(keys.required - set(found)):
            if isinstance(node, yaml.MappingNode):
                self.bad(node, f"{what} has no '{name}'")
        return found

    def named(self, node: yaml.Node | None, what: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The members of a mapping whose keys are names, as pairs."""
        if node is None:
            return {}
        return {key.value: (key, value) for key, value in self._items(node, what)}

    def elements(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        """The elements of a list, which must not be empty."""
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.bad(node, f"{what} is {kind_of(node)}, not a list")
            return []
        if not node.value:
            self.bad(node, f"{what} is empty")
        return list(node.value)

    def text(self, node: yaml.Node | None, what: str, parse: Callable[[str], T]) -> T | None:
        """A text that ``parse`` accepts; it raises ValueError with the reason otherwise.

        None if it is missing or bad; so is number().
        """
        if node is None:
            return None
        value = scalar(node)
        if not isinstance(value, str):
            self.bad(node, f"{what} is {kind_of(node)}, {shown(node)}, not a text")
            return None
        try:
            return parse(value)
        except ValueError as error:
            self.bad(node, f"{what}: {error}")
            return None

    def number(self, node: yaml.Node | None, what: str, low: int, high: int) -> int | None:
        """A number in a range."""
        if node is None:
            return None
        value = scalar(node)
        if not isinstance(value, int) or isinstance(value, bool):
            self.bad(node, f"{what} is {kind_of(node)}, {shown(node)}, not a number")
            return None
        if not low <= value <= high:
            self.bad(node, f"{what} {value} is out of range: it is {low} to {high}")
            return None
        return value

    def _items(self, node: yaml.Node, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self.bad(node, f"{what} is {kind_of(node)}, not a mapping of names to values")
            return []
        lines: dict[str, int] = {}
        items = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.bad(key, f"a key of {what} is {kind_of(key)}, not a text")
            elif key.value in lines:
                line = lines[key.value]
                self.bad(key, f"'{key.value}' is in {what} again: it is in line {line} already")
            else:
                lines[key.value] = line_of(key)
                items.append((key, value))
        return items


def scalar(node: yaml.Node | None) -> Scalar | yaml.Node:
    """The value of a scalar; any other node is returned as it is."""
    if not isinstance(node, yaml.ScalarNode):
        return node
    text: str = node.value
    if node.style:  # a plain scalar has none
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0 if text[:2] in ("0x", "0o") else 10)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def kind_of(node: yaml.Node) -> str:
    """The kind of a node, as text."""
    value = scalar(node)
    return _KINDS[type(value)]


def shown(node: yaml.Node) -> str:
    """A node's value, as text."""
    return f"'{node.value}'" if isinstance(node, yaml.ScalarNode) else "not one value"


def line_of(node: yaml.Node) -> int:
    """The line where it begins."""
    line: int = node.start_mark.line + 1
    return line


def _unknown(key: str, what: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"is it '{near[0]}'?" if near else f"there are {', '.join(known)}"
    return f"there is no '{key}' in {what}: {hint}"
