# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is away, while routers, paths and its home agent change beneath it."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from ipaddress import IPv6Address

import pytest
from lab.base import wait
from lab.base.net import Interface
from lab.guest.guest import Guest
from lab.mip6 import mobile, mobility, roaming
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORE_PREFIX,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    SECOND_ADDRESS,
    Advertiser,
    World,
    prefix_line,
)
from lab.mip6.stranger import (
    Stranger,
    acknowledgement,
    advertisement,
    binding_error,
    standing,
)
from lab.packages import kernel

NEW_PREFIX, LOCAL_PREFIX = "2001:db8:6000", "fd00:db8:6000"
#: Neighbours are looked after soon, so that a router that is gone is missed soon.
BRISK = "AdvReachableTime 1000; AdvRetransTimer 200;"
ONE_PREFIX = (BRISK, prefix_line(FOREIGN_PREFIX))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        built.foreign.advertiser.change(*ONE_PREFIX)
        yield built


@pytest.fixture(scope="module")
def started(world: World) -> Iterator[Guest]:
    """A VM that was started away, and has been bound; each test has its own home agent."""
    with Guest(
        name="mobile",
        netns=world.foreign.host,
        kernel=kernel.MAIN,
        memory="256M",
        devices=[mobility.DEVICE],
        arguments=mobility.arguments(world.foreign.tap("tap0")),
    ) as guest:
        roaming.configure(guest)
        guest.run("ip -6 route replace default via fe80::1 dev eth0")
        with world.agent():
            roaming.await_bound(guest)
        yield guest


@pytest.fixture
def guest(world: World, started: Guest) -> Iterator[Guest]:
    """The same, bound."""
    with world.agent():
        roaming.pings(started)
        roaming.await_bound(started)
        yield started
        started.check_kernel()


@contextlib.contextmanager
def advertising(advertiser: Advertiser, *lines: str) -> Iterator[None]:
    """Advertise something else for a time."""
    try:
        advertiser.change(*lines)
        yield
    finally:
        advertiser.change(*ONE_PREFIX)


@contextlib.contextmanager
def routed(world: World, prefix: str, via: str) -> Iterator[None]:
    """Have the core know another prefix behind a router."""
    world.core.route(f"{prefix}::/64", via)
    try:
        yield
    finally:
        world.core.ip("-6", "route", "del", f"{prefix}::/64")


def test_router_renumbers(world: World, guest: Guest) -> None:
    """A new prefix comes and the old one goes; the binding moves and nothing breaks."""
    foreign = world.foreign
    transfer = roaming.Transfer(world.correspondent, guest)
    transfer.goes_on()
    old = _withdrawn(FOREIGN_PREFIX)
    foreign.link.add_address(f"{NEW_PREFIX}::ffff/64")
    try:
        with (
            routed(world, NEW_PREFIX, f"{CORE_PREFIX}::2"),
            advertising(foreign.advertiser, BRISK, prefix_line(NEW_PREFIX), old),
        ):
            roaming.await_bound(guest, NEW_PREFIX)
            # Nothing comes by the old prefix any more.
            world.core.ip("-6", "route", "del", f"{FOREIGN_PREFIX}::/64")
            try:
                transfer.goes_on()
            finally:
                world.core.route(f"{FOREIGN_PREFIX}::/64", f"{CORE_PREFIX}::2")
            # And back: the prefix of now is withdrawn.
            foreign.advertiser.change(*ONE_PREFIX, _withdrawn(NEW_PREFIX))
            roaming.await_bound(guest, FOREIGN_PREFIX)
            transfer.goes_on()
            transfer.end()
    finally:
        foreign.link.remove_address(f"{NEW_PREFIX}::ffff/64")


def _withdrawn(prefix: str) -> str:
    return prefix_line(prefix, "AdvPreferredLifetime 0; AdvValidLifetime 600;")


def test_router_forgets_its_prefix(world: World, guest: Guest) -> None:
    """It comes back with another prefix, and has not withdrawn the old one (RFC 9096)."""
    foreign = world.foreign
    transfer = roaming.Transfer(world.correspondent, guest)
    transfer.goes_on()
    world.core.ip("-6", "route", "del", f"{FOREIGN_PREFIX}::/64")
    foreign.link.add_address(f"{NEW_PREFIX}::ffff/64")
    foreign.link.remove_address(f"{FOREIGN_PREFIX}::ffff/64")
    try:
        with (
            routed(world, NEW_PREFIX, f"{CORE_PREFIX}::2"),
            advertising(foreign.advertiser, BRISK, prefix_line(NEW_PREFIX)),
        ):
            roaming.await_bound(guest, NEW_PREFIX)
            transfer.goes_on()
    finally:
        foreign.link.add_address(f"{FOREIGN_PREFIX}::ffff/64")
        world.core.route(f"{FOREIGN_PREFIX}::/64", f"{CORE_PREFIX}::2")
        foreign.advertiser.change(*ONE_PREFIX, _withdrawn(NEW_PREFIX))
        foreign.link.remove_address(f"{NEW_PREFIX}::ffff/64")
    roaming.await_bound(guest, FOREIGN_PREFIX)
    transfer.goes_on()
    transfer.end()


@pytest.mark.parametrize("agent", [AGENT_ADDRESS, "auto"], ids=["named", "auto"])
def test_address_that_leads_nowhere(world: World, agent: str) -> None:
    """A unique local prefix is there first, from which no home agent is reached or discovered."""
    advertiser, tap = world.foreign.advertiser, world.foreign.tap(f"tap-{agent[:4]}")
    with (
        world.agent(),
        advertising(advertiser, BRISK, prefix_line(LOCAL_PREFIX)),
        Guest(
            name=f"local-{agent[:4]}",
            netns=world.foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.device("52:54:00:6d:69:71")],
            arguments=mobility.arguments(tap, home=SECOND_ADDRESS, agent=agent),
        ) as guest,
    ):
        roaming.configure(guest, SECOND_ADDRESS)
        guest.run("ip -6 route replace default via fe80::1 dev eth0")
        wait.until(
            lambda: roaming.info(guest).get("care-of", "").startswith(LOCAL_PREFIX),
            "a local care-of address",
        )
        advertiser.change(BRISK, prefix_line(LOCAL_PREFIX), prefix_line(FOREIGN_PREFIX))
        roaming.await_bound(guest, FOREIGN_PREFIX)
        roaming.pings(guest)
        advertiser.change(*ONE_PREFIX, _withdrawn(LOCAL_PREFIX))
        guest.check_kernel()


def test_global_beside_local(world: World) -> None:
    """Of two prefixes the global one leads to the agent (RFC 6724), whichever comes first."""
    lines = (BRISK, prefix_line(LOCAL_PREFIX), prefix_line(FOREIGN_PREFIX))
    with (
        world.agent(),
        advertising(world.foreign.advertiser, *lines, _withdrawn(NEW_PREFIX)),
        Guest(
            name="beside",
            netns=world.foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.device("52:54:00:6d:69:72")],
            arguments=mobility.arguments(world.foreign.tap("tap-two"), home=SECOND_ADDRESS),
        ) as guest,
    ):
        roaming.configure(guest, SECOND_ADDRESS)
        first = guest.monitor.wait_event("MIP6_STATE", state="registering")
        assert first["data"]["care-of"].startswith(FOREIGN_PREFIX)
        roaming.await_bound(guest, FOREIGN_PREFIX)
        roaming.pings(guest)
        guest.check_kernel()
    world.foreign.advertiser.change(*ONE_PREFIX, _withdrawn(LOCAL_PREFIX))


@contextlib.contextmanager
def spare_router(world: World) -> Iterator[Advertiser]:
    """Another router on the foreign link, which does not go away with the first."""
    router = world.network.namespace("spare-router")
    try:
        router.sysctl({"net.ipv6.conf.all.forwarding": 1})
        lan = world.network.connect(router, world.foreign.bridge, [f"{NEW_PREFIX}::ffff/64"]).a
        core = world.network.connect(router, _core_switch(world), [f"{CORE_PREFIX}::33/64"]).b
        router.route("::/0", f"{CORE_PREFIX}::ffff")
        advertiser = Advertiser(lan, world.folder)
        with (
            routed(world, NEW_PREFIX, f"{CORE_PREFIX}::33"),
            advertiser.running(BRISK, prefix_line(NEW_PREFIX)),
        ):
            assert core.has_carrier()
            yield advertiser
    finally:
        router.close()


def _core_switch(world: World) -> Interface:
    return Interface(world.core, "core")


def test_router_vanishes(world: World, guest: Guest) -> None:
    """Another router takes over; without any, people are told, until one is back."""
    transfer = roaming.Transfer(world.correspondent, guest)
    transfer.goes_on()
    with spare_router(world) as spare:
        world.foreign.wire.down()
        try:
            # The address of the first one's prefix does not work by way of the second.
            roaming.await_bound(guest, NEW_PREFIX)
            transfer.goes_on()
            guest.monitor.forget_events()
            spare.link.down()
            guest.monitor.wait_event("MIP6_STATE", state="acquiring", reason="no-care-of-address")
            assert "care-of" not in roaming.info(guest)
        finally:
            world.foreign.wire.up()
        roaming.await_bound(guest, FOREIGN_PREFIX)
        transfer.goes_on()
        transfer.end()


def test_agent_is_killed(world: World, started: Guest) -> None:
    """A home agent that is killed and begun again loses no binding and no transfer."""
    lines = (f"state {world.folder / 'ha.state'}",)
    with contextlib.ExitStack() as stack:
        with world.agent_process(60, *lines) as (_, child):
            roaming.pings(started)
            roaming.await_bound(started)
            transfer = roaming.Transfer(world.correspondent, started)
            transfer.goes_on()
            child.send_signal(signal.SIGKILL)
            child.wait(wait.PATIENCE)
            log, _ = stack.enter_context(world.agent_process(60, *lines))
        transfer.goes_on()
        transfer.end()
        # The mobile node did not have to register again.
        assert "restored 1" in log.read_text()
        assert roaming.state(started) == "bound"


@pytest.mark.long
def test_agent_is_away_for_long(world: World, started: Guest) -> None:
    """The binding expires; updates are repeated; all goes on when there is an agent again."""
    events = started.monitor
    with world.agent(8):
        roaming.pings(started)
        roaming.await_bound(started)
        transfer = roaming.Transfer(world.correspondent, started)
        transfer.goes_on()
        events.forget_events()
    events.wait_event("MIP6_STATE", state="bound", reason="no-answer")
    events.wait_event("MIP6_STATE", state="registering", reason="expired")
    events.wait_event("MIP6_STATE", state="registering", reason="no-answer")
    with world.agent():
        events.wait_event("MIP6_STATE", state="bound", reason="none")
        transfer.goes_on()
        transfer.end()


def _care_of_mac(world: World, care_of: str) -> str:
    """As the foreign router knows it."""
    found = world.foreign.router.ip("-6", "neigh", "show", care_of)
    match = re.search(r"lladdr (\S+)", found)
    assert match, found
    return match[1]


@pytest.fixture
def stranger(world: World, guest: Guest) -> Iterator[Stranger]:
    """Stand on the foreign link."""
    mac = _care_of_mac(world, roaming.info(guest)["care-of"])
    with standing(world.network, world.foreign.bridge, mac, guest) as found:
        yield found


def test_forged_on_the_link(world: World, guest: Guest, stranger: Stranger) -> None:
    """Mobility messages and tunnels of others than the home agent change nothing."""
    transfer = roaming.Transfer(world.correspondent, guest)
    care_of = roaming.info(guest)["care-of"]
    other = f"{FOREIGN_PREFIX}::bad"
    inner = mobile.echo(CORRESPONDENT_ADDRESS, HOME_ADDRESS, 1)
    for sequence in range(0, 0x10000, 0x1111):
        stranger.refused("stranger", acknowledgement(other, care_of, sequence, 128))
        # Nothing was asked: whoever answers, it is no answer.
        stranger.refused("mh-unexpected", acknowledgement(AGENT_ADDRESS, care_of, sequence, 128))
    stranger.refused("stranger", binding_error(other, care_of))
    stranger.refused("stranger", mobile.ip6(other, care_of, mobile.IP6, inner))
    # The home agent's name does not open the tunnel to others than the guest.
    wrong = mobile.echo(CORRESPONDENT_ADDRESS, f"{mobility.HOME_PREFIX}::77", 1)
    stranger.refused("not-home-address", mobile.ip6(AGENT_ADDRESS, care_of, mobile.IP6, wrong))
    transfer.goes_on()
    transfer.end()


def test_forged_routers(world: World, guest: Guest, stranger: Stranger) -> None:
    """From beyond the link nobody is a router; what a neighbour forges is survived."""
    transfer = roaming.Transfer(world.correspondent, guest)
    care_of = roaming.info(guest)["care-of"]
    router = world.foreign.router.ip("-6", "address", "show", "dev", "lan0", "scope", "link")
    match = re.search(r"inet6 (fe80[^/]*)", router)
    assert match
    # By way of a router its own words do not count. The next packet tells when it was read.
    stranger.node.send(advertisement(match[1], 254, 1, 0, FOREIGN_PREFIX))
    other = mobile.ip6(f"{FOREIGN_PREFIX}::bad", care_of, mobile.IP6, bytes(40))
    stranger.refused("stranger", other)
    # Another prefix, of a router that is none, does not move the node.
    stranger.node.send(advertisement("fe80::bad", 255, 64, 0, NEW_PREFIX))
    transfer.goes_on()
    roaming.await_bound(guest, FOREIGN_PREFIX)
    guest.monitor.forget_events()
    # The router's end, and a hop limit of which nothing arrives: until it speaks again.
    stranger.node.send(advertisement(match[1], 255, 1, 0, FOREIGN_PREFIX))
    guest.monitor.wait_event("MIP6_STATE", state="acquiring")
    roaming.await_bound(guest, FOREIGN_PREFIX)
    transfer.goes_on()
    # The router has another MAC address: until it does not answer there.
    body = (0xA0 << 24).to_bytes(4, "big") + IPv6Address(match[1]).packed
    body += bytes((2, 1)) + bytes.fromhex("020000000bad")
    stranger.node.send(mobile.icmp6(match[1], "ff02::1", 136, body, 255))
    transfer.goes_on()
    transfer.end()
