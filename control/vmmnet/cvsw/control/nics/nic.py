# SPDX-License-Identifier: GPL-2.0-or-later
"""One NIC: programs its table as wanted, and keeps it so.

It has no network and no clock: frames go in and come out, time is passed in. In each session
the NIC's table is read first; then the difference is sent, in as few frames as possible.
The wanted table may change at any time: the difference is computed again after the answers
to the last one. The table is read again at intervals, and foreign changes are corrected.
"""

from __future__ import annotations

import enum
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...wire.message import (
    Ack,
    Message,
    Offload,
    Registration,
    Type,
    build,
    delete_sa,
    list_entries,
    set_mtu,
    type_of,
)
from ...wire.session import Answer, Command, Session
from ..table.difference import Batch, batches, difference
from ..table.entry import Entry, count_flows
from ..table.flow import Flow
from . import audit, errors
from .events import Events
from .listing import Listing
from .offloads import Offloads
from .sealed import Association

#: Source MAC address of control frames; no station has it.
SOURCE = bytes.fromhex("025653570001")
#: Seconds without an answer until a NIC is asked, and until it counts as lost.
PROBE_EVERY, LOST_AFTER = 30.0, 10.0
# A table has at most 65,536 entries: this asks for their number only.
_BEHIND_ALL = 0xFFFFFFFF

#: The path to a NIC: any object by which the caller sends frames.
Way = Any


class Phase(enum.Enum):
    """The state of the NIC."""

    AWAY = "away"  # no session yet
    READING = "reading"
    PROGRAMMING = "programming"
    READY = "ready"
    LOST = "lost"  # no answer any more


@dataclass(frozen=True)
class Trouble:
    """Something that a NIC refused, and its error."""

    about: str
    error: str
    flow: Entry | None = None


@dataclass(frozen=True)
class Watcher:
    """Callbacks about a NIC."""

    send: Callable[[bytes, Way], None]
    began: Callable[[Nic], None]  # a new session: read() must be called
    read: Callable[[Nic], None]  # the table is known
    ready: Callable[[Nic], None]  # it has all that is wanted
    forgot: Callable[[Nic, int], None]  # it has no association of this number any more
    lost: Callable[[Nic], None] = lambda _: None  # it does not answer
    mended: Callable[[Nic, int], None] = lambda *_: None  # others have changed so many entries
    #: Numbers of events, which grow over all NICs and over successive controllers.
    serials: Iterator[int] = field(default_factory=lambda: itertools.count(time.time_ns() // 1000))


class Nic:
    """One NIC of the plan."""

    def __init__(self, mac: bytes, key: bytes, watcher: Watcher) -> None:
        self.mac = mac
        self._watcher = watcher
        self.session = Session(mac, key, SOURCE, self._send, self._registered, self._told)
        self.way: Way | None = None
        self._reply: Way | None = None
        self._now = 0.0
        #: The NIC's table; None: not read yet.
        self.table: dict[bytes, Entry] | None = None
        self.wanted: dict[bytes, Entry] = {}
        self.mtu: int | None = None
        self._mtu_wanted: int | None = None
        self._offloads_wanted: Offload | None = None
        self.offloads = Offloads(
            partial(self._order, Type.SET_OFFLOAD), partial(self._note, "offloads", "offloads")
        )
        self.registration: Registration | None = None
        self.troubles: dict[object, Trouble] = {}
        self._under_way = 0  # frames of a difference without an answer
        self._is_stale = False  # what is wanted has changed meanwhile
        self._is_lost = False
        self._turn = 0  # a table that was read before a difference is out of date
        self._audit_at = 0.0
        self._heard_at = self._hello_at = 0.0
        #: Numbers of associations that the NIC may have, and when to delete them.
        self.numbers: dict[int, None] = {}
        self._retired: dict[int, float] = {}
        #: When the first of these is due, or earlier.
        self._retired_at = math.inf
        self.counters = {
            **dict.fromkeys(("sessions", "flows_set", "flows_deleted", "flows_mended"), 0),
            "refused": 0,
        }
        self.events = Events()

    # --- the wanted state ------------------------------------------------------------------

    def want(
        self,
        entries: dict[bytes, Entry],
        mtu: int | None,
        now: float,
        offloads: Offload | None = None,
    ) -> None:
        """Set the wanted flows and groups, MTU (None: any) and offloads (None: all)."""
        self._now = now
        if entries != self.wanted:
            for key in [key for key in self.troubles if isinstance(key, bytes)]:
                del self.troubles[key]
        self.wanted, self._mtu_wanted, self._offloads_wanted = entries, mtu, offloads
        self._program()

    def set_association(
        self, association: Association, done: Callable[[bool], None], now: float
    ) -> None:
        """Send an association to the NIC; ``done`` gets the result."""
        self._now = now
        number = association.number
        self.numbers[number] = None
        self._retired.pop(number, None)

        def answered(answer: Answer) -> None:
            self._note(number, f"association {number}", answer)
            done(isinstance(answer, Ack))

        payload = association.sealed_for(self.mac, self.session.secrets)
        self._order(Type.SET_SA, payload, answered)

    def retire(self, number: int, at: float) -> None:
        """Have it delete an association at this time, if it had it."""
        if number in self.numbers:
            self.troubles.pop(number, None)
            self._retired_at = min(self._retired_at, self._retired.setdefault(number, at))

    # --- frames and time -----------------------------------------------------------------

    def input(self, frame: bytes, way: Way, now: float) -> None:
        """A control frame of the NIC has arrived by this path."""
        self._now, self._reply = now, way
        if self.session.input(frame, now):
            self.way, self._heard_at = way, now
            self._is_lost = False

    def greeting(self) -> bytes:
        """The HELLO that makes it register."""
        return build(Message(Type.HELLO), SOURCE, self.mac, None)

    def tick(self, now: float) -> float | None:
        """Do what is due; returns when to call again."""
        self._now = now
        due = [self.session.tick(now), self._delete_retired(), self._look(), self._audit()]
        return min((at for at in due if at is not None), default=None)

    @property
    def phase(self) -> Phase:
        """The state of the NIC."""
        if self._is_lost:
            return Phase.LOST
        if not self.session.is_open:
            return Phase.AWAY
        if self.table is None:
            return Phase.READING
        return Phase.PROGRAMMING if self.is_busy else Phase.READY

    @property
    def is_busy(self) -> bool:
        """Whether its table may differ from the wanted one."""
        return self.table is None or bool(self._under_way) or self._is_stale

    def _send(self, frame: bytes) -> None:
        way = self._reply if type_of(frame) == Type.ACCEPT else self.way
        self._watcher.send(frame, way)

    def _order(self, kind: Type, payload: bytes, done: Callable[[Answer], None]) -> None:
        self.session.command(Command(kind, payload, done), self._now)

    def _look(self) -> float | None:
        """Ask whether the NIC still answers."""
        if not self.session.is_open:
            return None
        if not self._is_lost:
            since = self.session.silent_since()
            if since is None:
                if self._now < self._heard_at + PROBE_EVERY:
                    return self._heard_at + PROBE_EVERY
                since = self._heard_at = self._now
                self._order(Type.LIST_ENTRIES, list_entries(_BEHIND_ALL), self._probed)
            if self._now < since + LOST_AFTER:
                return since + LOST_AFTER
            self.lose(self._now)
        if self._now >= self._hello_at:
            # Another controller may have a session with it.
            self._hello_at = self._now + PROBE_EVERY
            self._send(self.greeting())
        return self._hello_at

    def lose(self, now: float) -> None:
        """It does not answer, or its port has gone: look for it, beginning at once."""
        if not self._is_lost:
            self._is_lost, self._hello_at = True, now
            self._watcher.lost(self)

    def ask(self, now: float) -> None:
        """Ask it at the next tick whether it still answers: nothing could be heard until now."""
        self._heard_at = -math.inf
        self.session.try_again(now)

    def _probed(self, answer: Answer) -> None:
        has = count_flows((self.table or {}).values())
        if isinstance(answer, Ack) and not self.is_busy and answer.total != has:
            self.look_again()

    def _audit(self) -> float | None:
        """Read the table again, when that is due."""
        if not self.session.is_open or self._is_lost or self.is_busy:
            return None
        if self._now >= self._audit_at:
            self.look_again()
        return self._audit_at

    def look_again(self) -> None:
        """Read the table and the offloads again, and correct what others have changed."""
        self._audit_at = self._now + audit.interval(self.mac)
        self.offloads.ask_again()
        turn = self._turn
        self._list(lambda table: self._looked(turn, table))

    def _looked(self, turn: int, table: dict[bytes, Entry]) -> None:
        """Correct foreign changes; our own changes meanwhile are none."""
        before = self.table
        if turn != self._turn or before is None:
            return
        wrong = sum(before.get(key) != table.get(key) for key in before.keys() | table.keys())
        if wrong:
            self.counters["flows_mended"] += wrong
            self._watcher.mended(self, wrong)
            self.table = table
            self._program()

    # --- a session -----------------------------------------------------------------------

    def _registered(self, about: Registration) -> None:
        """A new session has begun: drop all that is under way."""
        self.session.forget()
        self.way, self._heard_at = self._reply, self._now
        self._is_lost = False
        self.registration = about
        self.mtu = about.mtu or None
        self.session.strangers = 0
        self.troubles.clear()
        self.counters["sessions"] += 1
        self.table = None
        self._under_way = 0
        self._is_stale = False
        self._turn += 1
        self._audit_at = self._now + audit.interval(self.mac)
        self.offloads.begin()
        self._watcher.began(self)

    def _told(self, message: bytes) -> None:
        self.events.take(message, next(self._watcher.serials), self._now)

    def read(self, now: float) -> None:
        """Read the table, then program it."""
        self._now = now
        self.table = None
        self._list(self._has_read)

    def _has_read(self, table: dict[bytes, Entry]) -> None:
        self.table = table
        for each in table.values():
            self.numbers.update(dict.fromkeys(each.numbers))
        self._watcher.read(self)
        self._program()

    def _list(self, done: Callable[[dict[bytes, Entry]], None]) -> None:
        def listed(table: dict[bytes, Entry]) -> None:
            self.troubles.pop("list", None)
            done(table)

        def failed(error: str) -> None:
            self.counters["refused"] += 1
            self.troubles["list"] = Trouble("reading its table", error)

        groups = bool(self.registration and self.registration.groups_max)
        Listing(self._order, groups, listed, failed).ask()

    # --- the difference ------------------------------------------------------------------

    def changes(self) -> tuple[list[Entry], list[Entry]]:
        """Entries to delete and to set, in this order."""
        refused = {
            key: trouble.flow for key, trouble in self.troubles.items() if isinstance(key, bytes)
        }
        return difference(self.table or {}, self.wanted, refused)

    def _program(self) -> None:
        if self.table is None:
            return
        if self._under_way:
            self._is_stale = True
            return
        self._is_stale = False
        self._set_mtu()
        self.offloads.want(self._offloads_wanted)
        for batch in batches(*self.changes()):
            self._give(batch)
        if not self._under_way:
            self._watcher.ready(self)

    def _give(self, batch: Batch) -> None:
        self._under_way += 1
        self._turn += 1
        self._order(batch.type, batch.payload(), lambda answer: self._given(batch, answer))

    def _given(self, batch: Batch, answer: Answer) -> None:
        self._under_way -= 1
        done = len(batch.entries) if isinstance(answer, Ack) else answer.done
        self._took(batch, batch.entries[:done])
        if not isinstance(answer, Ack):
            self._refused(batch, answer.done, errors.name(answer), bool(answer.openflow))
        if not self._under_way:
            if self._is_stale:
                self._program()
            else:
                self._watcher.ready(self)

    def _took(self, batch: Batch, entries: list[Entry]) -> None:
        assert self.table is not None
        if batch.type == Type.DELETE_ENTRY:
            for each in entries:
                self.table.pop(each.key, None)
            self.counters["flows_deleted"] += count_flows(entries)
        else:
            self.table.update((each.key, each) for each in entries)
            self.counters["flows_set"] += count_flows(entries)

    def _refused(self, batch: Batch, at: int, error: str, is_of_one: bool) -> None:
        """One entry was refused and those after it were not handled; or all were refused."""
        wrong = batch.entries[at : at + 1] if is_of_one else batch.entries[at:]
        for each in wrong:
            about = "flow" if isinstance(each, Flow) else "group"
            self.troubles[each.key] = Trouble(about, error, each)
            # The entry in its place must be deleted.
            self._is_stale |= batch.type == Type.SET_ENTRY and each.key in (self.table or {})
        self.counters["refused"] += len(wrong)
        rest = batch.entries[at + len(wrong) :]
        if rest:
            self._give(Batch(batch.type, rest))

    def _set_mtu(self) -> None:
        mtu = self._mtu_wanted
        if mtu is None or mtu == self.mtu:
            return
        self.mtu = mtu
        self._order(
            Type.SET_MTU, set_mtu(mtu), lambda answer: self._note("mtu", f"MTU {mtu}", answer)
        )

    # --- associations --------------------------------------------------------------------

    def _delete_retired(self) -> float | None:
        if not self.session.is_open or self._is_lost:
            return None
        if self._retired_at <= self._now:
            due = [number for number, at in self._retired.items() if at <= self._now]
            for number in due:
                del self._retired[number]
                self._order(Type.DELETE_SA, delete_sa(number), self._forgotten(number))
            self._retired_at = min(self._retired.values(), default=math.inf)
        return self._retired_at if self._retired else None

    def _forgotten(self, number: int) -> Callable[[Answer], None]:
        def answered(answer: Answer) -> None:
            self.numbers.pop(number, None)
            self._watcher.forgot(self, number)

        return answered

    def _note(self, key: object, about: str, answer: Answer) -> None:
        """Remember a refusal, or clear it."""
        if isinstance(answer, Ack):
            self.troubles.pop(key, None)
        else:
            self.counters["refused"] += 1
            self.troubles[key] = Trouble(about, errors.name(answer))
