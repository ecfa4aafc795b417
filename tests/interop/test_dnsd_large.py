# SPDX-License-Identifier: GPL-2.0-or-later
"""Transfers of vmmnet-dnsd that are large, or come from a journal whose changes were merged."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.xfr
import dns.zone
import pytest
from lab.base import tools, wait
from lab.base.net import Namespace, Network
from lab.dns import dnsd, zones
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import CLIENT, SERVER, ZONE, World, framed, query, with_own_zones

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
RING = dns.tsigkeyring.from_text({KEY: SECRET})
#: Records of a large zone.
MANY = 1_000_000
#: Updates of so many names and records that they are merged into the image: 512 names, 1 MiB.
UPDATES, RECORDS = 600, 10
#: Records of the zone before: more than those of the updates, so that IXFR is worth it.
BEFORE = 12_000


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    """The server's folder of zones is its own."""
    with with_own_zones(network, SECRET) as hosts:
        yield hosts


def _update(number: int) -> bytes:
    update = dns.update.UpdateMessage("example")
    for record in range(RECORDS):
        update.add(f"n{number}", 60, "TXT", f'"{record}{"x" * 240}"')
    if number:
        update.delete(f"n{number - 1}", "TXT", f'"0{"x" * 240}"')
    update.use_tsig(RING, KEY, algorithm=dns.tsig.HMAC_SHA256)
    return framed(update)


def _fetch(world: World, zone: dns.zone.Zone) -> dns.zone.Zone:
    """Bring a copy up to date: by IXFR, or by AXFR if it is empty."""
    asked, _ = dns.xfr.make_query(zone, use_edns=0)
    with world.client.entered():
        dns.query.inbound_xfr(SERVER, zone, asked, timeout=wait.PATIENCE)
    return zone


def _read_replies(connection: socket.socket, count: int) -> None:
    """Of so many updates, which are all done."""
    with connection.makefile("rb") as stream:
        for _ in range(count):
            wire = stream.read(int.from_bytes(stream.read(2), "big"))
            assert wire[3] & 15 == 0


@pytest.mark.long
def test_ixfr_after_a_merge(world: World) -> None:
    """A secondary that has slept through a merge and a crash catches up by changes alone."""
    text = ZONE.format(serial=1)
    text += "".join(f'b{number} TXT "{"y" * 240}"\n' for number in range(BEFORE))
    image = dns_room.compile_zone("example", text, world.folder / "example.vzi")
    tools.run(["chown", dnsd.USER, image])
    before = image.stat().st_ino
    zone = {
        "name": "example",
        "image": str(image),
        "allow-update": [KEY],
        "allow-transfer": [f"{CLIENT}/32"],
    }
    keys = [{"name": KEY, "secret-file": str(world.folder / "secret")}]
    with Dnsd(world.server, world.folder, {"keys": keys, "zones": [zone]}) as server:
        sleepers = [_fetch(world, dns.zone.Zone("example")) for _ in range(2)]
        with world.connect() as connection:
            for first in range(0, UPDATES, 16):
                numbers = range(first, min(first + 16, UPDATES))
                connection.sendall(b"".join(map(_update, numbers)))
                _read_replies(connection, len(numbers))
        wait.until(lambda: image.stat().st_ino != before, "the merge")
        for sleeper in sleepers:
            _fetch(world, sleeper)
            whole = _fetch(world, dns.zone.Zone("example"))
            assert set(sleeper.iterate_rdatas()) == set(whole.iterate_rdatas())
            server.kill()
            server.start()
        assert len(re.findall("zone example: IXFR to .* begins", server.log.read_text())) == 2


def _served(host: Namespace, folder: Path, zone: Mapping[str, Any], listen: str) -> Dnsd:
    config = {"server": {"listen": [listen]}, "zones": [{"name": "net", **zone}]}
    return Dnsd(host, folder, config)


@pytest.mark.long
def test_million_records(world: World) -> None:
    """AXFR to dig and to a copy of ours; queries are answered meanwhile; no record is lost."""
    text = zones.generated(world.folder / "net.zone", MANY)
    image = world.folder / "net.vzi"
    done = zones.zone("compile", "net.", text, "-o", image)
    found = re.search(r": (\d+) records", done.stdout + done.stderr)
    assert done.returncode == 0 and found, done.stderr
    count = int(found[1])
    assert count > MANY * 9 // 10
    folder = world.folder.parent / "copy"
    folder.mkdir()
    tools.run(["chown", "-R", dnsd.USER, world.folder, folder])
    copy = {"image": str(folder / "net.vzi"), "primaries": [SERVER]}
    first = {"image": str(image), "allow-transfer": [f"{CLIENT}/32"]}
    with _served(world.server, world.folder, first, SERVER):
        dig = ["dig", f"@{SERVER}", "net", "+noall", "+answer", "+onesoa", "AXFR"]
        lines = world.client.run(dig).stdout.splitlines()
        assert sum(" IN" in line.replace("\t", " ") for line in lines) == count
        with _served(world.client, folder, copy, CLIENT) as second:

            def has_come() -> bool:
                assert world.udp(query("net", "SOA")).answer
                return second.metric('transfers_in_total{result="axfr"}') == 1

            wait.until(has_come, "the copy")
            assert world.udp(query("net", "SOA"), CLIENT).answer
    diff: list[str | Path] = [dns_room.program("vmmnet-zone"), "diff", image, folder / "net.vzi"]
    assert not tools.run(diff)
