# SPDX-License-Identifier: GPL-2.0-or-later
"""Every room in one guest, on the machines that have no other test with all of them.

guest/test_postcopy_guest.py has them on q35.
"""

from __future__ import annotations

from typing import Any

from lab.base.net import Network
from lab.guest import machine
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.hosts import all_rooms, numbers

_MACHINE = machine.MICROVM if machine.MICROVM in machine.TYPES else machine.DEFAULT
_SETTINGS: dict[str, Any] = {"module": True, "machine": _MACHINE, "memory": "192M", "smp": 1}


def test_every_room(network: Network) -> None:
    """A guest sends by VMRPC, Mobile IPv6, HostVLAN and CVSW, moves, and nothing is lost."""
    with all_rooms.world(network) as world, numbers.traffic(network, world) as traffic:
        here, there = world.hosts
        with Guest(**_SETTINGS, **world.place(here)) as first:
            numbers.begin(world, first)
            traffic.goes_on()
            with migrated(first, **world.place(there)) as moved:
                traffic.goes_on()
                assert there.has and not here.has
                moved.run("true")
            traffic.check()
