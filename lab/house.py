# SPDX-License-Identifier: GPL-2.0-or-later
"""The size and shape of the tree, counted from the files that git knows.

``python3 -m lab.house [REVISION…]`` prints a column for each revision; without one, for HEAD.
What is not committed is not counted.

A *mention* is the name of a C file in a build file. A *small file* has fewer than 60 lines, and
one file beside it uses it; the header and the source of one name count as one user. A *way* is a
file that opens the interface itself: that listens at a UNIX socket, opens a netlink socket, takes a
command line apart, reads YAML, or writes to the system's log. ``OTHERWISE`` has the exceptions.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from .base import arrows, scratch

#: The parts of the tree whose lines are counted: source in C and Python.
PARTS = {
    "product": ("base", "dnsd", "guest-linux", "ha", "hostd", "hw", "include", "net"),
    "control": ("control",),
    "bench": ("bench",),
    "lab": ("lab",),
    "tests": ("tests",),
}
#: Parts that the sum holds.
SUMMED = ("product", "control", "bench", "lab")
_SOURCE = {".c", ".h", ".py"}
_SMALL = 60

_BUILD = re.compile(r"(^|/)(meson\.build|Makefile|Kbuild|[^/]*\.mk)$")
_MENTION = re.compile(r"[\w./-]*\w\.c\b")
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_C_STRING = re.compile(r'"(\\.|[^"\\\n])*"')

#: What opens an interface: in C, and in Python.
WAYS = {
    "control socket": (
        r"(?s)\A(?=.*\bsockaddr_un\b).*(?<![>.])\blisten\(",
        r"\bstart_unix_server\(|\bUnixStreamServer\(",
    ),
    "netlink": (
        r"\bsocket\(AF_NETLINK\b|\bNETLINK_ROUTE\b|\bmnl_socket_open\(",
        r"\bAF_NETLINK\b|^\s*(import|from) pyroute2",
    ),
    "arguments": (
        r"\bgetopt(_long)?\(|\bargv \+ 1\b|\bargv\[[1-9]",
        r"\bArgumentParser\(|\(argparse\.ArgumentParser\):",
    ),
    "configuration": (r"\byaml_parser_initialize\(", r"\byaml\.(compose|\w*load)\("),
    "log": (
        r"\bwrite\(STDERR_FILENO\b|\bv?syslog\(|\bsd_journal_",
        r"\blogging\.getLogger\(|\bsyslog\.syslog\(",
    ),
}
#: Files that a pattern finds, and that are no second way.
OTHERWISE = {
    "hw/vmrpc/server/claim.c": "an abstract name that marks an address as taken; it reads nothing",
    "guest-linux/vmrpc/native/netdev.c": "in the guest's kernel, which has no library of ours",
    "control/vmmnet/libvirt/hook.py": "libvirt takes the hook's standard error as its answer",
}


class Tree:
    """The tracked files of a revision, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
        self.files = {str(each.relative_to(folder)): each for each in sorted(found)}

    def within(self, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Source files in some folders, with their text."""
        for name, path in self.files.items():
            if name.partition("/")[0] in folders and path.suffix in _SOURCE:
                yield name, path.read_text(errors="replace")


def lines(tree: Tree) -> dict[str, int]:
    """Lines of source in each part."""
    return {
        part: sum(text.count("\n") for _, text in tree.within(folders))
        for part, folders in PARTS.items()
    }


def _meant(tree: Tree, build: str, mention: str) -> str:
    """The file that a mention means: beside the build file, or the one with such an end."""
    beside = os.path.normpath(PurePosixPath(build).parent / mention)
    if beside in tree.files:
        return beside
    end = "/" + re.sub(r"^(\.\./)+", "", mention).lstrip("/")
    found = [name for name in tree.files if name.endswith(end)]
    return found[0] if len(found) == 1 else mention


def mentions(tree: Tree) -> Counter[str]:
    """How often build files name each C file."""
    found: Counter[str] = Counter()
    for build, path in tree.files.items():
        if not _BUILD.search(build):
            continue
        text = re.sub(r"#[^\n]*", "", path.read_text())
        found.update(_meant(tree, build, each) for each in _MENTION.findall(text))
    return Counter({name: number for name, number in found.items() if name in tree.files})


def rooms(tree: Tree) -> Iterator[tuple[str, arrows.Room]]:
    """The rooms that the revision has."""
    for name in arrows.ROOMS:
        if (tree.folder / name).is_dir():
            yield name, arrows.read(tree.folder / name)


def _stem(file: str) -> str:
    return file.removesuffix(".c").removesuffix(".h")


def small(tree: Tree) -> set[str]:
    """Files of few lines that one other file of their room uses."""
    found: set[str] = set()
    for name, room in rooms(tree):
        users: dict[str, set[str]] = {}
        for file, used in room.uses.items():
            for each in used:
                users.setdefault(each, set()).add(_stem(file))
        for file in room.uses:
            path = room.folder / file
            path = path if path.is_file() else path.with_name(path.name + ".py")
            others = users.get(file, set()) - {_stem(file)}
            if len(others) == 1 and path.read_text().count("\n") < _SMALL:
                found.add(f"{name}/{file}")
    return found


def ways(tree: Tree) -> dict[str, tuple[set[str], set[str]]]:
    """Files that open each interface in C and in Python, in the product and the control plane."""
    texts = dict(tree.within(PARTS["product"] + PARTS["control"]))
    texts = {
        name: _C_STRING.sub('""', _C_COMMENT.sub("", text)) if name.endswith(".c") else text
        for name, text in texts.items()
        if name not in OTHERWISE
    }
    found = {}
    for kind, (c, python) in WAYS.items():
        of_c, of_python = re.compile(c), re.compile(python, re.MULTILINE)
        found[kind] = (
            {name for name, text in texts.items() if name.endswith(".c") and of_c.search(text)},
            {
                name
                for name, text in texts.items()
                if name.endswith(".py") and of_python.search(text)
            },
        )
    return found


def table(tree: Tree) -> dict[str, str]:
    """The rows of the table."""
    counted = lines(tree)
    of_rooms = [room for _, room in rooms(tree)]
    named = mentions(tree)
    rows = {f"lines: {part}": str(number) for part, number in counted.items()}
    rows[f"lines: {', '.join(SUMMED)}"] = str(sum(counted[part] for part in SUMMED))
    rows["mentions in build files beyond the first"] = str(named.total() - len(named))
    rows["circles among files"] = str(sum(len(arrows.circles(room.uses)) for room in of_rooms))
    rows["circles among floors"] = str(sum(len(arrows.circles(room.floors)) for room in of_rooms))
    rows[f"files under {_SMALL} lines with one user"] = str(len(small(tree)))
    for kind, (c, python) in ways(tree).items():
        rows[f"ways of {kind}: C, Python"] = f"{len(c)}, {len(python)}"
    return rows


def of_revision(revision: str, folder: Path) -> Tree:
    """Write the files of a revision to a folder."""
    root = Path(__file__).resolve().parent.parent
    packed = subprocess.run(
        ["git", "-C", str(root), "archive", revision], check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    return Tree(folder)


def main(revisions: Sequence[str]) -> int:
    """Print the table."""
    revisions = revisions or ["HEAD"]
    columns = []
    for revision in revisions:
        with scratch.folder() as folder:
            columns.append(table(of_revision(revision, Path(folder))))
    wide = max(len(row) for row in columns[0])
    print(" " * wide, *(f"{revision[:16]:>16}" for revision in revisions))
    for row in columns[0]:
        print(f"{row:{wide}}", *(f"{column[row]:>16}" for column in columns))
    for name, why in OTHERWISE.items():
        print(f"no way of its own: {name}: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
