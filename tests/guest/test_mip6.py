# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM migrates to another network and keeps its address: the paper's section 3."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.base.rough import ROUGH
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import CORRESPONDENT_ADDRESS, HOME_ADDRESS, SECOND_ADDRESS, World


@pytest.fixture(scope="module")
def world(series: str) -> Iterator[World]:
    with mobility.world(ROUGH) as built:
        yield built


_SECOND = f"more-home-address={SECOND_ADDRESS}"


def _bound(guest: Guest) -> list[str]:
    """The home addresses that have a binding."""
    bindings = roaming.info(guest)["bindings"]
    return [b["home-address"] for b in bindings if b["state"] == "bound"]


def test_keeps_its_address(world: World, series: str) -> None:
    """What the guest says and hears goes on over the move to a foreign network."""
    home_tap, foreign_tap = world.home.tap("tap0"), world.foreign.tap("tap0")
    with (
        world.agent() as log,
        Guest(
            name="mobile",
            netns=world.home.host,
            kernel=series,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(home_tap, _SECOND),
        ) as source,
    ):
        roaming.configure(source, HOME_ADDRESS, SECOND_ADDRESS)
        source.wait_for("ip -6 route show default | grep -q via")
        ping, second = (
            source.spawn(["ping", "-n", "-i", every, "-I", address, CORRESPONDENT_ADDRESS])
            for every, address in (("0.01", HOME_ADDRESS), ("0.1", SECOND_ADDRESS))
        )
        transfer = roaming.Transfer(world.correspondent, source, idle=SECOND_ADDRESS)
        transfer.goes_on()
        assert roaming.state(source) == "home"
        there = {
            "netns": world.foreign.host.netns,
            "arguments": tuple(mobility.arguments(foreign_tap, _SECOND)),
        }
        with migrated(source, **there) as target:
            homes = [HOME_ADDRESS, SECOND_ADDRESS]
            wait.until(lambda: _bound(target) == homes, "a binding for each address")
            heard = second.output().stdout.count("icmp_seq")
            transfer.goes_on()
            transfer.end()
            wait.until(
                lambda: second.output().stdout.count("icmp_seq") > heard + 10, "more answers"
            )
            second.kill(signal.SIGINT)
            roaming.upload(world.correspondent, target)
            ping.kill(signal.SIGINT)
            print(ping.wait().stdout[-300:])
            info = roaming.info(target)
            print(info, log.read_text())
            assert info["received"] > info["coalesced"] > 0
            assert info["care-of"].startswith(mobility.FOREIGN_PREFIX)
