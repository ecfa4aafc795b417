# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is away keeps an address that it has from a router advertisement of its home link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import FOREIGN_PREFIX, HOME_PREFIX, Advertiser, World, prefix_line
from lab.packages import kernel

#: Made of the NIC's MAC address (RFC 4291 appendix A).
ADDRESS = f"{HOME_PREFIX}:0:5054:ff:fe6d:6970"


def _lifetimes(preferred: int, valid: int) -> str:
    """The line of the advertiser, in seconds."""
    words = f"AdvPreferredLifetime {preferred}; AdvValidLifetime {valid};"
    return prefix_line(HOME_PREFIX, words)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        built.home.advertiser.change()
        with built.agent(60, f"allow {ADDRESS}"):
            yield built


@pytest.fixture
def near(world: World) -> Iterator[Advertiser]:
    """The agent's own host advertises the home prefix, and nobody else does."""
    interface = Interface(world.agent_host, world.agent_interface)
    with Advertiser(interface, world.folder).running(_lifetimes(16, 32)) as advertiser:
        yield advertiser


def _address(guest: Guest) -> str:
    """What the guest's kernel says of it."""
    return guest.run(f"ip -6 -o address show dev eth0 to {ADDRESS}").stdout


def _is_preferred(guest: Guest) -> bool:
    shown = _address(guest)
    return bool(shown) and "deprecated" not in shown and "tentative" not in shown


@pytest.mark.long
def test_address_follows_its_prefix(world: World, near: Advertiser) -> None:
    """A VM that has come from home learns what is advertised there."""
    settings: dict[str, Any] = {
        "name": "renewed",
        "kernel": kernel.MAIN,
        "memory": "128M",
        "devices": (mobility.DEVICE,),
    }

    def place(site: mobility.Site) -> dict[str, Any]:
        tap = site.tap("tap-renewed")
        arguments = mobility.arguments(tap, home=ADDRESS)
        return {"netns": site.host.netns, "arguments": tuple(arguments)}

    with Guest(**place(world.home), **settings) as source:
        source.run("modprobe virtio_net; until ip link show eth0; do :; done")
        source.run("sysctl -w net.ipv6.conf.eth0.accept_dad=0")
        source.run("ip link set eth0 up")
        wait.until(lambda: _is_preferred(source), "an address at home")
        with migrated(
            source,
            ready=lambda target: "care-of" in roaming.info(target),
            **place(world.foreign),
        ) as target:
            roaming.await_bound(target, FOREIGN_PREFIX)
            near.change(_lifetimes(0, 600))
            wait.until(lambda: "deprecated" in _address(target), "a deprecated address")
            near.change(_lifetimes(600, 600))
            wait.until(lambda: _is_preferred(target), "the same address")
            roaming.pings(target)
            target.check_kernel()
