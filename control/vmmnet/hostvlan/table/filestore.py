# SPDX-License-Identifier: GPL-2.0-or-later
"""A host's table for the commands: ``store.Store`` on a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from . import kept, layout, verify, writer
from .entry import Entry
from .store import Changed, Edit, Loaded, Progress
from .table import Table, TableDamaged, TableError
from .writer import Change

#: In a folder that survives a reboot: without etcd, this file is the only copy.
DEFAULT = Path("/var/lib/vmmnet/lnid.table")
#: The environment variable that names another path.
VARIABLE = "VMMNET_TABLE"

# MACs between two calls of a Progress.
_STEP = 4096
# How many damaged slots are listed; for the others, their number.
_EACH = 10


def default_path() -> Path:
    """The path of the table if no option names one."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def table_option(path: Path) -> str:
    """The option that selects a table; empty if the table is the default one."""
    return "" if path == default_path() else f"--table {shlex.quote(str(path))}"


def sync_command(path: Path) -> str:
    """The command that copies a table to the interfaces with eBPF."""
    return f"vmmnet hostvlan sync {table_option(path)}".rstrip()


class FileStore:
    """The table at a path; each method opens the file."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        waiting: Callable[[int], None] | None = None,
    ) -> None:
        """``create``: edit() and load() make a table that is missing."""
        self.path = path
        self.name = str(path)
        #: Whether edit() or load() has made the table.
        self.created = False
        self.others: Sequence[str] = ()
        #: Gives the new entry of a MAC whose entry in the table is damaged; if None,
        #: edit() refuses to change such a MAC.
        self.anew: Callable[[int], Entry | None] | None = None
        self._create = create
        self._waiting = waiting

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, mac: int) -> Entry | None:
        """Return the entry of a MAC."""
        with Table.open(self.path, verify=False) as table:
            return table.get(mac)

    def entries(self, lnid: int | None = None) -> Iterator[Entry]:
        """All entries at one moment, or those with an LNID; sorted by MAC."""
        with Table.open(self.path, verify=False) as table:
            contents = table.contents()
        for mac in sorted(contents):
            content = contents[mac]
            # Most entries have one LNID: skip those with another one without decoding.
            if lnid is not None and isinstance(content, int) and content != lnid:
                continue
            entry = self._decode(mac, content)
            if lnid is None or lnid in entry.lnids:
                yield entry

    def _decode(self, mac: int, content: layout.Content) -> Entry:
        try:
            return layout.decode(mac, content)
        except layout.Damaged as error:
            raise TableError(f"{self.path}: {error}") from None

    def _change(self, *, replace: bool = False) -> Change:
        if agent := kept.keeper(self.path):
            raise TableError(
                f"{self.path}: this host's agent (process {agent.process}) keeps it as"
                f" {agent.store} says, and would undo a change of the file: give --store"
                f" {agent.store}, or stop the agent first"
            )
        folder = self.path.parent
        if self._create and self.path == DEFAULT:
            try:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            except OSError as error:
                raise TableError(f"{folder}: {error.strerror}") from error
        return Table.change(self.path, create=self._create, replace=replace, waiting=self._waiting)

    def edit(
        self, macs: Sequence[int], change: Edit, progress: Progress | None = None
    ) -> list[Changed]:
        """Change entries in one transaction: all of them or none."""
        result = []
        with self._change() as transaction:
            self.created = transaction.base is None and not self.path.exists()
            for number, mac in enumerate(macs, 1):
                changed = self._edit(transaction, mac, change)
                result.append(changed)
                if changed.after is not None:
                    transaction.set(changed.after)
                elif changed.before is not None or changed.damaged:
                    transaction.forget(mac)
                if progress and number % _STEP == 0:
                    progress(number, len(macs))
        return result

    def _edit(self, transaction: Change, mac: int, change: Edit) -> Changed:
        try:
            before = transaction.get(mac)
        except TableDamaged:
            if self.anew is None:
                # This error tells what to do about the damage.
                transaction.refuse_damaged()
                raise
            return Changed(mac, None, self.anew(mac), damaged=True)
        return Changed(mac, before, change(mac, before))

    def load(
        self, entries: Iterable[Entry], *, replace: bool, progress: Progress | None = None
    ) -> Loaded:
        """Set many entries (import); with ``replace``, remove all other MACs."""
        given = 0
        with self._change(replace=replace) as transaction:
            self.created = transaction.base is None and not self.path.exists()
            if replace:
                transaction.clear()
            for given, entry in enumerate(entries, 1):
                transaction.set(entry)
                if progress and given % _STEP == 0:
                    progress(given, 0)
        added, removed = transaction.added, transaction.removed
        changed = transaction.changed - added - removed
        return Loaded(added, changed, removed, unchanged=given - added - changed)

    def near(self, mac: int, digits: int) -> list[int]:
        """MACs of the table that differ in at most this many digits, nearest first."""
        with Table.open(self.path, verify=False) as table:
            keys, values = table.slots()
        # A cheap test first: most MACs differ in more bits than these digits have.
        bits, low = 4 * digits, layout.MAC
        near = [
            layout.mac_of(key)
            for key, value in zip(keys, values, strict=True)
            if key and (key & low ^ mac).bit_count() <= bits and layout.kind(value) != layout.NONE
        ]
        ranked = sorted((12 - f"{there ^ mac:012x}".count("0"), there) for there in near)
        return [there for differing, there in ranked if differing <= digits]

    def followers(self, _: float, /) -> Iterator[str]:
        """Nothing: 'check' asks the users of a file in other ways."""
        return iter(())

    def problems(self) -> Iterator[str]:
        """Sentences about faults inside the file itself (check)."""
        try:
            with Table.open(self.path, verify=False) as table:
                yield from self._wrong(table)
        except TableError as error:
            yield str(error)
        for old, _ in writer.beside(self.path, "old"):
            yield (
                f"{old} was left by a change that was interrupted: QEMUs may still use it;"
                " any change of the table repairs that"
            )

    def _wrong(self, table: Table) -> Iterator[str]:
        damages = verify.census(table).damages
        for damage in damages[:_EACH]:
            yield f"{self.path}: {damage}"
        if len(damages) > _EACH:
            yield f"{self.path}: … and {len(damages) - _EACH:,} more slots"
        if damages:
            yield (
                f"{self.path}: frames of MAC addresses with damaged entries are dropped:"
                f" {writer.way_out(damages)}"
            )
        if table.superseded and self._is_at_path(table):
            yield (
                f"{self.path}: it is marked as replaced: an old copy was put back, or the mark"
                " is damaged; any change of the table repairs that"
            )
        if writer.is_at_rest(self.path) and not table.is_counted and self._is_at_path(table):
            yield (
                f"{self.path}: the counters in the header are wrong: a writer was killed, or they"
                " are damaged; any change of the table repairs that"
            )

    def _is_at_path(self, table: Table) -> bool:
        status = self.path.stat()
        return table.identity == (status.st_dev, status.st_ino)
