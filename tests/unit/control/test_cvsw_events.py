# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of NICs: parsed, kept within bounds, counted and shown."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from lab.cvsw import plans as cvsw_plans
from lab.cvsw.nics import World
from vmmnet.cvsw.control import report
from vmmnet.cvsw.control.nics import frames
from vmmnet.cvsw.control.nics.events import KEPT, OCTETS_MAX, Event, Events, read

hexa = bytes.fromhex
ETHERNET = "525400000002 525400000001"
IP4 = "0800 4500 0028 0001 0000 40 {} 0000 c0000201 c0000202"
IP6 = "86dd 60000000 0020 {} ff 20010db8000000000000000000000001 ff0200000000000000000001ff000002"

#: Frames, without ignored octets at their end, and their lines.
FRAMES = {
    "ffffffffffff 525400000001 0806 0001 0800 06 04 0001 525400000001 c0000201 000000000000"
    " c0000202": "525400000001 > ffffffffffff, ARP who has 192.0.2.2? tell 192.0.2.1",
    f"{ETHERNET} 0806 0001 0800 06 04 0002 525400000001 c0000201 525400000002 c0000202": (
        "525400000001 > 525400000002, ARP 192.0.2.1 is at 52:54:00:00:00:01"
    ),
    f"{ETHERNET} 8100 e064 {IP4.format('06')} 0016 d431 00000001 00000002 5012": (
        "525400000001 > 525400000002, VLAN 100, IPv4 192.0.2.1 > 192.0.2.2, TCP 22 > 54321 [SA]"
    ),
    f"{ETHERNET} {IP4.format('11')} 0035 12b5": (
        "525400000001 > 525400000002, IPv4 192.0.2.1 > 192.0.2.2, UDP 53 > 4789"
    ),
    f"{ETHERNET} {IP4.format('01')} 0301": (
        "525400000001 > 525400000002, IPv4 192.0.2.1 > 192.0.2.2, ICMP unreachable (1)"
    ),
    f"{ETHERNET} {IP4.format('32')} 00001001": (
        "525400000001 > 525400000002, IPv4 192.0.2.1 > 192.0.2.2, ESP 0x1001"
    ),
    f"{ETHERNET} {IP4.format('06').replace('0001 0000', '0001 0010')}": (
        "525400000001 > 525400000002, IPv4 192.0.2.1 > 192.0.2.2, a later fragment"
    ),
    f"3333ff000002 525400000001 {IP6.format('3a')} 87000000 00000000"
    " 20010db8000000000000000000000002": "525400000001 > 3333ff000002, IPv6 2001:db8::1 >"
    " ff02::1:ff00:2, ICMPv6 neighbour solicitation of 2001:db8::2",
    # Hop-by-hop options, and a first fragment.
    f"{ETHERNET} {IP6.format('00')} 2c00000000000000 8400000100000001 0007 0009": (
        "525400000001 > 525400000002, IPv6 2001:db8::1 > ff02::1:ff00:2, SCTP 7 > 9"
    ),
    f"{ETHERNET} 88cc": "525400000001 > 525400000002, EtherType 0x88cc",
    f"{ETHERNET} 0026": "525400000001 > 525400000002, 802.3 of 38 octets",
}


def coloned(text: str) -> str:
    """Format a MAC address."""
    for mac in ("525400000001", "525400000002", "ffffffffffff", "3333ff000002"):
        text = text.replace(mac, hexa(mac).hex(":"))
    return text


@pytest.mark.parametrize("octets", FRAMES)
def test_frame(octets: str) -> None:
    """A frame as one line; a cut frame gives a prefix, and the line is printable."""
    whole = hexa(octets)
    line = coloned(FRAMES[octets])
    assert frames.describe(whole) == line
    for size in range(len(whole)):
        said = frames.describe(whole[:size])
        assert said.endswith("cut")
        assert line.startswith(said.removesuffix("cut").removesuffix(", "))


def test_any_frame() -> None:
    """Any frame of a guest gives a line that is safe for a terminal."""
    rng = random.Random(29)
    seeds = [hexa(octets) for octets in FRAMES]
    for _ in range(5000):
        octets = bytearray(rng.choice(seeds) + rng.randbytes(rng.randrange(8)))
        for _ in range(rng.randrange(1, 6)):
            octets[rng.randrange(len(octets))] = rng.randrange(256)
        line = frames.describe(bytes(octets))
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 300


FRAME = hexa("ffffffffffff 525400000001 88cc 0000")
#: Messages as a NIC writes them (tests/unit/test-cvsw-packet-in.c), and their parsed form.
MESSAGES: dict[str, dict[str, Any]] = {
    # version, type, length, xid; buffer, size, in_port, reason, pad
    f"010a 0022 00000000 ffffffff 0010 0001 01 00 {FRAME.hex()}": {
        "what": "packet-in", "reason": "action", "in_port": 1, "tunnel_id": 0, "size": 16,
        "frame": FRAME.hex(), "text": "action, port 1, 16 octets: 52:54:00:00:00:01 >"
        " ff:ff:ff:ff:ff:ff, EtherType 0x88cc",
    },
    # buffer, size, reason, table, cookie; match: in_port, tunnel_id; pad
    f"040a 0042 00000000 ffffffff 05dc 00 00 0000000000000007 0001 0018 80000004 00000002"
    f" 80004c08 0000000000001389 0000 {FRAME.hex()}": {
        "what": "packet-in", "reason": "no-match", "in_port": 2, "tunnel_id": 5001, "size": 1500,
        "frame": FRAME.hex(), "text": "no-match, port 2, tunnel 5001, 1500 octets:"
        " 52:54:00:00:00:01 > ff:ff:ff:ff:ff:ff, EtherType 0x88cc",
    },
    # cookie, priority, reason, table, seconds, ns, idle, hard, packets, octets; match
    "040b 0040 00000000 000000000000000a 0001 00 00 00000001 1dcd6500 003c 0000"
    " 0000000000000003 0000000000000bb8 0001 000c 80000004 00000001 00000000": {
        "what": "flow-removed", "reason": "idle-timeout", "flow": "cookie=0xa,"
        " priority=1,in_port=1", "seconds": 1.5, "packets": 3, "octets": 3000,
        "text": "idle-timeout after 1.500 s, 3 packets, 3,000 octets: cookie=0xa,"
        " priority=1,in_port=1",
    },
    # match: all but in_port, dl_type and 24 bits of nw_src is open; then the same
    "010b 0058 00000000 003fc8ee 0001 000000000000 000000000000 0000 00 00 0800 00 00 0000"
    " c0000200 00000000 0000 0000 0000000000000000 0001 02 00 00000002 00000000 0000 0000"
    " 0000000000000001 0000000000000064": {
        "what": "flow-removed", "reason": "delete", "flow": "priority=1,in_port=1,"
        "eth_type=0x0800,ip_src=192.0.2.0/24", "seconds": 2.0, "packets": 1, "octets": 100,
        "text": "delete after 2.000 s, 1 packets, 100 octets: priority=1,in_port=1,"
        "eth_type=0x0800,ip_src=192.0.2.0/24",
    },
    "0405 0008 00000000": {"what": "unknown", "text": "OpenFlow message of version 4, type 5, 8"
                           " octets"},
}  # fmt: skip


@pytest.mark.parametrize("octets", MESSAGES)
def test_message(octets: str) -> None:
    """Both versions; a cut message is reported as cut, and has no other effect."""
    whole = hexa(octets)
    assert read(Event(1, 1, 0.0, whole)) == MESSAGES[octets]
    for size in range(len(whole)):
        assert read(Event(1, 1, 0.0, whole[:size]))["what"] in (
            "unknown",
            MESSAGES[octets]["what"],
        )


PACKET_IN, FLOW_REMOVED = (hexa(list(MESSAGES)[at]) for at in (1, 2))


def test_bounded() -> None:
    """The last events are kept, within a limit; all are counted."""
    events = Events()
    for number in range(3 * KEPT):
        events.take(PACKET_IN + bytes(2000), number, 0.0)
    assert len(events.kept) == KEPT
    assert {len(each.message) for each in events.kept} == {OCTETS_MAX}
    assert [each.serial for each in events.kept] == list(range(2 * KEPT, 3 * KEPT))
    assert events.kept[-1].number == 3 * KEPT
    assert events.counters["packet_ins"] == 3 * KEPT


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World()
    made.populate(cvsw_plans.plan(tmp_path, cvsw_plans.tree()))
    made.settle()
    return made


def told(world: World, since: int | None = None, mac: bytes | None = None) -> list[tuple[str, str]]:
    """Return the events with their NICs."""
    answer = report.events(world.fabric, mac, since, 1000.0)
    return [(event["name"], event["what"]) for event in answer["events"]]


def test_kept_by_nic(world: World) -> None:
    """Many events of one NIC do not displace another's; each can be selected."""
    red, blue = world.nics["red1"], world.nics["blue1"]
    red.tell(FLOW_REMOVED)
    world.run(1.0)
    for _ in range(3 * KEPT):
        blue.tell(PACKET_IN)
    world.run(1.0)
    assert told(world) == [("red1", "flow-removed")] + KEPT * [("blue1", "packet-in")]
    assert told(world, mac=red.mac) == [("red1", "flow-removed")]
    counters = report.nic(world.fabric, blue.mac)["counters"]
    assert (counters["packet_ins"], counters["flows_removed"]) == (3 * KEPT, 0)


def test_since(world: World) -> None:
    """A follower gets each event once, in order; times are wall clock."""
    red, blue = world.nics["red1"], world.nics["blue1"]
    last = report.events(world.fabric, None, None, 0.0)["last"]
    assert last == 0
    for nic, message in ((red, FLOW_REMOVED), (blue, PACKET_IN), (red, PACKET_IN)):
        nic.tell(message)
        world.run(1.0)
    answer = report.events(world.fabric, None, last, 1000.0)
    assert [event["name"] for event in answer["events"]] == ["red1", "blue1", "red1"]
    times = [event["time"] - 1000 for event in answer["events"]]
    assert times == sorted(times)
    assert world.now - 4 < times[0] < world.now
    last = answer["last"]
    assert not told(world, last)
    blue.tell(FLOW_REMOVED)
    world.run(1.0)
    assert told(world, last) == [("blue1", "flow-removed")]


def test_lost(world: World) -> None:
    """Lost events are counted, by their numbers."""
    red = world.nics["red1"]
    red.tell(PACKET_IN)
    red.tell(PACKET_IN, number=7)
    world.run(1.0)
    assert report.nic(world.fabric, red.mac)["counters"]["events_lost"] == 5
    # A new session begins with new numbers.
    red.boot(world.now)
    world.run(1.0)
    world.settle()
    red.tell(PACKET_IN)
    world.run(1.0)
    counters = report.nic(world.fabric, red.mac)["counters"]
    assert (counters["events_lost"], counters["packet_ins"]) == (5, 3)
