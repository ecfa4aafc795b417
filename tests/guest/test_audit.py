# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest asks for and reaches has a line outside; without one, nothing begins.

One guest for all; its log is on a small file system, which tests fill.
"""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.peers.lab import DNS_ADDRESS, ECHO_PORT, PEER_ADDRESS, WEB_ADDRESS, Lab, lab

POLICY = """\
allow www.test tcp 80
watch peer.test tcp
deny 2001:db8::/32
default deny
"""


@dataclass
class World:
    """A guest whose log is a file on a file system of its own."""

    lab: Lab
    guest: Guest
    folder: Path

    def audit(self) -> dict[str, Any]:
        """The log in query-vmrpc."""
        (device,) = self.guest.qmp("query-vmrpc", id="vmrpc0", sockets_limit=0)
        found: dict[str, Any] = device["audit"]
        return found

    def lines(self) -> list[dict[str, Any]]:
        """All lines so far, without those that came twice, or in part, after an error."""
        wait.until(lambda: not self.audit()["pending"], "the lines")
        found: dict[int, dict[str, Any]] = {}
        for text in (self.folder / "log").read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                line = json.loads(text)
                assert found.setdefault(line["seq"], line) == line
        assert list(found) == list(range(1, len(found) + 1))
        return list(found.values())

    def since(self, number: int, event: str) -> list[dict[str, Any]]:
        """The lines of an event behind the first ones."""
        return [line for line in self.lines()[number:] if line["event"] == event]

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """There is no room for another line in the block."""
        fill = self.folder / "fill"
        with fill.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(512))
        try:
            yield
        finally:
            fill.unlink()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("audit")
    policy = folder / "vm.policy"
    policy.write_text(POLICY)
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", small], check=True)
    try:
        with lab() as built:
            device = built.device(dns=DNS_ADDRESS, policy=policy, audit="log", audit_full="wait")
            chardev = ["-chardev", f"file,id=log,path={small}/log,append=on"]
            with built.guest(ipv6=False, device=device, arguments=chardev) as guest:
                yield World(built, guest, small)
    finally:
        subprocess.run(["umount", small], check=True)


def _connect(world: World, host: str, port: int) -> str:
    """The error that a program of the guest gets; "" for none."""
    script = f"""
import errno, socket
try:
    s = socket.create_connection(({host!r}, {port}))
    s.sendall(b'abc')
    s.recv(3)
except socket.gaierror:
    print('DNS')
except OSError as e:
    print(errno.errorcode[e.errno])
"""
    return world.guest.run(["python3", "-c", script]).stdout.strip()


def test_lines_of_what_programs_do(world: World) -> None:
    before = len(world.lines())
    assert "IPv6-only" in world.guest.run("curl -sS http://www.test/").stdout
    assert _connect(world, "peer.test", ECHO_PORT) == ""
    assert _connect(world, "host.test", 80) == "DNS"
    world.lines()
    opened = world.since(before, "open")
    assert len(opened) == 2, opened
    web, echo = opened
    assert (web["address"], web["port"], web["asked"]) == (WEB_ADDRESS, 80, ["www.test"])
    assert (web["verdict"], web["line"]) == ("allow", 1)
    assert (echo["address"], echo["verdict"], echo["line"]) == (PEER_ADDRESS, "watch", 2)
    (watched,) = world.since(before, "watched")
    assert (watched["reason"], watched["socket"]) == ("deny-rule", echo["socket"])
    wait.until(lambda: len(world.since(before, "close")) == 2, "both ends")
    (end,) = (c for c in world.since(before, "close") if c["address"] == PEER_ADDRESS)
    assert (end["sent"], end["received"]) == (3, 3)
    names = {line["name"]: line["verdict"] for line in world.since(before, "name")}
    assert names == {"www.test": "allow", "peer.test": "watch", "host.test": "deny"}


def test_a_program_reads_why(world: World) -> None:
    """The same reasons as in the log, in the guest."""
    before = len(world.lines())
    assert _connect(world, "host.test", 80) == "DNS"
    assert _connect(world, "www.test", 81) == "EACCES"
    text = world.guest.run("cat /proc/net/vmrpc_refused").stdout
    head, *lines = (line.split() for line in text.splitlines())
    assert " ".join(head) == "number ago_ms proto address port errno reason name"
    numbers = [int(line[0]) for line in lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    named, refused = lines[-2:]
    assert named[2:] == ["-", "-", "-", str(errno.EACCES), "deny-default", "host.test"]
    expected = ["tcp", WEB_ADDRESS, "81", str(errno.EACCES), "deny-rule", "www.test"]
    assert refused[2:] == expected
    assert int(refused[1]) < int(wait.PATIENCE * 1000)
    (line,) = world.since(before, "refused")
    assert [line["address"], line["errno"], line["reason"]] == [WEB_ADDRESS, "EACCES", "deny-rule"]


def test_no_evidence_no_connection(world: World) -> None:
    """With a full disk programs wait; when there is room, all goes on and has its line."""
    # A question waits as well, but a resolver gives up after some seconds.
    address = world.guest.run("getent ahostsv4 www.test").stdout.split()[0]
    before = len(world.lines())
    # What is left of the last block of the file takes some of them.
    refused = f"""
import socket
for _ in range(50):
    try:
        socket.create_connection(({address!r}, 81))
    except OSError:
        pass
"""
    with world.full():
        filler = world.guest.spawn(["python3", "-c", refused])
        wait.until(lambda: world.audit()["blocked"], "the disk")
        pages = world.lab.web_log.read_text().count("GET")
        jobs = [world.guest.spawn(f"curl -sS http://{address}/") for _ in range(3)]
        waits = world.audit()["waits"]
        wait.until(lambda: world.audit()["waits"] > waits + 2, "calls that wait")
        assert world.guest.run("echo alive").stdout == "alive\n"
        assert world.lab.web_log.read_text().count("GET") == pages
    assert filler.wait().rc == 0
    for job in jobs:
        assert "IPv6-only" in job.wait().stdout
    assert not world.audit()["blocked"]
    assert len(world.since(before, "open")) == 3
    assert world.audit()["lost"] == 0
