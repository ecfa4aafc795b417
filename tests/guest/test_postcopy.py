# SPDX-License-Identifier: GPL-2.0-or-later
"""Post-copy with all devices in one VM, and what fails of it: who owns the VM's address?

The source does until the VM may run at the destination, the destination from then on: its
addresses, binding, claim and the numbers of its keys (net/departure/state.h).  Nothing but a
person's ``cont`` makes the source take back what it has given away.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.hosts import all_rooms
from lab.hosts.all_rooms import HERE, LEFT, Vm, World
from vmmnet.qmp import QmpError

POSTCOPY = "postcopy-ram"
#: A destination's answer that it has loaded the devices: MIG_RP_MSG_PONG with
#: QEMU_VM_PING_PACKAGED_LOADED, of QEMU 10.2.
_LOADED = struct.pack(">HHI", 2, 4, 0x42)


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with all_rooms.world(network) as built:
        yield built


@contextlib.contextmanager
def switched(world: World, source: Vm) -> Iterator[tuple[Vm, all_rooms.Relay]]:
    """The VM runs at the destination, and most of its memory is still at the source."""
    with world.target(1, POSTCOPY) as target, world.relay(target) as relay:
        all_rooms.enable(source, POSTCOPY)
        all_rooms.begin(source, f"unix:{relay.here}")
        source.qmp.command("migrate-start-postcopy")
        wait.until(target.runs, "a VM that runs at the destination")
        source.await_status("postcopy-active")
        world.await_owner(target)
        wait.until(lambda: source.owns() == LEFT, "a source that has nothing")
        yield target, relay


def stays_away(world: World, source: Vm) -> None:
    """The source has nothing of the VM."""
    assert source.owns() == LEFT and not source.runs()
    assert world.hosts[0] not in world.owners()
    assert "VMRPC_ADDRESS" not in source.process.errors()


def test_pre_copy(world: World) -> None:
    """The source has nothing of the VM when that has completed."""
    with world.source() as source, world.target() as target:
        source.qmp.command("migrate", uri=target.uri)
        source.await_status("completed")
        world.await_owner(target)
        stays_away(world, source)


def test_background_snapshot(world: World) -> None:
    """It is a migration to a file, of a VM that stays; keys are not in it, as it has many heirs."""
    file = world.folder / "snapshot"
    with world.source() as source:
        all_rooms.enable(source, "background-snapshot")
        source.qmp.command("migrate", uri=f"file:{file}")
        source.await_status("completed")
        wait.until(source.runs, "a VM that runs on")
        world.await_owner(source)
        assert source.numbers() == 1
        source.kill()
    with world.target(uri=f"file:{file}") as heir:
        heir.await_status("completed")
        wait.until(lambda: heir.owns() == {**HERE, "cvsw": "given away"}, "a VM without keys")


def test_completes(world: World) -> None:
    with world.source() as source, switched(world, source) as (target, _):
        all_rooms.hurry(source)
        source.await_status("completed")
        target.await_status("completed")
        world.await_owner(target)
        stays_away(world, source)


def test_network_is_lost_and_comes_back(world: World) -> None:
    """Meanwhile the VM runs, or waits for its memory, at the destination.

    QEMU's main loop may wait, too, there: only commands out of band are sure to be answered.
    """
    with world.source() as source, switched(world, source) as (target, relay):
        relay.cut()
        source.await_status("postcopy-paused")
        stays_away(world, source)
        for command in ("cont", "migrate_cancel"):
            with pytest.raises(QmpError):
                source.qmp.command(command)
        assert world.owners() == [world.hosts[1]]
        again = f"{target.uri}-again"
        wait.until(lambda: all_rooms.recovers(target, again), "a destination that knows its loss")
        source.qmp.command("migrate", uri=again, resume=True)
        all_rooms.hurry(source)
        source.await_status("completed")
        target.await_status("completed")
        world.await_owner(target)
        stays_away(world, source)


def test_destination_dies(world: World) -> None:
    """The VM has died with it: its address is nobody's, and the source cannot go on."""
    with world.source() as source, switched(world, source) as (target, _):
        target.kill()
        source.await_status("postcopy-paused")
        stays_away(world, source)
        with pytest.raises(QmpError, match="Migration is not finalized yet"):
            source.qmp.command("cont")
        wait.until(lambda: world.owners() == [], "an address that is nobody's")


def test_switch_is_not_heard(world: World) -> None:
    """The VM runs there, and the source does not know: it must not run it as well.

    From QEMU 10.2 on the source's migration fails then; before, it pauses.
    """
    with (
        world.source() as source,
        world.target(1, POSTCOPY) as target,
        world.relay(target) as relay,
    ):
        all_rooms.enable(source, POSTCOPY)
        all_rooms.begin(source, f"unix:{relay.here}")
        relay.lose(_LOADED)
        source.qmp.command("migrate-start-postcopy")
        wait.until(target.runs, "a VM that runs at the destination")
        world.await_owner(target)
        relay.cut()
        source.await_status("postcopy-paused", "failed")
        wait.until(lambda: source.owns() == LEFT, "a source that has nothing")
        if source.status() == "failed":
            wait.until(lambda: source.run_state() != "finish-migrate", "an end at the source")
        stays_away(world, source)
        target.kill()  # it waits for its memory, and does not end by itself


def test_end_is_not_heard(world: World) -> None:
    """The VM is there with all its memory, but the source's migration has failed."""
    with world.source() as source, switched(world, source) as (target, relay):
        relay.hold_answers()
        all_rooms.hurry(source)
        target.await_status("completed")
        relay.cut()
        source.await_status("failed")
        wait.until(lambda: source.run_state() != "finish-migrate", "an end at the source")
        assert target.runs()
        world.await_owner(target)
        stays_away(world, source)
        assert "failed after the VM went on at its destination" in source.process.errors()
        # A person who knows that the VM is not there takes it back.
        target.kill()
        source.qmp.command("cont")
        mine = {**HERE, "cvsw": "given away"}  # the numbers have been used there
        wait.until(lambda: source.owns() == mine, "a VM that is the source's again")
        wait.until(lambda: world.owners() == [world.hosts[0]], "its address")


@pytest.mark.parametrize("end", ["dies", "cancelled"])
def test_fails_before_the_switch(world: World, end: str) -> None:
    """The VM runs on, and all is the source's."""
    with world.source() as source, world.target(1, POSTCOPY) as target:
        all_rooms.enable(source, POSTCOPY)
        all_rooms.begin(source, target.uri)
        if end == "dies":
            target.kill()
            source.await_status("failed")
        else:
            source.qmp.command("migrate_cancel")
            source.await_status("cancelled")
        assert source.runs()
        world.await_owner(source)
        assert source.numbers() == 1


def test_refused_at_the_switch(world: World) -> None:
    """The VM has stopped for it: the source takes back all, with other numbers."""
    stands = "pause-before-switchover"
    with world.source() as source, world.target(1, POSTCOPY) as target:
        all_rooms.enable(source, POSTCOPY, stands)
        all_rooms.begin(source, target.uri)
        source.qmp.command("migrate-start-postcopy")
        source.await_status("pre-switchover")
        wait.until(lambda: world.owners() == [], "an address that is nobody's")
        source.qmp.command("migrate_cancel")
        source.await_status("cancelled")
        wait.until(source.runs, "a VM that goes on")
        world.await_owner(source)
