# SPDX-License-Identifier: GPL-2.0-or-later
"""A path that drops what Mobile IPv6 needs: QEMU says what it tried, and what came back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.mip6 import guestless, mobility, roaming
from lab.mip6.mobility import FOREIGN_PREFIX, HOME_ADDRESS, World
from vmmnet.qmp import Qmp

DESTINATION_OPTIONS, ROUTING, TUNNEL = 60, 43, 41

CASES = {
    "options": (DESTINATION_OPTIONS, "registering", "options-dropped"),
    "routing": (ROUTING, "registering", "update-unanswered"),
    "tunnel": (TUNNEL, "bound", "tunnel-silent"),
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


@contextlib.contextmanager
def _dropping(world: World, protocol: int) -> Iterator[None]:
    """Let a router on the path drop packets whose first header is of this protocol."""
    rules = f"""table ip6 fire {{ chain wall {{
        type filter hook forward priority 0
        ip6 nexthdr {protocol} drop
    }}
    }}\n"""
    world.core.run(["nft", "-f", "-"], input=rules)
    try:
        yield
    finally:
        world.core.run(["nft", "delete", "table", "ip6", "fire"])


def _says(monitor: Qmp, state: str, reason: str) -> None:
    monitor.wait_event("MIP6_STATE", state=state, reason=reason)
    assert roaming.probes(monitor)["echo"] == "answered"
    text = monitor.command("human-monitor-command", command_line="info mip6")
    assert f"mip0: netdev net0, {state} ({reason})" in text
    assert "  probes   echo=answered " in text


@pytest.mark.parametrize("case", CASES)
def test_what_is_dropped(world: World, case: str) -> None:
    """The reason names it, and ends with the firewall's rule."""
    protocol, state, reason = CASES[case]
    arguments = mobility.arguments(world.foreign.tap(f"tap-{case}"), "location=away")
    with world.agent(600), contextlib.ExitStack() as stack:
        stack.enter_context(_dropping(world, protocol))
        with guestless.node(world, arguments) as node:
            monitor = node.monitor
            _says(monitor, state, reason)
            stack.close()
            if case == "tunnel":
                ping = ["ping", "-c", "1", "-W", "1", HOME_ADDRESS]
                world.correspondent.run(ping, check=False)
            monitor.wait_event("MIP6_STATE", state="bound", reason="none")


def test_locked_port(world: World) -> None:
    """A port of the bridge that is locked to one address: QEMU can have it."""
    tap, mac = world.foreign.tap("tap-locked"), "52:54:00:6d:69:99"
    host = world.foreign.host
    host.run(["bridge", "link", "set", "dev", tap.name, "locked", "on", "learning", "off"])
    host.run(["bridge", "fdb", "add", mac, "dev", tap.name, "master", "static"])
    with world.agent(600):
        for options in ((), (f"care-of-mac={mac}",)):
            arguments = mobility.arguments(tap, "location=away", *options)
            with guestless.node(world, arguments) as node:
                monitor = node.monitor
                if not options:
                    monitor.wait_event("MIP6_STATE", state="registering", reason="no-answer")
                    continue
                monitor.wait_event("MIP6_STATE", state="bound", reason="none")
                (info,) = monitor.command("query-mip6")
                assert info["care-of-mac"] == mac
                assert info["care-of"] == f"{FOREIGN_PREFIX}:0:5054:ff:fe6d:6999"
                text = monitor.command("human-monitor-command", command_line="info mip6")
                assert f" at {mac}, bound for " in text


def test_a_good_path(world: World) -> None:
    """A quiet VM finds out that its tunnel works, with few packets, and has nothing to say."""
    arguments = mobility.arguments(world.foreign.tap("tap-good"), "location=away")
    with world.agent(600), guestless.node(world, arguments) as node:
        monitor = node.monitor
        monitor.wait_event("MIP6_STATE", state="bound", reason="none")
        wait.until(lambda: roaming.probes(monitor)["tunnel"] == "answered", "the probe")
        (info,) = monitor.command("query-mip6")
        assert info["reason"] == "none"
        assert (info["sent"], info["received"]) == (0, 0)
