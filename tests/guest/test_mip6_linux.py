# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM whose home agent is not ours: a stock Linux kernel has the tunnel."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.base.net import Interface
from lab.guest.guest import Guest
from lab.mip6 import linux_agent, linux_home, mobility, roaming
from lab.mip6.linux_home import LinuxAgent
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    World,
)
from lab.mip6.narrow import SMALLEST_MTU, narrowed, told_mtu
from lab.packages import kernel


@pytest.fixture(scope="module")
def world(series: str) -> Iterator[World]:
    with mobility.world() as built:
        yield built


@pytest.fixture(scope="module")
def agent(world: World, series: str) -> Iterator[LinuxAgent]:
    with linux_home.running(world, series) as found:
        yield found


@pytest.fixture(scope="module")
def tap(world: World) -> Interface:
    """The VM's; its host has a bridge to each of two networks, the foreign and the home link."""
    world.network.connect(world.foreign.host.bridge("home0"), world.home.link)
    return world.foreign.tap("tap0")


@pytest.fixture(scope="module")
def guest(world: World, agent: LinuxAgent, tap: Interface) -> Iterator[Guest]:
    """A VM that was started away, and is bound."""
    with Guest(
        name="mobile",
        netns=world.foreign.host,
        kernel=kernel.MAIN,
        memory="256M",
        devices=[mobility.DEVICE],
        arguments=mobility.arguments(tap, f"router-mac={world.home.link.mac}"),
    ) as guest:
        roaming.configure(guest)
        guest.run(f"ip -6 route replace default via {roaming.home_router(world)} dev eth0")
        roaming.await_bound(guest, FOREIGN_PREFIX)
        yield guest


def _ping(world: World, size: int) -> str:
    """Ask the guest with a packet of this size: what there was to say."""
    command = ["ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", str(size - 48), HOME_ADDRESS]
    return world.correspondent.run(command, check=False).stdout


def test_registers(world: World, agent: LinuxAgent, guest: Guest) -> None:
    """The kernel's home agent binds the VM; what both sides say goes through its tunnel."""
    care_of = roaming.info(guest)["care-of"]
    assert (
        agent.updates()[0] == f"{HOME_ADDRESS} {care_of} {linux_agent.LIFETIME} from {care_of}: 0"
    )
    roaming.pings(guest)
    assert " 0% packet loss" in _ping(world, 100)
    transfer = roaming.Transfer(world.correspondent, guest)
    transfer.goes_on()
    transfer.end()
    roaming.upload(world.correspondent, guest)
    info = roaming.info(guest)
    assert info["sent"] and info["received"]
    assert roaming.dropped(guest, "stranger") == 0


def test_too_big(world: World, agent: LinuxAgent, guest: Guest) -> None:
    """The kernel says what fits into its tunnel; so much does, in both directions."""
    mtu = agent.tunnel_mtu
    assert told_mtu(world.correspondent, HOME_ADDRESS, 1500) == (mtu, AGENT_ADDRESS)
    wait.until(lambda: " 0% packet loss" in _ping(world, mtu), "an answer of this size")
    told, _ = told_mtu(guest, CORRESPONDENT_ADDRESS, 1500)
    assert told == roaming.info(guest)["mtu"]


def _datagram(world: World, guest: Guest, size: int) -> None:
    """A packet of this size, of UDP, that the guest sends until it arrives."""
    send = f"printf %0{size - 48}d 0 | nc -6 -u -w 1 {CORRESPONDENT_ADDRESS} 7009"
    with world.correspondent.entered():
        sink = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with sink:
        sink.bind((CORRESPONDENT_ADDRESS, 7009))
        sink.setblocking(False)

        def arrived() -> bool:
            guest.run(send)
            with contextlib.suppress(BlockingIOError):
                return len(sink.recv(2000)) == size - 48
            return False

        wait.until(arrived, f"a packet of {size} octets")


def test_narrow_path(world: World, agent: LinuxAgent, guest: Guest) -> None:
    """A path of 1280 octets: what we fragment the kernel puts together, and TCP fits."""
    # With that option, eight octets, TCP would not: Linux fragments nothing on its tunnel.
    agent.guest.run("ip -6 tunnel change mn0 mode ip6ip6 encaplimit none")
    transfer = roaming.Transfer(world.correspondent, guest)
    with narrowed(world):
        assert told_mtu(world.correspondent, HOME_ADDRESS, 1400) == (SMALLEST_MTU, AGENT_ADDRESS)
        transfer.goes_on()
        transfer.end()
        _datagram(world, guest, SMALLEST_MTU)
        assert roaming.info(guest)["fragmented"]
        roaming.upload(world.correspondent, guest)


def test_agent_forgets(world: World, agent: LinuxAgent, guest: Guest) -> None:
    """The kernel refuses the tunnel's packets: the VM tells of it, and registers at once."""
    roaming.pings(guest)
    guest.monitor.forget_events()
    pinging = guest.spawn(["ping", "-n", "-i", "0.5", CORRESPONDENT_ADDRESS])
    with agent.restarted():
        guest.monitor.wait_event("MIP6_STATE", state="bound", reason="tunnel-refused")
    guest.monitor.wait_event("MIP6_STATE", state="bound", reason="none")
    roaming.pings(guest)
    pinging.kill(signal.SIGINT)
    assert agent.updates()[0].endswith(": 0")
    info = guest.monitor.command("human-monitor-command", command_line="info mip6")
    assert "mip0: netdev net0, bound\n" in info.replace("\r", "")


def test_returns_home(world: World, agent: LinuxAgent, guest: Guest, tap: Interface) -> None:
    """The binding ends, and the kernel is no proxy any more; the connection goes on."""
    transfer = roaming.Transfer(world.correspondent, guest)
    transfer.goes_on()
    world.foreign.host.ip("link", "set", tap.name, "master", "home0")
    wait.until(lambda: roaming.state(guest) == "home", "a VM that is at home")
    transfer.goes_on()
    transfer.end()
    assert agent.updates()[-1] == f"{HOME_ADDRESS} {HOME_ADDRESS} 0 from {HOME_ADDRESS}: 0"
    assert HOME_ADDRESS not in agent.guest.run("ip -6 neigh show proxy").stdout
    before = roaming.info(guest)
    roaming.pings(guest)
    assert " 0% packet loss" in _ping(world, SMALLEST_MTU)
    after = roaming.info(guest)
    assert (before["sent"], before["received"]) == (after["sent"], after["received"])
