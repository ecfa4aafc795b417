# SPDX-License-Identifier: GPL-2.0-or-later
"""Updates that come together to vmmnet-dnsd: on a connection (RFC 7766, section 6.2), by UDP."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import pytest
from lab.base import wait
from lab.base.net import Network
from lab.dns import dnsd
from lab.dns.dnsd import Dnsd
from lab.dns.dnsd_world import SERVER, World, framed, is_closed, query, read, with_own_zones

KEY = "ddns.test"
SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
KEYRING = dns.tsigkeyring.from_text({KEY: SECRET})
#: Where a change of a journal says how much of the file was durable (docs/dns-journal.md).
_HEADER, _LENGTH, _KIND, _DURABLE = 512, 8, 12, 24
_CHANGE = 1


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with with_own_zones(network, SECRET) as hosts:
        yield hosts


def _server(world: World) -> Dnsd:
    folder = world.folder
    zone = {
        "name": "example",
        "image": str(folder / "example.vzi"),
        "allow-update": [KEY],
        "allow-transfer": [KEY],
    }
    keys = [{"name": KEY, "secret-file": str(folder / "secret")}]
    return Dnsd(world.server, folder, {"keys": keys, "zones": [zone]})


def _signed(message: dns.message.Message) -> dns.message.Message:
    message.use_tsig(KEYRING, KEY, algorithm=dns.tsig.HMAC_SHA256)
    return message


def _update(number: int) -> dns.message.Message:
    """The one with this number, which is its ID."""
    update = dns.update.UpdateMessage("example")
    update.id = number
    update.add(f"n{number}", 60, "A", "192.0.2.9")
    return _signed(update)


def _serial(world: World) -> int:
    return int(world.udp(query("example", "SOA")).answer[0][0].serial)


def _ids(connection: socket.socket, count: int) -> list[int]:
    """Of so many replies, of which each says that it is done."""
    replies = [_reply(connection) for _ in range(count)]
    assert all(code == dns.rcode.NOERROR for _, code in replies)
    return [number for number, _ in replies]


def _reply(connection: socket.socket) -> tuple[int, int]:
    """ID and RCODE; the signature is not looked at."""
    (length,) = struct.unpack("!H", _exactly(connection, 2))
    wire = _exactly(connection, length)
    return int.from_bytes(wire[:2], "big"), wire[3] & 15


def _names(connection: socket.socket, transfer: dns.message.Message) -> set[str]:
    """In the one message of a transfer."""
    (length,) = struct.unpack("!H", _exactly(connection, 2))
    wire = _exactly(connection, length)
    whole = dns.message.from_wire(wire, keyring=KEYRING, request_mac=transfer.mac, xfr=True)
    return {rrset.name.labels[0].decode() for rrset in whole.answer}


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = connection.recv(length, socket.MSG_WAITALL)
    if len(data) < length:
        raise EOFError
    return data


def _commits(world: World) -> tuple[int, int]:
    """Changes in the journal, and the calls of fdatasync() for them."""
    octets = (world.folder / "example.vzi.jnl").read_bytes()
    at, changes, durable = _HEADER, 0, set()
    while at < len(octets) and (length := int.from_bytes(octets[at + 8 : at + 12], "little")):
        if int.from_bytes(octets[at + _KIND : at + _KIND + 4], "little") == _CHANGE:
            changes += 1
            durable.add(octets[at + _DURABLE : at + _DURABLE + 8])
        at += length
    return changes, len(durable)


def test_one_connection(world: World) -> None:
    """Each has its reply, in whatever order; those that came together became durable together."""
    with _server(world), world.connect() as connection:
        connection.sendall(b"".join(framed(_update(number)) for number in range(400)))
        assert sorted(_ids(connection, 400)) == list(range(400))
        assert _serial(world) == 401
        changes, commits = _commits(world)
        assert changes == 400 and commits < changes


def _is_stopped(pid: int) -> bool:
    """Whether each thread is; the signal alone says only that they will be."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return all("\nState:\tT" in (task / "status").read_text() for task in tasks)


def test_datagrams(world: World) -> None:
    """Datagrams that a thread takes at once are one commit."""
    with world.client.entered():
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with client, _server(world) as server:
        client.settimeout(wait.PATIENCE)
        client.connect((SERVER, dnsd.PORT))
        os.kill(server.pid, signal.SIGSTOP)
        wait.until(lambda: _is_stopped(server.pid), "the stop")
        for number in range(20):
            client.send(_update(number).to_wire())
        # What comes behind them has its answer when they have arrived.
        world.client.run(["ping", "-c", "1", SERVER])
        os.kill(server.pid, signal.SIGCONT)
        replies = [client.recv(4096) for _ in range(20)]
        assert sorted(int.from_bytes(reply[:2]) for reply in replies) == list(range(20))
        assert all(reply[3] & 15 == dns.rcode.NOERROR for reply in replies)
        assert _commits(world) == (20, 1)


def test_queries_between(world: World) -> None:
    """Queries and a transfer among updates are answered, and the transfer has what was before."""
    with _server(world), world.connect() as connection:
        transfer = _signed(query("example", "AXFR"))
        asked = query()
        connection.sendall(
            b"".join(framed(_update(number)) for number in range(40))
            + framed(asked)
            + framed(transfer)
            + framed(_update(40))
        )
        left = set(range(40)) | {asked.id}
        while left:
            number, code = _reply(connection)
            assert code == dns.rcode.NOERROR
            left.remove(number)
        assert {f"n{number}" for number in range(40)} <= _names(connection, transfer)
        assert _ids(connection, 1) == [40]


def test_half_closed(world: World) -> None:
    """A client that has sent its last update has all replies before the connection closes."""
    with _server(world), world.connect() as connection:
        connection.sendall(b"".join(framed(_update(number)) for number in range(100)))
        connection.shutdown(socket.SHUT_WR)
        assert sorted(_ids(connection, 100)) == list(range(100))
        assert is_closed(connection)


#: The server's own view of the folder: a disk with little room.
_SMALL_DISK = """\
mkdir "$1/../whole" && cp -a "$1/." "$1/../whole"
mount -t tmpfs -o size=256k,mode=777 none "$1" && cp -a "$1/../whole/." "$1"
shift && exec "$@"
"""


def test_repeated_on_a_full_disk(world: World) -> None:
    """An update that is there twice is not said to be done before it is durable."""
    words = ["unshare", "--mount", "sh", "-c", _SMALL_DISK, "sh", world.folder]
    server = _server(world)
    server.start(words)
    try:
        with world.connect() as connection:
            refused = 0
            for number in range(2000):
                connection.sendall(framed(_long_update(number)) * 8)
                codes = {_reply(connection)[1] for _ in range(8)}
                connection.sendall(framed(query("long.example", "TXT")))
                found = read(connection).answer
                is_there = bool(found) and f"{number:0200}" in found[0].to_text()
                assert (dns.rcode.NOERROR in codes) == is_there, (number, codes)
                refused += dns.rcode.SERVFAIL in codes
                if refused == 20:
                    break
            assert refused
        assert "updates could not be committed" in server.log.read_text()
        assert world.udp(query()).rcode() == dns.rcode.NOERROR
    finally:
        server.stop()


def _long_update(number: int) -> dns.message.Message:
    update = dns.update.UpdateMessage("example")
    update.id = number
    update.replace("long", 60, "TXT", " ".join([f"{number:0200}"] * 20))
    return _signed(update)


def test_gone(world: World) -> None:
    """Who goes without its replies disturbs nobody; who comes next has none of them."""
    with _server(world) as server:
        for round_ in range(20):
            gone = world.connect()
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.sendall(b"".join(framed(_update(32 * round_ + n)) for n in range(32)))
            gone.close()
            with world.connect() as connection:
                asked = query()
                connection.sendall(framed(asked))
                assert asked.is_response(read(connection))
        assert server.metric("tcp_connections") <= 20
