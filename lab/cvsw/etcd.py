# SPDX-License-Identifier: GPL-2.0-or-later
"""An etcd in Python, with leases, for controllers that share the work; tests set its clock."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vmmnet.cvsw.control.member import TTL, Member
from vmmnet.etcd.client import NOT_FOUND, OPERATIONS_MAX, KeyValue, Range
from vmmnet.etcd.errors import EtcdError, Uncertain, Unreachable

PREFIX = "/t"
#: Octets of etcd's largest request and answer.
REQUEST_MAX, ANSWER_MAX = 3 << 19, 4 << 20


@dataclass
class Value:
    """Of a key."""

    octets: bytes
    revision: int
    lease: int


@dataclass
class World:
    """An etcd, and one clock for all."""

    now: float = 1000.0
    revision: int = 1
    keys: dict[bytes, Value] = field(default_factory=dict)
    #: When leases end.
    leases: dict[int, float] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    #: Called before a request and before its answer arrives; may raise, or let time pass.
    on_the_way: Callable[[bool], None] = lambda _: None
    count: int = 0

    def join(self, name: str, wall: Callable[[], float] = lambda: 0.0) -> Member:
        """One more controller."""
        member = Member(Etcd(self), PREFIX, name, lambda: self.now, wall)
        self.members.append(member)
        return member

    def leaders(self) -> list[Member]:
        """The controllers that take themselves for the leader."""
        return [each for each in self.members if self.now < each.until]

    def check(self) -> None:
        """Check that there is at most one leader."""
        assert len(self.leaders()) <= 1, [each.name for each in self.leaders()]

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.check()
        self.now += seconds
        for lease, end in list(self.leases.items()):
            if end <= self.now:
                self.end(lease)
        self.check()

    def end(self, lease: int) -> None:
        """End a lease."""
        self.leases.pop(lease, None)
        for key in [key for key, value in self.keys.items() if value.lease == lease]:
            del self.keys[key]


class Etcd:
    """A client of the etcd."""

    def __init__(self, world: World) -> None:
        self._world = world

    def close(self) -> None:
        """Do nothing, as there is no connection."""

    def _do(self, work: Callable[[], Any], *, is_write: bool = False) -> Any:
        self._world.on_the_way(True)
        result = work()
        try:
            self._world.on_the_way(False)
        except Unreachable as error:
            raise Uncertain(str(error)) if is_write else error from None
        return result

    def grant(self, seconds: int) -> int:
        """Make a lease."""

        def work() -> int:
            self._world.count += 1
            self._world.leases[self._world.count] = self._world.now + seconds
            return self._world.count

        return int(self._do(work))

    def keep_alive(self, lease: int) -> bool:
        """Renew it."""

        def work() -> bool:
            if lease not in self._world.leases:
                return False
            self._world.leases[lease] = self._world.now + TTL
            return True

        return bool(self._do(work))

    def revoke(self, lease: int) -> None:
        """End one."""
        self._do(lambda: self._world.end(lease))

    def put(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Set a key."""
        return int(self._do(lambda: self._put(key, value, lease)))

    def _put(self, key: bytes, value: bytes, lease: int) -> int:
        if lease and lease not in self._world.leases:
            raise EtcdError("requested lease not found", NOT_FOUND)
        self._world.revision += 1
        self._world.keys[key] = Value(value, self._world.revision, lease)
        return self._world.revision

    def delete(self, key: bytes) -> int:
        """Delete one."""
        return int(self._do(lambda: 0 if self._world.keys.pop(key, None) is None else 1))

    def snapshot(self, ranges: Sequence[Range]) -> tuple[int, list[list[KeyValue]]]:
        """Read ranges."""
        found: list[list[KeyValue]] = self._do(lambda: [self._range(each) for each in ranges])
        return self._world.revision, found

    def pages(self, wanted: Range, *, limit: int) -> Iterator[tuple[int, list[KeyValue]]]:
        """Read one range, this many keys at a time, within etcd's limit."""
        found: list[KeyValue] = self._do(lambda: self._range(wanted))
        for at in range(0, len(found) or 1, limit):
            page = found[at : at + limit]
            assert sum(len(each.key + each.value) for each in page) < ANSWER_MAX
            yield self._world.revision, page

    def _range(self, wanted: Range) -> list[KeyValue]:
        return [
            KeyValue(key, value.octets, value.revision)
            for key, value in sorted(self._world.keys.items())
            if (wanted.key <= key < wanted.end if wanted.end else key == wanted.key)
            and value.revision >= wanted.since
        ]

    def transact(self, conditions: Sequence[Any], operations: Sequence[Any]) -> tuple[bool, int]:
        """Do all or nothing."""

        octets = sum(len(base64.b64decode(each["request_put"]["value"])) for each in operations
                     if "request_put" in each)  # fmt: skip
        assert octets < REQUEST_MAX
        assert len(operations) <= OPERATIONS_MAX

        def work() -> tuple[bool, int]:
            for each in conditions:
                value = self._world.keys.get(base64.b64decode(each["key"]))
                if int(each["mod_revision"]) != (value.revision if value else 0):
                    return False, self._world.revision
            leases = {int(each["request_put"].get("lease", 0)) for each in operations
                      if "request_put" in each} - {0}  # fmt: skip
            if leases - self._world.leases.keys():
                raise EtcdError("requested lease not found", NOT_FOUND)
            for each in operations:
                ((kind, what),) = each.items()
                key = base64.b64decode(what["key"])
                if kind == "request_put":
                    lease = int(what.get("lease", 0))
                    self._put(key, base64.b64decode(what["value"]), lease)
                else:
                    self._world.keys.pop(key, None)
            return True, self._world.revision

        result: tuple[bool, int] = self._do(work, is_write=True)
        return result
