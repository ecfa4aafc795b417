# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is away where a switch snoops MLD and has a querier."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address

import pytest
from lab.base import wait
from lab.base.rough import Rough
from lab.guest.guest import Guest
from lab.hosts import snooping
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import World
from lab.packages import kernel


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world(Rough(snoops=True)) as built:
        yield built


def _solicited(address: str) -> str:
    """The solicited-node group of an address (RFC 4291, 2.7.1)."""
    low = int(IPv6Address(address)) & 0xFFFFFF
    return str(IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | low))


def _queries(world: World) -> int:
    snmp6 = world.foreign.router.run(["cat", "/proc/net/snmp6"]).stdout
    return snooping.mld_queries(snmp6)


def test_bound_where_a_switch_snoops(world: World) -> None:
    """It is bound on arrival, and is still reached when the router has forgotten its MAC."""
    foreign = world.foreign
    tap = foreign.tap("tap0")
    with (
        world.agent(),
        Guest(
            name="mobile",
            netns=foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(tap),
        ) as guest,
    ):
        roaming.configure(guest)
        guest.run("ip -6 route replace default via fe80::1 dev eth0")
        roaming.await_bound(guest)
        group = _solicited(roaming.info(guest)["care-of"])
        wait.until(lambda: group in snooping.groups(foreign.bridge, tap), f"a report of {group}")
        # What was reported on arrival has expired by then.
        enough = _queries(world) + snooping.PAST_EXPIRY
        wait.until(lambda: _queries(world) >= enough, "queries")
        assert group in snooping.groups(foreign.bridge, tap)
        foreign.router.ip("-6", "neigh", "flush", "dev", foreign.link.name)
        roaming.pings(guest)
        assert roaming.state(guest) == "bound"
        guest.check_kernel()
