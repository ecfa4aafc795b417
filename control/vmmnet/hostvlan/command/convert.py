# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet hostvlan convert``: convert a table from version 1 of the format.

Version 1 has no checksums in keys, values and records: a key is the MAC address, a
value has only kind and number, and a record has its head, with 0 in the highest octet,
its LNIDs and its addresses.  The rest is the same.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator

from vmmnet.command.parser import Parser, subcommand
from vmmnet.command.status import Refused
from vmmnet.values import mac

from ..table import layout, verify
from ..table.entry import Entry
from ..table.filestore import FileStore
from ..table.table import Table, TableDamaged, TableOutdated
from . import edit, options, wording

_BRIEF = "convert a table of an older version"
_TEXT = f"""\
Convert a table from version 1 of the format to version {layout.VERSION}, with all of its content,
in one change. QEMUs that know only version 1 keep using the table that they have
read, until they are started again; those of this version use the new one at once.
For interfaces with eBPF, 'detach' and 'attach' them again.
"""
_OLD = 1


def add_command(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Add it to the command line."""
    parser = subcommand(subparsers, "convert", run, _BRIEF, _TEXT)
    options.add_table(parser)


def run(given: argparse.Namespace) -> int:
    """``convert``."""
    path = options.table_path(given)
    try:
        with Table.open(path, verify=False) as found:
            raise Refused(f"{path}: it is of version {found.version} already")
    except TableOutdated:
        pass
    with Table.change(path, create=False, replace=True, waiting=options.say_waiting) as change:
        with _OldTable.open(path, verify=False) as old:
            change.replace(old.entries())
            change.generation = old.generation
    result = {"table": str(path), "from": _OLD, "to": layout.VERSION, "macs": change.changed}
    text = (
        f"{path}: version {layout.VERSION} of the format now, with all its"
        f" {wording.macs(change.changed)}"
    )
    return edit.finish(FileStore(path), result, text, given.json)


class _OldTable(Table):
    """A table of version 1, for reading."""

    _versions = (_OLD,)

    def entries(self) -> Iterator[Entry]:
        """All entries, after a check of the keys; raises TableDamaged."""
        keys, values = self.slots()
        for slot, what in verify.misplaced(keys, self.geometry.buckets):
            raise TableDamaged(f"{self.path}: slot {slot}: {what}")
        for slot, (key, value) in enumerate(zip(keys, values, strict=True)):
            if key and value:
                try:
                    yield self._entry(key, value)
                except ValueError as error:
                    raise TableDamaged(f"{self.path}: slot {slot}: {error}") from None

    def _entry(self, key: int, value: int) -> Entry:
        kind, number = layout.kind(value), layout.number(value)
        if value != layout.part(kind, number) or kind not in (layout.INLINE, layout.RECORD):
            raise layout.Damaged(f"{mac.text(key)}: the value {value:#018x} is not valid")
        if kind == layout.INLINE:
            return Entry.of(key, [number])
        return self._record(key, number)

    def _record(self, key: int, offset: int) -> Entry:
        room = self.geometry.words - offset
        at = self.geometry.records_at + layout.WORD_SIZE * offset
        head = struct.unpack_from("<I", self.map, at)[0] if room > 0 else 0
        n_lnids, n_ip4, n_ip6 = head & 0xFF, head >> 8 & 0xFF, head >> 16 & 0xFF
        count = n_lnids + n_ip4 + 4 * n_ip6
        if not n_lnids or head >> 24 or count >= room:
            raise layout.Damaged(f"{mac.text(key)}: the record at word {offset} is damaged")
        words = list(struct.unpack_from(f"<{count}I", self.map, at + layout.WORD_SIZE))
        ip6 = struct.pack(f">{4 * n_ip6}I", *words[n_lnids + n_ip4 :])
        entry = Entry.of(
            key,
            words[:n_lnids],
            words[n_lnids : n_lnids + n_ip4],
            [int.from_bytes(ip6[at : at + 16]) for at in range(0, len(ip6), 16)],
        )
        if list(entry.lnids) != words[:n_lnids]:
            raise layout.Damaged(f"{mac.text(key)}: its LNIDs are not in ascending order")
        return entry
