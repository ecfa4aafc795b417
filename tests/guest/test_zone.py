# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of the host's own zone, answered on the guest's queue without a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.dns import room as dns_room
from lab.guest.guest import Guest
from lab.peers.lab import PAGE, PEER_ADDRESS, WEB_ADDRESS, Lab, lab

ZONE = f"""
$TTL 60
@         SOA   ns root {{serial}} 3600 600 86400 60
          NS    ns
ns        AAAA  {PEER_ADDRESS}
web       AAAA  {{address}}
short     CNAME web
outside   CNAME www.test.
*.wild    AAAA  {PEER_ADDRESS}
"""
NOWHERE = "2001:db8:80::dead"


@dataclass
class World:
    """A guest whose device has a zone that tests may change."""

    lab: Lab
    guest: Guest
    image: Path

    def compile(self, serial: int, address: str) -> None:
        """Put another image in the place of the old one."""
        dns_room.compile_zone("corp.test", ZONE.format(serial=serial, address=address), self.image)

    def asked(self, name: str) -> int:
        """How many queries for a name the server has had."""
        return self.lab.dns_log.read_text().count(f" {name}. ")

    def counter(self, name: str) -> int:
        """What the device has counted of it."""
        return self.lab.counters(self.guest)[name]

    def fetch(self, name: str) -> str:
        """The page of a web server."""
        return self.guest.run(["curl", "-sS", "--fail", f"http://{name}/"]).stdout

    def error(self, name: str) -> str:
        """The reason for which the guest finds no address."""
        script = f"""
import socket
try:
    print(socket.gethostbyname("{name}"))
except OSError as error:
    print(type(error).__name__, error.errno)
"""
        return self.guest.run(["python3", "-c", script]).stdout.strip()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    image = tmp_path_factory.mktemp("zone") / "corp.image"
    dns_room.compile_zone("corp.test", ZONE.format(serial=1, address=WEB_ADDRESS), image)
    with lab() as made, made.guest(device=made.device(zone=str(image))) as guest:
        yield World(made, guest, image)


def test_reached_by_name(world: World) -> None:
    assert world.fetch("web.corp.test") == PAGE
    assert world.fetch("short.corp.test") == PAGE
    assert world.asked("web.corp.test") == world.asked("short.corp.test") == 0
    assert world.counter("zone_answers") >= 2


def test_does_not_exist(world: World) -> None:
    assert world.error("none.corp.test") == "gaierror -2"
    assert world.asked("none.corp.test") == 0


def test_wildcard(world: World) -> None:
    one = world.error("one.wild.corp.test")
    assert one.startswith(("198.18.", "198.19."))
    assert world.error("two.wild.corp.test") == one


def test_the_world_goes_on(world: World) -> None:
    assert world.fetch("www.test") == PAGE
    asked = world.asked("www.test")
    assert asked > 0
    # The device remembers.
    assert world.fetch("www.test") == PAGE
    assert world.asked("www.test") == asked


def test_alias_that_leads_out(world: World) -> None:
    assert world.fetch("outside.corp.test") == PAGE
    assert world.asked("www.test") > 0
    assert world.asked("outside.corp.test") == 0


def test_change(world: World) -> None:
    before = world.counter("zone_reloads")
    world.compile(2, NOWHERE)
    wait.until(lambda: world.counter("zone_reloads") > before, "the new image")
    assert world.error("web.corp.test") != world.error("www.test")
    # One that is damaged changes nothing.
    errors = world.counter("zone_errors")
    damaged = bytearray(world.image.read_bytes())
    damaged[5000] ^= 1
    other = world.image.with_suffix(".damaged")
    other.write_bytes(damaged)
    other.rename(world.image)
    wait.until(lambda: world.counter("zone_errors") > errors, "a damaged image")
    assert world.error("web.corp.test") != world.error("www.test")
    said = world.guest.stderr_path.read_text()
    assert f"zone={world.image}: NODES at offset 4096: the page's checksum is wrong" in said
    world.compile(3, WEB_ADDRESS)
    wait.until(lambda: world.error("web.corp.test") == world.error("www.test"), "the third image")
