# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller of CVSW and NICs: programming, differences, faults, sessions that end.

Tests control the time, and the loss and repetition of frames.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import SimNic, SimSwitch, World
from vmmnet.cvsw.control import report
from vmmnet.cvsw.control.nics import audit, fabric, keys
from vmmnet.cvsw.control.nics.keys import Timing
from vmmnet.cvsw.control.nics.nic import LOST_AFTER, PROBE_EVERY, SOURCE
from vmmnet.cvsw.control.table import entry
from vmmnet.cvsw.control.table.entry import Entry
from vmmnet.cvsw.plan.flows import mtu
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.wire.message import PAYLOAD_MAX, Message, Type, build


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return cvsw_plans.plan(tmp_path, cvsw_plans.tree())


@pytest.fixture
def world(plan: Plan) -> World:
    made = World()
    made.populate(plan)
    return made


def test_programs(world: World, plan: Plan) -> None:
    """All NICs get their flows, their MTU and their keys."""
    world.settle()
    world.as_planned()
    world.check_keys()
    for about in plan.nics():
        nic = world.nics[about.name]
        assert nic.mtu == mtu(plan, about)
        assert any(each.drops for each in nic.table.values())
    red = world.nics["red1"]
    assert sorted(held.is_inbound for held in red.sas.values()) == [False, False, True, True]


def test_few_frames(world: World, plan: Plan) -> None:
    """A NIC with many flows gets them in as few commands as possible."""
    world.settle()
    blue = world.nics["blue1"]
    octets = sum(len(each.message) for each in blue.table.values())
    assert blue.commands[Type.SET_ENTRY] <= 1 + octets // 1200
    assert blue.commands[Type.DELETE_ENTRY] == 0


def test_drops_come_first(world: World) -> None:
    """Drop rules are set before any rule that passes frames."""
    first: dict[str, set[bool]] = {}

    def look() -> None:
        for name, nic in world.nics.items():
            if nic.table and any(not each.drops for each in nic.table.values()):
                first.setdefault(name, {each.drops for each in nic.table.values()})

    world.check = look
    world.settle()
    assert len(first) == len(world.nics)
    assert all(kinds == {True, False} for kinds in first.values())


def test_difference_only(world: World, plan: Plan, tmp_path: Path) -> None:
    """With a changed file NICs get only the changes, and other NICs nothing."""
    world.settle()
    before = {name: nic.commands.copy() for name, nic in world.nics.items()}
    tree = cvsw_plans.tree()
    tree["tenants"]["blue"]["stations"]["router"]["tunnel"] = "192.0.2.8"
    world.plan(cvsw_plans.plan(tmp_path, tree))
    world.run(1.0)
    world.settle()
    world.as_planned()
    for name in ("red1", "red2", "green1"):
        assert world.nics[name].commands == before[name]
    sent = world.nics["blue1"].commands - before["blue1"]
    assert sent[Type.SET_ENTRY] == 1
    assert not sent[Type.LIST_ENTRIES]


@pytest.mark.parametrize(("lost", "repeated"), [(0.3, 0.0), (0.0, 0.5), (0.3, 0.3)])
def test_bad_network(world: World, lost: float, repeated: float) -> None:
    """Frames that are lost or come twice change nothing in the end."""
    world.lost, world.repeated = lost, repeated
    world.check = lambda: world.check_keys(also_flows=False)
    world.settle()
    world.as_planned()
    for nic in world.nics.values():
        assert len(set(nic.keys_seen)) == len(nic.keys_seen)


@pytest.mark.parametrize("seed", range(6))
def test_lost_frames_come_soon(plan: Plan, seed: int) -> None:
    """A lost frame is repeated soon, for any order."""
    world = World(seed=seed)
    world.lost = 0.3
    world.populate(plan)
    world.until(world.is_settled, 30.0)


def test_nic_restarts(world: World) -> None:
    """A NIC without state is programmed again, with new keys."""
    world.settle()
    red = world.nics["red1"]
    red.boot(world.now)
    world.run(1.0)
    world.settle()
    world.as_planned()
    world.check_keys()
    # Its peers get new keys, too, and soon lose the old ones.
    world.run(20.0)
    for name in ("red1", "red2", "red3"):
        nic = world.nics[name]
        assert len(nic.sas) == 4
        assert len(set(nic.keys_seen)) == len(nic.keys_seen)
    world.check_keys()


def test_nic_moves(world: World) -> None:
    """A NIC that comes up behind another port is found there."""
    world.settle()
    red = world.nics["red1"]
    del world.switch.ports[1]
    world.switch.attach(77, red)
    red.boot(world.now)
    world.run(1.0)
    world.settle()
    assert report.nic(world.fabric, red.mac)["port"] == 77
    world.as_planned()


def test_registered_by_another_switch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A NIC that registered before its own switch was connected is found there later."""
    world.settle()
    red, own = world.nics["red1"], SimSwitch(world, 2)
    own.attach(7, red)
    # Port 1 is the wire between the switches; its other end is port 8.
    wire = SimNic(bytes(6), bytes(32), lambda _: None)
    monkeypatch.setattr(wire, "input", lambda frame, _: own.hand_over(8, frame))
    world.switch.ports[1] = wire
    world.fabric.switch_up(own, world.now)
    stray = build(Message(Type.SET_MTU, red.mac), SOURCE, red.mac, None)
    world.fabric.packet(own, 8, stray, world.now)
    world.run(1.0)
    # It seems to answer, but anybody can send such a frame.
    assert report.nic(world.fabric, red.mac)["switch"] == f"{1:016x}"
    world.fabric.rekey(world.now)
    world.until(lambda: report.nic(world.fabric, red.mac)["switch"] == f"{2:016x}", 5.0)
    world.settle()
    world.as_planned()
    world.check_keys()


@pytest.mark.parametrize("remembers", [True, False])
def test_controller_restarts(world: World, plan: Plan, remembers: bool) -> None:
    """A new controller takes over: flows that are right stay, keys are made anew."""
    world.settle()
    before = {name: nic.commands.copy() for name, nic in world.nics.items()}
    old = set(world.nics["red1"].sas)
    if remembers:
        world.check = world.check_keys
    world.restart_controller(plan, remembers=remembers)
    world.run(30.0)
    world.settle()
    world.as_planned()
    blue = world.nics["blue1"].commands - before["blue1"]
    assert not blue[Type.SET_ENTRY]
    assert not blue[Type.DELETE_ENTRY]
    assert not old & set(world.nics["red1"].sas)
    assert len(world.nics["red1"].sas) == 4


def test_large_table(world: World, tmp_path: Path) -> None:
    """A table in several answers is read completely, so that no flow is set again."""
    tree = cvsw_plans.tree()
    vms = tree["tenants"]["blue"]["vms"]
    vms |= {f"more{n}": cvsw_plans.vm(n, f"192.0.2.{n}") for n in range(13, 20)}
    plan = cvsw_plans.plan(tmp_path, tree)
    world.plan(plan)
    world.settle_those("blue1")
    blue = world.nics["blue1"]
    assert sum(len(each.message) for each in blue.table.values()) > 2 * PAYLOAD_MAX
    before = blue.commands.copy()
    world.restart_controller(plan)
    world.run(2.0)
    world.settle_those("blue1")
    sent = blue.commands - before
    assert sent[Type.LIST_ENTRIES] >= 3
    assert not sent[Type.SET_ENTRY]
    assert not sent[Type.DELETE_ENTRY]


def test_switch_is_lost(world: World, plan: Plan) -> None:
    """NICs go on without the controller; the switch comes back, and sessions go on."""
    world.settle()
    keys = dict(world.nics["red1"].sas)
    world.fabric.switch_down(world.switch, world.now)
    world.run(2.0)
    assert report.nic(world.fabric, world.nics["red1"].mac)["state"] == "no switch"
    world.nics["blue1"].boot(world.now)
    world.run(2.0)
    world.fabric.switch_up(world.switch, world.now)
    world.until(lambda: bool(world.nics["blue1"].table))
    world.settle()
    world.as_planned()
    assert world.nics["red1"].sas == keys


def test_refused_flow(world: World, plan: Plan) -> None:
    """A flow that a NIC refuses is shown with OpenFlow's error; all others are set."""
    blue = world.nics["blue1"]

    def is_broadcast(each: Entry) -> bool:
        return b"\x80\x00\x07\x0c\x01" in each.key and not each.drops

    blue.refuses = is_broadcast
    world.until(lambda: bool(world.fabric.nics[blue.mac].troubles))
    world.settle()
    shown = report.nic(world.fabric, blue.mac)
    assert shown["state"] == "refused"
    assert {each["error"] for each in shown["troubles"]} == {"OFPBAC_BAD_OUT_PORT"}
    assert "actions=" in shown["troubles"][0]["flow"]
    wanted = world.fabric.flows_of(blue.mac)
    assert blue.table == {k: v for k, v in wanted.items() if not is_broadcast(v)}
    # It is not retried all the time.
    before = blue.commands.copy()
    world.run(20.0)
    assert blue.commands == before


@pytest.mark.parametrize("is_early", [True, False], ids=["before", "meanwhile"])
def test_in_place_of_refused(world: World, is_early: bool) -> None:
    """A foreign flow in place of a refused one is deleted."""
    blue = world.nics["blue1"]
    ours = next(each for each in world.fabric.flows_of(blue.mac).values() if not each.drops)
    blue.refuses = ours.__eq__
    cookie = (7).to_bytes(8)
    foreign = entry.read(ours.message[:8] + cookie + ours.message[16:])
    if not is_early:
        world.settle()
    blue.table[ours.key] = foreign
    world.run(audit.EVERY_MAX)
    world.settle()
    wanted = world.fabric.flows_of(blue.mac)
    assert blue.table == {key: each for key, each in wanted.items() if each != ours}
    (trouble,) = report.nic(world.fabric, blue.mac)["troubles"]
    assert trouble["error"] == "OFPBAC_BAD_OUT_PORT"
    # This is not repeated all the time, either.
    before = blue.commands.copy()
    world.run(audit.EVERY_MAX)
    sent = blue.commands - before
    assert not sent[Type.SET_ENTRY] and not sent[Type.DELETE_ENTRY]


def test_table_is_full(world: World) -> None:
    """A NIC with a full table is reported."""
    blue = world.nics["blue1"]
    blue.room = 3
    world.until(lambda: bool(world.fabric.nics[blue.mac].troubles))
    world.settle()
    troubles = report.nic(world.fabric, blue.mac)["troubles"]
    assert {each["error"] for each in troubles} == {"OFPFMFC_TABLE_FULL"}
    assert sum(each.drops for each in blue.table.values()) == 2


def test_wrong_key(world: World, plan: Plan) -> None:
    """A NIC with another key is ignored, and the reason is reported."""
    nic = world.nics["red1"]
    nic.key = bytes(32)
    world.run(5.0)
    shown = report.nic(world.fabric, nic.mac)
    assert shown["state"] == "away"
    assert shown["wrong_key"] > 0
    assert not nic.table
    # The right one, in time, is enough.
    nic.key = next(about.key for about in plan.nics() if about.name == "red1")
    world.settle()
    assert not report.nic(world.fabric, nic.mac)["wrong_key"]


def test_unknown_nic(world: World) -> None:
    """A NIC that is in no file is counted and shown, and gets nothing."""
    stranger = world.nic("stranger", bytes.fromhex("525400000fff"), bytes(32), 99)
    world.run(5.0)
    world.settle()
    (shown,) = report.nics(world.fabric)["unknown"]
    assert shown["mac"] == "52:54:00:00:0f:ff"
    assert shown["port"] == 99
    assert shown["frames"] > 1
    assert not stranger.table
    assert not stranger.commands


def test_leaves_the_plan(world: World, tmp_path: Path) -> None:
    """A NIC that is in the file no more speaks to nobody, in clear neither."""
    world.settle()
    tree = cvsw_plans.tree()
    del tree["tenants"]["red"]["vms"]["red3"]
    world.plan(cvsw_plans.plan(tmp_path, tree))
    world.run(20.0)
    world.settle()
    gone = world.nics.pop("red3")
    assert len(gone.table) == 2
    assert all(each.drops for each in gone.table.values())
    world.as_planned()
    assert len(world.nics["red1"].sas) == 2
    assert gone.mac not in world.fabric.nics


def test_changed_behind_our_back(plan: Plan) -> None:
    """Flows that somebody else has deleted come again, and the log says so."""
    world, log = World(), list[str]()
    world.fabric = fabric.Fabric(world.timing, log=log.append)
    world.populate(plan)
    world.settle()
    log.clear()
    world.nics["blue1"].table.popitem()
    world.run(60.0)
    world.settle()
    world.as_planned()
    said = "blue1 (52:54:00:00:00:0b): others have changed 1 of its entries: set again"
    assert log == [said]


def test_replaced_behind_our_back(world: World) -> None:
    """A flow that somebody else has replaced is put right, though there are as many as before."""
    world.settle()
    blue = world.nics["blue1"]
    key, right = next((k, each) for k, each in blue.table.items() if each.drops)
    passing = next(each for each in blue.table.values() if not each.drops)
    blue.table[key] = replace(right, message=passing.message, rest=passing.rest, drops=False)
    before = {name: nic.commands.copy() for name, nic in world.nics.items()}
    world.run(audit.EVERY_MAX)
    world.settle()
    world.as_planned()
    assert report.nic(world.fabric, blue.mac)["counters"]["flows_mended"] == 1
    sent = {name: nic.commands - before[name] for name, nic in world.nics.items()}
    assert sent["blue1"][Type.SET_ENTRY] == 1
    # The others are looked at, and left alone; all of them seldom.
    asked = {name: each.pop(Type.LIST_ENTRIES) for name, each in sent.items()}
    assert all(each.pop(Type.LIST_GROUPS) <= asked[name] for name, each in sent.items())
    assert not any(each for name, each in sent.items() if name != "blue1")
    probes = audit.EVERY_MAX / PROBE_EVERY
    tables = [len(world.nics[name].table) for name in asked]
    assert max(tables) < 20
    assert all(1 <= each <= probes + audit.EVERY_MAX / audit.EVERY_MIN for each in asked.values())


def test_changes_while_looked_at(world: World, tmp_path: Path) -> None:
    """What a table was before it was changed by us is not mended."""
    tree = cvsw_plans.tree()
    vms = tree["tenants"]["blue"]["vms"]
    vms |= {f"more{n}": cvsw_plans.vm(n, f"192.0.2.{n}") for n in range(13, 20)}
    world.plan(cvsw_plans.plan(tmp_path, tree))
    world.settle_those("blue1")
    blue = world.fabric.nics[world.nics["blue1"].mac]
    # It takes several answers, and what is in the first one changes before the second one.
    assert sum(len(each.message) for each in blue.wanted.values()) > PAYLOAD_MAX
    blue.look_again()
    tree["tenants"]["blue"]["stations"]["router"]["tunnel"] = "192.0.2.8"
    world.plan(cvsw_plans.plan(tmp_path, tree))
    world.fabric.want(blue.mac)
    assert blue.is_busy
    world.settle_those("blue1")
    world.run(1.0)
    assert world.nics["blue1"].table == world.fabric.flows_of(blue.mac)
    assert blue.counters["flows_mended"] == 0


def test_looks_are_spread() -> None:
    """NICs that begin at once, of MAC addresses that follow each other, are not asked at once."""
    base = int.from_bytes(bytes.fromhex("525400000000"))
    times = sorted(audit.interval((base + each).to_bytes(6)) for each in range(1000))
    assert audit.EVERY_MIN <= times[0] < times[-1] <= audit.EVERY_MAX
    second = [sum(at <= each < at + 1 for each in times) for at in range(150, 300)]
    assert max(second) < 3 * 1000 / 150


def test_lost_nic(world: World) -> None:
    """A silent NIC is shown as lost, and is found again."""
    world.settle()
    nic = world.nics["blue1"]
    nic.is_on = False
    world.until(lambda: report.nic(world.fabric, nic.mac)["state"] == "lost")
    nic.boot(world.now)
    world.settle()
    world.as_planned()


def test_moved_to_another_port(world: World) -> None:
    """As by del-port and add-port: the NIC is found, and goes on with its keys."""
    world.settle()
    nic = world.nics["blue1"]
    (port,) = [number for number, each in world.switch.ports.items() if each is nic]
    del world.switch.ports[port]
    world.switch.attach(77, nic)
    world.until(lambda: report.nic(world.fabric, nic.mac)["state"] == "lost")
    world.settle()
    world.as_planned()


def test_port_is_removed(plan: Plan) -> None:
    """The switch says so: the NIC is looked for at once, and reported as not reached."""
    world, log = World(), list[str]()
    world.fabric = fabric.Fabric(world.timing, log=log.append)
    world.populate(plan)
    world.settle()
    log.clear()
    nic, before = world.nics["red1"], world.now
    del world.switch.ports[1]
    world.fabric.port_changed(world.switch, 1, world.now, is_there=False)
    (about,) = report.unreached(world.fabric)
    assert (about["name"], about["state"]) == ("red1", "lost")
    assert world.fabric.keys.waiting({nic.mac}) == 4
    world.run(2.0)
    world.switch.attach(77, nic)
    world.fabric.port_changed(world.switch, 77, world.now, is_there=True)
    world.settle()
    assert world.now < before + LOST_AFTER
    assert not report.unreached(world.fabric)
    world.as_planned()
    place = "switch 0000000000000001, port"
    assert log == [
        f"red1 (52:54:00:00:00:01) does not answer at {place} 1: it is looked for at all ports",
        f"red1 (52:54:00:00:00:01) is at {place} 77; it was at {place} 1",
    ]


def test_another_key_is_told(plan: Plan) -> None:
    """Once, however often the NIC tries."""
    world, log = World(), list[str]()
    world.fabric = fabric.Fabric(world.timing, log=log.append)
    (red, *_) = plan.nics()
    world.nic(red.name, red.mac, bytes(32), 1)
    world.plan(plan)
    world.fabric.switch_up(world.switch, world.now)
    world.until(lambda: world.fabric.nics[red.mac].session.strangers > 2)
    place = "switch 0000000000000001, port 1"
    assert log == [
        f"red1 (52:54:00:00:00:01) registers with another key than the file's, at {place}"
    ]


def test_ports_numbered_anew(world: World) -> None:
    """A switch that connects again may have other numbers for its ports: NICs are asked at once."""
    world.settle()
    world.fabric.switch_down(world.switch, world.now)
    for port, nic in list(world.switch.ports.items()):
        del world.switch.ports[port]
        world.switch.attach(100 + port, nic)
    before = world.now
    world.fabric.switch_up(world.switch, world.now)
    world.until_state("red1", "lost")
    assert world.now < before + PROBE_EVERY
    world.settle()
    assert {nic.way.port for nic in world.fabric.nics.values() if nic.way} == set(
        world.switch.ports
    )
    world.as_planned()


def test_silent_nic_is_told(plan: Plan) -> None:
    """A NIC that does not answer is told once, and again when it answers."""
    world, log = World(), list[str]()
    world.fabric = fabric.Fabric(world.timing, log=log.append)
    world.populate(plan)
    world.settle()
    where = "has registered, at switch 0000000000000001, port 1"
    assert log.count(f"red1 (52:54:00:00:00:01) {where}") == 1
    assert len(log) == len(world.nics)
    log.clear()
    nic = world.switch.ports.pop(1)
    world.run(4 * PROBE_EVERY)
    assert len(log) == 1
    assert "red1 (52:54:00:00:00:01) does not answer" in log[0]
    world.switch.ports[1] = nic
    world.settle()
    assert "red1 (52:54:00:00:00:01) answers again" in log[1]
    # Its switch has gone: nothing is said of each NIC.
    world.fabric.switch_down(world.switch, world.now)
    world.run(2 * PROBE_EVERY)
    assert len(log) == 2
    assert {nic["state"] for nic in report.unreached(world.fabric)} == {"no switch"}


def test_switch_with_another_id(world: World) -> None:
    """As when a physical NIC joins a bridge of Open vSwitch whose ID was not set."""
    world.settle()
    world.fabric.switch_down(world.switch, world.now)
    world.switch.datapath_id = 2
    world.fabric.switch_up(world.switch, world.now)
    world.until(
        lambda: all(
            report.nic(world.fabric, nic.mac)["state"] == "ready" for nic in world.nics.values()
        )
    )
    world.settle()
    world.as_planned()


def test_replayed_registration(world: World) -> None:
    """A replayed registration at another port does not move a NIC."""
    frames: list[bytes] = []
    red = world.nics["red1"]
    put = red.send
    red.send = lambda frame: (frames.append(frame), put(frame))[1]
    world.settle()
    world.fabric.packet(world.switch, 50, frames[0], world.now)
    world.run(40.0)
    world.settle()
    assert report.nic(world.fabric, red.mac)["port"] == 1


# --- keys ---------------------------------------------------------------------------------


def test_keys_are_made_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are made once, also for NICs that wait for others."""
    monkeypatch.setattr(fabric, "ADMITTED_MAX", 1)
    world = World()
    world.populate(plan)
    world.settle()
    world.check_keys()
    assert [world.nics[name].commands[Type.SET_SA] for name in ("red1", "red2", "red3")] == [4] * 3


def test_rekey(world: World) -> None:
    """During a change of keys each NIC always uses keys that its peer has."""
    world.settle()
    world.run(10.0)
    old = dict(world.nics["red1"].sas)
    uses = {(a.mac, b.mac) for a, b, _ in world.uses()}

    def check() -> None:
        world.check_keys()
        assert uses <= {(a.mac, b.mac) for a, b, n in world.uses() if n in a.sas}

    world.check = check
    world.fabric.rekey(world.now)
    world.run(30.0)
    world.settle()
    new = world.nics["red1"].sas
    assert len(new) == len(old)
    assert not set(old) & set(new)
    assert not {held.key for held in old.values()} & {held.key for held in new.values()}
    # Each flow names its association again.
    assert all(each.numbers for each in world.nics["red1"].table.values() if b"\x32" in each.key)


def test_rekey_in_spells(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of many pairs are made a few at a time, so that other work need not wait."""
    world.settle()
    world.run(10.0)
    old = dict(world.nics["red1"].sas)
    last = world.fabric.keys.last
    monkeypatch.setattr(keys, "SPELL", 0.0)
    world.fabric.rekey(world.now)
    assert world.fabric.keys.last == last
    assert world.fabric.tick(world.now) == world.now
    assert world.fabric.keys.last == last + 1
    world.run(30.0)
    world.settle()
    world.check_keys()
    assert not set(old) & set(world.nics["red1"].sas)


def test_frames_under_way(world: World) -> None:
    """Packets encrypted before a change of keys are accepted for a time of grace."""
    world.settle()
    world.run(10.0)
    red1, red2 = world.nics["red1"], world.nics["red2"]

    def used() -> int:
        return next(n for a, b, n in world.uses() if (a, b) == (red1, red2))

    old = used()
    world.fabric.rekey(world.now)
    world.until(lambda: used() != old)
    world.run(world.timing.grace)
    assert red2.sas[old].is_inbound
    world.until(lambda: old not in red2.sas)
    assert old not in red1.sas


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_rekeys_on_time(plan: Plan, lost: float) -> None:
    """--rekey-every: periodically, also over a bad network."""
    world = World(Timing(grace=1.0, rekey_every=20.0))
    world.populate(plan)
    world.settle()
    world.lost = lost
    world.check = world.check_keys
    world.run(130.0)
    world.lost = 0.0
    world.settle()
    red = world.nics["red1"]
    assert len(red.keys_seen) >= 4 * 4
    assert len(set(red.keys_seen)) == len(red.keys_seen)
    world.run(10.0)
    assert len(red.sas) <= 8


def test_age_below_grace(plan: Plan) -> None:
    """Keys that become older by the grace than they should are changed all the same."""
    world = World(Timing(grace=2.0, rekey_every=1.0))
    world.populate(plan)
    world.settle()
    world.check = world.check_keys
    world.run(20.0)
    assert len(world.nics["red1"].keys_seen) >= 4 * 6


def test_taken_by_another(world: World) -> None:
    """A NIC with a session of another controller is taken back."""
    world.settle()
    red = world.nics["red1"]
    red.forget_session()
    world.until(lambda: report.nic(world.fabric, red.mac)["counters"]["sessions"] == 2)
    world.settle()
    world.as_planned()
