# SPDX-License-Identifier: GPL-2.0-or-later
"""Dependencies between the files of a room, and circles among them.

A room is a folder; its floors are the folders in it. A C file uses the headers that it includes
and the files that define the functions it names; a Python module uses what it imports, in
functions and for type checking, too. Arrows shall point one way: between the floors of a room,
and between its files.

``tests/arrows ROOM…`` prints the picture of a room.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

Graph = Mapping[str, set[str]]

#: The rooms of the repository: none has a circle of floors or of files.
ROOMS = (
    *("base", "hw/vmrpc", "hw/net/cvsw", "net/dns", "net/esp", "net/handoff", "net/hostvlan"),
    *(
        "net/mip6",
        "ha",
        "dnsd",
        "net/packet",
        "net/stage",
        "net/watch",
        "hostd",
        "guest-linux/vmrpc",
    ),
    *("control/vmmnet/command", "control/vmmnet/confine", "control/vmmnet/cvsw"),
    "control/vmmnet/etcd",
    *("control/vmmnet/guestimage", "control/vmmnet/hostvlan", "control/vmmnet/libvirt"),
    *("lab", "control/vmmnet/values", "bench"),
)

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_HEAD = re.compile(r"^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w\s*()]*?\b(\w+)\(", re.ASCII)
_NAME = re.compile(r"\b[A-Za-z_]\w*(?=\s*\()|\b[a-z]\w*_\w+\b", re.ASCII)
#: The floor of files that are in no folder of the room.
TOP = "."


@dataclass(frozen=True)
class Room:
    """The files of a room, and the files that each of them uses."""

    folder: Path
    uses: dict[str, set[str]] = field(default_factory=dict)

    @property
    def floors(self) -> dict[str, set[str]]:
        """The floors that each floor uses."""
        found: dict[str, set[str]] = {floor(file): set() for file in self.uses}
        for file, used in self.uses.items():
            found[floor(file)] |= {floor(each) for each in used} - {floor(file)}
        return found


def floor(file: str) -> str:
    """The folder of a file, within its room."""
    return str(PurePosixPath(file).parent)


def defined(text: str) -> Iterator[str]:
    """Functions that a C file defines for others: QEMU's and the kernel's style."""
    lines = _COMMENT.sub(" ", text).split("\n")
    for at, line in enumerate(lines):
        if (head := _HEAD.match(line)) is None:
            continue
        for following in lines[at : at + 12]:
            if following.startswith("{"):
                yield head[1]
                break
            if following.rstrip().endswith((";", "}")):
                break


def _c(folder: Path, files: Iterable[Path]) -> dict[str, set[str]]:
    """C files: the headers they include, and the files that define the functions they call."""
    texts = {path: path.read_text() for path in files}
    name = {path: str(path.relative_to(folder)) for path in texts}
    own = {path: set(defined(text)) for path, text in texts.items()}
    owners: dict[str, set[str]] = {}
    for path, functions in own.items():
        for function in functions:
            owners.setdefault(function, set()).add(name[path])
    uses: dict[str, set[str]] = {}
    for path, text in texts.items():
        used: set[str] = set()
        for include in _INCLUDE.findall(text):
            near = (path.parent / include).resolve()
            far = [each for each in texts if str(each).endswith("/" + include)]
            used |= {name[each] for each in ([near] if near in texts else far)}
        if path.suffix == ".c":
            code = _STRING.sub('""', _COMMENT.sub(" ", text))
            for called in set(_NAME.findall(code)) - own[path]:
                used |= owners.get(called, set())
        uses[name[path]] = used - {name[path]}
    return uses


def _imported(tree: ast.AST, package: list[str]) -> Iterator[list[str]]:
    """Names that a module imports, as parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            base = start + (node.module.split(".") if node.module else [])
            yield base
            yield from ([*base, alias.name] for alias in node.names)


def _python(folder: Path, files: Iterable[Path]) -> dict[str, set[str]]:
    """Python modules of a package; imports by ``__init__`` of a package do not count."""
    modules = {
        str(path.relative_to(folder).with_suffix("")): path
        for path in files
        if path.name != "__init__.py"
    }
    root = [folder.name]
    uses: dict[str, set[str]] = {}
    for name, path in modules.items():
        package = root + list(PurePosixPath(name).parent.parts)
        found: set[str] = set()
        for parts in _imported(ast.parse(path.read_text()), package):
            if folder.name in parts:
                found.add("/".join(parts[parts.index(folder.name) + 1 :]))
        uses[name] = {each for each in found if each in modules} - {name}
    return uses


def read(folder: Path) -> Room:
    """The room in a folder: its C files and its Python modules."""
    folder = folder.resolve()
    c = sorted([*folder.rglob("*.c"), *folder.rglob("*.h")])
    return Room(folder, _c(folder, c) | _python(folder, sorted(folder.rglob("*.py"))))


def circles(uses: Graph) -> list[list[str]]:
    """Files that use one another, directly or through others (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for used in sorted(uses[file]):
            if used not in index:
                visit(used)
                low[file] = min(low[file], low[used])
            elif used in stack:
                low[file] = min(low[file], index[used])
        if low[file] == index[file]:
            at = stack.index(file)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(uses):
        if file not in index:
            visit(file)
    return [each for each in found if len(each) > 1]


def height(uses: Graph) -> dict[str, int]:
    """How many arrows lead down from each; without circles."""
    known: dict[str, int] = {}

    def of(file: str) -> int:
        if file not in known:
            known[file] = 1 + max((of(each) for each in uses[file]), default=-1)
        return known[file]

    for file in uses:
        of(file)
    return known


def _told(kind: str, uses: Graph) -> Iterator[str]:
    """The circles of a graph, with the arrows that make them."""
    for circle in circles(uses):
        yield f"circle of {len(circle)} {kind}: {', '.join(circle)}"
        for file in circle:
            yield f"    {file} -> {', '.join(sorted(uses[file] & set(circle)))}"
    if not circles(uses):
        yield f"no circle of {kind}"


def picture(room: Room, name: str) -> Iterator[str]:
    """Yield lines: floors from the top, their files with the files they use; then the circles."""
    floors = room.floors
    yield f"{name}: {len(room.uses)} files on {len(floors)} floors"
    order = {} if circles(floors) else height(floors)
    for each in sorted(floors, key=lambda one: (-order.get(one, 0), one)):
        files = sorted(PurePosixPath(file).name for file in room.uses if floor(file) == each)
        below = sorted(floors[each], key=lambda one: (-order.get(one, 0), one))
        yield f"  {'' if each == TOP else each}/ -> {', '.join(below) or '-'}"
        yield f"      {' '.join(files)}"
    yield from (f"  {line}" for line in _told("floors", floors))
    yield from (f"  {line}" for line in _told("files", room.uses))
