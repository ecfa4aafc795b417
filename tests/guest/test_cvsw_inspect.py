# SPDX-License-Identifier: GPL-2.0-or-later
"""What a NIC tells of its switch: to people, to QMP and to its controller."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from lab.base import wait
from lab.base.net import Interface, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import (
    CONTROLLER,
    SEND_FLOW_REM,
    WIRE,
    Controller,
    Machine,
    flow,
    output,
)
from lab.hosts.bridged import PacketWire
from vmmnet.cvsw.plan import openflow
from vmmnet.cvsw.wire.message import Ack, Type, list_entries
from vmmnet.qmp import QmpError

MAC = "52:54:00:00:00:01"
KEY = bytes(range(20))
IPV4 = 0x0800
PACKET_IN, FLOW_REMOVED = 10, 11
#: Frames for the controller: at once, and in a second.
BURST, RATE = 50, 100
# To the NIC, of the type IPv4 and without a packet.
FRAME = cvsw.mac_octets(MAC) + bytes.fromhex("0200000000080800") + bytes(46)


@dataclass(frozen=True)
class Bed:
    """A NIC on a tap, and who speaks there."""

    tap: Interface
    machine: Machine
    controller: Controller


@pytest.fixture
def bed() -> Iterator[Bed]:
    with Network() as network, contextlib.ExitStack() as stack:
        tap = network.namespace("host").tap("tap0")
        machine = stack.enter_context(Machine.running(tap, MAC))
        controller = stack.enter_context(contextlib.closing(Controller(tap, MAC)))
        controller.hello()
        controller.meet()
        yield Bed(tap, machine, controller)


def counts(listed: list[dict[str, int]]) -> dict[str, int]:
    """Reasons and their counters."""
    return {str(each["reason"]): each["count"] for each in listed}


def test_query(bed: Bed) -> None:
    """Session, table, associations without keys, drops; flows if they are asked for."""
    bed.controller.set(
        flow(output(WIRE), in_port=1, cookie=0xAB, priority=9), flow(dl_type=IPV4, priority=5)
    )
    bed.controller.set_sa(7, 0x1001, KEY, outbound=True)
    bed.controller.set_sa(8, 0x1002, KEY, outbound=False)
    with contextlib.closing(PacketWire(bed.tap)) as wire:
        wire.send(FRAME[:12] + b"\x88\x00" + FRAME[14:])
        wire.send(FRAME)
        wait.until(lambda: bed.machine.info()["table"]["hits"], "the second of two frames")
    info = bed.machine.info(flows=True)
    assert (info["id"], info["netdev"], info["mac"]) == ("nic0", "net0", MAC)
    assert info["session"]["open"] and info["session"]["sessions"] == 1
    assert info["session"]["commands"] == 3
    assert "heard" in info["session"]
    assert info["table"]["flows"] == 2 and info["table"]["flows-max"] == 4096
    assert info["table"]["hits"] == 1
    dropped = counts(info["dropped-from-wire"])
    assert dropped["flow"] == 1 and dropped["miss"] >= 1
    first, second = info["associations"]
    assert (first["number"], first["spi"], first["direction"]) == (7, 0x1001, "outbound")
    assert (first["algorithm"], first["esn"], first["next"]) == ("aes-gcm-128", True, 1)
    assert (second["direction"], second["window"], second["highest"]) == ("inbound", 128, 0)
    assert KEY.hex() not in str(info)
    assert "mtu" not in info
    one, two = info["flows"]
    assert one.startswith(" cookie=0xab, duration=")
    assert one.endswith(", table=0, n_packets=0, n_bytes=0, priority=9,in_port=1 actions=output:2")
    assert f"n_packets=1, n_bytes={len(FRAME)}, priority=5,ip actions=drop" in two
    assert "flows" not in bed.machine.info(id="nic0")
    with pytest.raises(QmpError, match="no device 'nobody' with a switch"):
        bed.machine.info(id="nobody")
    text = bed.machine.monitor.execute(
        "human-monitor-command", {"command-line": "info cvsw -f nic0"}
    )
    assert "nic0: netdev net0, MAC 52:54:00:00:00:01" in text
    assert "SA 7     outbound SPI 0x1001 aes-gcm-128 esn next=1, good=0" in text
    assert "priority=9,in_port=1 actions=output:2" in text


def test_groups(bed: Bed) -> None:
    """Groups are shown and listed, with what they have done; flows end with their group."""
    back = openflow.bucket([openflow.output(openflow.IN_PORT)])
    group = openflow.add_group(2, [back, back])
    named = openflow.add(5, [openflow.field(openflow.Field.ETH_TYPE, IPV4)], [openflow.group(2)])
    bed.controller.set(group, named[:44] + struct.pack(">H", SEND_FLOW_REM) + named[46:])
    with contextlib.closing(PacketWire(bed.tap)) as wire:
        wire.send(FRAME)
        wait.until(lambda: bed.machine.info()["table"]["hits"], "a frame")
    info = bed.machine.info(flows=True)
    assert info["groups"] == [" group_id=2,type=all,bucket=actions=IN_PORT,bucket=actions=IN_PORT"]
    (told,) = info["group-stats"]
    count = f"packet_count=1,byte_count={len(FRAME)}"
    assert told.startswith(" group_id=2,duration=")
    assert told.endswith(f",ref_count=1,{count},bucket0:{count},bucket1:{count}")
    assert (info["table"]["groups"], info["table"]["groups-max"]) == (1, 64)
    assert (info["table"]["buckets"], info["table"]["buckets-max"]) == (2, 1024)
    assert "groups" not in bed.machine.info()
    text = bed.machine.monitor.execute("human-monitor-command", {"command-line": "info cvsw -f"})
    assert "groups   1 of 64, 2 of 1024 buckets" in text
    assert info["groups"][0] in text
    listed = bed.controller.order(Type.LIST_GROUPS, list_entries(0))
    assert isinstance(listed, Ack)
    assert (listed.done, listed.total, listed.rest) == (1, 1, group)
    deletion = struct.pack(">BBHIHBxI", 4, 15, 16, 0, 2, 0, 2)
    assert isinstance(bed.controller.order(Type.DELETE_ENTRY, deletion), Ack)
    await_events(bed.controller, 1)
    (event,) = bed.controller.events
    # OFPRR_GROUP_DELETE.
    assert (event[0], event[1], event[18]) == (4, FLOW_REMOVED, 3)
    assert not bed.machine.info()["table"]["groups"]


def kinds(controller: Controller) -> list[int]:
    """The types of the events that have come."""
    return [event[1] for event in controller.events]


def await_events(controller: Controller, num: int) -> None:
    """Wait until so many have come."""
    wait.until(lambda: controller.pump(0.1) or len(controller.events) >= num, f"{num} events")


def test_removed(bed: Bed) -> None:
    """A flow's end is told, in its version of OpenFlow, if it is asked for."""
    bed.controller.set(
        flow(cookie=1, idle=1, priority=1, flags=SEND_FLOW_REM),
        flow(cookie=2, priority=2, flags=SEND_FLOW_REM),
        flow(cookie=3, priority=3),
    )
    await_events(bed.controller, 1)
    bed.controller.clear()
    await_events(bed.controller, 2)
    assert kinds(bed.controller) == [FLOW_REMOVED] * 2
    heads = [struct.unpack_from(">B", event)[0] for event in bed.controller.events]
    fields = [struct.unpack_from(">QHB", event, 48) for event in bed.controller.events]
    assert heads == [1, 1]
    # Idle; deleted.
    assert fields == [(1, 1, 0), (2, 2, 2)]
    assert bed.machine.info()["session"]["removals"] == 2


def test_packet_in(bed: Bed) -> None:
    """A frame comes to the controller; of a flood, no more than the NIC allows."""
    bed.controller.set(flow(output(CONTROLLER), dl_type=IPV4))
    begin = time.monotonic()
    with contextlib.closing(PacketWire(bed.tap)) as wire:
        wire.send(FRAME)
        await_events(bed.controller, 1)
        (event,) = bed.controller.events
        head = struct.unpack_from(">BBHIIHHB", event)
        assert head == (1, PACKET_IN, 18 + len(FRAME), 0, 0xFFFFFFFF, len(FRAME), WIRE, 1)
        assert event[18:] == FRAME
        before = bed.machine.info()["table"]["hits"]
        for _ in range(10 * BURST):
            wire.send(FRAME)
        wait.until(lambda: bed.machine.info()["table"]["hits"] >= before + 10 * BURST, "the flood")
    info = bed.machine.info()
    session = info["session"]
    assert session["packet-ins"] + session["packet-ins-lost"] == 10 * BURST + 1
    assert 1 < session["packet-ins"] <= BURST + RATE * (time.monotonic() - begin) + 1
    assert counts(info["dropped-from-wire"]).get("controller", 0) == session["packet-ins-lost"]
