# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd from its start to its end: reloads, images that break, systemd, privileges."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest
from lab.base import process, wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import SERVER, ZONE, World, framed, made, query, read
from vmmnet import VERSION
from vmmnet.controlsocket import Refused


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with made(network) as hosts:
        yield hosts


@contextlib.contextmanager
def _load(world: World) -> Iterator[list[str]]:
    """Ask without a pause over UDP and TCP; the serials that are answered, all of them."""
    seen: list[str] = []
    lost: list[BaseException] = []
    over = threading.Event()

    def udp() -> None:
        try:
            while not over.is_set():
                seen.append(world.udp(query("serial.example", "TXT")).answer[0][0].to_text())
        except BaseException as err:
            lost.append(err)

    def tcp() -> None:
        try:
            with world.connect() as connection:
                while not over.is_set():
                    connection.sendall(framed(query("serial.example", "TXT")))
                    seen.append(read(connection).answer[0][0].to_text())
        except BaseException as err:
            lost.append(err)

    threads = [threading.Thread(target=run) for run in (udp, tcp)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not lost


def test_reload_under_load(world: World) -> None:
    """No query is lost, and what is asked after a reload is answered from the new image."""
    with world.dnsd() as server, _load(world) as seen:
        wait.until(lambda: len(seen) > 10, "the load")
        for serial in range(2, 22):
            world.image(serial)
            assert "1 zone, 0 of them" in server.reload()
            reply = world.udp(query("serial.example", "TXT"))
            assert reply.answer[0][0].to_text() == f'"{serial}"'
            assert server.metric('zone_serial{zone="example"}') == serial
        maps = Path(f"/proc/{server.pid}/maps").read_text()
        assert maps.count(".vzi") == 1
        wait.until(lambda: seen[-1] == '"21"', "the last image")


def test_reload_by_signal(world: World) -> None:
    with world.dnsd() as server:
        world.image(2)
        os.kill(server.pid, signal.SIGHUP)
        wait.until(lambda: server.metric('zone_serial{zone="example"}') == 2, "the reload")


def test_reload_of_what_is_wrong(world: World) -> None:
    """A wrong file, or a damaged image, changes nothing but the log."""
    with world.dnsd() as server:
        right = server.file.read_text()
        server.file.write_text("server: {thraeds: 2}")
        with pytest.raises(Refused, match="'thraeds' is no key here; the nearest is 'threads'"):
            server.reload()
        server.file.write_text(right)
        (world.folder / "new").write_bytes(b"no image")
        (world.folder / "new").rename(world.folder / "example.vzi")
        with pytest.raises(Refused, match="1 of them with an image that cannot be used"):
            server.reload()
        assert "the image before it is still served" in server.log.read_text()
        assert world.udp(query()).rcode() == dns.rcode.NOERROR
        done = subprocess.run(
            [dns_room.program("vmmnet-dnsd"), "reload", "--control", server.control],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1 and "1 of them" in done.stderr
        world.image(3)
        assert "1 zone, 0 of them" in server.reload()


def test_cut_short(world: World) -> None:
    """An image that is cut short under the server is SERVFAIL, and no more than that."""
    other = dns_room.compile_zone("other", ZONE.format(serial=7), world.folder / "other.vzi")
    zones = [
        {"name": "example", "image": str(world.folder / "example.vzi")},
        {"name": "other", "image": str(other)},
    ]
    with Dnsd(world.server, world.folder, {"zones": zones}) as server:
        os.truncate(world.folder / "example.vzi", 4096)
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL
        assert world.udp(query("www.other")).rcode() == dns.rcode.NOERROR
        assert server.metric('zone_state{zone="example"}') == 2
        wait.until(lambda: "was truncated" in server.log.read_text(), "the log")
        world.image(9)
        server.reload()
        assert world.udp(query()).rcode() == dns.rcode.NOERROR
        assert server.metric('zone_state{zone="example"}') == 0


def test_without_an_image(world: World) -> None:
    """A zone without an image is SERVFAIL, and there with the next reload."""
    (world.folder / "example.vzi").unlink()
    with world.dnsd() as server:
        assert world.udp(query()).rcode() == dns.rcode.SERVFAIL
        assert server.metric('zone_state{zone="example"}') == 1
        world.image()
        server.reload()
        assert world.udp(query()).rcode() == dns.rcode.NOERROR


def test_killed(world: World) -> None:
    """After kill -9 the next one serves, at the same addresses, at once."""
    with world.dnsd() as server:
        for _ in range(3):
            with world.connect() as connection:
                connection.sendall(framed(query()))
                read(connection)
                server.kill()
                server.start()
            assert world.udp(query()).rcode() == dns.rcode.NOERROR


def test_second_server(world: World) -> None:
    """Two servers would share the queries unseen: the second one does not start."""
    with world.dnsd():
        done = world.server.run(
            [dns_room.program("vmmnet-dnsd"), world.folder / "dnsd.yaml"], check=False
        )
        assert done.returncode == 1
        assert "server.listen: cannot listen at" in done.stderr and "in use" in done.stderr
        assert world.udp(query()).rcode() == dns.rcode.NOERROR


def test_privileges(world: World) -> None:
    """It is nobody, without a capability, and behind its filter, in all threads."""
    with world.dnsd() as server:
        for thread in Path(f"/proc/{server.pid}/task").iterdir():
            status = (thread / "status").read_text()
            assert "Uid:\t65534\t65534\t65534\t65534" in status
            assert "CapEff:\t0000000000000000" in status
            assert "CapPrm:\t0000000000000000" in status
            assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
        maps = Path(f"/proc/{server.pid}/maps").read_text()
        assert not re.search(r"^\S+ \S*wx", maps, re.MULTILINE)


def test_root_is_no_user(world: World) -> None:
    for user, told in (("root", "is root"), ("nobody-of-that-name", "there is no user")):
        server = world.dnsd(server={"user": user})
        done = world.server.run([dns_room.program("vmmnet-dnsd"), server.file], check=False)
        assert done.returncode == 1 and "server.user: " in done.stderr and told in done.stderr


def test_socket_activation(world: World) -> None:
    """Sockets from systemd are served by all threads; ports are not opened."""
    kinds = [(socket.SOCK_DGRAM, SERVER), (socket.SOCK_STREAM, SERVER)]
    server = world.dnsd(server={"listen": ["203.0.113.1"], "threads": 2})
    with dnsd.activation(world.server, kinds) as given:
        fds = [one.fileno() for one in given]
        with server.log.open("wb") as out:
            child = server.child = process.start(
                dnsd.pass_sockets(given, [dns_room.program("vmmnet-dnsd"), server.file]),
                netns=world.server.netns,
                stdout=out,
                stderr=out,
                pass_fds=fds,
            )
        try:
            assert world.udp(query()).rcode() == dns.rcode.NOERROR
            for _ in range(5):
                with world.connect() as connection:
                    connection.sendall(framed(query()))
                    assert read(connection).rcode() == dns.rcode.NOERROR
            assert child.poll() is None
        finally:
            server.stop()


def test_notify(world: World) -> None:
    """systemd hears of the start, of a reload, and of the end."""
    path = world.folder / "notify.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, world.dnsd() as server:
        server.stop()
        manager.bind(str(path))
        path.chmod(0o777)
        manager.settimeout(wait.PATIENCE)
        server.start(["env", f"NOTIFY_SOCKET={path}"])

        def heard(word: bytes) -> bytes:
            while True:
                data = manager.recv(4096)
                if word in data:
                    return data

        heard(b"READY=1")
        server.reload()
        assert b"MONOTONIC_USEC=" in heard(b"RELOADING=1")
        heard(b"READY=1")
        os.kill(server.pid, signal.SIGTERM)
        heard(b"STOPPING=1")


def test_version() -> None:
    """--version prints one line: the name and the version of the package."""
    command = [dns_room.program("vmmnet-dnsd"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=wait.PATIENCE)
    assert (done.returncode, done.stdout) == (0, f"vmmnet-dnsd {VERSION}\n")


def test_check(world: World) -> None:
    """--check says all that is wrong, with the place, and starts nothing."""
    server = world.dnsd()
    done = dnsd.check(server.file)
    assert done.returncode == 0 and done.stdout == f"{server.file}: 1 zone\n"
    server.file.write_text("server:\n  listen: here\n  uesr: me\nzones:\n- name: example\n")
    done = dnsd.check(server.file)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"{server.file}:2:11: server.listen: 'here' is no list")
    assert lines[1].endswith("server: 'uesr' is no key here; the nearest is 'user'")
    assert lines[2].startswith(f"{server.file}:5:3: zones[0]: a map has no 'image'")
    server.configure({"zones": [{"name": "other", "image": str(world.folder / "example.vzi")}]})
    done = dnsd.check(server.file)
    assert done.returncode == 1 and "has the zone 'example'" in done.stderr


def test_metrics_over_tcp(world: World) -> None:
    """Prometheus reads them; nobody reloads that way, or holds the port."""
    with world.dnsd(server={"metrics": "127.0.0.1@9153"}) as server:
        world.server.ip("link", "set", "lo", "up")
        with world.server.entered():
            idle = [socket.create_connection(("127.0.0.1", 9153)) for _ in range(20)]
        for connection in idle:
            connection.close()
        url = "http://127.0.0.1:9153"
        done = world.server.run(["curl", "-sS", "--fail", f"{url}/metrics"])
        assert "# TYPE vmmnet_dnsd_requests_total counter" in done.stdout
        done = world.server.run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST", f"{url}/reload"]
        )
        assert done.stdout == "404"
        assert server.metric('reloads_total{result="done"}') == 0
