# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a LNID table is kept: a host's file, or etcd for many hosts.

``Store`` is what the commands (add, remove, set, list, show, import, export,
check) need of either.  ``vmmnet.hostvlan.table.table`` is a host's file,
``vmmnet.hostvlan.etcd.store`` is ``--store etcd://host:port[,host:port]/prefix``.

MACs, LNIDs and addresses are the integers of ``entry.Entry``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from vmmnet.etcd.errors import StoreError

from .entry import Entry


class StoreMissing(StoreError):
    """There is no table in the store."""


#: What a command does to one MAC: takes its entry, None if it has none, and
#: returns the new one, None to remove it.  Called again, with what is there by
#: then, when somebody else was faster: it must have no effect but its result.
#: What it raises ends the transaction, with nothing changed.
Edit = Callable[[int, Entry | None], Entry | None]

#: Told how many of how many are done (0: unknown), from time to time,
#: by what takes long.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Changed:
    """One MAC before and after; the same if nothing was to be done."""

    mac: int
    before: Entry | None
    after: Entry | None
    #: What was there before is not known: it was damaged.
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many MACs an import added, gave other content, removed and left as they were."""

    added: int
    changed: int
    removed: int
    unchanged: int


class Store(Protocol):
    """A LNID table that commands read and change."""

    #: How the user named it: the path of the file, or etcd://...
    name: str

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def get(self, mac: int) -> Entry | None:
        """Return the entry of a MAC."""
        ...

    def entries(self, lnid: int | None = None) -> Iterator[Entry]:
        """All entries as they are at one moment, of one LNID if it is given; by MAC."""
        ...

    def edit(
        self, macs: Sequence[int], change: Edit, progress: Progress | None = None
    ) -> list[Changed]:
        """Change entries, one transaction: all of them or none.

        A store of etcd changes more than a transaction of etcd can hold in
        several: each MAC whole, in the given order.
        """
        ...

    def load(
        self, entries: Iterable[Entry], *, replace: bool, progress: Progress | None = None
    ) -> Loaded:
        """Set many entries (import); with ``replace``, MACs that are not among them go."""
        ...

    def problems(self) -> Iterator[str]:
        """What is wrong inside the store itself, in sentences (check)."""
        ...

    def followers(self, patience: float, /) -> Iterator[str]:
        """Which hosts do not go by the store as it is, in sentences (check).

        What changes from moment to moment is given so many seconds.
        """
        ...
