# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as text, for import and export: CSV and JSON.

CSV has one line for each MAC.  Blanks separate the elements of a list.  The first
line names the columns, in any order; without it, the first three are assumed:

    mac,lnids,addresses,offers,also
    52:54:00:00:00:01,1 2,192.0.2.1
    52:54:00:00:00:02,global,,router dhcp-server,00:00:5e:00:01:0a

JSON is what ``list --json`` prints:

    [{"mac": "52:54:00:00:00:01", "lnids": [1, 2], "addresses": ["192.0.2.1"]}]

People edit these files.  A file with a mistake is refused as a whole; the message
lists up to ten mistakes with their lines.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TextIO

from vmmnet.values import mac

from . import claim, lnid, offer
from .entry import Entry

Format = Literal["csv", "json"]
FORMATS: tuple[Format, ...] = ("csv", "json")

COLUMNS = ("mac", "lnids", "addresses", "offers", "also")
_REQUIRED = COLUMNS[:2]
# The columns of a file whose first line does not name them.  There are only three, so
# that a line with commas between its LNIDs is refused.
_UNNAMED = COLUMNS[:3]
_MISTAKES = 10


class BadFile(ValueError):
    """A file cannot be imported; the message has a line for each mistake."""


def guess(name: str, text: str = "") -> Format:
    """Guess the format from a file's name, or else from its first character."""
    for each in FORMATS:
        if name.endswith(f".{each}"):
            return each
    return "json" if text.lstrip()[:1] in ("[", "{") else "csv"


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry as JSON: LNIDs are numbers, the global LNID is the word ``global``."""
    result: dict[str, Any] = {
        "mac": mac.text(entry.mac),
        "lnids": [number or lnid.WORD for number in entry.lnids],
        "addresses": [str(each) for each in entry.addresses],
    }
    if entry.offers:
        result["offers"] = offer.words(entry.offers)
    if entry.also:
        result["also"] = [mac.text(each) for each in entry.also]
    return result


def entry_or_null(entry: Entry | None) -> dict[str, Any] | None:
    """An entry as JSON; null for None."""
    return entry_json(entry) if entry else None


def write_json_list(values: Iterable[object], stream: TextIO) -> None:
    """Write a JSON list, one element a line, without having all of it in memory."""
    before = "[\n"
    for value in values:
        stream.write(before + json.dumps(value, ensure_ascii=False))
        before = ",\n"
    stream.write("\n]\n" if before != "[\n" else "[]\n")


def write(entries: Iterable[Entry], form: Format, stream: TextIO) -> None:
    """Write entries as text."""
    if form == "json":
        write_json_list(map(entry_json, entries), stream)
        return
    stream.write(",".join(COLUMNS) + "\n")
    for entry in entries:
        spelled = " ".join(map(str, entry.addresses))
        stream.write(f"{mac.text(entry.mac)},{' '.join(map(lnid.text, entry.lnids))},{spelled}")
        if entry.offers or entry.also:
            also = " ".join(map(mac.text, entry.also))
            stream.write(f",{' '.join(offer.words(entry.offers))},{also}")
        stream.write("\n")


def read(text: str, name: str, form: Format) -> Iterator[Entry]:
    """Yield the entries of a text in order; after the last, raise BadFile for all mistakes."""
    rows = _json_rows(text) if form == "json" else _csv_rows(text)
    seen: dict[int, int] = {}
    mistakes: list[str] = []
    while len(mistakes) < _MISTAKES:
        # After a mistake in a row, the other rows are checked as well.
        row = next(rows, None)
        if row is None:
            break
        line, make = row
        try:
            entry = make()
            if entry.mac in seen:
                raise BadFile(f"{mac.text(entry.mac)} is in line {seen[entry.mac]} already")
            seen[entry.mac] = line
        except ValueError as error:
            mistakes.append(f"{name}:{line}: {error}")
        else:
            if not mistakes:
                yield entry
    if mistakes:
        raise BadFile("\n".join(mistakes))


# The line of a row, and a function that returns its entry or raises ValueError.
_Row = tuple[int, Callable[[], Entry]]


def _wrong(text: str) -> Callable[[], Entry]:
    def make() -> Entry:
        raise BadFile(text)

    return make


def _make(
    spelled: str,
    lnids: Sequence[str],
    addresses: Sequence[str],
    offers: Sequence[str] = (),
    also: Sequence[str] = (),
) -> Entry:
    number = mac.parse(spelled)
    numbers = [lnid.parse(each) for each in lnids]
    if not (addresses or offers or also):
        return Entry.of(number, numbers)
    families = claim.split(map(claim.parse, addresses))
    return Entry.of(number, numbers, *families, offer.parse(offers), [*map(mac.parse, also)])


def _csv_rows(text: str) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    order = {name: at for at, name in enumerate(_UNNAMED)}
    first = True
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield reader.line_num, _wrong(str(error))
            return
        if cells is None:
            return
        if not cells or cells[0].startswith("#"):
            continue
        if first and "mac" in (names := [each.strip().lower() for each in cells]):
            order = {name: at for at, name in enumerate(names)}
            if fault := _header_fault(names):
                yield reader.line_num, _wrong(fault)
                return
        else:
            yield reader.line_num, partial(_csv_entry, cells, order)
        first = False


def _header_fault(names: Sequence[str]) -> str:
    strangers = [name for name in names if name not in COLUMNS]
    missing = [name for name in _REQUIRED if name not in names]
    if strangers:
        return f"there is no column '{strangers[0]}': the columns are {', '.join(COLUMNS)}"
    if missing:
        return f"the column '{missing[0]}' is missing: the columns are {', '.join(COLUMNS)}"
    return ""


def _csv_entry(cells: Sequence[str], order: dict[str, int]) -> Entry:
    if not len(_REQUIRED) <= len(cells) <= len(order):
        raise BadFile(
            f"there are {len(cells)} columns, not {len(order)}: {','.join(order)};"
            " LNIDs are separated by blanks"
        )
    lists = []
    for name in COLUMNS[1:]:
        at = order.get(name, len(cells))
        lists.append(cells[at].split() if at < len(cells) else [])
    return _make(cells[order["mac"]].strip(), *lists)


def _json_rows(text: str) -> Iterator[_Row]:
    """Decode one element after the other, so that a long list is in memory only once."""
    decoder = json.JSONDecoder()
    line, counted = 1, 0

    def at_line(position: int) -> int:
        nonlocal line, counted
        line, counted = line + text.count("\n", counted, position), position
        return line

    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        yield at_line(at), _wrong('it is not a list like [{"mac": "52:54:…", "lnids": [1]}]')
        return
    at = _skip(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield at_line(error.pos), _wrong(f"it is not JSON: {error.msg}")
            return
        yield at_line(at), partial(_json_entry, value)
        at = _skip(text, end)
        closed = text[at : at + 1] == "]"
        if not closed and text[at : at + 1] != ",":
            yield at_line(at), _wrong("',' or ']' must follow an element of the list")
            return
        if not closed:
            at = _skip(text, at + 1)
    if text[at + 1 :].strip():
        yield at_line(_skip(text, at + 1)), _wrong("the file goes on after the end of the list")


_BLANKS = " \t\r\n"


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANKS:
        at += 1
    return at


def _json_entry(value: Any) -> Entry:
    if not isinstance(value, dict):
        raise BadFile(f"{json.dumps(value)} is not an object with {', '.join(COLUMNS)}")
    if fault := _header_fault(list(value)):
        raise BadFile(fault.replace("column", "member"))
    if not isinstance(value["mac"], str):
        raise BadFile(f"mac: {json.dumps(value['mac'])} is not a string")
    lists = []
    for name in COLUMNS[1:]:
        found = value.get(name, [])
        if not isinstance(found, list):
            raise BadFile(f"{name}: {json.dumps(found)} is not a list")
        lists.append([each if isinstance(each, str) else json.dumps(each) for each in found])
    return _make(value["mac"], *lists)
