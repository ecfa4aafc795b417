# SPDX-License-Identifier: GPL-2.0-or-later
"""One of several controllers: its state is in etcd, where member.py finds the leader.

A thread asks etcd twice a second. The loop handles the results: the plan, the leader,
orders. Whether this controller may still program NICs does not wait for that thread: leads()
checks the clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vmmnet.etcd.client import NOT_FOUND, Client
from vmmnet.etcd.errors import EtcdError, StoreError
from vmmnet.etcd.place import Config

from ..plan.read import BadPlan, read
from . import records
from .keeper import Again, File, Lead, Led, NotDone
from .member import Look, Member, NotLeading
from .records import Answer, BadRecord, Order, Stored, TooLarge
from .say import say

T = TypeVar("T")

#: Seconds between two looks at etcd.
_LOOK_EVERY = 0.5
#: Time-out of an endpoint, seconds: well below the duration of a lease.
_ANSWER_IN = 2.0
#: Seconds until a file that cannot be read here is tried again.
_RETRY_AFTER = 5.0
#: Time-out of an order, seconds: a leader may have to be found first.
_ORDER_IN = 15.0


def boot_clock() -> float:
    """Seconds, counted also while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Share:
    """A keeper.Keeper of one of several controllers."""

    def __init__(
        self,
        config: Config,
        name: str,
        led: Led,
        client: Client | None = None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self._config, self._name, self._led = config, name, led
        self._client = client or Client(replace(config, timeout=_ANSWER_IN))
        self._clock = clock
        self._member = Member(self._client, config.prefix, name, clock, time.time)
        self._thread = ThreadPoolExecutor(1, "etcd")
        self._poke = asyncio.Event()
        self._fence: asyncio.TimerHandle | None = None
        self._following: asyncio.Task[None] | None = None
        self._look: Look | None = None
        self._first: File | None = None
        self._leads = self._is_unsaved = False
        #: Why the plan of etcd cannot be read here; and why etcd fails.
        self._fault: str | None = None
        self._lost: str | None = None
        self._stored: Stored | None = None
        self._retry_at = 0.0
        self._term = 0
        #: The term in which this controller led last; None: another one has led since.
        self._led_in: int | None = None
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._said: set[str] = set()

    # --- the controller's side -----------------------------------------------------------

    def load(self, path: Path | None) -> None:
        """Read the given file: it is used if etcd has none."""
        self._first = File.read(path) if path else None

    def start(self) -> None:
        """Begin to look at etcd."""
        self._led.stand_by(0)
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Let another controller lead at once."""
        try:
            if self.leads():
                await self._save()
            await self._call(self._member.resign)
        except StoreError as error:
            say(f"cannot resign: {error}")
        finally:
            self._leads = False
            self._client.close()
            self._thread.shutdown(wait=False)

    def leads(self) -> bool:
        """Whether this controller leads now, by the clock."""
        if self._leads and self._clock() >= self._member.until:
            self._step_down()
        return self._leads

    async def apply(self, file: File) -> str | None:
        """Put a file into force for all controllers."""
        try:
            stored = Stored.pack(file.path, self._name, file.octets)
            if not self.leads():
                return await self._order(stored)
            await self._call(self._member.put_plan, stored)
            self._stored = stored
        except TooLarge as error:
            raise NotDone(f"{file.path}: {error}") from None
        except StoreError as error:
            raise NotDone(str(error)) from None
        self._fault = None
        self._led.set_plan(file.path, file.plan)
        return None

    async def rekey(self) -> str | None:
        """Have the leader replace all keys."""
        try:
            if not self.leads():
                return await self._order(None)
            # New keys need new numbers: without room in etcd nothing is changed.
            await self._call(self._member.reserve)
        except StoreError as error:
            raise NotDone(str(error)) from None
        self._led.make_keys()
        return None

    def save(self) -> None:
        """The next look writes it."""
        self._is_unsaved = True

    def sharing(self) -> dict[str, Any]:
        """All controllers, and whether etcd answers."""
        look = self._look
        members = sorted(look.members, key=lambda each: each.name) if look else []
        return {
            "etcd": self._config.name,
            "error": self._lost,
            "self": self._name,
            "leads": self.leads(),
            "leader": self._leader(look),
            "controllers": [{"name": each.name, "fault": each.fault} for each in members],
        }

    def _leader(self, look: Look | None) -> str | None:
        """The one that leads, if that is known: not while etcd is lost, unless it is this one."""
        if self.leads():
            return self._name
        if look is None or look.leader is None or look.leads or self._lost:
            return None
        return look.leader.name

    # --- etcd's side ---------------------------------------------------------------------

    async def _call(self, work: Callable[..., T], *words: Any, **more: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(*words, **more))

    async def _follow(self) -> None:
        while True:
            try:
                await self.look()
                if self._lost:
                    say(f"{self._config.name} is there again")
                self._lost = None
            except NotLeading:
                continue  # the next look shows the leader
            except StoreError as error:
                if str(error) != self._lost:
                    say(f"{error}; NICs keep what they have")
                self._lost = str(error)
            self.leads()
            try:
                await asyncio.wait_for(self._poke.wait(), _LOOK_EVERY)
            except TimeoutError:
                continue
            self._poke.clear()

    async def look(self) -> None:
        """Look at etcd once, and do what is due; raises StoreError."""
        may_lead = self._look is not None and self._fault is None
        look = await self._call(self._member.step, self._fault, may_lead=may_lead)
        self._look = look
        for text in look.damaged:
            self._say_once(text)
        self._stored = look.plan or self._stored
        if look.plan or (self._fault and self._clock() >= self._retry_at):
            await self._take_plan()
        self._arm()
        await self._take_leader(look)
        for name, answer in look.answers.items():
            if name in self._waiting and not self._waiting[name].done():
                self._waiting[name].set_result(answer)
        for name, order in look.orders.items():
            if self.leads():
                await self._carry_out(name, order)
        if self.leads() and self._is_unsaved:
            await self._save()

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 1024:
            self._said.add(text)
            say(text)

    async def _take_plan(self) -> None:
        stored = self._stored
        assert stored
        try:
            path, octets = Path(stored.file), stored.text()
            plan = await asyncio.to_thread(read, path, octets)
        except (BadPlan, BadRecord) as error:
            if str(error) != self._fault:
                say(f"this controller cannot lead: what {stored.by} has applied: {error}")
            self._fault, self._retry_at = str(error), self._clock() + _RETRY_AFTER
            return
        if self._fault:
            say(f"{stored.file} and its keys are there now")
        self._fault = None
        self._led.set_plan(path, plan)

    # --- leading -------------------------------------------------------------------------

    def _arm(self) -> None:
        """Stop in time, also without any event until then."""
        if self._fence:
            self._fence.cancel()
            self._fence = None
        if self._leads:
            left = max(0.0, self._member.until - self._clock())
            self._fence = asyncio.get_running_loop().call_later(left, self.leads)

    def _step_down(self) -> None:
        self._leads = False
        say("this controller stands by: etcd has not confirmed in time that it leads")
        self._led.stand_by(self._term)

    async def _take_leader(self, look: Look) -> None:
        if look.leads and self._fault is not None:
            await self._call(self._member.resign)
            self.leads()
        elif (
            look.leads
            and look.leader
            and not (
                self.leads() and look.leader.term == self._term  # else another led between
            )
        ):
            await self._begin(look.leader.term, look.has_plan)
        elif look.leader and not self.leads() and look.leader.term != self._term:
            self._term, self._led_in = look.leader.term, None
            say(f"{look.leader.name} leads; this controller stands by")
            self._led.stand_by(self._term)

    async def _begin(self, term: int, has_plan: bool) -> None:
        if self._leads:
            self._leads = False
            self._led.stand_by(self._term)
        is_again = self._led_in in (term, self._member.term_before)
        if is_again:
            self._led_in = term  # also if it ends before it begins
        lead: Lead | Again = Again(term)
        numbers = await self._call(self._member.associations)
        if not is_again:
            lead = Lead(term, tuple(numbers), await self._call(self._member.reserve))
        if self._clock() >= self._member.until:
            return
        self._leads, self._term, self._led_in = True, term, term
        self._arm()
        same = "; none has led since it did, NICs keep their keys" if is_again else ""
        say(f"this controller leads, as {self._name}{same}")
        self._led.lead(lead)
        if self._first and not has_plan:
            await self._put_first(self._first)
        elif self._first and self._led.plan_path != self._first.path:
            say(f"{self._first.path} is not taken: etcd has {self._led.plan_path}; see 'apply'")
        self._first = None

    async def _put_first(self, file: File) -> None:
        try:
            await self.apply(file)
        except NotDone as error:
            say(str(error))

    async def _save(self) -> None:
        self._is_unsaved = False
        numbers = list(self._led.numbers())
        try:
            await self._call(lambda: self._member.save(records.numbers_by_sender(numbers)))
            if self._member.is_short(self._led.last_number):
                await self._call(self._member.reserve)
        except StoreError:
            self._is_unsaved = True
            raise

    # --- orders --------------------------------------------------------------------------

    async def _carry_out(self, name: str, order: Order) -> None:
        """Carry out an order of a controller on standby."""
        try:
            stored = order.stored()
            if stored is None:
                self._led.make_keys()
                plan = None
            else:
                path = Path(stored.file)
                plan = await asyncio.to_thread(read, path, stored.text())
        except (BadPlan, BadRecord) as error:
            await self._answer(name, order, str(error), None)
            return
        if await self._answer(name, order, None, stored) and plan:
            self._stored = stored
            self._led.set_plan(path, plan)

    async def _answer(
        self, name: str, order: Order, error: str | None, plan: Stored | None
    ) -> bool:
        """Answer the waiting client; returns whether there is one."""
        try:
            await self._call(self._member.answer, name, order, Answer(self._name, error), plan)
        except EtcdError as gone:
            if gone.code != NOT_FOUND:
                raise
            return False  # it ends with its lease
        return True

    async def _order(self, stored: Stored | None) -> str:
        """Have the leader do it; returns its name."""
        name = await self._call(self._member.order, stored)
        waiting = self._waiting[name] = asyncio.get_running_loop().create_future()
        self._poke.set()
        try:
            async with asyncio.timeout(_ORDER_IN):
                answer: Answer = await waiting
        except TimeoutError:
            raise NotDone(
                f"no controller that leads has answered in {_ORDER_IN:.0f} s: see"
                " 'vmmnet cvsw show'"
            ) from None
        finally:
            del self._waiting[name]
            await self._call(self._member.forget, name)
        if answer.error:
            raise NotDone(f"{answer.by}, which leads: {answer.error}")
        return answer.by
