# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of many hosts, in etcd: ``store.Store`` for ``--store``.

A change reads the keys of its MACs, computes the new entries, and writes them on
condition that none of the keys has changed since; otherwise it starts again.  With
several writers at the same time, no change is lost and none is made twice.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Self

from vmmnet.etcd.client import OPERATIONS_MAX, Client, Json, Range, put, unchanged
from vmmnet.etcd.errors import EtcdError, StoreError, Uncertain
from vmmnet.etcd.place import DEFAULT_PREFIX, Config
from vmmnet.values.mac import text as mac_text

from ..table.entry import Entry
from ..table.lnid import text as lnid_text
from ..table.store import Changed, Edit, Loaded, Progress, StoreMissing
from . import hosts as etcdhosts
from .keys import FORMAT, BadValue, Keys, decode, lnid_of, mac_of, write

# Transactions at the same time: etcd syncs transactions that arrive together in one go.
_WRITERS = 8
# An import of at most this many MACs reads their keys; a larger one reads all keys.
_FEW = 4096
# Operations of one transaction on keys of MACs; one more writes the key ``changed``.
_OPERATIONS_MAX = OPERATIONS_MAX - 1
# Seconds between two reads of the status of hosts that are behind.
_LOOK = 0.5
# Seconds after which a change gives up because other writers change the same MACs.
_CONTENDED = 30.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """A MAC as it was read: its entry, and the revision of its key (0: no key)."""

    entry: Entry | None
    revision: int


_NEVER = _Seen(None, 0)


@dataclass(frozen=True, slots=True)
class _Step:
    """The change of one MAC in a transaction."""

    mac: int
    seen: _Seen
    after: Entry | None
    #: Empty if there is nothing to change.
    operations: list[Json]

    @property
    def changed(self) -> Changed:
        """The result for the caller."""
        return Changed(self.mac, self.seen.entry, self.after)


class EtcdStore:
    """A ``store.Store`` in etcd."""

    def __init__(self, config: Config, *, create: bool = True) -> None:
        """``create``: edit() and load() make a table that is missing."""
        self.name = config.name
        self.client = Client(config)
        self.keys = Keys(config.prefix)
        #: Whether a change has made the table, and the prefixes of other tables then.
        self.created = False
        self.others: Sequence[str] = ()
        self._create = create
        self._is_ours = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    # Reading

    def get(self, mac: int) -> Entry | None:
        """Return the entry of a MAC."""
        seen = self._see([mac])[mac]
        if seen.entry is None:
            self.require_table()
        return seen.entry

    def entries(self, lnid: int | None = None) -> Iterator[Entry]:
        """All entries at one moment, or those with an LNID; sorted by MAC."""
        wanted = self.keys.macs if lnid is None else self.keys.lnid(lnid)
        empty = True
        for _, seen in self._all(wanted):
            empty = False
            if seen.entry is not None:
                yield seen.entry
        if empty:
            self.require_table()

    def problems(self) -> Iterator[str]:
        """Sentences about values that are not valid, and about copies that differ."""
        copies: dict[tuple[int, int], bytes] = {}
        revision = self.client.look(self.keys.format)[0]
        for _, page in self.client.pages(self.keys.members, revision):
            for kv in page:
                try:
                    copies[lnid_of(kv.key), mac_of(kv.key)] = kv.value
                except BadValue as error:
                    yield f"{error}: delete it with 'etcdctl del'"
        for _, page in self.client.pages(self.keys.macs, revision):
            for kv in page:
                try:
                    entry = decode(mac_of(kv.key), kv.value)
                except BadValue as error:
                    yield f"{error}: delete it with 'etcdctl del'"
                    continue
                for lnid in entry.lnids:
                    if copies.pop((lnid, entry.mac), None) != kv.value:
                        yield (
                            f"the copy of {mac_text(entry.mac)} for hosts of LNID"
                            f" {lnid_text(lnid)} differs from its own key:"
                            " remove it and add it again"
                        )
        for lnid, mac in copies:
            yield (
                f"there is a copy of {mac_text(mac)} for hosts of LNID {lnid_text(lnid)}, in which"
                f" it is not: delete {self.keys.member(lnid, mac).decode()} with 'etcdctl del'"
            )

    def hosts(self) -> etcdhosts.Hosts:
        """Assignments and reports of all hosts at one moment."""
        revision, (changed,) = self.client.snapshot([Range(self.keys.changed)])
        told, said = (
            [kv for _, page in self.client.pages(each, revision) for kv in page]
            for each in self.keys.hosts
        )
        hosts = etcdhosts.read(self.keys, changed[0].mod_revision if changed else 0, told, said)
        # For a MAC without an entry, no host has to be ready.
        wanted = [Range(self.keys.mac(mac)) for _, mac in hosts.unready]
        _, entries = self.client.snapshot(wanted, revision)
        there = zip(hosts.unready, entries, strict=True)
        hosts.unready = [each for each, entry in there if entry]
        return hosts

    def followers(self, patience: float, /) -> Iterator[str]:
        """Sentences about hosts that are behind the store for ``patience`` seconds, or gone."""
        hosts = self.hosts()
        yield from etcdhosts.sentences(self.keys, hosts)
        yield from etcdhosts.stuck(self._still_behind(hosts, patience), hosts.revision, patience)

    def _still_behind(self, hosts: etcdhosts.Hosts, patience: float) -> list[etcdhosts.Host]:
        """Hosts that do not reach the present revision in ``patience`` seconds."""
        pause, deadline = threading.Event(), time.monotonic() + patience
        behind = hosts.behind(hosts.revision)
        while behind and (left := deadline - time.monotonic()) > 0:
            pause.wait(min(_LOOK, left))
            names = {each.name for each in behind}
            now = self.hosts()
            behind = [each for each in now.behind(hosts.revision) if each.name in names]
        return behind

    def unheard(self, host: etcdhosts.Host) -> int | None:
        """Seconds since the last sign of life of a host's agent; None: it is gone."""
        return self.client.unheard(host.lease) if host.lease else None

    def require_table(self) -> None:
        """Raise StoreError if there is no table, or one of another format."""
        if not self._is_ours:
            found = self.client.get(self.keys.format)
            if found is None:
                others = self._others()
                hint = f"there is one at {' and '.join(others)}" if others else "is it right?"
                raise StoreMissing(
                    f"{self.name}: there is no table below the prefix {self.keys.prefix}: {hint};"
                    " the first 'add', 'set' or 'import' makes one"
                )
            self._check_format(found.value)

    def _others(self) -> list[str]:
        """Prefixes like this one, and those of the documentation, below which there are tables."""
        prefix = self.keys.prefix
        like = [DEFAULT_PREFIX.rpartition("/")[0], DEFAULT_PREFIX, prefix.rpartition("/")[0]]
        like += [prefix + DEFAULT_PREFIX[DEFAULT_PREFIX.rindex("/") :]]
        found = []
        for each in dict.fromkeys(like):
            # A user may not read other prefixes.
            with contextlib.suppress(EtcdError):
                if each not in ("", prefix) and self.client.get(Keys(each).format) is not None:
                    found.append(each)
        return found

    def _check_format(self, value: bytes) -> None:
        if value != FORMAT:
            raise StoreError(
                f"{self.name}: the table has format {value.decode(errors='replace')!r}; this"
                f" program knows {FORMAT.decode()!r}: use the version that made it"
            )
        self._is_ours = True

    def _see(self, wanted: Sequence[int]) -> dict[int, _Seen]:
        """Read some MACs at one moment."""
        _, found = self.client.snapshot([Range(self.keys.mac(mac)) for mac in wanted])
        result = {}
        for mac, keys in zip(wanted, found, strict=True):
            result[mac] = self._seen(mac, keys[0].value, keys[0].mod_revision) if keys else _NEVER
        return result

    def _all(self, wanted: Range) -> Iterator[tuple[int, _Seen]]:
        for _, page in self.client.pages(wanted):
            for kv in page:
                mac = self._mac(kv.key)
                yield mac, self._seen(mac, kv.value, kv.mod_revision)

    def _mac(self, key: bytes) -> int:
        try:
            return mac_of(key)
        except BadValue as error:
            raise StoreError(f"{self.name}: {error}: delete it with 'etcdctl del'") from error

    def _seen(self, mac: int, value: bytes, revision: int) -> _Seen:
        try:
            return _Seen(decode(mac, value), revision)
        except BadValue as error:
            raise StoreError(f"{self.name}: {error}: delete it with 'etcdctl del'") from error

    # Writing

    def edit(
        self, macs: Sequence[int], change: Edit, progress: Progress | None = None
    ) -> list[Changed]:
        """Change entries in one transaction: all of them or none.

        If that is too large for etcd, there are several transactions, in the given
        order.  The keys of one MAC are always in the same transaction.
        """
        self._make_table()
        wanted = list(dict.fromkeys(macs))
        seen = self._see(wanted)
        # Compute all new entries before the first change: an error changes nothing.
        plan = [self._step(mac, seen[mac], change(mac, seen[mac].entry)) for mac in wanted]
        result: list[Changed] = []
        for part in _parts(plan):
            result += self._carry_out(part, change)
            if progress:
                progress(len(result), len(wanted))
        return result

    def load(
        self, entries: Iterable[Entry], *, replace: bool, progress: Progress | None = None
    ) -> Loaded:
        """Set many entries (import); with ``replace``, remove all other MACs."""
        self._make_table()
        plan: dict[int, Entry | None] = {entry.mac: entry for entry in entries}
        seen = self._everything() if replace or len(plan) > _FEW else self._see(list(plan))
        if replace:
            plan.update(dict.fromkeys(seen.keys() - plan.keys()))
        counts = {"added": 0, "changed": 0, "removed": 0, "unchanged": 0}
        done = 0

        def carry_out(part: list[_Step]) -> list[Changed]:
            return self._carry_out(part, lambda mac, _: plan[mac])

        parts = _parts(self._step(mac, seen.get(mac, _NEVER), plan[mac]) for mac in plan)
        with ThreadPoolExecutor(_WRITERS) as pool:
            # Prepare only a few parts in advance: a million MACs take much memory.
            while batch := list(islice(parts, 4 * _WRITERS)):
                for changed in chain.from_iterable(pool.map(carry_out, batch)):
                    counts[_kind(changed)] += 1
                    done += 1
                if progress:
                    progress(done, len(plan))
        return Loaded(**counts)

    def _everything(self) -> dict[int, _Seen]:
        return dict(self._all(self.keys.macs))

    def _make_table(self) -> None:
        """Make the key ``format``, if it is missing, before the first change."""
        if self._is_ours:
            return
        if not self._create:
            self.require_table()
            return
        made = put(self.keys.format, FORMAT)
        if self.client.get(self.keys.format) is None:
            # Another writer may do the same at this moment.  require_table() sees
            # whether the key exists.
            with contextlib.suppress(Uncertain):
                self.created, _ = self.client.transact([unchanged(self.keys.format, 0)], [made])
                self.others = self._others()
        self.require_table()

    def _step(self, mac: int, seen: _Seen, after: Entry | None) -> _Step:
        if after == seen.entry:
            return _Step(mac, seen, after, [])
        operations = write(self.keys, mac, seen.entry, after)
        if len(operations) > _OPERATIONS_MAX:
            raise StoreError(
                f"{self.name}: {mac_text(mac)} would change from and to"
                f" {len(operations) - 1} LNIDs, and etcd can do {_OPERATIONS_MAX - 1} at once:"
                " remove it, then add it with the new ones"
            )
        return _Step(mac, seen, after, operations)

    def _carry_out(self, part: list[_Step], change: Edit) -> list[Changed]:
        """Make one transaction of some MACs; repeat it while other writers are faster."""
        deadline = time.monotonic() + _CONTENDED
        while True:
            todo = [step for step in part if step.operations]
            if not todo or self._try(todo):
                return [step.changed for step in part]
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self.name}: {mac_text(todo[0].mac)} or MACs beside it change all the time:"
                    f" not done in {_CONTENDED:g} s; what else writes there?"
                )
            now = self._see([step.mac for step in part])
            part = [self._again(step, now[step.mac], change) for step in part]

    def _again(self, step: _Step, now: _Seen, change: Edit) -> _Step:
        """Compute the new entry again if another writer has changed the MAC."""
        if now == step.seen:
            return step
        return self._step(step.mac, now, change(step.mac, now.entry))

    def _try(self, todo: list[_Step]) -> bool:
        """Make one transaction; returns False if a key has changed since it was read."""
        conditions = [unchanged(self.keys.mac(step.mac), step.seen.revision) for step in todo]
        operations = [each for step in todo for each in step.operations]
        operations.append(put(self.keys.changed, b""))
        try:
            return self.client.transact(conditions, operations)[0]
        except Uncertain as uncertain:
            # If the transaction was done, all MACs have their new entries now.
            try:
                now = self._see([step.mac for step in todo])
            except StoreError:
                raise uncertain from None
            return all(
                now[step.mac].entry == step.after and now[step.mac] != step.seen for step in todo
            )


def _parts(steps: Iterable[_Step]) -> Iterator[list[_Step]]:
    """Divide steps into transactions that are not too large for etcd."""
    part: list[_Step] = []
    operations = 0
    for step in steps:
        operations += len(step.operations)
        if part and (operations > _OPERATIONS_MAX or len(part) == _OPERATIONS_MAX):
            yield part
            part, operations = [], len(step.operations)
        part.append(step)
    if part:
        yield part


def _kind(changed: Changed) -> str:
    """The name of an import's counter for a change."""
    if changed.before == changed.after:
        return "unchanged"
    if changed.before is None:
        return "added"
    return "removed" if changed.after is None else "changed"
