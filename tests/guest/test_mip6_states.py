# SPDX-License-Identifier: GPL-2.0-or-later
"""What a mobile node says of its binding is so: beside a rival, and after a pause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.mip6 import guestless, mobility
from lab.mip6.mobility import HOME_ADDRESS, World

#: Of bindings, in seconds: the shortest that is refreshed well before its end.
LIFETIME = 8
CLOCK_BOOTTIME = 7


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built:
        yield built


def _info(node: guestless.Node) -> dict[str, Any]:
    (info,) = node.monitor.command("query-mip6")
    return dict(info)


def test_two_vms_with_one_address(world: World) -> None:
    """Both are told, and the agent tells their care-of addresses; until one is gone."""
    first = mobility.arguments(world.foreign.tap("tap0"), "location=away")
    second = mobility.arguments(world.foreign.tap("tap1"), "location=away")
    with world.agent(LIFETIME) as log, guestless.node(world, first) as node:
        with guestless.node(world, second) as rival:
            for each in (node, rival):
                each.monitor.wait_event("MIP6_STATE", state="bound", reason="other-node")
                said = f"another node registers home-address={HOME_ADDRESS}, too (other-node)"
                assert each.log.read_text().count(said) == 1
            wait.until(lambda: "contested: " in log.read_text(), "the agent's line")
            (line,) = (line for line in log.read_text().splitlines() if "contested: " in line)
            assert f"{HOME_ADDRESS} goes to and fro" in line
            for each in (node, rival):
                assert _info(each)["care-of"] in line, line
        node.monitor.wait_event("MIP6_STATE", state="bound", reason="none")


def _timer_clocks(pid: int) -> set[int]:
    """The clocks of a process's timers that are set."""
    clocks = set()
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        lines = dict(line.split(": ", 1) for line in file.read_text().splitlines() if ": " in line)
        if "clockid" in lines and lines["it_value"] != "(0, 0)":
            clocks.add(int(lines["clockid"]))
    return clocks


def test_paused(world: World) -> None:
    """A VM that is paused for longer than the lifetime is not bound; it is when it goes on.

    The time of a host that is suspended counts, too.
    """
    arguments = mobility.arguments(world.foreign.tap("tap2"), "location=away")
    with world.agent(LIFETIME) as log, guestless.node(world, arguments) as node:
        node.monitor.wait_event("MIP6_STATE", state="bound")
        # A timer that has just expired is not set until the node has looked at it.
        wait.until(lambda: _timer_clocks(node.pid) == {CLOCK_BOOTTIME}, "a timer of CLOCK_BOOTTIME")
        node.monitor.command("stop")
        node.monitor.wait_event("MIP6_STATE", state="registering", reason="expired")
        assert (_info(node)["state"], "remaining" in _info(node)) == ("registering", False)
        wait.until(lambda: f"expired {HOME_ADDRESS}" in log.read_text(), "the agent's line")
        node.monitor.command("cont")
        node.monitor.wait_event("MIP6_STATE", state="bound", reason="none")
