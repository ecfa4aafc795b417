# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM that is not told who its home agent is (RFC 6275 section 11.4.1)."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Any

import pytest
from lab.base import wait
from lab.mip6 import guestless, mobility
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    HOME_PREFIX,
    World,
    prefix_line,
)
from vmmnet.qmp import Qmp

ANYCAST = f"{HOME_PREFIX}:0:fdff:ffff:ffff:fffe"
#: On the home link, says that it is a home agent and the best one, and is none.
ROUTER_ADDRESS = f"{HOME_PREFIX}::ffff"
IMPOSTOR = (
    "AdvHomeAgentFlag on; AdvHomeAgentInfo on;",
    "HomeAgentPreference 9; HomeAgentLifetime 600;",
    f"prefix {ROUTER_ADDRESS}/64 {{ AdvRouterAddr on; AdvOnLink on; AdvAutonomous on; }};",
)
REQUEST, REPLY = 144, 145


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


@contextlib.contextmanager
def _started(world: World, tap: str) -> Iterator[Qmp]:
    arguments = mobility.arguments(world.foreign.tap(tap), "location=away", agent="auto")
    with guestless.node(world, arguments) as node:
        yield node.monitor


def _info(monitor: Qmp) -> dict[str, Any]:
    (info,) = monitor.command("query-mip6")
    return dict(info)


def _shown(monitor: Qmp) -> str:
    return str(monitor.execute("human-monitor-command", {"command-line": "info mip6"}))


def _agents(world: World) -> list[str]:
    """The home agents, as whoever asks from afar is told; none without an answer."""
    with (
        world.correspondent.entered(),
        socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as line,
    ):
        line.settimeout(1)
        line.sendto(bytes((REQUEST, 0, 0, 0, 0x12, 0x34, 0, 0)), (ANYCAST, 0))
        with contextlib.suppress(TimeoutError):
            while True:
                answer = line.recv(2048)
                if answer[0] == REPLY:
                    places = range(8, len(answer), 16)
                    return [str(IPv6Address(answer[at : at + 16])) for at in places]
    return []


def test_is_found(world: World) -> None:
    """Without an answer it is said, and asked again; the agent that answers is registered with."""
    with _started(world, "tap0") as monitor:
        monitor.wait_event("MIP6_STATE", state="discovering", reason="no-answer")
        info = _info(monitor)
        assert "home-agent" not in info
        assert info["care-of"].startswith(FOREIGN_PREFIX)
        assert f"discovering (no-answer)\r\n  home     {HOME_ADDRESS}, agent not known" in _shown(
            monitor
        )
        with world.agent():
            monitor.wait_event("MIP6_STATE", state="bound")
            info = _info(monitor)
            assert (info["home-agent"], info["home-agents"]) == (AGENT_ADDRESS, [AGENT_ADDRESS])
            assert f"agent {AGENT_ADDRESS}" in _shown(monitor)


def test_next_one(world: World) -> None:
    """The best one of the list is no home agent after all: the second has the binding."""
    agents = [ROUTER_ADDRESS, AGENT_ADDRESS]
    world.home.advertiser.change(*IMPOSTOR)
    try:
        with world.agent():
            wait.until(lambda: _agents(world) == agents, "the agent's list")
            with _started(world, "tap1") as monitor:
                monitor.wait_event("MIP6_STATE", state="registering", reason="next-agent")
                monitor.wait_event("MIP6_STATE", state="bound")
                info = _info(monitor)
                assert (info["home-agent"], info["home-agents"]) == (AGENT_ADDRESS, agents)
    finally:
        world.home.advertiser.change(prefix_line(HOME_PREFIX))
