# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that read a table: list, show, export."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from vmmnet.command import output
from vmmnet.command.parser import Parser, subcommand, typed
from vmmnet.command.status import Refused, Status
from vmmnet.values import mac

from ..table import exchange, lnid, offer
from ..table.entry import Entry
from ..table.store import Store
from . import edit, options, wording


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add them to the command line."""
    every = subcommand(
        subparsers,
        "list",
        run_list,
        "list MAC addresses and their logical networks",
        "List MAC addresses and the logical networks that they are in, by MAC address.",
    )
    every.add_argument(
        "--lnid",
        metavar="LNID",
        type=typed(lnid.parse),
        help=f"only those in this logical network (or '{lnid.WORD}')",
    )
    every.hint = _list_hint
    options.add_stores(every)

    one = subcommand(
        subparsers,
        "show",
        run_show,
        "show one MAC address, and to how many it may speak",
        "Show one MAC address. With --others, show also how many others it may speak to, for\n"
        "which all of the table is read: of a million MAC addresses that takes seconds.",
    )
    options.add_mac(one)
    one.add_argument(
        "--others", action="store_true", help="count those that it may speak to in each network"
    )
    options.add_stores(one)

    export = subcommand(
        subparsers,
        "export",
        run_export,
        "write the table to a file",
        "Write the whole table to a file, CSV or JSON, for 'import'.",
    )
    export.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="the file (default: standard output)"
    )
    edit.add_format(export)
    options.add_stores(export)


def _list_hint(word: str) -> str:
    """A hint for a user who gives 'list' an argument."""
    try:
        return f"'--lnid {lnid.text(lnid.parse(word))}' lists the members of a network"
    except ValueError:
        pass
    try:
        return f"'vmmnet hostvlan show {mac.text(mac.parse(word))}' shows one MAC address"
    except ValueError:
        return "'--lnid LNID' lists the members of a network"


def run_list(given: argparse.Namespace) -> int:
    """``list``."""
    with options.open_store(given) as place:
        entries = place.entries(given.lnid)
        if given.json:
            exchange.write_json_list(map(exchange.entry_json, entries), sys.stdout)
            return Status.DONE
        empty = True
        for line in _lines(entries):
            print(line)
            empty = False
        if empty:
            where = "" if given.lnid is None else f" in {lnid.named([given.lnid])}"
            output.say(f"no MAC address is{where} in the table {place.name}")
    return Status.DONE


_PAGE = 10_000


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Lines of a text table; each page has its own widths, so that output starts at once."""
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        addresses = ", ".join(map(str, entry.addresses))
        row = (mac.text(entry.mac), lnid.listed(entry.lnids), addresses, wording.more(entry))
        rows.append(row)
        if len(rows) == _PAGE:
            yield from _page(rows)
            rows = []
    if rows:
        yield from _page(rows)


def _page(rows: list[tuple[str, ...]]) -> Iterator[str]:
    # Leave out a column that is empty.
    heads = ("MAC", "LNIDs", "addresses", "more" if any(row[-1] for row in rows) else "")
    yield from output.columns([heads, *rows])


def run_show(given: argparse.Namespace) -> int:
    """``show MAC``."""
    with options.open_store(given) as place:
        entry = place.get(given.mac)
        if entry is None:
            raise Refused(edit.unknown(given.mac, place))
        others = _others(entry, place) if given.others else None
        if given.json:
            shown = exchange.entry_json(entry)
            if others is not None:
                shown["others"] = {lnid.text(number): count for number, count in others.items()}
            output.print_json(shown)
            return Status.DONE
        addresses = ", ".join(map(str, entry.addresses)) or "none: they are not checked"
        rows = [
            ("MAC", mac.text(entry.mac)),
            ("LNIDs", lnid.listed(entry.lnids)),
            ("addresses", addresses),
            *([("offers", ", ".join(offer.words(entry.offers)))] if entry.offers else []),
            *([("also as", ", ".join(map(mac.text, entry.also)))] if entry.also else []),
            *([("speaks to", _reach(others))] if others is not None else []),
            ("table", place.name),
        ]
        print("\n".join(output.columns(rows)))
    return Status.DONE


def _others(entry: Entry, place: Store) -> dict[int, int]:
    """How many others are in each of its LNIDs, and how many are global."""
    if lnid.GLOBAL in entry.lnids:
        return {lnid.GLOBAL: sum(1 for _ in place.entries()) - 1}
    return {
        number: sum(1 for each in place.entries(number) if each.mac != entry.mac)
        for number in (*entry.lnids, lnid.GLOBAL)
    }


def _reach(others: dict[int, int]) -> str:
    if list(others) == [lnid.GLOBAL]:
        return f"all: {wording.macs(others[lnid.GLOBAL])}"
    return ", ".join(
        f"{count:,} {'with the global LNID' if number == lnid.GLOBAL else f'in LNID {number}'}"
        for number, count in others.items()
    )


def run_export(given: argparse.Namespace) -> int:
    """``export [FILE]``."""
    form = given.format or exchange.guess(given.file)
    progress = output.Progress("exporting")
    with options.open_store(given) as place:
        entries = progress.over(place.entries())
        if given.file == "-":
            exchange.write(entries, form, sys.stdout)
            return Status.DONE
        count = _write(Path(given.file), entries, form)
        if given.json:
            output.print_json({"table": place.name, "file": given.file, "macs": count})
        else:
            print(f"{wording.macs(count)} exported to {given.file}")
    return Status.DONE


def _write(path: Path, entries: Iterable[Entry], form: exchange.Format) -> int:
    """Write a file; after an error, the old one stays.  Returns the number of entries."""
    count = 0

    def counted() -> Iterator[Entry]:
        nonlocal count
        for entry in entries:
            count += 1
            yield entry

    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        # "x": an existing file belongs to another program.
        with part.open("x") as stream, contextlib.ExitStack() as made:
            made.callback(part.unlink, missing_ok=True)
            exchange.write(counted(), form, stream)
            stream.flush()
            # Some file systems find only now that there is no room.
            os.fsync(stream.fileno())
            part.replace(path)
    except OSError as error:
        raise Refused(f"{error.filename or path}: {error.strerror}") from None
    return count
