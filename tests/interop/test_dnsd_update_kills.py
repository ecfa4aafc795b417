# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 of vmmnet-dnsd in each of 200 updates: the zone is old or new, never neither.

What came out is in build/dns-kills.md, a line a kill.
"""

from __future__ import annotations

import contextlib
import functools
import random
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest
from lab.base import conditions, wait
from lab.base.net import Network
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import World, framed, query, with_own_zones

pytestmark = pytest.mark.long

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
KEYRING = dns.tsigkeyring.from_text({KEY: SECRET})
KILLS = 200
#: Records of each update: half of it would be seen.
PARTS = 8
#: An update and its reply take about as long, in seconds.
SPAN = 0.012
#: Each so many is killed when its reply is there, however long that takes.
REPLIED = 10
REPORT = Path(__file__).parents[2] / "build" / "dns-kills.md"


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with with_own_zones(network, SECRET) as hosts:
        yield hosts


def _server(world: World) -> Dnsd:
    folder = world.folder
    image = str(folder / "example.vzi")
    zone = {"name": "example", "image": image, "allow-update": [KEY]}
    keys = [{"name": KEY, "secret-file": str(folder / "secret")}]
    return Dnsd(world.server, folder, {"keys": keys, "zones": [zone]})


def _update(number: int) -> bytes:
    """Replace a record of each of several names."""
    update = dns.update.UpdateMessage("example")
    for part in range(PARTS):
        update.replace(f"part{part}", 60, "TXT", str(number))
    update.use_tsig(KEYRING, KEY, algorithm=dns.tsig.HMAC_SHA256)
    return framed(update)


def _zone(world: World) -> tuple[set[int], int]:
    """The numbers in its parts, and its serial."""
    found = set()
    for part in range(PARTS):
        answer = world.udp(query(f"part{part}.example", "TXT")).answer
        found.add(int(answer[0][0].strings[0]) if answer else 0)
    return found, int(world.udp(query("example", "SOA")).answer[0][0].serial)


@dataclass(frozen=True)
class _Kill:
    """One of them: how long after the update was sent, and what became of it."""

    number: int
    after: float
    acknowledged: bool
    found: frozenset[int]
    serial: int
    #: What the serial was before the update.
    before: int

    @property
    def zone(self) -> str:
        """In words."""
        if self.found == {self.number} and self.serial == self.before + 1:
            return "new"
        if self.found == {self.number - 1} and self.serial == self.before:
            return "old"
        return f"NEITHER: {sorted(self.found)}, serial {self.serial}"


def _is_replied(connection: socket.socket) -> bool:
    """Whether there is a reply that says that it is done."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    with contextlib.suppress(ConnectionError):
        head = connection.recv(6, socket.MSG_WAITALL)
        return len(head) == 6 and head[5] & 15 == dns.rcode.NOERROR
    return False


def _kill_in(world: World, server: Dnsd, number: int, before: int, after: float | None) -> _Kill:
    """Send an update, kill the server so many seconds later, and look at what there is then.

    None is when there is a reply.
    """
    message = _update(number)
    with world.connect() as connection:
        begin = time.monotonic()
        connection.sendall(message)
        if after is None:
            select.select([connection], [], [], wait.PATIENCE)
        # The moment itself is awaited, and no event.
        while (passed := time.monotonic() - begin) < (after or 0):
            pass
        server.kill()
        acknowledged = _is_replied(connection)
    server.start()
    found, serial = _zone(world)
    return _Kill(number, passed, acknowledged, frozenset(found), serial, before)


def _again(world: World, number: int) -> None:
    """Do an update, and see it through."""
    with world.connect() as connection:
        connection.sendall(_update(number))
        wait.until(functools.partial(_is_replied, connection), "the reply")


def _write(kills: Sequence[_Kill]) -> None:
    counts = Counter((kill.zone.split(":")[0], kill.acknowledged) for kill in kills)
    lines = [
        conditions.machine(),
        "",
        f"{len(kills)} updates of a zone, each of {PARTS} names. In each the server is killed "
        "(kill -9), at a moment chosen at random, or when its reply is there; then it is started "
        "again, and asked for all names and the serial.",
        "",
        "New: each name has what the update brings, and the serial is one more. Old: each name "
        "and the serial are as before the update. Neither: anything else. Acknowledged: the "
        "server's reply, that the update is done, has arrived before the kill.",
        "",
        "| zone after the start | acknowledged | not acknowledged |",
        "|---|---|---|",
        *(
            f"| {zone} | {counts[zone, True]} | {counts[zone, False]} |"
            for zone in ("new", "old", "NEITHER")
        ),
        "",
        "| update | killed after, ms | acknowledged | zone |",
        "|---|---|---|---|",
        *(
            f"| {kill.number} | {1000 * kill.after:.2f} | {'yes' if kill.acknowledged else 'no'} "
            f"| {kill.zone} |"
            for kill in kills
        ),
    ]
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text("\n".join(lines) + "\n")


def test_kills(world: World) -> None:
    """Old or new after each, and new after each that was acknowledged."""
    kills: list[_Kill] = []
    chosen = random.Random(31)
    with _server(world) as server:
        number, serial = 1, 1
        while len(kills) < KILLS:
            after = chosen.uniform(0, SPAN) if len(kills) % REPLIED else None
            kill = _kill_in(world, server, number, serial, after)
            kills.append(kill)
            _write(kills)
            assert kill.zone in ("old", "new"), kill
            assert kill.zone == "new" or not kill.acknowledged, kill
            serial = kill.serial
            if kill.zone == "old":
                # The next one is to follow what there is.
                _again(world, number)
                serial += 1
            number += 1
    assert sum(kill.acknowledged for kill in kills) >= KILLS // REPLIED
