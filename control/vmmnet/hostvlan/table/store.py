# SPDX-License-Identifier: GPL-2.0-or-later
"""The place of a LNID table: a file of one host, or etcd for many hosts.

``Store`` is the interface for the commands (add, remove, set, list, show, import,
export, check).  ``vmmnet.hostvlan.table.filestore`` implements it for a file, and
``vmmnet.hostvlan.etcd.store`` for ``--store etcd://host:port[,host:port]/prefix``.

MACs, LNIDs and addresses are integers as in ``entry.Entry``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from vmmnet.etcd.errors import StoreError

from .entry import Entry


class StoreMissing(StoreError):
    """There is no table in the store."""


#: A function that changes one MAC.  It takes the MAC and its entry (None: there is
#: none) and returns the new entry (None: remove the MAC).  If another writer has
#: changed the MAC meanwhile, it is called again with the new entry, so it must have
#: no side effects.  An exception ends the transaction, and nothing is changed.
Edit = Callable[[int, Entry | None], Entry | None]

#: Long operations call this from time to time: how many MACs are done, and of how
#: many (0: unknown).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Changed:
    """One MAC before and after; both are equal if nothing had to be changed."""

    mac: int
    before: Entry | None
    after: Entry | None
    #: The entry before was damaged, so that ``before`` is None.
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many MACs an import added, changed, removed and left as they were."""

    added: int
    changed: int
    removed: int
    unchanged: int


class Store(Protocol):
    """A LNID table that commands read and change."""

    #: The user's name for it: the path of the file, or etcd://...
    name: str
    #: Whether a change has made it.
    created: bool
    #: Where there were tables then whose names are like this one's.
    others: Sequence[str]

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def get(self, mac: int) -> Entry | None:
        """Return the entry of a MAC."""
        ...

    def entries(self, lnid: int | None = None) -> Iterator[Entry]:
        """All entries at one moment, or those with an LNID; sorted by MAC."""
        ...

    def edit(
        self, macs: Sequence[int], change: Edit, progress: Progress | None = None
    ) -> list[Changed]:
        """Change entries in one transaction: all of them or none.

        If a transaction of etcd cannot hold all changes, a store in etcd makes several,
        in the given order.  The keys of one MAC are always in the same transaction.
        """
        ...

    def load(
        self, entries: Iterable[Entry], *, replace: bool, progress: Progress | None = None
    ) -> Loaded:
        """Set many entries (import); with ``replace``, remove all other MACs."""
        ...

    def problems(self) -> Iterator[str]:
        """Sentences about faults inside the store itself (check)."""
        ...

    def followers(self, patience: float, /) -> Iterator[str]:
        """Sentences about hosts whose tables differ from the store (check).

        A host may be behind for ``patience`` seconds before it is listed.
        """
        ...
