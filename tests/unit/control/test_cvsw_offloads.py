# SPDX-License-Identifier: GPL-2.0-or-later
"""Offloads: NICs get the offloads of the file, as far as their guests support them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import SimNic, World
from vmmnet.cvsw.control import report
from vmmnet.cvsw.control.nics import audit
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.wire.message import OFFLOADS, Offload, Type, set_offload

CSUM_TSO4 = ["csum", "tso4"]
Planned = Callable[[Any], Plan]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """A plan whose VM ``blue1`` has these offloads; None: without the key."""

    def make(offloads: Any) -> Plan:
        tree = cvsw_plans.tree()
        if offloads is not None:
            tree["tenants"]["blue"]["vms"]["blue1"]["offloads"] = offloads
        return cvsw_plans.plan(tmp_path, tree)

    return make


def begun(plan: Plan) -> tuple[World, SimNic]:
    """A settled world, and the NIC under test."""
    world = World()
    world.populate(plan)
    world.settle()
    return world, world.nics["blue1"]


def shown(world: World, nic: SimNic) -> tuple[str, list[str] | None, list[str]]:
    """The report of the NIC."""
    about = report.nic(world.fabric, nic.mac)
    return about["state"], about["offloads"], about["offloads_lacking"]


def apply(world: World, plan: Plan) -> None:
    """Apply another file, and wait until it is in force."""
    world.plan(plan)
    world.run(1.0)
    world.settle()


def test_golden() -> None:
    """The octets of the command (include/vmmnet/cvsw.h)."""
    assert set_offload(Offload.CSUM | Offload.TSO6, OFFLOADS) == bytes.fromhex("000000050000007f")


def test_brought(planned: Planned) -> None:
    """Only the file's offloads may be on; other NICs get no command."""
    world, blue = begun(planned(CSUM_TSO4))
    assert blue.asked & ~blue.denied == Offload.CSUM | Offload.TSO4
    assert shown(world, blue) == ("ready", CSUM_TSO4, [])
    for name, nic in world.nics.items():
        assert (name == "blue1") == bool(nic.commands[Type.SET_OFFLOAD])
    # Unchanged offloads are not sent again.
    before = blue.commands.copy()
    world.run(20.0)
    apply(world, planned(CSUM_TSO4))
    assert blue.commands == before


def test_changed(planned: Planned) -> None:
    """A changed file, then a file without offloads: the guest has all its offloads again."""
    world, blue = begun(planned(None))
    assert not blue.commands[Type.SET_OFFLOAD]
    for value, denied in (
        ("none", OFFLOADS),
        (CSUM_TSO4, OFFLOADS ^ (Offload.CSUM | Offload.TSO4)),
        (None, Offload(0)),
    ):
        apply(world, planned(value))
        assert blue.denied == denied
        assert shown(world, blue)[0] == "ready"


def test_nic_restarts(planned: Planned) -> None:
    """A NIC without state gets them again."""
    world, blue = begun(planned("none"))
    blue.boot(world.now)
    world.run(1.0)
    world.settle()
    assert blue.denied == OFFLOADS


def test_guest_takes_less(planned: Planned) -> None:
    """Offloads that the guest has not requested are reported, and set when it requests them."""
    world, blue = begun(planned("none"))
    blue.asked = Offload.CSUM | Offload.TSO4
    apply(world, planned(["csum", "tso4", "tso6", "ecn"]))
    assert blue.denied == OFFLOADS ^ (Offload.CSUM | Offload.TSO4)
    assert shown(world, blue) == ("ready", ["csum", "tso4", "tso6", "ecn"], ["tso6", "ecn"])
    blue.asked = OFFLOADS
    world.until(lambda: not shown(world, blue)[2], audit.EVERY_MAX + 1)
    assert blue.denied == Offload.UFO | Offload.USO4 | Offload.USO6


def test_booting(planned: Planned) -> None:
    """Without a driver nothing is on; disabled offloads are off before the driver starts."""
    world = World()
    world.populate(planned(CSUM_TSO4))
    blue = world.nics["blue1"]
    blue.asked = Offload(0)
    world.settle()
    assert shown(world, blue) == ("ready", CSUM_TSO4, CSUM_TSO4)
    blue.asked = OFFLOADS
    assert blue.asked & ~blue.denied == Offload.CSUM | Offload.TSO4


def test_refused(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    """A NIC that does not know the command is shown so."""
    world, blue = begun(planned(None))
    carry_out = blue._carry_out

    def refuse(message: Any) -> Any:
        if message.type == Type.SET_OFFLOAD:
            return Type.ERROR, bytes.fromhex("0001000000000000")
        return carry_out(message)

    monkeypatch.setattr(blue, "_carry_out", refuse)
    apply(world, planned("none"))
    assert shown(world, blue)[0] == "refused"
    (trouble,) = report.nic(world.fabric, blue.mac)["troubles"]
    assert trouble == {
        "about": "offloads",
        "error": "the NIC does not know this command",
        "flow": None,
    }
    monkeypatch.undo()
    apply(world, planned(CSUM_TSO4))
    assert shown(world, blue)[0] == "ready"
