# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM with all devices moves between the series of QEMU that vmmnet is built on, and back.

No guest runs: tests/guest/test_postcopy_guest.py has one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from lab.base.net import Network
from lab.guest import qemu
from lab.hosts import all_rooms
from lab.hosts.all_rooms import LEFT, World

pytestmark = pytest.mark.long

_OLD, *_NEWER = qemu.series()
_POSTCOPY = "postcopy-ram"


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    """The machine is one of the oldest series, which all have."""
    with all_rooms.world(network, f"pc-q35-{_OLD}") as built:
        yield built


@pytest.mark.parametrize("by", ["pre-copy", "post-copy"])
@pytest.mark.parametrize("newer", _NEWER)
def test_there_and_back(world: World, newer: str, by: str) -> None:
    postcopy = [_POSTCOPY] * (by == "post-copy")
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(world.source(binary=qemu.of_series(_OLD)))
        for host, series in ((1, newer), (0, _OLD)):
            here = qemu.of_series(series)
            target = stack.enter_context(world.target(host, *postcopy, binary=here))
            all_rooms.enable(source, *postcopy)
            all_rooms.begin(source, target.uri)
            if postcopy:
                source.qmp.command("migrate-start-postcopy")
                source.await_status("postcopy-active")
            all_rooms.hurry(source)
            source.await_status("completed")
            target.await_status("completed")
            world.await_owner(target)
            assert source.owns() == LEFT and not source.runs()
            assert target.version().startswith(f"{series}.")
            (port,) = target.qmp.command("query-hostvlan")
            print(
                f"{by}, {world.machine}: {source.version()} -> {target.version()}:"
                f" {source.status()}; {target.owns()}, hostvlan: {port['lnids']}"
            )
            source = target
