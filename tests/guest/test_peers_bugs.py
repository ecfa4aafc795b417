# SPDX-License-Identifier: GPL-2.0-or-later
"""What other systems that take sockets out of a guest get wrong, or got.

Each test names the report and what the user saw.  Here are those that look at
guest and host at once; what a program alone can see is in ``semantics.peers``,
and ``_ELSEWHERE`` names the tests that existed already.
"""

from __future__ import annotations

import contextlib
import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.peers.lab import ECHO_PORT, VM_ADDRESS, Lab, lab

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))

from semantics.run import CASES  # noqa: E402

#: By report: what the user saw, and the test, here or in ``semantics``.
_ELSEWHERE = {
    "libkrunfw #93": ("SO_REUSEPORT of a datagram socket fails, and dig ends", "udp.port_in_use"),
    "libkrunfw #137": (
        "accept4() of a non-blocking listener waits when nobody is left",
        "listen.accept_without_blocking",
    ),
    "libkrun #818": (
        "bind(0) tells another port than the host has",
        "test_bind_tells_the_real_port",
    ),
    "libkrun #510": (
        "what goes from the guest to itself is on the host",
        "test_loopback_stays_inside",
    ),
    "gvisor #7331": ("epoll says nothing of the peer's end", "poll.mask_after_the_peers_end"),
    "gvisor #6603": ("SO_RCVTIMEO cannot be read", "options.linger_and_timeouts"),
    "a3s-box #448": (
        "a listener that is seen outside is not seen inside",
        "listen.same_listener_from_inside",
    ),
    "tsi, connect": ("a non-blocking connect() waits", "tcp.connect_without_blocking"),
    "tsi, getsockname": (
        "an accepted connection is 127.0.0.1:1234",
        "listen.accepted_connection_has_names",
    ),
    "tsi, recvfrom": ("a datagram comes from where the last one went", "udp.server"),
    "tsi, setsockopt": (
        "options of a connection are taken and ignored",
        "options.stream_options_set_on_a_connection",
    ),
    "tsi, ioctl": ("FIONREAD is EOPNOTSUPP", "options.bytes_to_read"),
    "tsi, send": ("a part that was sent is told as the whole", "data.a_part_is_sent"),
}


#: Seconds after which something hangs, however busy the machine is.
_PATIENCE = 2 * wait.PATIENCE


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def guest(world: Lab, series: str) -> Iterator[Guest]:
    with world.guest(series, ipv6=False) as running:
        yield running


def _python(guest: Guest, script: str) -> str:
    return guest.run(["python3", "-c", script], timeout=_PATIENCE).stdout


def _bind_on_the_host(world: Lab, port: int, kind: str, *options: str) -> int:
    """What a program of the host gets that wants a port of the VM's address."""
    script = f"""
import socket
s = socket.socket(socket.AF_INET6, socket.{kind})
for option in {options}:
    s.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
try:
    s.bind(('{VM_ADDRESS}', {port}))
    print(0)
except OSError as error:
    print(error.errno)
"""
    return int(world.host.run([sys.executable, "-c", script]).stdout)


# --- ports ------------------------------------------------------------------------------

HOLD = """
import socket, sys
stream, datagrams = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for sock in stream, datagrams:
    sock.bind(('', 0))
stream.listen()
print('ports', stream.getsockname()[1], datagrams.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_port_is_not_shared(guest: Guest, world: Lab) -> None:
    """libkrun #860: every socket gets SO_REUSEPORT, and a second VM silently shares a port.

    Another VM with the same address is another process with sockets, no more.
    """
    holder = guest.spawn(["python3", "-c", HOLD])
    found = holder.wait_output(r"^ports (\d+) (\d+)$", _PATIENCE)
    for kind, port in ("SOCK_STREAM", found.group(1)), ("SOCK_DGRAM", found.group(2)):
        for options in ["SO_REUSEPORT"], ["SO_REUSEPORT", "SO_REUSEADDR"]:
            error = _bind_on_the_host(world, int(port), kind, *options)
            assert error == errno.EADDRINUSE, (kind, options, error)
    holder.close_input()
    holder.wait(_PATIENCE, check=True)


def test_port_of_another_is_not_taken(guest: Guest, world: Lab) -> None:
    """libkrun #860, the other way round: the second one is told that it comes second."""
    script = f"""
import socket, sys
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET6, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(('{VM_ADDRESS}', 7100 + kind))
    if kind == socket.SOCK_STREAM:
        s.listen()
        listener = s
print('ready', flush=True)
sys.stdin.read()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with world.host.started([sys.executable, "-c", script], **pipes) as first:
        assert first.stdout is not None and first.stdout.readline() == b"ready\n"
        _python(
            guest,
            """
import errno, socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(('', 7100 + kind))
        raise SystemExit('bound')
    except OSError as e:
        assert e.errno == errno.EADDRINUSE, e
""",
        )


LOOPBACK = """
import socket, sys
socks = [socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
for sock in socks:
    sock.bind(('127.0.0.1', 7200))
socks[0].listen()
print('ready', flush=True)
sys.stdin.read()
"""


def test_listener_on_loopback_is_not_outside(guest: Guest, world: Lab) -> None:
    """a3s-box #371, libkrun #510: a listener on 127.0.0.1 is on an address of the host."""
    holder = guest.spawn(["python3", "-c", LOOPBACK])
    holder.wait_output("ready", _PATIENCE)
    assert world.host.run(["ss", "-Hlntu", "sport = :7200"]).stdout == ""
    for kind in "SOCK_STREAM", "SOCK_DGRAM":
        assert _bind_on_the_host(world, 7200, kind) == 0
    holder.close_input()
    holder.wait(_PATIENCE, check=True)


# --- connections ---------------------------------------------------------------------------

CONNECTIONS = 320
THREADS = 16
#: socket, connect, send, receive, close; what has to wait asks again.
MOST_REQUESTS = 8

SHORT_CLIENT = f"""
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def once(number):
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout={wait.INNER}) as s:
        s.sendall(b'%d' % number)
        return s.recv(100) == b'%d' % number
with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    print(sum(pool.map(once, range(int(sys.argv[4])))))
"""

SHORT_SERVER = """
import socket, threading
listener = socket.create_server(('', 7300), backlog=256)
def serve():
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(100))
for _ in range(15):
    threading.Thread(target=serve).start()
print('ready', flush=True)
serve()
"""


def test_many_short_connections_out(guest: Guest, world: Lab) -> None:
    """libkrun #511: a few connections a second, each of many steps between guest and host."""
    peer = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    words = [peer, str(ECHO_PORT), str(THREADS), str(CONNECTIONS)]
    before = world.counters(guest)["requests"]
    done = guest.run(["python3", "-c", SHORT_CLIENT, *words], timeout=_PATIENCE)
    requests = world.counters(guest)["requests"] - before
    assert int(done.stdout) == CONNECTIONS
    assert requests <= MOST_REQUESTS * CONNECTIONS, requests


def test_many_short_connections_in(guest: Guest, world: Lab) -> None:
    """libkrun #511, where it was seen: a server in the guest with clients in 16 threads."""
    server = guest.spawn(["python3", "-c", SHORT_SERVER])
    server.wait_output("ready", _PATIENCE)
    before = world.counters(guest)["requests"]
    words = [VM_ADDRESS, "7300", str(THREADS), str(CONNECTIONS)]
    done = world.peer.run([sys.executable, "-c", SHORT_CLIENT, *words], timeout=_PATIENCE)
    requests = world.counters(guest)["requests"] - before
    server.kill(9)
    server.wait()
    assert int(done.stdout) == CONNECTIONS
    assert requests <= MOST_REQUESTS * CONNECTIONS, requests


ENDS = """
import socket, struct, sys
peer = sys.argv[1]
for number in range(50):
    for port in 7, 9:
        s = socket.socket()
        if s.connect_ex((peer, port)) == 0:
            s.sendall(b'x' * 1000)
            if number % 3 == 0:
                s.shutdown(socket.SHUT_WR)
            if number % 3 == 1:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        s.close()
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((peer, 7))
    s.close()
    listener = socket.socket()
    listener.bind(('', 0))
    listener.listen()
    listener.close()
    d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    d.sendto(b'x', (peer, 9))
    d.close()
"""


def test_no_socket_is_left(guest: Guest, world: Lab) -> None:
    """libkrun #112, #116: refused, reset and closed connections stay on the host for ever."""
    peer = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    folder = Path(f"/proc/{guest.pid}/fd")

    def sockets() -> int:
        count = 0
        for each in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                count += str(each.readlink()).startswith("socket:")
        return count

    # What the device opens once, such as for names, does not count.
    guest.run(["python3", "-c", ENDS.replace("50", "1"), peer])
    before = sockets()
    guest.run(["python3", "-c", ENDS, peer], timeout=_PATIENCE)
    wait.until(lambda: sockets() <= before, f"only {before} sockets of QEMU", _PATIENCE)


# --- names ------------------------------------------------------------------------------------

DNS = f"""
import select, socket, struct
query = struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + b'\\4peer\\4test\\0' + struct.pack('>2H', 1, 1)
server = ('192.0.0.1', 53)
for how in 'connect', 'connect and poll', 'bind and connect', 'sendto', 'connect and sendto':
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout({wait.INNER})
    if 'bind' in how:
        s.bind(('', 0))
    if 'connect' in how:
        s.connect(server)
        assert s.getpeername() == server, how
        assert s.getsockname()[0] == '192.0.0.2', how
    if 'poll' in how:
        poller = select.poll()
        poller.register(s, select.POLLIN | select.POLLOUT)
        assert poller.poll(60000) == [(s.fileno(), select.POLLOUT)], how
    for number in range(3):
        sent = s.sendto(query, server) if 'sendto' in how else s.send(query)
        assert sent == len(query), how
        answer, source = s.recvfrom(512)
        assert source == server, (how, source)
        assert answer[:2] == query[:2] and answer[7] == 1, (how, answer)
"""


def test_dns_by_a_connected_socket(guest: Guest) -> None:
    """smolvm #785, smol-machines/libkrunfw #26: connected sockets get no answer from DNS."""
    _python(guest, DNS)


BOX = f"""
import errno, socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout({wait.INNER})
    try:
        s.connect(('198.18.0.1', 53))
        s.send(b'x')
        s.recv(1)
    except OSError as error:
        print(errno.errorcode.get(error.errno, error))
"""


def test_bridge_network_in_the_guest_is_told(guest: Guest) -> None:
    """smolvm #785, where it was seen: in a container's own network sockets wait for ever.

    A container is told at once what the guest itself is: here, that an address stands for no
    peer. With namespaces=off it sends packets, which do not leave the guest; it is told so.
    """
    guest.run(
        "modprobe veth; ip netns add box && ip link add b0 type veth peer name b1 netns box &&"
        "ip address add 10.9.8.1/24 dev b0 && ip link set b0 up &&"
        "ip -n box address add 10.9.8.2/24 dev b1 && ip -n box link set b1 up &&"
        "ip -n box route add default via 10.9.8.1 && sysctl -qw net.ipv4.ip_forward=1"
    )
    for namespaces, error in ("off", "ENETUNREACH"), ("routed", "EHOSTUNREACH"):
        guest.run(f"echo {namespaces} >/sys/module/vmrpc/parameters/namespaces")
        told = guest.run(["ip", "netns", "exec", "box", "python3", "-c", BOX], timeout=_PATIENCE)
        assert told.stdout.split() == [error, error]
    guest.run("ip netns delete box")


def test_the_others_exist() -> None:
    tests = (_HERE / "test_vmrpc.py").read_text()
    for _, place in _ELSEWHERE.values():
        assert place in CASES or f"def {place}(" in tests, place
