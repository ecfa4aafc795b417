# SPDX-License-Identifier: GPL-2.0-or-later
"""Two mobile VMs: of one host with two home networks, and at both ends of a connection."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.net import Namespace
from lab.guest.guest import Guest
from lab.guest.traffic import GuestAsks, HostAsks, Pings
from lab.mip6 import mobile, mobility, pair, roaming
from lab.mip6.mobility import CORRESPONDENT_ADDRESS, Site, World
from lab.mip6.pair import FIRST, NEIGHBOUR, STRANGER, Mobile
from scapy.utils import RawPcapReader


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.fixture(scope="module")
def agents(world: World) -> Iterator[list[Namespace]]:
    with pair.agents(world) as running:
        yield running


def _pings(world: World, first: Guest, second: Guest, other: Mobile) -> Pings:
    """The two ask each other; one asks the correspondent, and that one the other."""
    return Pings(
        first_second=GuestAsks(first, other.address),
        second_first=GuestAsks(second, FIRST.address),
        second_correspondent=GuestAsks(second, CORRESPONDENT_ADDRESS),
        correspondent_first=HostAsks(world.correspondent, FIRST.address, world.folder / "ping.log"),
    )


def _check_capture(file: Path, care_of: dict[Mobile, str]) -> None:
    """Each VM has its own tunnel, and no frame goes around it."""
    packets = {mobile.parse(data[14:]) for data, *_ in RawPcapReader(str(file))}
    around = [packet for packet in packets if packet.protocol != mobile.IP6]
    assert not around
    seen = {(p.source, p.destination, p.inner.source, p.inner.destination) for p in packets}
    expected = set()
    for vm, other in ((FIRST, STRANGER), (STRANGER, FIRST)):
        for peer in (CORRESPONDENT_ADDRESS, other.address):
            expected.add((care_of[vm], vm.agent, vm.address, peer))
            expected.add((vm.agent, care_of[vm], peer, vm.address))
    assert seen == expected


def test_two_homes(world: World, agents: list[Namespace], tmp_path: Path) -> None:
    """Two VMs of one host, with two home networks, are away; one returns, the other goes on."""
    away, vms = world.foreign, (FIRST, STRANGER)
    with contextlib.ExitStack() as stack:
        first, second = stack.enter_context(pair.running(*(vm.guest(away) for vm in vms)))
        for vm, guest in ((FIRST, first), (STRANGER, second)):
            roaming.configure(guest, vm.address)
            # It hears no router of its home link.
            home = vm.address.rpartition("::")[0]
            guest.run(f"ip -6 route replace default via {home}::ffff dev eth0")
            vm.await_settled(guest, away)
        care_of = {
            FIRST: roaming.info(first)["care-of"],
            STRANGER: roaming.info(second)["care-of"],
        }
        connections: list[pair.Talk | roaming.Transfer] = [
            pair.Talk(first, second, STRANGER.address),
            roaming.Transfer(world.correspondent, second, STRANGER.address, pause=0.1),
        ]
        pings = _pings(world, first, second, STRANGER)
        homes = " or ".join(f"host {vm.address}" for vm in vms)
        expression = f"{homes} or ip6[6] = 41 and ip6[46] = 58"
        with away.host.capture(away.wire.a.name, tmp_path / "away.pcap", expression) as file:
            pings.go_on()
        _check_capture(file, care_of)
        move = stack.enter_context(FIRST.move(first, world.home))
        FIRST.await_ready(move.target, world.home)
        move.begin()
        FIRST.await_settled(move.complete(), world.home)
        assert not pair.is_bound(agents[0], FIRST)
        assert pair.is_bound(agents[1], STRANGER)
        assert roaming.info(second)["care-of"] == care_of[STRANGER]
        for connection in connections:
            connection.goes_on(mib=1)
            connection.answers()
            connection.end()
        lost = pings.end()
        print(lost)
        # The other's return has not disturbed the one that stayed.
        assert not lost["second_correspondent"]


#: The second VM, where both are first, and where they go.
_WAYS: dict[str, tuple[Mobile, tuple[str, str], tuple[tuple[str, str], ...]]] = {
    "one-home": (
        NEIGHBOUR,
        ("home", "home"),
        (("foreign", "other"), ("other", "foreign"), ("home", "home")),
    ),
    "two-homes": (
        STRANGER,
        ("home", "other"),
        (("foreign", "foreign"), ("other", "home"), ("home", "other")),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("way", _WAYS)
def test_both_ends_move(world: World, agents: list[Namespace], way: str) -> None:
    """Both ends of a connection migrate at the same time; neither it nor pings notice."""
    other, begin, steps = _WAYS[way]
    vms = (FIRST, other)

    def sites(names: tuple[str, str]) -> tuple[Site, Site]:
        first, second = (getattr(world, name) for name in names)
        return first, second

    with contextlib.ExitStack() as stack:
        starting = (vm.guest(site) for vm, site in zip(vms, sites(begin), strict=True))
        first, second = stack.enter_context(pair.running(*starting))
        for vm, guest in ((FIRST, first), (other, second)):
            roaming.configure(guest, vm.address)
            guest.wait_for("ip -6 route show default | grep -q via")
        pings = _pings(world, first, second, other)
        talk = pair.Talk(first, second, other.address)
        for names in steps:
            before = pings.last()
            first, second = _move(stack, vms, (first, second), sites(names))
            pings.go_on()
            talk.goes_on()
            talk.answers()
            after = pings.last()
            lost = {
                side: [number for number in numbers if before[side] < number <= after[side]]
                for side, numbers in pings.lost().items()
            }
            print(names, lost)
            # Each QEMU throws away the frame that waits for the NIC when the VM stops.
            # Nobody sends home what comes to the last care-of address.
            if not any(vm.is_home(site) for vm, site in zip(vms, sites(names), strict=True)):
                assert all(len(numbers) <= 2 for numbers in lost.values()), lost
        talk.end()
        pings.end()


def _move(
    stack: contextlib.ExitStack,
    vms: tuple[Mobile, Mobile],
    guests: tuple[Guest, Guest],
    sites: tuple[Site, Site],
) -> list[Guest]:
    """Move both at once."""
    ways = list(zip(vms, guests, sites, strict=True))
    moves = [stack.enter_context(vm.move(guest, site)) for vm, guest, site in ways]
    for (vm, _, site), move in zip(ways, moves, strict=True):
        vm.await_ready(move.target, site)
    pair.move_together(moves)
    for (vm, _, site), move in zip(ways, moves, strict=True):
        vm.await_settled(move.target, site)
    return [move.target for move in moves]
