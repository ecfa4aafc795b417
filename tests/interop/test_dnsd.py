# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd against dig, kdig and dnspython: what a client sees, and what it cannot break."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import time
from collections.abc import Iterator

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pytest
from lab.base import wait
from lab.base.net import Network
from lab.base.rough import ROUGH
from lab.dns import dnsd
from lab.dns.dnsd_world import (
    CLIENT,
    OTHER,
    SERVER,
    SERVER6,
    World,
    framed,
    is_closed,
    made,
    query,
    read,
)


@pytest.fixture
def world() -> Iterator[World]:
    with Network(ROUGH) as network, made(network) as hosts:
        yield hosts


def test_answers(world: World) -> None:
    """UDP and TCP, both families, all addresses; replies leave from the one that was asked."""
    with world.dnsd():
        for server in (SERVER, "192.0.2.11", SERVER6, "2001:db8::11"):
            # dnspython takes no reply from another address.
            reply = world.udp(query(), server)
            assert reply.answer[0].to_text() == "www.example. 300 IN A 192.0.2.80"
            assert reply.flags & dns.flags.AA
            with world.connect(server) as connection:
                connection.sendall(framed(query(kind="AAAA")))
                assert "2001:db8::80" in read(connection).answer[0].to_text()
        for words in (["dig", "+short"], ["kdig", "+short"], ["kdig", "+tcp", "+short"]):
            done = world.client.run([*words, f"@{SERVER}", "www.example", "AAAA"])
            assert done.stdout.strip() == "2001:db8::80"


def test_truncated_then_tcp(world: World) -> None:
    with world.dnsd() as server:
        reply = world.udp(query("big.example", "TXT", use_edns=0, payload=1232))
        assert reply.flags & dns.flags.TC
        done = world.client.run(["dig", "+short", f"@{SERVER}", "big.example", "TXT"])
        assert len(done.stdout.splitlines()) == 20
        assert server.metric("replies_truncated_total") >= 1


def test_pipelined(world: World) -> None:
    """Many queries in one segment, then one octet by octet, on one connection."""
    with world.dnsd(), world.connect() as connection:
        queries = [query(kind=kind) for kind in ("A", "AAAA") * 200]
        connection.sendall(b"".join(map(framed, queries)))
        for asked in queries:
            assert asked.is_response(read(connection))
        for octet in framed(queries[0]):
            connection.sendall(bytes([octet]))
        assert queries[0].is_response(read(connection))
        connection.sendall(framed(queries[1]))
        connection.shutdown(socket.SHUT_WR)
        assert queries[1].is_response(read(connection))
        assert is_closed(connection)


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
        asked = query(use_edns=0)
        assert world.udp(asked).answer
        wait.until(lambda: world.udp(asked).flags & dns.flags.TC, "TC")
        assert world.client.run(["dig", "+short", "+nocookie", f"@{SERVER}", "www.example"]).stdout
        option = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"12345678")
        asked = query(use_edns=0, options=[option])
        bad = wait.until(
            lambda: next((r for r in [world.udp(asked)] if r.rcode() == dns.rcode.BADCOOKIE), None),
            "BADCOOKIE",
        )
        assert bad is not None
        cookie = next(o for o in bad.options if o.otype == dns.edns.OptionType.COOKIE)
        asked = query(use_edns=0, options=[cookie])
        for _ in range(50):
            assert world.udp(asked).rcode() == dns.rcode.NOERROR
        assert server.metric('rate_limit_slips_total{reply="badcookie"}') >= 1


def test_access(world: World) -> None:
    with world.dnsd(zone={"allow-query": [f"{CLIENT}/32"]}):
        with world.client.entered():
            allowed = dns.query.udp(query(), SERVER, wait.PATIENCE, source=CLIENT)
            denied = dns.query.udp(query(), SERVER, wait.PATIENCE, source=OTHER)
        assert allowed.rcode() == dns.rcode.NOERROR
        assert denied.rcode() == dns.rcode.REFUSED and not denied.answer
        assert world.udp(query("example.net")).rcode() == dns.rcode.REFUSED


def test_chaos(world: World) -> None:
    with world.dnsd(server={"identity": "one"}):
        for name in ("id.server", "hostname.bind"):
            done = world.client.run(["dig", "+short", f"@{SERVER}", "CH", "TXT", name])
            assert done.stdout == '"one"\n'
        assert world.udp(query("version.bind", "TXT", rdclass="CH")).rcode() == dns.rcode.REFUSED


def test_no_plain_query(world: World) -> None:
    """What it does not do is refused, over UDP and TCP, and the connection goes on."""
    with world.dnsd(), world.connect() as connection:
        update = dns.message.make_query("example", "SOA")
        update.set_opcode(dns.opcode.UPDATE)
        assert world.udp(update).rcode() == dns.rcode.REFUSED
        axfr = dns.message.make_query("example", "AXFR")
        first, last = query(), query()
        messages = (first, axfr, update, last)
        connection.sendall(b"".join(map(framed, messages)))
        replies = [read(connection) for _ in messages]
        assert {reply.id: reply.rcode() for reply in replies} == {
            first.id: dns.rcode.NOERROR,
            axfr.id: dns.rcode.REFUSED,
            update.id: dns.rcode.REFUSED,
            last.id: dns.rcode.NOERROR,
        }


def test_evicted(world: World) -> None:
    """No client takes all connections, and the idlest one makes room for a new one."""
    tcp = {"connections": 8, "connections-per-client": 6, "idle-timeout": 3600}
    with world.dnsd(tcp=tcp, server={"threads": 1}) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(world.connect()) for _ in range(6)]
        wait.until(lambda: server.metric("tcp_connections") == 6, "connections")
        assert is_closed(stack.enter_context(world.connect()))
        assert server.metric('tcp_closed_total{reason="per-client"}') == 1
        # Activity is a query: the first one stays.
        idle[0].sendall(framed(query()))
        assert read(idle[0]).rcode() == dns.rcode.NOERROR
        others = [stack.enter_context(world.connect(source=OTHER)) for _ in range(4)]
        others[-1].sendall(framed(query()))
        assert read(others[-1]).rcode() == dns.rcode.NOERROR
        assert is_closed(idle[1]) and is_closed(idle[2])
        assert server.metric('tcp_closed_total{reason="evicted"}') == 2
        idle[0].sendall(framed(query()))
        assert read(idle[0]).rcode() == dns.rcode.NOERROR


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
                connection.sendall(framed(query("big.example", "TXT")) * 100)
                asked += 100
        assert server.metric('requests_total{transport="tcp"}') < asked + 100
        wait.until(lambda: server.metric("tcp_connections") == 0, "its end")
        assert world.udp(query()).rcode() == dns.rcode.NOERROR


def test_garbage(world: World) -> None:
    """Short messages, long datagrams and noise are dropped, counted, and survived."""
    with world.dnsd() as server:
        with world.client.entered():
            noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with noise:
            for length in (0, 1, 11, 5000, 20000):
                noise.sendto(os.urandom(length), (SERVER, dnsd.PORT))
            reply = query().to_wire()
            noise.sendto(reply[:2] + b"\x80" + reply[3:], (SERVER, dnsd.PORT))
        for length in (0, 11):
            with world.connect() as connection:
                connection.sendall(struct.pack("!H", length))
                assert is_closed(connection)
        assert world.udp(query()).rcode() == dns.rcode.NOERROR
        wait.until(lambda: server.metric('drops_total{reason="too-long"}') == 2, "long ones")
        assert server.metric('drops_total{reason="no-query"}') >= 3
        assert server.metric('tcp_closed_total{reason="malformed"}') == 2
