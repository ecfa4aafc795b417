# SPDX-License-Identifier: GPL-2.0-or-later
"""A keeper's orders to its controller, and its stored state: in a simulated etcd, and in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab.cvsw.etcd import PREFIX, Etcd, World
from vmmnet.cvsw.control import state
from vmmnet.cvsw.control.alone import Alone
from vmmnet.cvsw.control.keeper import Again, Lead, NotDone
from vmmnet.cvsw.control.share import Share
from vmmnet.cvsw.control.state import Number
from vmmnet.cvsw.plan.model import Plan
from vmmnet.etcd.errors import EtcdError, Unreachable
from vmmnet.etcd.place import parse_url

A, B = bytes.fromhex("525400000001"), bytes.fromhex("525400000002")


@dataclass
class Led:
    """A controller that records its orders."""

    plan_path: Path | None = None
    told: list[Lead | Again | int] = field(default_factory=list)
    has: list[Number] = field(default_factory=list)
    last_number: int = 0
    rekeyed: int = 0

    def set_plan(self, path: Path, plan: Plan) -> None:
        """Take a plan."""

    def lead(self, lead: Lead | Again) -> None:
        """Begin to lead."""
        self.told.append(lead)

    def stand_by(self, term: int) -> None:
        """Stop."""
        self.told.append(term)

    def make_keys(self) -> None:
        """Make none."""
        self.rekeyed += 1

    def numbers(self) -> Iterator[Number]:
        """Numbers that NICs may have."""
        yield from self.has


@pytest.fixture
def world() -> World:
    return World()


async def leading(world: World, led: Led) -> Share:
    """A controller that leads."""
    where = parse_url(f"etcd://a{PREFIX}", prefix="")
    keeper = Share(where, "a", led, Etcd(world), lambda: world.now)
    while not keeper.leads():
        await keeper.look()
    return keeper


def lose_lease(world: World) -> None:
    """End the lease of the only controller."""
    (lease,) = world.leases
    world.end(lease)


def test_saves_with_the_next_look(world: World) -> None:
    """After a later kill, the successor knows the numbers that NICs may have."""

    async def run() -> None:
        led = Led()
        keeper = await leading(world, led)
        led.has = [(A, B, 300, True), (A, B, 301, False)]
        keeper.save()
        await keeper.look()
        lose_lease(world)
        other = Led()
        await leading(world, other)
        (lead,) = other.told
        assert isinstance(lead, Lead)
        assert sorted(lead.numbers) == led.has

    asyncio.run(run())


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("has_other", [False, True])
def test_leads_anew(world: World, is_slow: bool, has_other: bool) -> None:
    """Its lease ends and it is elected again, so soon that it has not noticed.

    If another one has led in between, nothing of the earlier term continues; if none has, all does.
    A loss of etcd in the middle only takes longer.
    """

    async def run() -> None:
        led = Led()
        keeper = await leading(world, led)
        (first,) = led.told
        led.has = [(A, B, 300, True)]
        keeper.save()
        await keeper.look()
        assert led.told == [first]

        lose_lease(world)
        world.now += 1.0
        if has_other:
            other = world.join("b")
            assert other.step(None, may_lead=True).leads
            other.resign()
        if is_slow:
            requests = 0

            def on_the_way(is_request: bool) -> None:
                nonlocal requests
                requests += is_request
                if requests == 7:  # after the lease, the member, two reads and the election
                    raise Unreachable("lost")

            world.on_the_way = on_the_way
            with pytest.raises(Unreachable):
                await keeper.look()
            assert not keeper.leads()
            world.on_the_way = lambda _: None
        await keeper.look()
        assert keeper.leads()
        _, stood_by, second = led.told
        assert isinstance(first, Lead)
        assert not isinstance(second, int)
        assert first.term
        assert second.term
        assert stood_by == first.term
        assert second.term > first.term
        assert isinstance(second, Lead if has_other else Again)
        if isinstance(second, Lead):
            assert second.numbers == ((A, B, 300, True),)
            assert second.number != first.number
        await keeper.look()
        assert len(led.told) == 3

    asyncio.run(run())


def test_full_etcd(world: World) -> None:
    """An etcd that takes no writes: keys are not replaced."""

    async def run() -> None:
        led = Led()
        keeper = await leading(world, led)

        def on_the_way(is_request: bool) -> None:
            raise EtcdError("mvcc: database space exceeded", 8)

        world.on_the_way = on_the_way
        with pytest.raises(NotDone, match="database space exceeded"):
            await keeper.rekey()
        assert led.rekeyed == 0
        world.on_the_way = lambda _: None
        assert await keeper.rekey() is None
        assert led.rekeyed == 1

    asyncio.run(run())


def test_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is written soon, once for simultaneous changes, and when the daemon ends."""
    written: list[state.State] = []
    write = state.write

    def note(path: Path, what: state.State) -> None:
        written.append(what)
        write(path, what)

    monkeypatch.setattr(state, "write", note)

    async def run() -> None:
        led = Led()
        keeper = Alone(tmp_path / "state", led, write_after=0.01)
        keeper.load(None)
        for number in range(300, 310):
            led.has.append((A, B, number, True))
            keeper.save()
        while not written:
            await asyncio.sleep(0.01)
        assert [each.numbers for each in written] == [tuple(led.has)]
        led.has.clear()
        keeper.save()
        await keeper.stop()
        assert len(written) == 2

    asyncio.run(run())
    assert state.read(tmp_path / "state").numbers == ()
