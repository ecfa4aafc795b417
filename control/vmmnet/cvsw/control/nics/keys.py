# SPDX-License-Identifier: GPL-2.0-or-later
"""The associations of all pairs of NICs: creation, replacement, deletion.

Theory of operation
===================

An association has one direction: one NIC seals, another one opens. It is replaced in steps,
each of which waits for the answers to the one before, so that a NIC never seals with what
the other one cannot open:

    the receiver has the new one     and its flows take every association of its own
    the sender has it
    the sender's flows name it
    after a time of grace            the receiver's flows name it, the old one is deleted

A NIC that begins a session may have restarted, and would count from 1 again. So all its
associations are replaced, with new keys; the old ones, if they exist, serve meanwhile. Keys
are kept only until they are handed out.
"""

from __future__ import annotations

import enum
import secrets
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .nic import Nic
from .sealed import NUMBER_MIN, Association

#: Seconds that a packet of an old association may be under way.
GRACE = 5.0
#: Lifetime of an association, seconds.
REKEY_EVERY = 3600.0

#: Seconds of work on associations at a time, so that other events are handled, too.
SPELL = 0.02

Ends = tuple[bytes, bytes]


class Step(enum.Enum):
    """The progress of a new association."""

    NEW = enum.auto()
    RECEIVER = enum.auto()  # is given to the receiver
    FLOWS = enum.auto()  # the receiver's flows are to take it
    SENDER = enum.auto()  # is given to the sender
    USED = enum.auto()  # the sender's flows are to use it
    GRACE = enum.auto()  # the old one is still good
    DONE = enum.auto()


@dataclass(eq=False)
class Pair:
    """Two NICs, and one direction between them."""

    sender: bytes
    receiver: bytes
    cipher: str
    step: Step = Step.DONE
    #: The association of the sender's flows; None: none yet.
    outbound: int | None = None
    #: The association of the receiver's flows; 0: all of its associations.
    inbound: int = 0
    next: Association | None = field(default=None, repr=False)
    #: Numbers to delete when the new one is used.
    old: list[int] = field(default_factory=list)
    made_at: float = 0.0
    grace_until: float = 0.0


@dataclass(frozen=True)
class Timing:
    """Seconds."""

    grace: float = GRACE
    rekey_every: float = REKEY_EVERY


class Keys:
    """All pairs of a plan."""

    def __init__(
        self,
        nics: Mapping[bytes, Nic],
        touched: Callable[[bytes], None],
        ordered: Callable[[bytes], None],
        clock: Callable[[], float],
        timing: Timing,
    ) -> None:
        self._nics, self._clock, self._timing = nics, clock, timing
        #: Callbacks: a NIC's flows have changed; a NIC has got a command.
        self._touched, self._ordered = touched, ordered
        self._pairs: dict[Ends, Pair] = {}
        self._of: defaultdict[bytes, dict[Ends, Pair]] = defaultdict(dict)
        #: Pairs to be replaced, in this order.
        self._stale = OrderedDict[Pair, None]()
        self._ages: deque[tuple[float, Pair]] = deque()
        self._graces: deque[tuple[float, Pair]] = deque()
        #: NICs whose session has begun.
        self._begun: set[bytes] = set()
        self._last = NUMBER_MIN + secrets.randbelow(1 << 31)
        #: The NICs that may have an association, by its number.
        self._ends: dict[int, Ends] = {}
        #: Grows when numbers() changes.
        self.changes = 0

    @property
    def last(self) -> int:
        """The last number given to an association."""
        return self._last

    def count_from(self, number: int) -> None:
        """Use the numbers after this one from now on."""
        self._last = number & 0xFFFFFFFF

    # --- what there should be ------------------------------------------------------------------

    def set_pairs(self, wanted: Mapping[Ends, str]) -> None:
        """Set the pairs and their ciphers; drop all others."""
        for ends in [ends for ends, pair in self._pairs.items() if wanted.get(ends) != pair.cipher]:
            self._remove(self._pairs[ends])
        for ends, cipher in wanted.items():
            if ends not in self._pairs:
                pair = self._pairs[ends] = Pair(*ends, cipher)
                for mac in ends:
                    self._of[mac][ends] = pair
                self._stale[pair] = None

    def restore(self, ends: Ends, number: int, is_used: bool) -> None:
        """Add an association of an earlier run, whose key is not known."""
        for mac in ends:
            if mac in self._nics:
                self._nics[mac].numbers[number] = None
                self._ends[number] = ends
        self.changes += 1
        pair = self._pairs.get(ends)
        if pair and is_used:
            pair.outbound = number
        elif pair:
            pair.old.append(number)

    def numbers(self) -> Iterator[tuple[Ends, int, bool]]:
        """Associations that NICs may have until they delete them, for restore().

        Both ends are the same NIC if the other end is not known.
        """
        for number, ends in self._ends.items():
            pair = self._pairs.get(ends)
            yield ends, number, pair is not None and pair.outbound == number

    # --- events --------------------------------------------------------------------

    def began(self, mac: bytes) -> None:
        """A NIC's session has begun: it may have lost everything."""
        self._begun.add(mac)
        for pair in list(self._of[mac].values()):
            self._begin(pair)

    def ended(self, mac: bytes) -> None:
        """A NIC's session has ended: it gets nothing until the next one begins."""
        self._begun.discard(mac)

    def forget_strangers(self, mac: bytes) -> None:
        """Have a NIC delete associations of no pair."""
        known = {number for pair in self._of[mac].values() for number in _numbers(pair)}
        nic = self._nics[mac]
        for number in [number for number in nic.numbers if number not in known]:
            self._ends.setdefault(number, (mac, mac))
            self.changes += 1
            nic.retire(number, self._clock() + self._timing.grace)
        self._ordered(mac)

    def forgot(self, number: int) -> None:
        """A NIC has deleted an association, or has left the plan."""
        ends = [self._nics.get(mac) for mac in self._ends.get(number, ())]
        if not any(nic and number in nic.numbers for nic in ends):
            self._ends.pop(number, None)
        self.changes += 1

    def ready(self, mac: bytes) -> None:
        """A NIC's flows are now those of sas()."""
        for pair in list(self._of[mac].values()):
            if pair.step is Step.FLOWS and pair.receiver == mac:
                self._give_sender(pair)
            elif pair.step is Step.USED and pair.sender == mac:
                self._used(pair)

    def tick(self) -> float | None:
        """End grace times, and replace old associations; returns when to call again."""
        now = self._clock()
        while self._graces and self._graces[0][0] <= now:
            at, pair = self._graces.popleft()
            if pair.step is Step.GRACE and pair.grace_until == at and self._is_live(pair):
                assert pair.outbound is not None
                pair.step, pair.inbound = Step.DONE, pair.outbound
                self._touched(pair.receiver)
                if self._timing.rekey_every:
                    self._ages.append((pair.made_at + self._timing.rekey_every, pair))
        while self._ages and self._ages[0][0] <= now:
            at, pair = self._ages.popleft()
            is_old = pair.step is Step.DONE and pair.made_at + self._timing.rekey_every == at
            if is_old and self._is_live(pair):
                self._stale[pair] = None
        if self._renew():
            return now
        return min((queue[0][0] for queue in (self._graces, self._ages) if queue), default=None)

    def rekey(self) -> None:
        """Replace all, within the following calls of tick()."""
        self._stale.update(dict.fromkeys(self._pairs.values()))

    def _renew(self) -> bool:
        """Replace some; returns whether more are due."""
        until = time.perf_counter() + SPELL
        while self._stale:
            pair, _ = self._stale.popitem(last=False)
            if self._is_live(pair):
                self._begin(pair)
            if time.perf_counter() >= until:
                break
        return bool(self._stale)

    # --- queries ----------------------------------------------------------------------

    def sas(self, mac: bytes) -> dict[bytes, tuple[int, int]]:
        """Numbers, outbound and inbound, by the peers' MAC addresses (plan.flows)."""
        result = {}
        for (sender, receiver), pair in self._of[mac].items():
            back = self._pairs.get((receiver, sender))
            if sender == mac and pair.outbound is not None and back is not None:
                result[receiver] = (pair.outbound, back.inbound)
        return result

    def count(self) -> int:
        """The number of pairs."""
        return len(self._pairs)

    def waiting(self, macs: Collection[bytes]) -> int:
        """The number of pairs with one of these NICs."""
        return sum(1 for ends in self._pairs if any(mac in macs for mac in ends))

    def missing(self, mac: bytes) -> int:
        """The number of peers that a NIC cannot reach yet."""
        return sum(
            1 for pair in self._of[mac].values() if pair.sender == mac and pair.outbound is None
        )

    # --- one pair ------------------------------------------------------------------------

    def _is_live(self, pair: Pair) -> bool:
        return self._pairs.get((pair.sender, pair.receiver)) is pair

    def _are_open(self, pair: Pair) -> bool:
        ends = (pair.sender, pair.receiver)
        return all(
            mac in self._begun and mac in self._nics and self._nics[mac].session.is_open
            for mac in ends
        )

    def _begin(self, pair: Pair) -> None:
        if pair.next is not None and pair.next.number != pair.outbound:
            pair.old.append(pair.next.number)
        pair.next, pair.step = None, Step.NEW
        self._stale.pop(pair, None)
        if not self._are_open(pair):
            return
        self._last = max(NUMBER_MIN, (self._last + 1) & 0xFFFFFFFF)
        association = Association.make(self._last, pair.sender, pair.receiver, pair.cipher)
        pair.next, pair.step = association, Step.RECEIVER
        self._ends[association.number] = (pair.sender, pair.receiver)
        self.changes += 1
        is_change = pair.outbound is not None

        def given(is_given: bool) -> None:
            if pair.next is not association or not is_given:
                return
            if is_change:
                pair.step = Step.FLOWS
                pair.inbound = 0
                self._touched(pair.receiver)
            else:
                pair.inbound = association.number
                self._touched(pair.receiver)
                self._give_sender(pair)

        self._nics[pair.receiver].set_association(association, given, self._clock())
        self._ordered(pair.receiver)

    def _give_sender(self, pair: Pair) -> None:
        association = pair.next
        assert association is not None
        pair.step = Step.SENDER

        def given(is_given: bool) -> None:
            if pair.next is not association or not is_given:
                return
            if pair.outbound is not None:
                pair.old.append(pair.outbound)
            pair.outbound, pair.step = association.number, Step.USED
            pair.next = None
            self.changes += 1
            self._touched(pair.sender)

        self._nics[pair.sender].set_association(association, given, self._clock())
        self._ordered(pair.sender)

    def _used(self, pair: Pair) -> None:
        """The new one is in use; delete the old ones."""
        now = self._clock()
        pair.step, pair.made_at = Step.GRACE, now
        pair.grace_until = now + self._timing.grace
        self._graces.append((pair.grace_until, pair))
        for number in pair.old:
            self._retire(pair, number, pair.grace_until + self._timing.grace)
        pair.old.clear()

    def _retire(self, pair: Pair, number: int, at: float) -> None:
        for mac in (pair.sender, pair.receiver):
            if mac in self._nics:
                self._nics[mac].retire(number, at)
                self._ordered(mac)

    def _remove(self, pair: Pair) -> None:
        ends = (pair.sender, pair.receiver)
        del self._pairs[ends]
        for mac in ends:
            self._of[mac].pop(ends, None)
        for number in _numbers(pair):
            self._retire(pair, number, self._clock() + self._timing.grace)


def _numbers(pair: Pair) -> list[int]:
    some = [*pair.old, pair.outbound, pair.next.number if pair.next else None]
    return [number for number in some if number is not None]
