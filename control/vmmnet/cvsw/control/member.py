# SPDX-License-Identifier: GPL-2.0-or-later
"""One of several controllers: what is in etcd decides whether it leads or stands by.

Theory of operation
===================

Every controller has a lease of etcd, which ends TTL seconds after its last renewal. The
controller that sets ``live/leader`` while it does not exist leads until its lease ends.

It must stop before another one can begin. etcd counts from the request to renew the lease,
or later; the leader counts from before that request, and stops MARGIN seconds before the
lease can end (``until``). Its clock must run as fast as etcd's; it need not show the same
time. Each write has the condition that ``live/leader`` is as this leader set it: writes that
are under way when it loses the lead have no effect.

Each leader has a term, higher than all before: switches do not obey older ones (OpenFlow
1.3.5 section 6.3.5). It is the time in milliseconds, or the last term plus one if that is
more, so that it does not go back when etcd is restored from a backup.

Each leader takes its own blocks of numbers for associations.

All of this blocks on etcd, without asyncio: one thread owns a Member. Others read ``until``
only.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vmmnet.etcd.client import KeyValue, Range, delete, put, unchanged
from vmmnet.etcd.errors import EtcdError

from . import records
from .nics.sealed import NUMBER_MIN
from .records import Answer, BadRecord, Leader, Names, Order, Stored, Term
from .state import Number

#: Seconds: duration of a lease, interval of its renewal, and how long before its end a
#: leader stops.
TTL, RENEW_EVERY, MARGIN = 5, 1.0, 1.0
#: Numbers of associations in a block.
BLOCK = 1 << 20
# Operations of one transaction, and octets of its values: etcd takes 128, and 1.5 MiB.
_OPERATIONS, _OCTETS = 100, 1 << 20
# Values of associations in one read: a NIC of the largest tenant has 64 KiB of them while its
# keys change, and etcd's answer has at most 4 MiB.
_PAGE = 32


class Etcd(Protocol):
    """The part of vmmnet.etcd.client.Client that is used here; all of it raises StoreError."""

    def grant(self, seconds: int) -> int:
        """Create a lease."""

    def keep_alive(self, lease: int) -> bool:
        """Renew it; False: it has ended."""

    def revoke(self, lease: int) -> None:
        """End the lease."""

    def put(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Set a key."""

    def delete(self, key: bytes) -> int:
        """Delete a key."""

    def snapshot(self, ranges: Sequence[Range]) -> tuple[int, list[list[KeyValue]]]:
        """Read ranges at one revision."""

    def pages(self, wanted: Range, *, limit: int) -> Iterator[tuple[int, list[KeyValue]]]:
        """Read a long range, this many keys at a time."""

    def transact(self, conditions: Sequence[Any], operations: Sequence[Any]) -> tuple[bool, int]:
        """Do all operations if all conditions hold."""


class NotLeading(EtcdError):
    """A write that only the leader may do."""


@dataclass(frozen=True)
class Look:
    """The state by etcd."""

    leader: Leader | None
    #: Whether this controller is the leader.
    leads: bool
    members: tuple[records.Member, ...]
    #: The file of tenants if it has changed since the last look.
    plan: Stored | None
    has_plan: bool
    #: Orders to carry out, by name; for the leader.
    orders: dict[str, Order]
    #: Answers to our own orders.
    answers: dict[str, Answer]
    #: Values that no controller has written.
    damaged: tuple[str, ...]


class Member:
    """One controller's part.

    ``wall`` is the time since 1970, and ``clock`` any that never stops; in seconds.
    """

    def __init__(
        self, etcd: Etcd, prefix: str, name: str, clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:  # fmt: skip
        self._etcd, self._names, self.name = etcd, Names(prefix), name
        self._clock, self._wall = clock, wall
        self.lease = 0
        #: End of our lead, by the clock, unless it is renewed.
        self.until = -math.inf
        self._renewed = 0.0
        self._told: records.Member | None = None
        #: Last seen revisions of keys; 0: no such key.
        self._leader_at = self._term_at = self._plan_seen = 0
        #: The revision of the plan that was reported last.
        self._plan_at = 0
        self._term = Term(0, NUMBER_MIN + secrets.randbelow(1 << 31))
        #: The last term before this controller's own: the campaign that was won has compared it.
        self.term_before = 0
        self._orders = 0
        self._saved: dict[bytes, bytes] = {}

    # --- leading -------------------------------------------------------------------------

    def step(self, fault: str | None, *, may_lead: bool) -> Look:
        """Renew the lease, read the state, and try to lead if no one does and we can.

        ``fault`` is the reason, for others, why we cannot lead. Raises StoreError.
        """
        self._renew()
        self._tell(fault)
        look = self._look()
        if look.leader is None and may_lead:
            self._campaign()
            damaged, look = look.damaged, self._look()
            look = replace(look, damaged=tuple(dict.fromkeys(damaged + look.damaged)))
        self._plan_at = self._plan_seen  # it is told now
        return look

    def resign(self) -> None:
        """End the lease, so that others need not wait. Raises StoreError."""
        lease, self.lease = self.lease, 0
        self._lose()
        if lease:
            self._etcd.revoke(lease)

    def _lose(self) -> None:
        self.until, self._leader_at = -math.inf, 0

    def _renew(self) -> None:
        now = self._clock()
        if self.lease and now < self._renewed + RENEW_EVERY:
            return
        if self.lease and self._etcd.keep_alive(self.lease):
            self._renewed = now
            if self._leader_at:
                self.until = now + TTL - MARGIN
            return
        self._lose()
        self.lease, self._told = 0, None
        self.lease, self._renewed = self._etcd.grant(TTL), now

    def _tell(self, fault: str | None) -> None:
        about = records.Member(self.name, fault)
        if about != self._told:
            self._etcd.put(self._names.member(self.lease), about.octets(), self.lease)
            self._told = about

    def _campaign(self) -> None:
        """Try to lead if no one does; the next look shows the result."""
        term = max(self._term.term + 1, int(self._wall() * 1000))
        leader = Leader(self.name, self.lease, term)
        self.term_before = self._term.term
        self._etcd.transact(
            [unchanged(self._names.leader, 0), unchanged(self._names.term, self._term_at)],
            [
                put(self._names.leader, leader.octets(), self.lease),
                put(self._names.term, Term(term, self._term.numbers).octets()),
            ],
        )

    # --- looking -------------------------------------------------------------------------

    def _look(self) -> Look:
        names, damaged = self._names, list[str]()
        ranges = [Range(names.leader), Range(names.term), Range.prefix(names.members),
                  Range.prefix(names.answers(self.lease)), Range.prefix(names.orders),
                  Range(names.plan, since=self._plan_at + 1)]  # fmt: skip
        revision, found = self._etcd.snapshot(ranges)
        leaders, terms, members, answers, orders, plans = found
        if revision < self._plan_at:
            self._plan_at = self._plan_seen = 0  # etcd was restored: at the next look

        def read(found: list[KeyValue], of: Callable[[bytes], Any]) -> dict[str, Any]:
            result = {}
            for each in found:
                try:
                    result[each.key.rpartition(b"/")[2].decode()] = of(each.value)
                except BadRecord as error:
                    damaged.append(f"{each.key.decode(errors='replace')}: {error}")
            return result

        leader = next(iter(read(leaders, Leader.of).values()), None)
        self._take_leader(leader, leaders)
        self._term = next(iter(read(terms, Term.of).values()), self._term)
        self._term_at = terms[0].mod_revision if terms else 0
        self._plan_seen = plans[0].mod_revision if plans else self._plan_at
        return Look(
            leader,
            bool(self._leader_at),
            tuple(read(members, records.Member.of).values()),
            next(iter(read(plans, Stored.of).values()), None),
            bool(self._plan_seen),
            read(orders, Order.of) if self._leader_at else {},
            read(answers, Answer.of),
            tuple(damaged),
        )

    def _take_leader(self, leader: Leader | None, found: list[KeyValue]) -> None:
        if leader is None or leader.lease != self.lease:
            self._lose()
        else:
            self._leader_at = found[0].mod_revision
            self.until = self._renewed + TTL - MARGIN

    # --- what the leader writes ----------------------------------------------------------

    def _write(self, operations: Sequence[Any], *conditions: Any) -> int:
        """Write as the leader; returns the revision. Raises NotLeading, StoreError."""
        ours = unchanged(self._names.leader, self._leader_at)
        if not self._leader_at:
            raise NotLeading("this controller does not lead any more")
        is_done, revision = self._etcd.transact([ours, *conditions], operations)
        if not is_done:
            self._lose()
            raise NotLeading("this controller does not lead any more")
        return revision

    def put_plan(self, plan: Stored) -> None:
        """Store a file for all controllers."""
        self._plan_at = self._plan_seen = self._write([put(self._names.plan, plan.octets())])

    def reserve(self) -> int:
        """Take a block of numbers; returns the number before its first."""
        first = self._term.numbers
        after = replace(self._term, numbers=(first + BLOCK) & 0xFFFFFFFF)
        operations = [put(self._names.term, after.octets())]
        self._term_at = self._write(operations, unchanged(self._names.term, self._term_at))
        self._term = after
        return first

    def is_short(self, last: int) -> bool:
        """Whether few numbers are left after the last one used."""
        return (self._term.numbers - last) & 0xFFFFFFFF < BLOCK // 2

    def associations(self) -> list[Number]:
        """Associations that NICs may have from earlier leaders. Damaged values are left out."""
        found: list[Number] = []
        self._saved = {}
        for _, page in self._etcd.pages(Range.prefix(self._names.associations), limit=_PAGE):
            for each in page:
                spelled = each.key.rpartition(b"/")[2].decode(errors="replace")
                try:
                    sender = bytes.fromhex(spelled.replace(":", ""))
                    found += records.numbers_of(sender, each.value)
                except ValueError:  # a BadRecord is one
                    continue
                self._saved[sender] = each.value
        return found

    def save(self, wanted: Mapping[bytes, bytes]) -> None:
        """Store exactly these values of associations (records.numbers_by_sender)."""
        changed: dict[bytes, bytes | None] = {
            sender: value for sender, value in wanted.items() if self._saved.get(sender) != value
        }
        changed |= dict.fromkeys(self._saved.keys() - wanted.keys())
        for part in _parts(changed):
            self._write([self._operation(sender, value) for sender, value in part])
            for sender, value in part:
                if value is None:
                    del self._saved[sender]
                else:
                    self._saved[sender] = value

    def _operation(self, sender: bytes, value: bytes | None) -> Any:
        key = self._names.association(sender)
        return delete(key) if value is None else put(key, value)

    def answer(self, name: str, order: Order, answer: Answer, plan: Stored | None = None) -> None:
        """Answer an order; its plan is for all controllers from then on."""
        operations = [delete(self._names.order(name))]
        operations += [put(self._names.answer(name), answer.octets(), order.lease)]
        operations += [put(self._names.plan, plan.octets())] if plan else []
        revision = self._write(operations)
        if plan:
            self._plan_at = self._plan_seen = revision

    # --- what the others write -----------------------------------------------------------

    def order(self, plan: Stored | None) -> str:
        """Order the leader to apply a file, or without one to replace keys; returns its name."""
        if not self.lease:
            raise EtcdError("etcd has not answered yet")
        self._orders += 1
        name = f"{self.lease:x}-{self._orders}"
        order = Order.apply(self.lease, plan) if plan else Order(self.lease, None)
        self._etcd.put(self._names.order(name), order.octets(), self.lease)
        return name

    def forget(self, name: str) -> None:
        """An order was answered, or its client has gone."""
        self._etcd.delete(self._names.order(name))
        self._etcd.delete(self._names.answer(name))


def _parts(
    changed: Mapping[bytes, bytes | None],
) -> Iterator[list[tuple[bytes, bytes | None]]]:
    """Split into parts that etcd accepts."""
    part, octets = list[tuple[bytes, bytes | None]](), 0
    for sender, value in changed.items():
        octets += len(value or b"")
        if part and (len(part) == _OPERATIONS or octets > _OCTETS):
            yield part
            part, octets = [], len(value or b"")
        part.append((sender, value))
    if part:
        yield part
