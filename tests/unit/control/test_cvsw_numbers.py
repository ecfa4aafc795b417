# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller's successor learns the numbers of all associations that a NIC may have."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import World
from vmmnet.cvsw.plan.model import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return cvsw_plans.plan(tmp_path, cvsw_plans.tree())


@pytest.fixture
def without(tmp_path: Path) -> Plan:
    """One of the NICs with keys is missing."""
    tree = cvsw_plans.tree()
    del tree["tenants"]["red"]["vms"]["red3"]
    return cvsw_plans.plan(tmp_path, tree)


def told(world: World) -> set[int]:
    """Numbers that a successor would know."""
    return {number for _, number, _ in world.fabric.keys.numbers()}


def held(world: World) -> set[int]:
    """Numbers that NICs of the plan have."""
    nics = [nic for nic in world.nics.values() if nic.mac in world.fabric.nics]
    return {number for nic in nics for number in nic.sas}


def check(world: World) -> None:
    """Check that all numbers in NICs are stored."""
    assert held(world) <= told(world)


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_told_until_deleted(plan: Plan, without: Plan, lost: float) -> None:
    """A number is stored before a NIC has it, until it is deleted, also for removed pairs."""
    world = World()
    world.check = lambda: check(world)
    world.populate(plan)
    world.settle()

    def change(seconds: float) -> None:
        """Let time pass: at first on a bad network."""
        world.lost = lost
        world.run(seconds)
        world.lost = 0.0
        world.run(60.0)
        world.settle()
        assert told(world) == held(world)

    world.fabric.rekey(world.now)
    world.run(1.0)
    assert len(told(world)) > 8
    change(20.0)
    assert len(held(world)) == 8

    world.plan(without)
    assert len(told(world)) == 8
    change(5.0)
    assert len(held(world)) == 4
    assert not world.nics["red3"].sas

    world.plan(plan)
    change(20.0)
    world.as_planned()
    assert len(held(world)) == 8


@pytest.mark.parametrize("after", range(0, 120, 5))
def test_successors(plan: Plan, after: int) -> None:
    """If controllers end at any moment of a change of keys, no association stays for ever."""
    world = World()
    world.populate(plan)
    world.settle()
    world.run(10.0)
    for _ in range(2):
        world.fabric.rekey(world.now)
        world.run(after / 10)
        world.check = lambda: check(world)
        world.restart_controller(plan)
    world.run(60.0)
    world.settle()
    world.as_planned()
    assert told(world) == held(world)
    assert [len(nic.sas) for nic in world.nics.values()] == [4, 4, 4, 0, 0, 2, 2]


def test_successor_of_a_changed_plan(plan: Plan, without: Plan) -> None:
    """The controller ends before it has deleted a removed pair's associations: a later one does."""
    world = World()
    world.populate(plan)
    world.settle()
    world.nics.pop("red3").is_on = False
    red1 = world.nics["red1"]
    red1.is_on = False
    world.plan(without)
    for _ in range(2):
        world.restart_controller(without)
        world.run(5.0)
        assert set(red1.sas) <= told(world)
    red1.is_on = True
    world.until(lambda: len(red1.sas) == 2 and told(world) == held(world))


def test_comes_back_at_once(plan: Plan, without: Plan) -> None:
    """A NIC that left the plan for a moment is as before, with new keys."""
    world = World()
    world.populate(plan)
    world.settle()
    world.plan(without)
    world.plan(plan)
    world.run(60.0)
    world.settle()
    world.as_planned()
    world.check_keys()
    assert told(world) == held(world)
    assert [len(nic.sas) for nic in world.nics.values()] == [4, 4, 4, 0, 0, 2, 2]
