# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM moves on from network to network and back, or does not after all; nothing is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.guest.traffic import GuestAsks, HostAsks, Pings
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import CORRESPONDENT_ADDRESS, HOME_ADDRESS, Site, World
from lab.packages import kernel

#: Of the longest test.
_MIGRATIONS = int(os.environ.get("VMMNET_MIGRATIONS", "100"))
_EARLY = "early-registration=on"
#: Migrations of test_does_not_move that fail when the VM has stopped.
_STOPS = 2
_ANOTHER = f"{mobility.HOME_PREFIX}::77"
_taps = itertools.count()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built, built.agent():
        yield built


@pytest.fixture(scope="module")
def other_world() -> Iterator[World]:
    """Without an agent."""
    with mobility.world() as built:
        yield built


@pytest.fixture
def strict_world(other_world: World) -> Iterator[World]:
    """Its agent asks the home link for a second before it makes a binding."""
    with other_world.agent(60, "dad strict"):
        yield other_world


@pytest.fixture
def guest(world: World) -> Iterator[Guest]:
    # An earlier test's VM may have ended away from home: its address is bound for a while.
    wait.until(lambda: not _is_bound(world), "the end of earlier bindings")
    with Guest(**_place(world.home), **_SETTINGS) as guest:
        roaming.configure(guest)
        guest.wait_for("ip -6 route show default | grep -q via")
        yield guest


_SETTINGS: dict[str, Any] = {
    "name": "mobile",
    "kernel": kernel.MAIN,
    "memory": "128M",
    "devices": (mobility.DEVICE,),
}


def _place(site: Site, *options: str) -> dict[str, Any]:
    """Where a VM is: on a tap of its own, as the QEMU that it comes from may have the last one."""
    tap = site.tap(f"tap{next(_taps)}")
    return {
        "netns": site.host.netns,
        "arguments": tuple(mobility.arguments(tap, *options)),
    }


def _await(world: World, guest: Guest, site: Site) -> None:
    """Wait until everybody knows where the VM is."""

    def is_settled() -> bool:
        info = roaming.info(guest)
        at_home = site is world.home
        return bool(info["state"] == ("home" if at_home else "bound") and info["location-known"])

    wait.until(is_settled, f"a VM at {site.host.name}")


def _is_ready(world: World, guest: Guest, site: Site) -> bool:
    """Does it know its link, and have a care-of address if it needs one?"""
    info = roaming.info(guest)
    return bool(info["location-known"]) if site is world.home else "care-of" in info


def _move(world: World, source: Guest, site: Site) -> contextlib.AbstractContextManager[Guest]:
    return migrated(source, ready=lambda target: _is_ready(world, target, site), **_place(site))


def _is_bound(world: World) -> bool:
    return HOME_ADDRESS in world.agent_host.ip("-6", "route", "show", "dev", "mip6ha")


def _pings(world: World, guest: Guest) -> Pings:
    return Pings(
        guest=GuestAsks(guest, CORRESPONDENT_ADDRESS),
        correspondent=HostAsks(world.correspondent, HOME_ADDRESS, world.folder / "ping.log"),
    )


def _assert_kept(pings: Pings) -> None:
    """No ping is lost, but for one that QEMU throws away when the VM stops (docs/mip6.md)."""
    lost = pings.lost()
    assert not lost["guest"] and len(lost["correspondent"]) <= _STOPS, lost


@pytest.mark.long
def test_moves_on(world: World, guest: Guest) -> None:
    """Home, away, to another network, home, away: neither pings nor a connection notice."""
    pings = _pings(world, guest)
    transfer = roaming.Transfer(world.correspondent, guest, pause=0.02)
    transfer.goes_on(mib=1)
    marks = [pings.last()]
    sites = (world.foreign, world.other, world.home, world.foreign)
    with contextlib.ExitStack() as stack:
        source = guest
        for site in sites:
            target = stack.enter_context(_move(world, source, site))
            _await(world, target, site)
            assert roaming.info(source)["state"] == "left"
            pings.go_on()
            transfer.goes_on(mib=1)
            marks.append(pings.last())
            source = target
        transfer.end()
        lost = pings.end()
    for site, before, after in zip(sites, marks, marks[1:], strict=False):
        missed = {
            side: [number for number in numbers if before[side] < number <= after[side]]
            for side, numbers in lost.items()
        }
        print(site.host.name, missed)
        # QEMU throws away the frame that waits for the NIC when the VM stops.
        assert all(len(numbers) <= 1 for numbers in missed.values())


def _refuses(target: Guest, source: Guest) -> None:
    """The destination takes everything, and finds at the end that it is another VM's."""
    wait.until(lambda: source.qmp("query-migrate")["status"] == "failed", "a failure")


def _dies(target: Guest, source: Guest) -> None:
    target.kill()
    wait.until(lambda: source.qmp("query-migrate")["status"] == "failed", "a failure")


def _is_cancelled(target: Guest, source: Guest) -> None:
    source.qmp("migrate_cancel")
    wait.until(lambda: source.qmp("query-migrate")["status"] == "cancelled", "the end")


def _try(
    world: World,
    source: Guest,
    site: Site,
    fault: Callable[[Guest, Guest], None],
    half_way: Callable[[], None] = lambda: None,
) -> None:
    """Begin a migration that comes to nothing."""
    place = _place(site)
    at_the_end = fault is _refuses
    if at_the_end:
        place["arguments"] = tuple(
            word.replace(f"home-address={HOME_ADDRESS}", f"home-address={_ANOTHER}")
            for word in place["arguments"]
        )
    target = Guest(**{**dataclasses.asdict(source.config), **place})
    uri = f"unix:{target.folder}/stream"
    capabilities = [{"capability": "return-path", "state": True}]
    with target.arriving():
        for side in (source, target):
            side.qmp("migrate-set-capabilities", capabilities=capabilities)
        # Half-way it stays as long as it is to.
        source.qmp("migrate-set-parameters", max_bandwidth=0 if at_the_end else 1 << 20)
        target.qmp("migrate-incoming", uri=uri, exit_on_error=False)
        wait.until(lambda: _is_ready(world, target, site), "a target that is ready")
        source.qmp("migrate", uri=uri)
        wait.until(
            lambda: (
                source.qmp("query-migrate").get("ram", {}).get("transferred", 0) > 1 << 20
                or source.qmp("query-migrate")["status"] == "failed"
            ),
            "memory on its way",
        )
        half_way()
        fault(target, source)
        wait.until(lambda: source.qmp("query-status")["running"], "a VM that goes on")
        if fault is not _dies:
            assert roaming.info(target)["state"] not in ("registering", "bound")
            assert roaming.info(target)["sent"] == 0
    capabilities[0]["state"] = False
    source.qmp("migrate-set-capabilities", capabilities=capabilities)
    source.qmp("migrate-set-parameters", max_bandwidth=128 << 20)


def test_does_not_move(world: World, guest: Guest) -> None:
    """A migration that ends half-way, or at the very end, leaves the VM as it was."""
    pings = _pings(world, guest)
    for fault in (_is_cancelled, _dies, _refuses):
        _try(world, guest, world.foreign, fault)
        assert roaming.info(guest)["state"] == "home"
        assert not _is_bound(world)
        pings.go_on()
        _assert_kept(pings)
    with _move(world, guest, world.foreign) as moved:
        _await(world, moved, world.foreign)
        before = roaming.info(moved)["care-of"]
        for fault in (_is_cancelled, _dies, _refuses):
            _try(world, moved, world.other, fault)
            _await(world, moved, world.foreign)
            assert roaming.info(moved)["care-of"] == before
            pings.go_on()
            _assert_kept(pings)
        pings.end()


@pytest.fixture
def early_guest(strict_world: World) -> Iterator[Guest]:
    """A VM that is registered when it begins to migrate, which takes as long as it is to."""
    with Guest(**_place(strict_world.home, _EARLY), **_SETTINGS) as guest:
        roaming.configure(guest)
        guest.wait_for("ip -6 route show default | grep -q via")
        _await(strict_world, guest, strict_world.home)
        guest.qmp("migrate-set-parameters", max_bandwidth=1 << 20)
        yield guest


def _await_registration_at_home(world: World, guest: Guest) -> None:
    roaming.await_bound(guest, mobility.HOME_PREFIX)
    assert _is_bound(world)


def test_registers_early(strict_world: World, early_guest: Guest) -> None:
    """The agent's question to the home link is over when the VM leaves."""
    world = strict_world
    pings = _pings(world, early_guest)

    def under_way() -> None:
        _await_registration_at_home(world, early_guest)
        pings.go_on()
        # What the agent takes comes to the guest by the tunnel.
        assert roaming.info(early_guest)["received"] > 0
        assert roaming.info(early_guest)["sent"] == 0
        assert pings.lost() == {"guest": [], "correspondent": []}
        early_guest.qmp("migrate-set-parameters", max_bandwidth=128 << 20)

    with migrated(
        early_guest,
        ready=lambda target: _is_ready(world, target, world.foreign),
        under_way=under_way,
        **_place(world.foreign, _EARLY),
    ) as target:
        roaming.await_bound(target, mobility.FOREIGN_PREFIX)
        pings.go_on()
        lost = pings.end()
        print(lost, roaming.info(early_guest), roaming.info(target))
        # QEMU throws away the frame that waits for the NIC when the VM stops.
        assert all(len(numbers) <= 1 for numbers in lost.values())
        # The binding has moved: only a new one makes the agent ask.
        log = (world.folder / "vmmnet-ha.log").read_text()
        assert (log.count(f"bound {HOME_ADDRESS}"), log.count("ended")) == (1, 0), log


def test_does_not_move_after_all(strict_world: World, early_guest: Guest) -> None:
    """A registration for a migration that is cancelled, or fails, is taken back."""
    world = strict_world
    pings = _pings(world, early_guest)

    def half_way() -> None:
        _await_registration_at_home(world, early_guest)

    for fault in (_is_cancelled, _dies):
        _try(world, early_guest, world.foreign, fault, half_way)
        wait.until(lambda: roaming.state(early_guest) == "home", "a VM at home")
        wait.until(lambda: not _is_bound(world), "the end of the binding")
        pings.go_on()
        assert pings.lost() == {"guest": [], "correspondent": []}, fault
    pings.end()


def _when(event: dict[str, Any]) -> float:
    stamp = event["timestamp"]
    return float(stamp["seconds"] + stamp["microseconds"] / 1e6)


@pytest.mark.long
def test_there_and_back(world: World, guest: Guest) -> None:
    """Many migrations between two networks: what is lost, and for how long the VM is not heard."""
    pings = _pings(world, guest)
    transfer = roaming.Transfer(world.correspondent, guest, pause=0.02)
    blackouts = []
    sources = deque([(guest, contextlib.ExitStack())])
    try:
        for site in itertools.islice(itertools.cycle((world.foreign, world.home)), _MIGRATIONS):
            source, stack = sources[-1][0], contextlib.ExitStack()
            sources.append((stack.enter_context(_move(world, source, site)), stack))
            target = sources[-1][0]
            state = "home" if site is world.home else "bound"
            arrived = target.monitor.wait_event("MIP6_STATE", state=state)
            blackouts.append(_when(arrived) - _when(source.monitor.wait_event("STOP")))
            pings.go_on()
            transfer.goes_on(mib=1)
            # The last source has no more to forward.
            if len(sources) > 2:
                sources.popleft()[1].close()
        transfer.end()
        lost = {side: len(numbers) for side, numbers in pings.end().items()}
    finally:
        while sources:
            sources.pop()[1].close()
    ordered = sorted(blackouts)
    p50, p99 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
    print(
        f"{_MIGRATIONS} migrations: no connection lost, pings lost {lost}, "
        f"stop to registration p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms"
    )
