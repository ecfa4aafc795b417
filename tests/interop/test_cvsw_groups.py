# SPDX-License-Identifier: GPL-2.0-or-later
"""GROUP_MODs that os-ken writes, what Open vSwitch reads in them, and what CVSW does."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools
from lab.cvsw.openflow.codec import ask
from lab.cvsw.openflow.osken import OsKen

ALL, SELECT, INDIRECT, FAST_FAILOVER = range(4)


@pytest.fixture
def osken() -> OsKen:
    """os-ken in OpenFlow 1.3."""
    return OsKen(4)


def open_vswitch(messages: Iterable[bytes], folder: Path) -> list[str]:
    """The line that ovs-ofctl prints of each message."""
    (folder / "messages").write_bytes(b"".join(messages))
    text = tools.run(["ovs-ofctl", "ofp-parse", folder / "messages"])
    return re.findall(r"^ .*\S", text, flags=re.M)


def _actions(osken: OsKen, rng: random.Random) -> list[Any]:
    """In the order of section 5.10: Open vSwitch shows them as they come."""
    of = osken.of
    mac = ":".join(f"{octet:02x}" for octet in rng.randbytes(6))
    some: list[Any] = [
        of.OFPActionPopVlan(),
        of.OFPActionPushVlan(rng.choice([0x8100, 0x88A8])),
        of.OFPActionDecNwTtl(),
        of.OFPActionSetField(eth_src=mac),
        of.OFPActionSetField(ipv4_dst="192.0.2.7"),
        of.OFPActionSetField(ipv6_dst="2001:db8::7"),
        of.OFPActionSetField(udp_dst=rng.randrange(65536)),
    ]
    chosen = [each for each in some if rng.random() < 0.4]
    ends = [
        of.OFPActionOutput(rng.choice([1, 2, 0xFFFFFFF8, 0xFFFFFFFA, 0xFFFFFFFB]), 0),
        of.OFPActionGroup(rng.randrange(0xFFFFFF01)),
    ]
    return chosen + rng.sample(ends, rng.randrange(2))


def _group(osken: OsKen, rng: random.Random) -> bytes:
    of = osken.of
    kind = rng.choice([ALL, INDIRECT])
    buckets = [
        of.OFPBucket(
            weight=0, watch_port=0xFFFFFFFF, watch_group=0xFFFFFFFF, actions=_actions(osken, rng)
        )
        for _ in range(1 if kind == INDIRECT else rng.randrange(6))
    ]
    command, number = rng.randrange(2), rng.randrange(0xFFFFFF01)
    return osken.octets(of.OFPGroupMod(osken.datapath, command, kind, number, buckets))


def _as_ours(text: str) -> str:
    text = re.sub(r"^ (ADD|MOD) ", " ", text)
    return re.sub(r"mod_dl_(src|dst):([0-9a-f:]+)", r"set_field:\2->eth_\1", text)


def test_random(osken: OsKen, tmp_path: Path) -> None:
    """Open vSwitch reads the same in groups; os-ken reads what it has written in what we tell."""
    rng = random.Random(29)
    messages = [_group(osken, rng) for _ in range(300)]
    shown = [line.removeprefix("ok\t") for line in ask(messages, "show")]
    assert shown == [_as_ours(text) for text in open_vswitch(messages, tmp_path)]
    for message, line in zip(messages, ask(messages, "tell", 4), strict=True):
        told = bytes.fromhex(line)
        # An ADD of the same; os-ken writes it as it stands there.
        assert told == message[:4] + told[4:8] + b"\0\0" + message[10:]
        again = osken.parse_group(told)
        assert again[:4] + told[4:8] + again[8:] == told


def test_dump(osken: OsKen, tmp_path: Path) -> None:
    """The dumps' lines are what ovs-ofctl prints of a group's description and statistics."""
    rng = random.Random(30)
    messages = [_group(osken, rng) for _ in range(50)]
    descriptions, statistics = [], []
    for message in messages:
        kind, number = struct.unpack_from("!BxI", message, 10)
        buckets = message[16:]
        about = struct.pack("!HBxI", 8 + len(buckets), kind, number) + buckets
        descriptions.append(_reply(7, about))
        count = _buckets(message)
        numbers = (40 + 16 * count, number, 1, 3, 300, 1, 500_000_000)
        counters = struct.pack("!HxxIIxxxxQQII", *numbers) + bytes(16 * count)
        statistics.append(_reply(6, counters))
    shown = [line.removeprefix("ok\t") for line in ask(messages, "show")]
    assert shown == [_as_ours(text) for text in open_vswitch(descriptions, tmp_path)]
    assert ask(messages, "dump") == open_vswitch(statistics, tmp_path)


def _buckets(message: bytes) -> int:
    """How many a GROUP_MOD has."""
    at = count = 0
    while 16 + at < len(message):
        at += int.from_bytes(message[16 + at : 18 + at])
        count += 1
    return count


def _reply(kind: int, body: bytes) -> bytes:
    return struct.pack("!BBHIHH4x", 4, 19, 16 + len(body), 7, kind, 0) + body


@pytest.mark.parametrize(
    ("kind", "weight", "error"),
    [(SELECT, 1, (6, 10)), (FAST_FAILOVER, 0, (6, 10)), (ALL, 1, (6, 1)), (INDIRECT, 1, (6, 1))],
)
def test_refused(osken: OsKen, kind: int, weight: int, error: tuple[int, int]) -> None:
    """os-ken reads why a group is refused, and which one."""
    of = osken.of
    bucket = of.OFPBucket(
        weight=weight,
        watch_port=0xFFFFFFFF,
        watch_group=0xFFFFFFFF,
        actions=[of.OFPActionOutput(2)],
    )
    message = osken.octets(of.OFPGroupMod(osken.datapath, 0, kind, 7, [bucket]))
    (answer,) = ask([message], "tell", 4)
    told = osken.parse(bytes.fromhex(answer))
    assert (told.type, told.code) == error
    assert told.data == message[:64]
