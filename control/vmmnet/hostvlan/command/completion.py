# SPDX-License-Identifier: GPL-2.0-or-later
"""What can come next on a command line: for control/completion/vmmnet.bash.

The parser of the command line knows its sub-commands and options; the table
knows MAC addresses and LNIDs. What else knows words is the ``complete`` of an
argument.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..table import layout, lnid, mac
from ..table.filestore import FileStore, default_path
from ..table.table import Table, TableError

#: Printed alone: the shell knows files.
FILES = ":files"
# More than a terminal shows.
_LIMIT = 500


def complete(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What the last word, which may be empty, can become; the others are before it.

    What cannot be known, as there is no table, is not offered.
    """
    line = _Line(parser, words[:-1])
    current = words[-1]
    found = _candidates(line, current)
    return [each for each in found if each == FILES or each.startswith(current)][:_LIMIT]


class _Line:
    """The words before the one that is completed, as the parser would take them."""

    def __init__(self, parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
        self.parser = parser
        self.values: dict[str, str] = {}
        self.positionals: list[str] = []
        #: The option that the next word is the value of.
        self.expecting: argparse.Action | None = None
        #: Whether the words are none that the parser knows.
        self.lost = False
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.expecting is not None:
            self.values[self.expecting.dest] = word
            self.expecting = None
            return
        name, equals, value = word.partition("=")
        option = _options(self.parser).get(name) if word.startswith("-") else None
        if option is not None and option.nargs != 0:
            if equals:
                self.values[option.dest] = value
            else:
                self.expecting = option
        elif option is None:
            below = subparsers(self.parser)
            if word in below:
                self.parser = below[word]
            elif below:
                self.lost = True
            else:
                self.positionals.append(word)

    def positional(self) -> argparse.Action | None:
        """What the next word is, if it is no option."""
        actions = [each for each in self.parser._actions if not each.option_strings]
        if not actions:
            return None
        number = len(self.positionals)
        if number < len(actions):
            return actions[number]
        return actions[-1] if actions[-1].nargs in ("*", "+") else None


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The sub-commands of a parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {name: action for action in parser._actions for name in action.option_strings}


def _candidates(line: _Line, current: str) -> Iterable[str]:
    if line.lost:
        return []
    if line.expecting is not None:
        return _values(line.expecting, line, current)
    if current.startswith("-"):
        return sorted(name for name in _options(line.parser) if name.startswith("--"))
    if below := subparsers(line.parser):
        return sorted(below)
    action = line.positional()
    return _values(action, line, current) if action is not None else []


def _values(action: argparse.Action, line: _Line, current: str) -> Iterable[str]:
    if action.choices is not None:
        return map(str, action.choices)
    known = getattr(action, "complete", None) or _KNOWN.get(str(action.metavar))
    if known is None or ("store" in line.values and known is not _files):
        return []
    try:
        return known(line, current)
    except (TableError, OSError, ValueError):
        return []


def _files(line: _Line, current: str) -> Iterable[str]:
    return [FILES]


def _store(line: _Line) -> FileStore:
    path = line.values.get("table")
    return FileStore(Path(path) if path else default_path())


def _macs(line: _Line, current: str) -> Iterable[str]:
    with Table.open(_store(line).path, verify=False) as table:
        keys, values = table.slots()
    pairs = zip(keys, values, strict=True)
    there = (key for key, value in pairs if key and layout.kind(value) != layout.NONE)
    return map(mac.text, sorted(map(layout.mac_of, there)))


def _lnids(line: _Line, current: str) -> Iterable[str]:
    """Those of the table, but for what is given already; of one MAC where they are removed."""
    store = _store(line)
    numbers: set[int] = set()
    spelled = line.positionals[:1]
    if line.parser.prog.endswith(" remove") and spelled:
        entry = store.get(mac.parse(spelled[0]))
        numbers.update(entry.lnids if entry else ())
    else:
        numbers.update(number for entry in store.entries() for number in entry.lnids)
        numbers.add(lnid.GLOBAL)
    return [each for each in map(lnid.text, sorted(numbers)) if each not in line.positionals]


def _addresses(line: _Line, current: str) -> Iterable[str]:
    """Those of the MAC that is named: the ones that can be removed."""
    if not line.positionals:
        return []
    entry = _store(line).get(mac.parse(line.positionals[0]))
    return map(str, entry.addresses) if entry else []


def _interfaces(line: _Line, current: str) -> Iterable[str]:
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


_KNOWN: dict[str, Callable[[_Line, str], Iterable[str]]] = {
    "MAC": _macs,
    "LNID": _lnids,
    "ADDRESS": _addresses,
    "INTERFACE": _interfaces,
    "FILE": _files,
    "FILE|URL": _files,
    "PATH": _files,
}
