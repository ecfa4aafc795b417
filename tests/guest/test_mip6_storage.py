# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM moves to another network with its disk: the paper's section 3.3, and virsh's way."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.guest import storage
from lab.guest.traffic import GuestAsks, HostAsks, Pings
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import CORRESPONDENT_ADDRESS, HOST_A_ADDRESS, World
from lab.mip6.pair import FIRST


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built, built.agent():
        yield built


@pytest.mark.long
@pytest.mark.parametrize("copied", [False, True], ids=["served", "copied"])
def test_disk(world: World, tmp_path: Path, copied: bool) -> None:
    """It is written to before, during and after the migration, and is whole.

    Its image stays on host A, whose NBD server both hosts use; or is copied to host B.
    """
    here, there = world.home, world.foreign
    first = last = storage.image(tmp_path / "here.raw")
    with contextlib.ExitStack() as stack:
        if copied:
            last = storage.blank(tmp_path / "there.raw")
            disks = storage.local(first), storage.local(last)
        else:
            disks = (stack.enter_context(storage.served(here.host, HOST_A_ADDRESS, first)),) * 2
        source = stack.enter_context(FIRST.guest(here, *disks[0]))
        roaming.configure(source)
        source.wait_for("ip -6 route show default | grep -q via")
        writer = storage.Writer(source)
        pings = Pings(
            guest=GuestAsks(source, CORRESPONDENT_ADDRESS),
            correspondent=HostAsks(world.correspondent, FIRST.address, tmp_path / "ping.log"),
        )
        transfer = roaming.Transfer(world.correspondent, source, pause=0.1)
        move = stack.enter_context(FIRST.move(source, there, *disks[1]))
        mirror = storage.Mirror(move, there.address) if copied else None
        FIRST.await_ready(move.target, there)
        move.begin(slowly=True, standing=True)
        move.await_memory()
        writer.goes_on()
        move.hurry()
        move.await_stand()
        if mirror:
            mirror.end()
        move.go_on()
        target = move.complete()
        FIRST.await_settled(target, there)
        writer.goes_on()
        transfer.goes_on(mib=1)
        transfer.answers()
        transfer.end()
        lost = pings.end()
        print(lost)
        # QEMU throws away the frame that waits for the NIC when the VM stops.
        assert all(len(numbers) <= 1 for numbers in lost.values())
        seen = writer.end(target)
    assert hashlib.sha256(last.read_bytes()).hexdigest() == seen
    storage.check(last)
