# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller of CVSW and NICs of large tenants, whose broadcast uses groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import World
from vmmnet.cvsw.control import report
from vmmnet.cvsw.control.table import entry
from vmmnet.cvsw.plan import openflow
from vmmnet.cvsw.wire.message import Type


def wide(members: int) -> cvsw_plans.Tree:
    """One tenant with a cipher; from 12 members on its broadcast uses groups."""
    vms = {f"n{each}": cvsw_plans.vm(each, f"192.0.2.{each}") for each in range(1, members + 1)}
    tenant = {"vni": 1, "cipher": "aes-gcm-128", "vms": vms}
    return {"underlay": {"mtu": 1500}, "tenants": {"red": tenant}}


@pytest.fixture
def wide_world(tmp_path: Path) -> World:
    """All NICs of a tenant with groups, programmed."""
    world = World()
    world.populate(cvsw_plans.plan(tmp_path, wide(12)))
    world.settle()
    return world


def refused(world: World) -> list[int]:
    """Return the number of commands that each NIC has refused."""
    return [nic.counters["refused"] for nic in world.fabric.nics.values()]


def test_groups(wide_world: World) -> None:
    """Groups come before the flows that name them, so that no NIC refuses anything."""
    wide_world.as_planned()
    assert not any(refused(wide_world))
    for nic in wide_world.nics.values():
        assert len(nic.groups) == 2
        shown = report.flows(wide_world.fabric, nic.mac)
        assert (shown["flows"], shown["wanted"]) == (len(nic.flows), len(nic.flows))
        (top,) = (each for each in shown["table"] if each.startswith("group_id=1,"))
        assert top == "group_id=1,type=all,bucket=actions=group:2"
        assert sum(each.endswith("actions=group:1") for each in shown["table"]) == 1


def test_groups_rekey(wide_world: World) -> None:
    """New keys change buckets; the flow that names the group stays the same."""
    named = {name: nic.groups[0].numbers for name, nic in wide_world.nics.items()}
    wide_world.run(10.0)
    wide_world.fabric.rekey(wide_world.now)
    wide_world.run(30.0)
    wide_world.settle()
    wide_world.as_planned()
    assert not any(refused(wide_world))
    for name, nic in wide_world.nics.items():
        assert len(nic.groups[0].numbers) == 11
        assert not set(nic.groups[0].numbers) & set(named[name])
        assert set(nic.groups[0].numbers) <= set(nic.sas)


def test_groups_go(wide_world: World, tmp_path: Path) -> None:
    """A tenant that becomes small loses its groups, after the flows that named them."""
    wide_world.plan(cvsw_plans.plan(tmp_path, wide(11)))
    gone = [wide_world.nics.pop(name) for name in ("n12",)]
    wide_world.run(20.0)
    wide_world.settle()
    wide_world.as_planned()
    assert not any(refused(wide_world))
    assert not any(nic.groups for nic in wide_world.nics.values())
    # The same for NICs that are no longer in the file.
    assert all(not nic.groups and len(nic.table) == 2 for nic in gone)


def test_groups_are_read(wide_world: World, tmp_path: Path) -> None:
    """A new controller takes over groups that are right, and deletes those that are not."""
    extra = openflow.add_group(99, [openflow.bucket([openflow.output(openflow.WIRE)])])
    one = wide_world.nics["n1"]
    one.table[entry.read(extra).key] = entry.read(extra)
    before = one.commands.copy()
    wide_world.restart_controller(cvsw_plans.plan(tmp_path, wide(12)))
    wide_world.run(30.0)
    wide_world.settle()
    wide_world.as_planned()
    assert not any(refused(wide_world))
    assert (one.commands - before)[Type.LIST_GROUPS] >= 1


def test_nic_without_groups(tmp_path: Path) -> None:
    """A NIC without support of groups gets all but broadcast, and the reason is reported."""
    world = World()
    plan = cvsw_plans.plan(tmp_path, wide(12))
    world.populate(plan)
    old = world.nics["n1"]
    old.groups_max = 0
    world.until(lambda: bool(world.fabric.nics[old.mac].troubles))
    world.settle()
    shown = report.nic(world.fabric, old.mac)
    assert shown["state"] == "refused"
    assert {(each["about"], each["error"]) for each in shown["troubles"]} == {
        ("group", "OFPBRC_BAD_TYPE"),
        ("flow", "OFPBAC_BAD_OUT_GROUP"),
    }
    assert len(old.table) == shown["wanted"] - 1
    assert not old.commands[Type.LIST_GROUPS]
