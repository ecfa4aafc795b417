# SPDX-License-Identifier: GPL-2.0-or-later
"""A host's table as the commands see it: ``store.Store`` on a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from . import layout
from .entry import Entry
from .store import Changed, Edit, Loaded, Progress
from .table import Table, TableError
from .writer import Change

#: Outlives a reboot: without etcd there is no other place for what it says.
DEFAULT = Path("/var/lib/vmmnet/lnid.table")
#: The variable of the environment with another path.
VARIABLE = "VMMNET_TABLE"

# Between two calls of a Progress.
_STEP = 4096


def default_path() -> Path:
    """The path of the table where no option names one."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def sync_command(path: Path) -> str:
    """What to type so that interfaces with eBPF go by a table as it is."""
    option = "" if path == default_path() else f" --table {shlex.quote(str(path))}"
    return f"vmmnet hostvlan sync{option}"


class FileStore:
    """The table at a path; each method opens it anew."""

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
        self._create = create
        self._waiting = waiting

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def get(self, mac: int) -> Entry | None:
        """Return the entry of a MAC."""
        with Table.open(self.path, verify=False) as table:
            return table.get(mac)

    def entries(self, lnid: int | None = None) -> Iterator[Entry]:
        """All entries as they are at one moment, of one LNID if it is given; by MAC."""
        with Table.open(self.path, verify=False) as table:
            contents = table.contents()
        inline = layout.inline_value(lnid) if lnid is not None else None
        for mac in sorted(contents):
            content = contents[mac]
            # Most have one LNID: those that have another are passed over quickly.
            if lnid is not None and isinstance(content, int) and content != inline:
                continue
            entry = self._decode(mac, content)
            if lnid is None or lnid in entry.lnids:
                yield entry

    def _decode(self, mac: int, content: layout.Content) -> Entry:
        try:
            return layout.decode(mac, content)
        except layout.Damaged as error:
            raise TableError(f"{self.path}: {error}") from None

    def _change(self) -> Change:
        folder = self.path.parent
        if self._create and self.path == DEFAULT:
            try:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            except OSError as error:
                raise TableError(f"{folder}: {error.strerror}") from error
        return Table.change(self.path, create=self._create, waiting=self._waiting)

    def edit(
        self, macs: Sequence[int], change: Edit, progress: Progress | None = None
    ) -> list[Changed]:
        """Change entries, one transaction: all of them or none."""
        result = []
        with self._change() as transaction:
            self.created = transaction.base is None
            for number, mac in enumerate(macs, 1):
                before = transaction.get(mac)
                after = change(mac, before)
                result.append(Changed(mac, before, after))
                if after is not None:
                    transaction.set(after)
                elif before is not None:
                    transaction.remove(mac)
                if progress and number % _STEP == 0:
                    progress(number, len(macs))
        return result

    def load(
        self, entries: Iterable[Entry], *, replace: bool, progress: Progress | None = None
    ) -> Loaded:
        """Set many entries (import); with ``replace``, MACs that are not among them go."""
        given = 0
        with self._change() as transaction:
            self.created = transaction.base is None
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
        """MACs of the table that differ from this one in so many digits at most, nearest first."""
        with Table.open(self.path, verify=False) as table:
            keys, values = table.slots()
        ranked = []
        for key, value in zip(keys, values, strict=True):
            if value:
                differing = 12 - f"{key ^ mac:012x}".count("0")
                if differing <= digits:
                    ranked.append((differing, key))
        return [key for _, key in sorted(ranked)]

    def followers(self) -> Iterator[str]:
        """Nothing: who goes by a file is found in other ways (check)."""
        return iter(())

    def problems(self) -> Iterator[str]:
        """What is wrong inside the file itself, in sentences (check)."""
        try:
            with Table.open(self.path):
                pass
        except TableError as error:
            yield str(error)
        old = self.path.with_name(self.path.name + ".old")
        if old.exists():
            yield (
                f"{old} is left of a change that was interrupted: QEMUs may still use it;"
                " any change of the table ends that"
            )
