# SPDX-License-Identifier: GPL-2.0-or-later
"""The core of the controller, without a network: all NICs of a plan and all switches.

Time is passed in. A NIC's place is where its signed frames come from. Its flows follow from
the plan and the keys; they are computed again when one of these changes, a few NICs at a
time.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ...plan.flows import flows, mtu, pairs
from ...plan.model import Plan
from ...wire.message import NICS_MAC, Malformed, Message, Type, build, parse, type_of
from ...wire.role import Role
from ..table import entry
from .keys import Keys, Timing
from .nic import SOURCE, Nic, Phase, Watcher

#: Keys of several peers come one after the other: seconds that NICs wait for more.
_GATHER = 0.05
#: Seconds of work on flows at a time.
_SPELL = 0.02
#: Seconds after a switch connects until NICs without a session are asked to register.
_GREETINGS = (0.0, 1.5, 5.0)
#: NICs that are read and programmed at a time; the others wait, so that none times out.
ADMITTED_MAX = 32
#: NICs in no plan that are remembered, at most.
_STRANGERS_MAX = 1024


class Switch(Protocol):
    """A virtual switch, as the core uses it."""

    datapath_id: int
    #: Frames that were not sent, messages that the switch refused.
    dropped: int
    refused: int
    #: What this controller is to it.
    role: Role

    @property
    def repairs(self) -> int:
        """How often a flow of ours was set again."""

    @property
    def version(self) -> str:
        """OpenFlow's version."""

    @property
    def peer(self) -> str:
        """Its address."""

    def put_out(self, frame: bytes, port: int | None = None) -> None:
        """Send a frame out of one port, or of all."""


@dataclass(frozen=True)
class Way:
    """The switch and port of a NIC."""

    datapath_id: int
    port: int

    def __str__(self) -> str:
        return f"switch {self.datapath_id:016x}, port {self.port}"


@dataclass
class Stranger:
    """A NIC that is in no plan."""

    frames: int
    way: Way


def is_same(one: Plan, other: Plan, mac: bytes) -> bool:
    """Whether a NIC of both plans has the same flows, MTU and offloads in both."""
    a, b = one.nic(mac), other.nic(mac)
    return (
        a is not None
        and b is not None
        and (a.tunnel, a.offloads) == (b.tunnel, b.offloads)
        and (one.underlay_mtu, one.port) == (other.underlay_mtu, other.port)
        and one.tenant(a).shape == other.tenant(b).shape
    )


class Fabric:
    """The controller's core.

    Without ``leads`` (standby) it knows the plan and the switches, and sends nothing. ``log``
    gets lines about NICs that go silent, come again and move.
    """

    def __init__(
        self,
        timing: Timing,
        *,
        leads: bool = True,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.leads = leads
        self._log = log
        self.now = 0.0
        self.plan = Plan((), 1500)
        self.switches: dict[int, Switch] = {}
        self.nics: dict[bytes, Nic] = {}
        self.strangers: OrderedDict[bytes, Stranger] = OrderedDict()
        self.malformed = 0
        self.keys = Keys(self.nics, self._touch, self._ordered, lambda: self.now, timing)
        self._leaving: dict[bytes, Nic] = {}
        self._watcher = Watcher(
            self._send, self._began, self._read, self._ready, self._forgot, self._lost,
            self._mended,
        )  # fmt: skip
        #: NICs of which the log says that they do not answer.
        self._silent: set[bytes] = set()
        self._dirty: dict[bytes, float] = {}
        self._timers: list[tuple[float, int, Nic]] = []
        self._due: dict[bytes, float] = {}
        self._count = itertools.count()
        self._greetings: list[tuple[float, int]] = []
        #: NICs being programmed, and NICs waiting for their turn.
        self._admitted: set[bytes] = set()
        self._waiting: dict[bytes, Nic] = {}

    # --- events --------------------------------------------------------------------

    def set_plan(self, plan: Plan, now: float) -> None:
        """Put another plan into force."""
        self.now, before_it, self.plan = now, self.plan, plan
        new = {nic.mac: nic for tenant in plan.tenants for nic in tenant.nics}
        for mac in [mac for mac in self.nics if mac not in new]:
            self._leave(mac)
        for mac, about in new.items():
            self.strangers.pop(mac, None)
            before = self.nics.get(mac) or self._leaving.get(mac)
            if before is None or before.session.key != about.key:
                self.nics[mac] = Nic(mac, about.key, self._watcher)
                self.nics[mac].numbers.update(before.numbers if before else {})
            elif not is_same(before_it, plan, mac):
                self.nics[mac] = before
                self._touch(mac)
        self.keys.set_pairs({(a.mac, b.mac): cipher for a, b, cipher in pairs(plan)})
        for mac in self._leaving.keys() & new.keys():
            del self._leaving[mac]
            self.keys.forget_strangers(mac)
        self._greet_later(*self.switches)

    def go_on(self, plan: Plan, switches: Mapping[int, Switch], now: float) -> None:
        """Go on after a time in which nothing was heard; NICs are asked whether they are there."""
        self.now, self.switches = now, dict(switches)
        if plan is not self.plan:
            self.set_plan(plan, now)
        for nic in self.nics.values():
            nic.ask(now)
            self._schedule(nic)

    def switch_up(self, switch: Switch, now: float) -> None:
        """A switch has connected."""
        self.now = now
        self.switches[switch.datapath_id] = switch
        self._greet_later(switch.datapath_id)
        # It may have numbered its ports anew, or be another one with the same ID.
        for nic in self.nics.values():
            if nic.way and nic.way.datapath_id == switch.datapath_id:
                nic.ask(now)
                self._schedule(nic)

    def switch_down(self, switch: Switch, now: float) -> None:
        """A switch has disconnected. Its NICs go on with their flows."""
        self.now = now
        if self.switches.get(switch.datapath_id) is switch:
            del self.switches[switch.datapath_id]

    def port_changed(self, switch: Switch, port: int, now: float, *, is_there: bool) -> None:
        """A switch has got a port, or has lost one: a NIC may have moved."""
        self.now = now
        if is_there:
            self._greet_later(switch.datapath_id)
            return
        way = Way(switch.datapath_id, port)
        for nic in [nic for nic in self.nics.values() if nic.way == way]:
            nic.lose(now)
            self._release(nic.mac)
            self._schedule(nic)

    def packet(self, switch: Switch, port: int, frame: bytes, now: float) -> None:
        """A control frame has come from a port of a switch."""
        self.now = now
        try:
            message, _ = parse(frame)
        except Malformed:
            self.malformed += 1
            return
        if message.type == Type.HELLO:
            return
        way = Way(switch.datapath_id, port)
        nic = self.nics.get(message.mac) or self._leaving.get(message.mac)
        if nic is None:
            self._stranger(message.mac, way)
            return
        if frame[6:12] == SOURCE:
            self._gone_astray(nic, switch)
            return
        before, strangers = nic.way, nic.session.strangers
        nic.input(frame, way, now)
        if nic.session.strangers > strangers == 0:
            self._log(f"{self._who(nic)} registers with another key than the file's, at {way}")
        self._follow(nic, before)
        self._schedule(nic)

    def _follow(self, nic: Nic, before: Way | None) -> None:
        """Say where a NIC is that has moved or was silent."""
        if nic.phase is Phase.LOST or nic.way is None:
            return
        if before and nic.way != before:
            self._log(f"{self._who(nic)} is at {nic.way}; it was at {before}")
        elif nic.mac in self._silent:
            self._log(f"{self._who(nic)} answers again, at {nic.way}")
        self._silent.discard(nic.mac)

    def _lost(self, nic: Nic) -> None:
        # A switch that has gone is told once, not for each of its NICs.
        if nic.way and nic.way.datapath_id in self.switches:
            self._silent.add(nic.mac)
            self._log(
                f"{self._who(nic)} does not answer at {nic.way}: it is looked for at all ports"
            )

    def _mended(self, nic: Nic, number: int) -> None:
        self._log(f"{self._who(nic)}: others have changed {number:,} of its entries: set again")

    def _who(self, nic: Nic) -> str:
        about, mac = self.plan.nic(nic.mac), nic.mac.hex(":")
        return f"{about.name} ({mac})" if about else mac

    def _gone_astray(self, nic: Nic, switch: Switch) -> None:
        """Our own frame has come out of another switch than the one we sent it through.

        The NIC registered through that switch while its own had no controller and forwarded
        control frames. A HELLO from where the frame came out makes it register there. A NIC
        that answers gets none: such frames can be forged.
        """
        if nic.session.silent_since() is not None:
            switch.put_out(nic.greeting())

    def rekey(self, now: float) -> None:
        """Make all keys anew."""
        self.now = now
        self.keys.rekey()

    def tick(self, now: float) -> float | None:
        """Do what is due; returns when to call again."""
        self.now = now
        due = [self._greet(), self._run_timers(), self.keys.tick(), self._settle()]
        return min((at for at in due if at is not None), default=None)

    # --- NICs ----------------------------------------------------------------------------

    def _schedule(self, nic: Nic) -> None:
        at = nic.tick(self.now)
        if at is not None and not self._due.get(nic.mac, float("inf")) <= at:
            self._due[nic.mac] = at
            heapq.heappush(self._timers, (at, next(self._count), nic))

    def _ordered(self, mac: bytes) -> None:
        self._schedule(self.nics[mac])

    def _run_timers(self) -> float | None:
        while self._timers and self._timers[0][0] <= self.now:
            at, _, nic = heapq.heappop(self._timers)
            if self._due.get(nic.mac) == at:
                del self._due[nic.mac]
            if self.nics.get(nic.mac) is nic or self._leaving.get(nic.mac) is nic:
                self._schedule(nic)
            if nic.phase is Phase.LOST or (nic.table is None and nic.troubles):
                self._release(nic.mac)
                self._leaving.pop(nic.mac, None)
        return self._timers[0][0] if self._timers else None

    def _send(self, frame: bytes, way: Way | None) -> None:
        if type_of(frame) == Type.HELLO:
            # The NIC may be at another port, or another switch, than it was.
            for each in self.switches.values():
                each.put_out(frame)
            return
        switch = self.switches.get(way.datapath_id) if way else None
        if switch and way:
            switch.put_out(frame, way.port)

    def _began(self, nic: Nic) -> None:
        if nic.mac not in self._silent:  # else it is told that it answers again
            self._log(f"{self._who(nic)} has registered, at {nic.way}")
        self._waiting[nic.mac] = nic
        self.keys.ended(nic.mac)
        self._admitted.discard(nic.mac)
        self._admit()

    def _admit(self) -> None:
        """Begin with as many NICs as are programmed at a time."""
        while self._waiting and len(self._admitted) < ADMITTED_MAX:
            mac = next(iter(self._waiting))
            nic = self._waiting.pop(mac)
            if self.nics.get(mac) is nic:
                self._admitted.add(mac)
                self.keys.began(mac)
                nic.read(self.now)
                self._schedule(nic)

    def _release(self, mac: bytes) -> None:
        if mac in self._admitted:
            self._admitted.discard(mac)
            self._admit()

    def _read(self, nic: Nic) -> None:
        if nic.mac in self.nics:
            self.want(nic.mac)
            self.keys.forget_strangers(nic.mac)

    def _ready(self, nic: Nic) -> None:
        self._release(nic.mac)
        if nic.mac in self._leaving:
            self._let_go(nic)
        elif nic.mac in self.nics and nic.mac not in self._dirty:
            self.keys.ready(nic.mac)

    def _forgot(self, nic: Nic, number: int) -> None:
        if nic.mac in self._leaving:
            self._let_go(nic)
        else:
            self.keys.forgot(number)

    def _leave(self, mac: bytes) -> None:
        """A NIC has left the plan: it keeps the flows that drop, and loses all else."""
        nic = self.nics.pop(mac)
        self._dirty.pop(mac, None)
        self._silent.discard(mac)
        self._release(mac)
        if nic.table is not None:
            self._leaving[mac] = nic
            nic.want({key: each for key, each in nic.wanted.items() if each.drops}, None, self.now)
            for number in nic.numbers:
                nic.retire(number, self.now)
            self._schedule(nic)
        for number in nic.numbers:
            self.keys.forgot(number)

    def _let_go(self, nic: Nic) -> None:
        """A leaving NIC is forgotten once it has deleted everything."""
        if not nic.is_busy and not nic.numbers:
            del self._leaving[nic.mac]

    def _stranger(self, mac: bytes, way: Way) -> None:
        known = self.strangers.pop(mac, None)
        self.strangers[mac] = Stranger(known.frames + 1 if known else 1, way)
        if len(self.strangers) > _STRANGERS_MAX:
            self.strangers.popitem(last=False)

    # --- what NICs should have -----------------------------------------------------------

    def flows_of(self, mac: bytes, plan: Plan | None = None) -> dict[bytes, entry.Entry]:
        """A NIC's flows and groups by a plan and the present keys."""
        plan = plan or self.plan
        about = plan.nic(mac)
        if about is None:
            return {}
        numbers = self.keys.sas(mac)
        peers = ((plan.nic(peer), each) for peer, each in numbers.items())
        sas = {peer.tunnel.mac: each for peer, each in peers if peer}
        return entry.table(flows(plan, about, sas))

    def is_behind(self, mac: bytes) -> bool:
        """Whether a NIC's flows are still to be computed."""
        return mac in self._dirty

    def _touch(self, mac: bytes) -> None:
        """A NIC's flows have changed; more may change soon."""
        self._dirty.setdefault(mac, self.now + _GATHER)

    def _settle(self) -> float | None:
        until = time.perf_counter() + _SPELL
        for mac, at in list(self._dirty.items()):
            if at > self.now:
                break
            if time.perf_counter() > until:
                return self.now
            if self.nics[mac].table is None:
                del self._dirty[mac]  # when it has been read
            else:
                self.want(mac)
        return next(iter(self._dirty.values()), None)

    def want(self, mac: bytes) -> None:
        """Have a NIC programmed as the plan says."""
        self._dirty.pop(mac, None)
        nic, about = self.nics[mac], self.plan.nic(mac)
        if about is not None:
            nic.want(self.flows_of(mac), mtu(self.plan, about), self.now, about.offloads)
            self._schedule(nic)

    # --- greetings -----------------------------------------------------------------------

    def _greet_later(self, *datapath_ids: int) -> None:
        if not self.leads:
            return
        self._greetings += [
            (self.now + after, each) for each in datapath_ids for after in _GREETINGS
        ]
        self._greetings.sort()

    def _greet(self) -> float | None:
        """Ask NICs to register that have no session, or one with an earlier controller."""
        while self._greetings and self._greetings[0][0] <= self.now:
            _, datapath_id = self._greetings.pop(0)
            switch = self.switches.get(datapath_id)
            if switch:
                self._greet_at(switch)
        return self._greetings[0][0] if self._greetings else None

    def _greet_at(self, switch: Switch) -> None:
        """Greet those that are nowhere: the switch may have another ID than it had."""
        away = [
            nic
            for nic in self.nics.values()
            if nic.phase in (Phase.AWAY, Phase.LOST)
            or (nic.way and nic.way.datapath_id not in self.switches)
        ]
        if len(away) == len(self.nics):
            switch.put_out(build(Message(Type.HELLO), SOURCE, NICS_MAC, None))
            return
        for nic in away:
            switch.put_out(nic.greeting())
