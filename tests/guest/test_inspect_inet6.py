# SPDX-License-Identifier: GPL-2.0-or-later
"""How sockets of AF_INET6 look: the guest's tables, its tools, SO_ORIGINAL_DST.

A native socket says what is right: the same program runs in a network namespace
that the host does not serve, with a peer behind a pair of veth.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv6Address
from typing import Any

import pytest
from lab.base import paths
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.peers.lab import PEER_ADDRESS, VM_ADDRESS, Lab, lab

_TOOL = paths.ROOT / "guest-linux" / "vmrpc" / "vmrpc-ss"
_PARAMETER = "/sys/module/vmrpc/parameters/namespaces"

# Listens, calls when it is told to, and keeps all.
_PEER = """
import socket, sys
me, port, vm = sys.argv[1], int(sys.argv[2]), sys.argv[3]
servers = [socket.create_server(('::', port), family=socket.AF_INET6, dualstack_ipv6=True)]
servers.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
servers[-1].bind(('::', port))
print('ready', flush=True)
for line in sys.stdin:
    servers.append(socket.create_connection((vm, int(line)), source_address=(me, 7000)))
    servers[-1].send(b'unread')
    print('called', flush=True)
"""

_PROGRAM = """
import json, os, select, socket, struct, sys
vm, peer, mapped, port = *sys.argv[1:4], int(sys.argv[4])
V6, STREAM, DGRAM = socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
socks = {}

def made(name, kind, bound=None, to=None, v6only=False, listen=False, protocol=0):
    s = socks[name] = socket.socket(V6, kind, protocol)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    if bound:
        s.bind(bound)
    if listen:
        s.listen(5)
    if to:
        s.connect(to)
    return s

made('listener of both', STREAM, ('::', 6100), listen=True)
made('listener of IPv6', STREAM, ('::', 6101), v6only=True, listen=True)
made('listener at the address', STREAM, (vm, 6102), listen=True)
made('listener of IPv4', STREAM, ('::ffff:192.0.0.2', 6103), listen=True)
made('listener on loopback', STREAM, ('::1', 6104), listen=True)
made('stream', STREAM, to=(peer, port))
made('stream, mapped', STREAM, to=(mapped, port))
made('stream from a port', STREAM, ('::', 6105), (peer, port))
made('stream from a port, mapped', STREAM, ('::', 6106), (mapped, port))
os.seteuid(1000)
made('user', DGRAM, ('::', 6110))
made('stream of a user', STREAM, to=(peer, port))
os.seteuid(0)
made('datagrams of IPv6', DGRAM, ('::', 6111), v6only=True)
made('datagrams at the address', DGRAM, (vm, 6112))
made('datagrams of IPv4', DGRAM, ('::ffff:192.0.0.2', 6113))
made('datagrams to the peer', DGRAM, to=(peer, port))
made('datagrams to the peer, mapped', DGRAM, to=(mapped, port))
made('datagrams from a port', DGRAM, ('::', 6114), (peer, port))
made('datagrams of IPv4 to the peer', DGRAM, ('::ffff:192.0.0.2', 6115), (mapped, port))
s = made('datagrams to the peer no more', DGRAM, ('::', 6116), (peer, port))
libc = __import__('ctypes').CDLL(None)
assert not libc.connect(s.fileno(), bytes(28), 28)
made('ping', DGRAM, ('::', 6120), protocol=58)
made('ping at the address', DGRAM, (vm, 6121), protocol=58)
# With a port it has a peer to tell of.
made('ping to the peer', DGRAM, to=(peer, 7), protocol=58)

print('open', flush=True)
sys.stdin.readline()
s = socks['accepted'] = socks['listener of both'].accept()[0]
p = select.poll()
p.register(s, select.POLLIN)
assert p.poll(60000)

def peer_of(s):
    try:
        return s.getpeername()[:2]
    except OSError:
        return '::', 0

print(json.dumps({name: [os.fstat(s.fileno()).st_ino, s.getsockname()[:2], peer_of(s)]
                  for name, s in socks.items()}), flush=True)
sys.stdin.readline()
"""

#: Ports and identifiers of the program; others are the kernel's choice.
_CHOSEN = range(6100, 6200)
#: Those that only /proc/net/vmrpc has: their peers are beyond the host.
_STREAMS_OUTSIDE = {
    "stream",
    "stream, mapped",
    "stream from a port",
    "stream from a port, mapped",
    "stream of a user",
    "accepted",
}
#: The host has nothing to do with it.
_INSIDE = "listener on loopback"


@dataclass(frozen=True)
class Line:
    """A line of a table; a port that the program has not chosen is no part of it."""

    local: tuple[str, int]
    peer: tuple[str, int]
    state: str
    rx: int
    uid: int


@dataclass(frozen=True)
class View:
    """A program's sockets in a table: by name, the lines with their inode."""

    names: dict[str, tuple[int, tuple[str, int], tuple[str, int]]]
    tables: dict[str, str]

    def lines(self, name: str, *tables: str) -> list[Line]:
        """Where a socket is found."""
        inode, local, peer = self.names[name]
        found = []
        for table in tables:
            rows = [row.split() for row in self.tables[table].splitlines()[1:]]
            found += [_line(row) for row in rows if int(row[9]) == inode]
        for line in found:
            assert (line.local, line.peer) == (local, peer), name
        if local[1] not in _CHOSEN:
            return [replace(line, local=(line.local[0], 0)) for line in found]
        return found


def _endpoint(text: str) -> tuple[str, int]:
    """Four words, each in the order of a little-endian number, and a port."""
    address, port = text.split(":")
    raw = bytes.fromhex(address)
    packed = b"".join(raw[at : at + 4][::-1] for at in range(0, 16, 4))
    # As getsockname() writes it.
    found = IPv6Address(packed)
    return f"::ffff:{found.ipv4_mapped}" if found.ipv4_mapped else str(found), int(port, 16)


def _line(row: list[str]) -> Line:
    # Linux leaves the address of a UDP socket's former peer there.
    peer = _endpoint(row[2]) if row[3] != "07" else ("::", 0)
    return Line(_endpoint(row[1]), peer, row[3], int(row[4].split(":")[1], 16), int(row[7]))


_BOXES = f"""
modprobe veth; set -e
echo off > {_PARAMETER}
ip netns add box; ip netns add far
ip link add e0 netns box type veth peer name e1 netns far
for each in box far; do ip -n $each link set lo up; done
ip -n box address add 192.0.0.2/29 dev e0
ip -n box -6 address add {VM_ADDRESS}/64 dev e0 nodad
ip -n far address add $1/15 dev e1
ip -n far -6 address add {PEER_ADDRESS}/64 dev e1 nodad
ip -n box link set e0 up; ip -n far link set e1 up
ip -n box route add 198.18.0.0/15 dev e0
ip -n far route add 192.0.0.0/29 dev e1
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        built.host.sysctl({"net.ipv4.ping_group_range": "0 2147483647"})
        yield built


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    files = {"/usr/local/bin/vmrpc-ss": _TOOL}
    with world.guest(request.param, files=files, packages=("nftables",)) as running:
        yield running


def _mapped(guest: Guest) -> str:
    return guest.run("getent ahostsv4 peer.test").stdout.split()[0]


@contextlib.contextmanager
def _peer_outside(world: Lab) -> Iterator[Any]:
    words = [sys.executable, "-c", _PEER, PEER_ADDRESS, "4500", VM_ADDRESS]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with world.peer.started(words, **pipes) as peer:
        assert peer.stdin is not None and peer.stdout is not None
        assert peer.stdout.readline() == b"ready\n"

        def call(port: int) -> None:
            peer.stdin.write(f"{port}\n".encode())
            peer.stdin.flush()
            assert peer.stdout.readline() == b"called\n"

        yield call


@contextlib.contextmanager
def _peer_inside(guest: Guest) -> Iterator[Any]:
    words = ["ip", "netns", "exec", "far", "python3", "-c", _PEER]
    peer = guest.spawn([*words, PEER_ADDRESS, "4500", VM_ADDRESS])
    peer.wait_output("ready")

    def call(port: int) -> None:
        peer.write(f"{port}\n".encode())
        peer.wait_output("called")

    yield call
    peer.close_input()
    peer.wait()


@contextlib.contextmanager
def _view(guest: Guest, call: Any, tables: tuple[str, ...], box: str = "") -> Iterator[View]:
    """Run the program, and read the tables of its namespace."""
    enter = ["ip", "netns", "exec", box] if box else []
    mapped = f"::ffff:{_mapped(guest)}"
    words = [*enter, "python3", "-c", _PROGRAM, VM_ADDRESS, PEER_ADDRESS, mapped, "4500"]
    program = guest.spawn(words)
    try:
        program.wait_output("^open$")
        call(6100)
        program.write(b"called\n")
        said = json.loads(program.wait_output(r"^\{.*\}$").group())
        names = {name: (one[0], tuple(one[1]), tuple(one[2])) for name, one in said.items()}
        yield View(
            names,
            {name: guest.run([*enter, "cat", f"/proc/net/{name}"]).stdout for name in tables},
        )
        program.close_input()
        program.wait(check=True)
    finally:
        if program.running:
            program.kill()
            program.wait()


_KERNELS_TABLES = ("tcp6", "udp6", "icmp6")


@pytest.fixture(scope="module")
def native(guest: Guest) -> Iterator[View]:
    """The program natively, in a namespace, with a peer of its own."""
    before = guest.run(f"cat {_PARAMETER}").stdout.strip()
    guest.run(["sh", "-c", _BOXES, "boxes", _mapped(guest)])
    guest.run("ip netns exec box sysctl -qw net.ipv4.ping_group_range='0 2147483647'")
    with _peer_inside(guest) as call, _view(guest, call, _KERNELS_TABLES, "box") as view:
        yield view
    guest.run(f"ip netns del box; ip netns del far; echo {before} > {_PARAMETER}")


@pytest.fixture(scope="module")
def outsourced(guest: Guest, world: Lab, native: View) -> Iterator[View]:
    with (
        _peer_outside(world) as call,
        _view(guest, call, (*_KERNELS_TABLES, "vmrpc", "tcp", "udp", "icmp")) as view,
    ):
        yield view


def test_a_socket_is_shown_once_as_a_native_one(native: View, outsourced: View) -> None:
    """With its addresses, ports, state, queue, user and inode."""
    assert set(native.names) == set(outsourced.names)
    for name in native.names:
        (expected,) = native.lines(name, *_KERNELS_TABLES)
        kernels = outsourced.lines(name, *_KERNELS_TABLES)
        assert kernels == ([] if name in _STREAMS_OUTSIDE else [expected]), name
        assert outsourced.lines(name, "vmrpc") == [expected] * (name != _INSIDE), name


def test_none_is_in_a_table_of_ipv4(outsourced: View) -> None:
    for table in "tcp", "udp", "icmp":
        rows = [row.split() for row in outsourced.tables[table].splitlines()[1:]]
        inodes = {inode for inode, _, _ in outsourced.names.values()}
        assert not [row for row in rows if int(row[9]) in inodes], table


def test_tools_read_it(guest: Guest, outsourced: View) -> None:
    """ss by netlink, netstat of BusyBox by the tables, vmrpc-ss by the module's."""
    seen = {tuple(line.split()) for line in guest.run("ss -6Hanltu").stdout.splitlines()}
    assert ("tcp", "LISTEN", "0", "5", "*:6100", "*:*") in seen
    assert ("tcp", "LISTEN", "0", "5", "[::]:6101", "[::]:*") in seen
    assert ("tcp", "LISTEN", "0", "5", f"[{VM_ADDRESS}]:6102", "[::]:*") in seen
    assert ("udp", "UNCONN", "0", "0", "*:6110", "*:*") in seen
    assert ("udp", "UNCONN", "0", "0", f"[{VM_ADDRESS}]:6112", "[::]:*") in seen
    seen = {tuple(line.split()) for line in guest.run("busybox netstat -antu").stdout.splitlines()}
    assert ("tcp", "0", "0", ":::6100", ":::*", "LISTEN") in seen
    assert ("tcp", "0", "0", f"{VM_ADDRESS}:6102", ":::*", "LISTEN") in seen
    assert ("udp", "0", "0", ":::6110", ":::*") in seen
    (peer,) = [words for words in seen if words[3:4] == (f"{VM_ADDRESS}:6114",)]
    assert peer == ("udp", "0", "0", f"{VM_ADDRESS}:6114", f"{PEER_ADDRESS}:4500", "ESTABLISHED")
    seen = {tuple(line.split()) for line in guest.run("vmrpc-ss").stdout.splitlines()}
    own, other = f"[{VM_ADDRESS}]", f"[{PEER_ADDRESS}]:4500"
    mapped, other4 = "[::ffff:192.0.0.2]", f"[::ffff:{_mapped(guest)}]:4500"
    assert len(seen) == len(outsourced.names)  # a head, and all but one
    assert ("tcp6", "LISTEN", "0", "0", "[::]:6100", "[::]:*", "both") in seen
    assert ("tcp6", "ESTAB", "0", "0", f"{own}:6105", other, "remote") in seen
    assert ("tcp6", "ESTAB", "0", "0", f"{mapped}:6106", other4, "remote") in seen
    assert ("tcp6", "ESTAB", "6", "0", f"{own}:6100", f"[{PEER_ADDRESS}]:7000", "remote") in seen
    assert ("udp6", "ESTAB", "0", "0", f"{own}:6114", other, "remote") in seen
    assert ("udp6", "UNCONN", "0", "0", f"{own}:6112", "[::]:*", "both") in seen
    assert ("icmp6", "UNCONN", "0", "0", "[::]:6120", "[::]:*", "both") in seen


# --- SO_ORIGINAL_DST ------------------------------------------------------------

_SERVER = """
import errno, socket, struct, sys
family = socket.AF_INET6 if sys.argv[1] == '6' else socket.AF_INET
s = socket.create_server(('', int(sys.argv[2])), family=family,
                         dualstack_ipv6=family == socket.AF_INET6)
print('ready', flush=True)

def asked(c, level, size):
    try:
        value = c.getsockopt(level, 80, size)
    except OSError as e:
        return errno.errorcode[e.errno]
    family, port = struct.unpack_from('=H', value)[0], struct.unpack_from('!H', value, 2)[0]
    address = value[8:24] if family == socket.AF_INET6 else value[4:8]
    return f'{socket.inet_ntop(family, address)} {port}'

while True:
    c, peer = s.accept()
    said = [asked(c, socket.SOL_IP, 16)]
    if family == socket.AF_INET6:
        said.append(asked(c, socket.IPPROTO_IPV6, 28))
    c.sendall('; '.join(said).encode())
    c.close()
"""
_ASK = "import socket; s = socket.create_connection(('{}', {})); print(s.recv(100).decode())"

_REDIRECT = """
nft -f - <<END
table inet nat {
    chain OUT { type nat hook output priority -100; tcp dport 81 redirect to :{port}; }
}
END
"""


@pytest.mark.parametrize("family", ["4", "6"])
def test_the_original_destination(guest: Guest, world: Lab, family: str) -> None:
    """What the guest's filter redirected is told; what came from the host it never saw."""
    port = 6200 + int(family)
    job = guest.spawn(["python3", "-c", _SERVER, family, str(port)])
    job.wait_output("ready")
    guest.run(_REDIRECT.replace("{port}", str(port)))

    def inside(address: str, to: int) -> str:
        return guest.run(["python3", "-c", _ASK.format(address, to)]).stdout.strip()

    try:
        outside = [sys.executable, "-c", _ASK.format(VM_ADDRESS, port)]
        if family == "4":
            assert world.peer.run(outside).stdout.strip() == "ENOENT"
            assert inside("127.0.0.1", 81) == "127.0.0.1 81"
            assert inside("192.0.0.2", 81) == "192.0.0.2 81"
        else:
            assert world.peer.run(outside).stdout.strip() == "ENOENT; ENOENT"
            assert inside("::1", 81) == "ENOENT; ::1 81"
            assert inside(VM_ADDRESS, 81) == f"ENOENT; {VM_ADDRESS} 81"
            assert inside("127.0.0.1", 81).startswith("127.0.0.1 81; ")
    finally:
        guest.run("nft delete table inet nat")
        job.kill()
        job.wait()
    guest.check_kernel()
