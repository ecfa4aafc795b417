# SPDX-License-Identifier: GPL-2.0-or-later
"""Post-copy of a guest that sends by each room all the time, by CVSW in ESP.

The other host has the same series of QEMU, or another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.guest import qemu
from lab.guest.guest import Guest
from lab.guest.migration import Move
from lab.guest.relay import Relay
from lab.hosts import all_rooms, numbers
from lab.hosts.all_rooms import LEFT, Host, Vm, World
from lab.hosts.numbers import Traffic


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with all_rooms.world(network) as built:
        yield built


@pytest.fixture
def traffic(network: Network, world: World) -> Iterator[Traffic]:
    with numbers.traffic(network, world) as made:
        yield made


def vm_of(host: Host, guest: Guest) -> Vm:
    """What has the VM on a host."""
    return Vm(host, guest.process, guest.monitor)


@contextlib.contextmanager
def moving(world: World, source: Guest, host: Host, binary: Path) -> Iterator[tuple[Move, Relay]]:
    """The guest runs, and its memory is on its way to a host."""
    with Move(source, postcopy=True, **world.place(host, binary)) as move:
        path = world.folder / f"relay-{host.folder.name}"
        with Relay(path, move.target.folder / "stream") as relay:
            move.begin(slowly=True, through=f"unix:{path}")
            move.await_memory()
            yield move, relay


@pytest.mark.long
@pytest.mark.parametrize("newer", qemu.series())
def test_nothing_is_lost(world: World, traffic: Traffic, newer: str) -> None:
    """There, where the network is lost once after the switch; and back, which nobody hears of."""
    here, there = world.hosts
    old, new = map(qemu.of_series, (qemu.series()[0], newer))
    settings: dict[str, Any] = {"module": True, "kernel": "6.12", "memory": "128M", "smp": 1}
    settings["machine"] = f"pc-q35-{qemu.series()[0]}"
    with Guest(name="guest", **settings, **world.place(here, old)) as first:
        numbers.begin(world, first)
        traffic.goes_on()
        source = vm_of(here, first)
        world.await_owner(source)
        with moving(world, first, there, new) as (move, relay):
            traffic.goes_on()
            move.switch()
            target = vm_of(there, move.target)
            world.await_owner(target)
            traffic.goes_on()
            relay.cut()
            source.await_status("postcopy-paused")
            assert source.owns() == LEFT and not here.has
            again = f"{move.uri}-again"
            wait.until(lambda: all_rooms.recovers(target, again), "a target that knows of the loss")
            source.qmp.command("migrate", uri=again, resume=True)
            move.hurry()
            guest = move.complete()
            traffic.goes_on()
            assert source.owns() == LEFT
            first.kill()  # its socket has the port of the VM's
            with moving(world, guest, here, old) as (back, relay):
                traffic.goes_on()
                back.switch()
                back_at = vm_of(here, back.target)
                world.await_owner(back_at)
                relay.hold_answers()
                back.hurry()
                back_at.await_status("completed")
                relay.cut()
                guest = back.complete(heard=False)
                traffic.goes_on()
                world.await_owner(back_at)
                assert target.owns() == LEFT and not target.runs()
                assert "failed after the VM went on" in target.process.errors()
                guest.run("true")
                traffic.check()
