# SPDX-License-Identifier: GPL-2.0-or-later
"""A home agent that protects signalling only: Linux with keys as UMIP sets it up (RFC 3776)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.mip6 import guestless, linux_home, mobility, roaming
from lab.mip6.linux_home import LinuxAgent
from lab.mip6.mobile_esp import Keys
from lab.mip6.mobility import FOREIGN_PREFIX, HOME_ADDRESS, World
from lab.packages import kernel

KEYS = Keys()


@pytest.fixture(scope="module")
def world(series: str) -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.fixture(scope="module")
def agent(world: World, series: str) -> Iterator[LinuxAgent]:
    words = [HOME_ADDRESS]
    for name in ("signal-out", "signal-in"):
        spi, key = KEYS.of(name)
        words += [hex(spi), key.hex()]
    with linux_home.running(world, series, *words) as found:
        yield found


def test_payload_has_to_be_protected(world: World, agent: LinuxAgent) -> None:
    """By default bare payload is dropped, and the VM that is bound tells why."""
    tap = world.foreign.tap("tap0")
    arguments = mobility.arguments(tap, *KEYS.options(), "location=away")
    with guestless.node(world, [*KEYS.objects(), *arguments]) as node:
        monitor = node.monitor
        monitor.wait_event("MIP6_STATE", state="bound")
        world.correspondent.run(["ping", "-c", "1", "-W", "1", HOME_ADDRESS], check=False)
        monitor.wait_event("MIP6_STATE", state="bound", reason="unprotected")
        text = monitor.command("human-monitor-command", command_line="info mip6")
        assert "mip0: netdev net0, bound (unprotected)" in text
    assert agent.updates()[-1].endswith(": 0")


def test_probe_comes_back(world: World, agent: LinuxAgent) -> None:
    """The kernel returns what goes from the home address to itself: the tunnel works."""
    words = [word for word in KEYS.options() if not word.startswith("tunnel-")]
    words += ["esp-payload=off", "location=away"]
    arguments = mobility.arguments(world.foreign.tap("tap2"), *words)
    with guestless.node(world, [*KEYS.objects(), *arguments]) as node:
        monitor = node.monitor
        monitor.wait_event("MIP6_STATE", state="bound")
        wait.until(lambda: roaming.probes(monitor)["tunnel"] == "answered", "the probe")


def test_payload_in_clear(world: World, agent: LinuxAgent) -> None:
    """With esp-payload=off it passes, and registration is in ESP all the same."""
    tap = world.foreign.tap("tap1")
    words = [word for word in KEYS.options() if not word.startswith("tunnel-")]
    words += ["esp-payload=off", "location=away", f"router-mac={world.home.link.mac}"]
    with Guest(
        name="mobile",
        netns=world.foreign.host,
        kernel=kernel.MAIN,
        memory="256M",
        devices=[mobility.DEVICE],
        arguments=[*KEYS.objects(), *mobility.arguments(tap, *words)],
    ) as guest:
        roaming.configure(guest)
        guest.run(f"ip -6 route replace default via {roaming.home_router(world)} dev eth0")
        roaming.await_bound(guest, FOREIGN_PREFIX)
        roaming.pings(guest)
        info = roaming.info(guest)
        assert info["reason"] == "none"
        assert [esp["name"] for esp in info["esp"]] == ["signal-out", "signal-in"]
        assert all(esp["packets"] for esp in info["esp"])
        assert roaming.dropped(guest, "unprotected") == 0
