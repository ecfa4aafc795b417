# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd against dig, kdig and dnspython: what a client sees, and what it cannot break."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from vmmnet.testbed import dnsd, process, scratch, wait
from vmmnet.testbed.dnsd import Dnsd
from vmmnet.testbed.net import Namespace, Network

SERVER, CLIENT, OTHER = "192.0.2.1", "192.0.2.2", "192.0.2.3"
SERVER6, CLIENT6 = "2001:db8::1", "2001:db8::2"

ZONE = """\
$TTL 300
@       SOA ns root {serial} 3600 600 86400 300
        NS  ns
ns      A   192.0.2.1
www     A   192.0.2.80
        AAAA 2001:db8::80
serial  TXT "{serial}"
""" + "".join(f'big TXT "{number:04d}{"x" * 200}"\n' for number in range(20))


@dataclass
class World:
    """A server's host, a client's, and a folder with an image."""

    server: Namespace
    client: Namespace
    folder: Path

    def image(self, serial: int = 1, name: str = "example") -> Path:
        """Make or replace the image of a zone."""
        return dnsd.compile_zone(name, ZONE.format(serial=serial), self.folder / f"{name}.vzi")

    def dnsd(self, zone: Mapping[str, Any] | None = None, **sections: Mapping[str, Any]) -> Dnsd:
        """A server of the zone "example"."""
        image = self.folder / "example.vzi"
        zones = [{"name": "example", "image": str(image), **(zone or {})}]
        return Dnsd(self.server, self.folder, {"zones": zones, **sections})

    def udp(self, query: dns.message.Message, server: str = SERVER) -> dns.message.Message:
        """The reply over UDP."""
        with self.client.entered():
            return dns.query.udp(query, server, timeout=wait.PATIENCE)

    def connect(self, server: str = SERVER, source: str | None = None) -> socket.socket:
        """A TCP connection."""
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with self.client.entered():
            made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(wait.PATIENCE)
        if source:
            made.bind((source, 0))
        made.connect((server, dnsd.PORT))
        return made


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    server, client = network.namespace("server"), network.namespace("client")
    bridge = server.bridge()
    bridge.add_address(f"{SERVER}/24")
    bridge.add_address("192.0.2.11/24")
    bridge.add_address(f"{SERVER6}/64")
    bridge.add_address("2001:db8::11/64")
    network.connect(client, bridge, [f"{CLIENT}/24", f"{OTHER}/24", f"{CLIENT6}/64"])
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = World(server, client, folder)
        made.image()
        yield made


def _query(name: str = "www.example", kind: str = "A", **more: Any) -> dns.message.QueryMessage:
    return dns.message.make_query(name, kind, **more)


def _framed(query: dns.message.Message) -> bytes:
    wire = query.to_wire()
    return struct.pack("!H", len(wire)) + wire


def _read(connection: socket.socket) -> dns.message.Message:
    """The next reply on a connection."""
    stream = b""
    while len(stream) < 2 or len(stream) < 2 + int.from_bytes(stream[:2], "big"):
        wanted = 2 - len(stream) if len(stream) < 2 else 2 + int.from_bytes(stream[:2], "big")
        data = connection.recv(wanted - len(stream) if len(stream) >= 2 else wanted)
        if not data:
            raise EOFError
        stream += data
    return dns.message.from_wire(stream[2:])


def _is_closed(connection: socket.socket) -> bool:
    """Whether the server closes it, within our patience."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_answers(world: World) -> None:
    """UDP and TCP, both families, all addresses; replies leave from the one that was asked."""
    with world.dnsd():
        for server in (SERVER, "192.0.2.11", SERVER6, "2001:db8::11"):
            # dnspython takes no reply from another address.
            reply = world.udp(_query(), server)
            assert reply.answer[0].to_text() == "www.example. 300 IN A 192.0.2.80"
            assert reply.flags & dns.flags.AA
            with world.connect(server) as connection:
                connection.sendall(_framed(_query(kind="AAAA")))
                assert "2001:db8::80" in _read(connection).answer[0].to_text()
        for words in (["dig", "+short"], ["kdig", "+short"], ["kdig", "+tcp", "+short"]):
            done = world.client.run([*words, f"@{SERVER}", "www.example", "AAAA"])
            assert done.stdout.strip() == "2001:db8::80"


def test_truncated_then_tcp(world: World) -> None:
    with world.dnsd() as server:
        reply = world.udp(_query("big.example", "TXT", use_edns=0, payload=1232))
        assert reply.flags & dns.flags.TC
        done = world.client.run(["dig", "+short", f"@{SERVER}", "big.example", "TXT"])
        assert len(done.stdout.splitlines()) == 20
        assert server.metric("replies_truncated_total") >= 1


def test_pipelined(world: World) -> None:
    """Many queries in one segment, then one octet by octet, on one connection."""
    with world.dnsd(), world.connect() as connection:
        queries = [_query(kind=kind) for kind in ("A", "AAAA") * 200]
        connection.sendall(b"".join(map(_framed, queries)))
        for query in queries:
            assert query.is_response(_read(connection))
        for octet in _framed(queries[0]):
            connection.sendall(bytes([octet]))
        assert queries[0].is_response(_read(connection))
        connection.sendall(_framed(queries[1]))
        connection.shutdown(socket.SHUT_WR)
        assert queries[1].is_response(_read(connection))
        assert _is_closed(connection)


def test_cookies_and_nsid(world: World) -> None:
    """dig and kdig call the cookie good; servers with one secret take each other's."""
    secret = world.folder / "secret"
    secret.write_text("e5e973e5a6b2a43f48e7dc849e37bfcf\n")
    secret.chmod(0o644)
    with world.dnsd(server={"nsid": "here"}, cookies={"secret-file": str(secret)}) as server:
        done = world.client.run(["dig", "+nsid", "+cookie", f"@{SERVER}", "www.example"])
        cookie = re.search(r"COOKIE: ([0-9a-f]{48}) \(good\)", done.stdout)
        assert cookie and '("here")' in done.stdout
        assert server.metric('cookies_total{state="client"}') == 1
        server.stop()
        # The new one has another first secret, and the old one second.
        secret.write_text(f"445536bcd2513298075a5d379663c962\n{secret.read_text()}")
        server.start()
        done = world.client.run(["dig", f"+cookie={cookie[1]}", f"@{SERVER}", "www.example"])
        assert "(good)" in done.stdout and f"COOKIE: {cookie[1]}" not in done.stdout
        assert server.metric('cookies_total{state="valid"}') == 1
        done = world.client.run(["kdig", "+cookie", f"@{SERVER}", "www.example"])
        assert "COOKIE: " in done.stdout


def test_rate_limit(world: World) -> None:
    """Who is over it gets TC or BADCOOKIE; TCP and a cookie of ours go on."""
    limit = {"responses-per-second": 1, "slip": 1}
    with world.dnsd(**{"rate-limit": limit, "server": {"threads": 1}}) as server:
        query = _query(use_edns=0)
        assert world.udp(query).answer
        wait.until(lambda: world.udp(query).flags & dns.flags.TC, "TC")
        assert world.client.run(["dig", "+short", "+nocookie", f"@{SERVER}", "www.example"]).stdout
        option = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"12345678")
        query = _query(use_edns=0, options=[option])
        bad = wait.until(
            lambda: next((r for r in [world.udp(query)] if r.rcode() == dns.rcode.BADCOOKIE), None),
            "BADCOOKIE",
        )
        assert bad is not None
        cookie = next(o for o in bad.options if o.otype == dns.edns.OptionType.COOKIE)
        query = _query(use_edns=0, options=[cookie])
        for _ in range(50):
            assert world.udp(query).rcode() == dns.rcode.NOERROR
        assert server.metric('rate_limit_slips_total{reply="badcookie"}') >= 1


def test_access(world: World) -> None:
    with world.dnsd(zone={"allow-query": [f"{CLIENT}/32"]}):
        with world.client.entered():
            allowed = dns.query.udp(_query(), SERVER, wait.PATIENCE, source=CLIENT)
            denied = dns.query.udp(_query(), SERVER, wait.PATIENCE, source=OTHER)
        assert allowed.rcode() == dns.rcode.NOERROR
        assert denied.rcode() == dns.rcode.REFUSED and not denied.answer
        assert world.udp(_query("example.net")).rcode() == dns.rcode.REFUSED


def test_chaos(world: World) -> None:
    with world.dnsd(server={"identity": "one"}):
        for name in ("id.server", "hostname.bind"):
            done = world.client.run(["dig", "+short", f"@{SERVER}", "CH", "TXT", name])
            assert done.stdout == '"one"\n'
        assert world.udp(_query("version.bind", "TXT", rdclass="CH")).rcode() == dns.rcode.REFUSED


def test_no_plain_query(world: World) -> None:
    """What it does not do is refused, over UDP and TCP, and the connection goes on."""
    with world.dnsd(), world.connect() as connection:
        update = dns.message.make_query("example", "SOA")
        update.set_opcode(dns.opcode.UPDATE)
        assert world.udp(update).rcode() == dns.rcode.NOTIMP
        axfr = dns.message.make_query("example", "AXFR")
        query = _query()
        connection.sendall(_framed(query) + _framed(axfr) + _framed(update) + _framed(query))
        codes = [_read(connection).rcode() for _ in range(4)]
        assert codes == [
            dns.rcode.NOERROR,
            dns.rcode.REFUSED,
            dns.rcode.NOTIMP,
            dns.rcode.NOERROR,
        ]


@contextlib.contextmanager
def _load(world: World) -> Iterator[list[str]]:
    """Ask without a pause over UDP and TCP; the serials that are answered, all of them."""
    seen: list[str] = []
    lost: list[BaseException] = []
    over = threading.Event()

    def udp() -> None:
        try:
            while not over.is_set():
                seen.append(world.udp(_query("serial.example", "TXT")).answer[0][0].to_text())
        except BaseException as err:
            lost.append(err)

    def tcp() -> None:
        try:
            with world.connect() as connection:
                while not over.is_set():
                    connection.sendall(_framed(_query("serial.example", "TXT")))
                    seen.append(_read(connection).answer[0][0].to_text())
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
            assert "1 zones, 0 of them" in server.reload()
            reply = world.udp(_query("serial.example", "TXT"))
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
        status, text = server.ask("POST", "/reload")
        assert status == 500 and "'thraeds' is no key here; the nearest is 'threads'" in text
        server.file.write_text(right)
        (world.folder / "new").write_bytes(b"no image")
        (world.folder / "new").rename(world.folder / "example.vzi")
        status, text = server.ask("POST", "/reload")
        assert status == 500 and "1 of them with an image that cannot be used" in text
        assert "the image before it is served on" in server.log.read_text()
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR
        done = subprocess.run(
            [dnsd.built(), "reload", "--control", server.control], capture_output=True, text=True
        )
        assert done.returncode == 1 and "1 of them" in done.stdout
        world.image(3)
        assert "1 zones, 0 of them" in server.reload()


def test_cut_short(world: World) -> None:
    """An image that is cut short under the server is SERVFAIL, and no more than that."""
    other = dnsd.compile_zone("other", ZONE.format(serial=7), world.folder / "other.vzi")
    zones = [
        {"name": "example", "image": str(world.folder / "example.vzi")},
        {"name": "other", "image": str(other)},
    ]
    with Dnsd(world.server, world.folder, {"zones": zones}) as server:
        os.truncate(world.folder / "example.vzi", 4096)
        assert world.udp(_query()).rcode() == dns.rcode.SERVFAIL
        assert world.udp(_query("www.other")).rcode() == dns.rcode.NOERROR
        assert server.metric('zone_state{zone="example"}') == 2
        wait.until(lambda: "has been cut short" in server.log.read_text(), "the log")
        world.image(9)
        server.reload()
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR
        assert server.metric('zone_state{zone="example"}') == 0


def test_without_an_image(world: World) -> None:
    """A zone without an image is SERVFAIL, and there with the next reload."""
    (world.folder / "example.vzi").unlink()
    with world.dnsd() as server:
        assert world.udp(_query()).rcode() == dns.rcode.SERVFAIL
        assert server.metric('zone_state{zone="example"}') == 1
        world.image()
        server.reload()
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR


def test_killed(world: World) -> None:
    """After kill -9 the next one serves, at the same addresses, at once."""
    with world.dnsd() as server:
        for _ in range(3):
            with world.connect() as connection:
                connection.sendall(_framed(_query()))
                _read(connection)
                server.kill()
                server.start()
            assert world.udp(_query()).rcode() == dns.rcode.NOERROR


def test_second_server(world: World) -> None:
    """Two servers would share the queries unseen: the second one does not start."""
    with world.dnsd():
        done = world.server.run([dnsd.built(), world.folder / "dnsd.yaml"], check=False)
        assert done.returncode == 1
        assert "server.listen: cannot listen at" in done.stderr and "in use" in done.stderr
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR


def test_evicted(world: World) -> None:
    """No client takes all connections, and the idlest one makes room for a new one."""
    tcp = {"connections": 8, "connections-per-client": 6, "idle-timeout": 3600}
    with world.dnsd(tcp=tcp, server={"threads": 1}) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(world.connect()) for _ in range(6)]
        wait.until(lambda: server.metric("tcp_connections") == 6, "connections")
        assert _is_closed(stack.enter_context(world.connect()))
        assert server.metric('tcp_closed_total{reason="per-client"}') == 1
        # Activity is a query: the first one stays.
        idle[0].sendall(_framed(_query()))
        assert _read(idle[0]).rcode() == dns.rcode.NOERROR
        others = [stack.enter_context(world.connect(source=OTHER)) for _ in range(4)]
        others[-1].sendall(_framed(_query()))
        assert _read(others[-1]).rcode() == dns.rcode.NOERROR
        assert _is_closed(idle[1]) and _is_closed(idle[2])
        assert server.metric('tcp_closed_total{reason="evicted"}') == 2
        idle[0].sendall(_framed(_query()))
        assert _read(idle[0]).rcode() == dns.rcode.NOERROR


def test_slowloris(world: World) -> None:
    """Octets of a message that never ends are no activity."""
    with world.dnsd(tcp={"idle-timeout": 1}) as server, world.connect() as connection:
        connection.sendall(b"\xff\xff")
        connection.settimeout(0.1)
        deadline = time.monotonic() + wait.PATIENCE
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                connection.sendall(b"x")
                with contextlib.suppress(TimeoutError):
                    assert connection.recv(1) == b""
                    break
        assert time.monotonic() < deadline
        assert server.metric('tcp_closed_total{reason="idle"}') == 1


def test_slow_reader(world: World) -> None:
    """A client that reads nothing holds what its buffers hold, and then goes."""
    tcp = {"idle-timeout": 2}
    with world.dnsd(tcp=tcp, server={"threads": 1}) as server, world.connect() as connection:
        connection.settimeout(1)
        asked = 0
        with contextlib.suppress(TimeoutError, ConnectionError):
            while True:
                connection.sendall(_framed(_query("big.example", "TXT")) * 100)
                asked += 100
        assert server.metric('requests_total{transport="tcp"}') < asked + 100
        wait.until(lambda: server.metric("tcp_connections") == 0, "its end")
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR


def test_garbage(world: World) -> None:
    """Short messages, long datagrams and noise are dropped, counted, and survived."""
    with world.dnsd() as server:
        with world.client.entered():
            noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with noise:
            for length in (0, 1, 11, 5000, 20000):
                noise.sendto(os.urandom(length), (SERVER, dnsd.PORT))
            reply = _query().to_wire()
            noise.sendto(reply[:2] + b"\x80" + reply[3:], (SERVER, dnsd.PORT))
        for length in (0, 11):
            with world.connect() as connection:
                connection.sendall(struct.pack("!H", length))
                assert _is_closed(connection)
        assert world.udp(_query()).rcode() == dns.rcode.NOERROR
        wait.until(lambda: server.metric('drops_total{reason="too-long"}') == 2, "long ones")
        assert server.metric('drops_total{reason="no-query"}') >= 3
        assert server.metric('tcp_closed_total{reason="malformed"}') == 2


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
        done = world.server.run([dnsd.built(), server.file], check=False)
        assert done.returncode == 1 and "server.user: " in done.stderr and told in done.stderr


def test_socket_activation(world: World) -> None:
    """Sockets from systemd are served by all threads; ports are not opened."""
    kinds = [(socket.SOCK_DGRAM, SERVER), (socket.SOCK_STREAM, SERVER)]
    server = world.dnsd(server={"listen": ["203.0.113.1"], "threads": 2})
    with dnsd.activation(world.server, kinds) as given:
        fds = [one.fileno() for one in given]
        with server.log.open("wb") as out:
            child = server.child = process.start(
                dnsd.pass_sockets(given, [dnsd.built(), server.file]),
                netns=world.server.netns,
                stdout=out,
                stderr=out,
                pass_fds=fds,
            )
        try:
            assert world.udp(_query()).rcode() == dns.rcode.NOERROR
            for _ in range(5):
                with world.connect() as connection:
                    connection.sendall(_framed(_query()))
                    assert _read(connection).rcode() == dns.rcode.NOERROR
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


def test_check(world: World) -> None:
    """--check says all that is wrong, with the place, and starts nothing."""
    server = world.dnsd()
    done = subprocess.run([dnsd.built(), "--check", server.file], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == f"{server.file}: 1 zones\n"
    server.file.write_text("server:\n  listen: here\n  uesr: me\nzones:\n- name: example\n")
    done = subprocess.run([dnsd.built(), "--check", server.file], capture_output=True, text=True)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"{server.file}:2:11: server.listen: 'here' is no list")
    assert lines[1].endswith("server: 'uesr' is no key here; the nearest is 'user'")
    assert lines[2].startswith(f"{server.file}:5:3: zones[0]: a map has no 'image'")
    server.configure({"zones": [{"name": "other", "image": str(world.folder / "example.vzi")}]})
    done = subprocess.run([dnsd.built(), "--check", server.file], capture_output=True, text=True)
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
