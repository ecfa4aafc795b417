# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of command lines by argcomplete.

The parser has the sub-commands, options and choices. Values of other arguments are
found by the argument's name in the help (``MAC``, ``FILE``), or by a ``completer``
of the argument. control/completion/vmmnet.bash is the shell's part.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import argcomplete

from vmmnet.values import mac

from ..table import layout, lnid
from ..table.filestore import FileStore, default_path
from ..table.table import Table, TableError

# More than a terminal shows.
_LIMIT = 500


class Finder(argcomplete.CompletionFinder):  # type: ignore[misc]
    """Completes command lines.

    A call with a parser answers the shell that asks for completions, and exits. It does
    nothing if no shell asks.
    """

    def __init__(self, parser: argparse.ArgumentParser | None = None, **_: Any) -> None:
        """argcomplete calls this again, with its own defaults: they are ignored."""
        super().__init__(
            parser, always_complete_options=False, append_space=False, default_completer=_named
        )

    def collect_completions(
        self,
        active_parsers: list[Any],
        parsed_args: argparse.Namespace,
        cword_prefix: str,
        debug: Callable[..., None],
    ) -> list[str]:
        """Offer nothing after a word that is not one of the choices."""
        if getattr(active_parsers[-1], "is_lost", False):
            return []
        found = super().collect_completions(active_parsers, parsed_args, cword_prefix, debug)
        return list(found)


def files(prefix: str, **_: Any) -> list[str]:
    """Files and folders that begin with a prefix.

    argcomplete's own completer passes the prefix to a shell as code, so that a quote in
    it would be parsed.
    """
    folder, slash, name = prefix.rpartition("/")
    found = sorted(Path(folder + slash).iterdir())
    return [
        f"{folder}{slash}{each.name}{'/' if each.is_dir() else ''}"
        for each in found
        if each.name.startswith(name)
    ]


def _named(
    prefix: str, action: argparse.Action, parser: argparse.ArgumentParser, parsed_args: Any
) -> list[str]:
    """Values of an argument, by the name that help gives it."""
    metavar = str(action.metavar)
    try:
        if metavar in _FILES:
            return files(prefix)
        if metavar not in _KNOWN or getattr(parsed_args, "store", None):
            return []
        found = _KNOWN[metavar](parsed_args, parser)
        return list(islice((each for each in found if each.startswith(prefix)), _LIMIT))
    except (TableError, OSError, ValueError):
        # Without a table there is nothing to offer.
        return []


def _store(given: argparse.Namespace) -> FileStore:
    return FileStore(getattr(given, "table", None) or default_path())


def _macs(given: argparse.Namespace, _: argparse.ArgumentParser) -> Iterable[str]:
    """MAC addresses of the table."""
    with Table.open(_store(given).path, verify=False) as table:
        keys, values = table.slots()
    pairs = zip(keys, values, strict=True)
    there = (key for key, value in pairs if key and layout.kind(value) != layout.NONE)
    return map(mac.text, sorted(map(layout.mac_of, there)))


def _lnids(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterable[str]:
    """LNIDs of the table, or of the MAC address from which they are removed.

    Those that the command line has already are left out.
    """
    store = _store(given)
    numbers: set[int] = set()
    if parser.prog.endswith(" remove") and getattr(given, "mac", None):
        entry = store.get(given.mac)
        numbers.update(entry.lnids if entry else ())
    else:
        numbers.update(number for entry in store.entries() for number in entry.lnids)
        numbers.add(lnid.GLOBAL)
    numbers.difference_update(getattr(given, "lnids", None) or ())
    return map(lnid.text, sorted(numbers))


def _addresses(given: argparse.Namespace, _: argparse.ArgumentParser) -> Iterable[str]:
    """IP addresses of the MAC address on the command line: those that can be removed."""
    entry = _store(given).get(given.mac) if getattr(given, "mac", None) else None
    return map(str, entry.addresses) if entry else []


def _interfaces(_: argparse.Namespace, __: argparse.ArgumentParser) -> Iterable[str]:
    """Network interfaces of this namespace."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


_FILES = ("FILE", "FILE|URL", "PATH")
_KNOWN: dict[str, Callable[[argparse.Namespace, argparse.ArgumentParser], Iterable[str]]] = {
    "MAC": _macs,
    "LNID": _lnids,
    "ADDRESS": _addresses,
    "INTERFACE": _interfaces,
}
