# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is away behind a path of less than 1500 octets, of which no router tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.guest.guest import Guest
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import World
from lab.mip6.narrow import narrowed
from lab.packages import kernel

MTU = 1400


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.mark.parametrize("who_knows", ["node", "agent"])
def test_tcp_where_no_router_tells(world: World, who_knows: str) -> None:
    """Either end of the tunnel lowers the MSS of both directions (RFC 2473 section 6.7)."""
    options = [f"mtu={MTU}"] if who_knows == "node" else []
    lines = [f"mtu {MTU}"] if who_knows == "agent" else []
    tap = world.foreign.tap(f"tap-{who_knows}")
    with (
        narrowed(world, MTU, silent=True),
        world.agent(60, *lines),
        Guest(
            name=f"path-{who_knows}",
            netns=world.foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(tap, *options),
        ) as guest,
    ):
        roaming.configure(guest)
        guest.run("ip -6 route replace default via fe80::1 dev eth0")
        roaming.await_bound(guest)
        roaming.pings(guest)
        transfer = roaming.Transfer(world.correspondent, guest)
        transfer.goes_on()
        transfer.end()
        roaming.upload(world.correspondent, guest)
        guest.check_kernel()
