# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs is visible: /proc/net/vmrpc and query-vmrpc, against what programs did."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import pytest
from lab.base import paths, wait
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.peers.lab import ECHO_PORT, OWN_VM_ADDRESS, PEER_ADDRESS, VM_ADDRESS, Lab, lab

TABLE = "/proc/net/vmrpc"
TOOL = paths.ROOT / "guest-linux" / "vmrpc" / "vmrpc-ss"

#: The states by the numbers of /proc/net/tcp; QMP has them in this order.
STATES = [
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait1",
    "fin-wait2",
    "time-wait",
    "close",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
]

# Keeps what comes, but ends the connection to CLOSED; FULL answers only one.
PEER = """
import socket
HELD, CLOSED, FULL = 4500, 4501, 4502
servers = [socket.create_server(('::', port), family=socket.AF_INET6, backlog=backlog)
           for port, backlog in ((HELD, 5), (CLOSED, 5), (FULL, 0))]
print('ready', flush=True)
servers[1].accept()[0].close()
kept = []
while True:
    kept.append(servers[0].accept())
"""

PROGRAM = f"""
import json, os, select, socket, sys
HOST = socket.gethostbyname('peer.test')
socks = {{}}

def connection(port):
    return socket.create_connection((HOST, port))

def readable(s):
    p = select.poll()
    p.register(s, select.POLLIN | select.POLLRDHUP)
    assert p.poll(60000)

socks['fresh'] = socket.socket()
socks['listener'] = socket.create_server(('', 6100), backlog=5)
socks['connected'] = connection({ECHO_PORT})
socks['connected'].sendall(b'hello')
readable(socks['connected'])
socks['ended by peer'] = connection(4501)
readable(socks['ended by peer'])
socks['half shut'] = connection(4500)
socks['half shut'].shutdown(socket.SHUT_WR)
socks['stuffed'] = connection(4500)
socks['stuffed'].setblocking(False)
try:
    while True:
        socks['stuffed'].send(bytes(65536))
except BlockingIOError:
    pass
socks['the one'] = connection(4502)
socks['no answer'] = socket.socket()
socks['no answer'].setblocking(False)
socks['no answer'].connect_ex((HOST, 4502))
os.seteuid(1000)
socks['udp'] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
os.seteuid(0)
socks['udp'].bind(('192.0.0.2', 6101))
socks['udp connected'] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socks['udp connected'].connect((HOST, {ECHO_PORT}))
socks['udp inside'] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socks['udp inside'].connect(('127.0.0.1', 9))
socks['resolver'] = socket.create_connection(('192.0.0.1', 53))
print('open', flush=True)
sys.stdin.readline()                    # the peer has come and sent
readable(socks['udp'])
readable(socks['listener'])
socks['accepted'] = socks['listener'].accept()[0]
readable(socks['listener'])             # another one waits

def peer_of(s):
    try:
        return s.getpeername()
    except OSError:
        return None

inodes = {{name: os.fstat(s.fileno()).st_ino for name, s in socks.items()}}
names = {{}}
if sys.argv[1] == 'named':
    names = {{name: [s.getsockname(), peer_of(s)] for name, s in socks.items()}}
print(json.dumps([inodes, names]), flush=True)
sys.stdin.readline()
"""

# type, state, mode, receive queue
EXPECTED = {
    "fresh": ("tcp", "close", "native", 0),
    "listener": ("tcp", "listen", "both", 1),
    "accepted": ("tcp", "established", "remote", 6),
    "connected": ("tcp", "established", "remote", 5),
    "ended by peer": ("tcp", "close-wait", "remote", 0),
    "half shut": ("tcp", "fin-wait2", "remote", 0),
    "stuffed": ("tcp", "established", "remote", 0),
    "the one": ("tcp", "established", "remote", 0),
    "no answer": ("tcp", "syn-sent", "remote", 0),
    "udp": ("udp", "close", "both", 9),
    "udp connected": ("udp", "established", "remote", 0),
    "udp inside": ("udp", "established", "native", 0),
    "resolver": ("tcp", "established", "remote", 0),
}


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    local: tuple[str, int]
    peer: tuple[str, int]
    state: str
    tx: int
    rx: int
    uid: int
    inode: int
    type: str
    mode: str
    ready: int
    handle: int


def endpoint(text: str) -> tuple[str, int]:
    """An address in the order of a little-endian number, and a port."""
    address, port = text.split(":")
    return str(IPv4Address(int.from_bytes(bytes.fromhex(address), "little"))), int(port, 16)


def parse(text: str) -> list[Line]:
    """The lines after the header."""
    lines = []
    for number, line in enumerate(text.splitlines()[1:]):
        slot, local, peer, state, queues, _, _, uid, _, inode, *ours = line.split()
        assert slot == f"{number}:"
        kind, mode, ready, handle = ours
        tx, rx = (int(size, 16) for size in queues.split(":"))
        lines.append(
            Line(
                endpoint(local),
                endpoint(peer),
                STATES[int(state, 16) - 1],
                tx,
                rx,
                int(uid),
                int(inode),
                kind,
                mode,
                int(ready, 16),
                int(handle),
            )
        )
    return lines


def table(guest: Guest) -> list[Line]:
    """What the guest shows."""
    return parse(guest.get(TABLE).decode())


def host_view(guest: Guest) -> dict[int, dict[str, Any]]:
    """What QEMU shows, by handle."""
    (device,) = guest.qmp("query-vmrpc", id="vmrpc0")
    return {sock["handle"]: sock for sock in device["sockets"]}


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel, with the tool."""
    files = {"/usr/local/bin/vmrpc-ss": TOOL}
    with world.guest(request.param, ipv6=False, files=files) as running:
        yield running


CALLER = f"""
import socket, sys
streams = [socket.create_connection(('{VM_ADDRESS}', 6100)) for _ in range(2)]
streams[0].sendall(b'unread')
d = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
d.sendto(b'nine byte', ('{VM_ADDRESS}', 6101))
print('called', flush=True)
sys.stdin.readline()
"""


def read_line(program: subprocess.Popen[bytes]) -> bytes:
    assert program.stdout is not None
    return program.stdout.readline()


def address_of(sock: dict[str, Any], which: str) -> tuple[str, int] | None:
    found = sock.get(which)
    return (found["address"], found["port"]) if found else None


def check_host(name: str, line: Line, sock: dict[str, Any]) -> None:
    """The host's view of a socket is the guest's, with the addresses of both sides."""
    assert sock["type"] == line.type, name
    assert sock["state"] == line.state, name
    assert (sock["send-queue"], sock["recv-queue"]) == (
        (5, 1) if name == "listener" else (line.tx, line.rx)
    ), name
    guest_local = address_of(sock, "guest-local")
    assert guest_local is not None and guest_local[1] == line.local[1], name
    if line.mode == "remote":
        assert guest_local == line.local, name
        assert address_of(sock, "guest-peer") == line.peer, name
    if sock["backing"] == "host":
        assert address_of(sock, "host-local") == (VM_ADDRESS, line.local[1]), name
        if line.mode == "remote":
            assert address_of(sock, "host-peer") == (PEER_ADDRESS, line.peer[1]), name
    else:
        assert (name, sock["backing"]) == ("resolver", "resolver")
        assert "host-local" not in sock


@dataclass(frozen=True)
class Scene:
    """A program with sockets of every kind, and what it says of them."""

    inodes: dict[str, int]
    names: dict[str, list[tuple[str, int] | None]]


@contextlib.contextmanager
def scene(guest: Guest, world: Lab, named: bool) -> Iterator[Scene]:
    """Run the program and its peers."""
    with world.peer.started(["python3", "-c", PEER], stdout=subprocess.PIPE) as peer:
        assert read_line(peer) == b"ready\n"
        program = guest.spawn(["python3", "-c", PROGRAM, "named" if named else "unnamed"])
        try:
            program.wait_output("^open$")
            with world.peer.started(
                ["python3", "-c", CALLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as caller:
                assert read_line(caller) == b"called\n"
                program.write(b"called\n")
                inodes, names = json.loads(program.wait_output(r"^\[.*\]$").group())
                yield Scene(
                    inodes,
                    {
                        name: [tuple(address) if address else None for address in pair]
                        for name, pair in names.items()
                    },
                )
                program.close_input()
                program.wait(check=True)
        finally:
            if program.running:
                # A failed test must not hold its ports against the next one.
                program.kill()
                program.wait()


def check_line(name: str, line: Line, scene: Scene) -> None:
    """The table's view of a socket is the program's."""
    assert (line.type, line.state, line.mode, line.rx) == EXPECTED[name], name
    assert (line.tx > 0) == (name == "stuffed"), name
    assert line.uid == (1000 if name == "udp" else 0), name
    if name in scene.names:
        local, peer = scene.names[name]
        assert line.local == local, name
        if name != "no answer":
            assert line.peer == (peer or ("0.0.0.0", 0)), name


def views_at_rest(guest: Guest) -> tuple[dict[int, Line], dict[int, dict[str, Any]]] | None:
    """The table by inode and the host's view, of one moment: nothing has changed meanwhile.

    Acknowledgements may be on their way, and a full peer's window may open a little.
    """
    before = host_view(guest)
    lines = table(guest)
    after = host_view(guest)
    moving = any(line.state == "fin-wait1" for line in lines) or any(
        after[line.handle]["send-queue"] != line.tx
        for line in lines
        if line.handle in after and line.state != "listen"
    )
    return None if moving or before != after else ({line.inode: line for line in lines}, after)


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_table_tells_what_a_program_did(guest: Guest, world: Lab, named: bool) -> None:
    """Unnamed: the program has not asked for its names, so the guest had none."""
    with scene(guest, world, named) as opened:
        assert set(opened.inodes) == set(EXPECTED)

        lines, host = wait.until(lambda: views_at_rest(guest), "queues to rest")
        assert set(lines) == set(opened.inodes.values())
        for name, inode in opened.inodes.items():
            line = lines[inode]
            check_line(name, line, opened)
            if line.mode == "native":
                assert line.handle not in host
            else:
                check_host(name, line, host.pop(line.handle))
        assert not host
    # Closing is a request as well; nobody waits for it.
    wait.until(lambda: not host_view(guest), "sockets to be closed")
    assert table(guest) == []


def test_tool_prints_it(guest: Guest, world: Lab) -> None:
    with scene(guest, world, named=False):
        head, *lines = guest.run("vmrpc-ss").stdout.splitlines()
        assert head.split()[:4] == ["Netid", "State", "Recv-Q", "Send-Q"]
        fields = {tuple(line.split()) for line in lines}
        assert len(fields) == len(EXPECTED)
        assert ("tcp", "LISTEN", "1", "0", "0.0.0.0:6100", "0.0.0.0:*", "both") in fields
        assert ("udp", "UNCONN", "9", "0", "192.0.0.2:6101", "0.0.0.0:*", "both") in fields
        guest.get(TABLE)
        # As native sockets have it, from the side that is native.
        ss = guest.run("ss -4Hlntu").stdout.split()
        assert "0.0.0.0:6100" in ss and "192.0.0.2:6101" in ss


MANY = f"""
import os, socket
HOST = socket.gethostbyname('peer.test')
socks = [socket.create_connection((HOST, {ECHO_PORT})) for _ in range(200)]
inodes = sorted(os.fstat(s.fileno()).st_ino for s in socks)

def shown(size):
    fd = os.open('{TABLE}', os.O_RDONLY)
    text = b''
    while data := os.read(fd, size):
        text += data
    os.close(fd)
    return [line.split() for line in text.decode().splitlines()[1:]]

for size in 50, 333, 4096, 1 << 20:
    lines = shown(size)
    assert [line[0] for line in lines] == ['%d:' % i for i in range(200)], size
    assert sorted(int(line[9]) for line in lines) == inodes, size
    assert len(set(line[1] for line in lines)) == 200, size
# from the middle, as programs seek
whole = open('{TABLE}', 'rb').read()
fd = os.open('{TABLE}', os.O_RDONLY)
assert os.pread(fd, 500, 7000) == whole[7000:7500]
"""


def test_every_socket_is_shown_once(guest: Guest) -> None:
    """However small the pieces are that it is read in."""
    guest.run(["python3", "-c", MANY])


def test_other_namespaces_have_a_table_of_their_own(guest: Guest, world: Lab) -> None:
    """It has none of the first namespace's sockets."""
    with scene(guest, world, named=False):
        assert table(guest)
        shown = guest.run(f"unshare -n cat {TABLE}").stdout.splitlines()
        assert len(shown) == 1 and shown[0].split()[0] == "sl"


CHURN = f"""
import socket, threading
HOST = socket.gethostbyname('peer.test')

def churn():
    while True:
        try:
            with socket.create_connection((HOST, {ECHO_PORT})) as s:
                s.sendall(b'x')
                s.recv(1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(('', 0))
        except OSError:
            return

threads = [threading.Thread(target=churn) for _ in range(8)]
for thread in threads:
    thread.start()
print('busy', flush=True)
for thread in threads:
    thread.join()
"""


def test_looking_while_sockets_and_the_device_go(kernel_series: str, world: Lab) -> None:
    """Readers on both sides disturb nothing, and end with the device."""
    port = "pcie-root-port,id=rp0,chassis=1,slot=1"
    devices = [port, world.device(OWN_VM_ADDRESS, bus="rp0")]
    with world.guest(kernel_series, ipv6=False, devices=devices) as own:
        busy = own.spawn(["python3", "-c", CHURN])
        busy.wait_output("busy")
        readers = [
            own.spawn(f"while cat {TABLE} > /tmp/table.{number}; do :; done") for number in range(2)
        ]
        own.wait_for("test -e /tmp/table.0")
        opened = world.counters(own)["sockets_opened"]
        while world.counters(own)["sockets_opened"] < opened + 400:
            for sock in host_view(own).values():
                assert sock["type"] in ("tcp", "udp")
            parse(own.get("/tmp/table.0").decode().rpartition("\n")[0])
        held = own.spawn(f"exec 3< {TABLE}; echo held; read line; cat <&3")
        held.wait_output("held")
        own.monitor.command("device_del", id="vmrpc0")
        own.monitor.wait_event("DEVICE_DELETED")
        for reader in readers:
            reader.wait()
        busy.wait()
        held.write(b"\n")
        assert held.wait().stdout == "held\n"
        own.run(f"test ! -e {TABLE}")
        assert own.qmp("query-vmrpc") == []
