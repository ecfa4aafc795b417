# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 programs in a guest without a NIC, on an IPv6-only network."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.base.rough import ROUGH
from lab.guest import machine, qemu
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.packages import kernel
from lab.peers import servers as peers
from lab.peers.lab import (
    DNS_ADDRESS,
    ECHO_PORT,
    HOST_ADDRESS,
    OWN_VM_ADDRESS,
    PAGE,
    PEER_ADDRESS,
    SECOND_VM_ADDRESS,
    VM_ADDRESS,
    WEB2_ADDRESS,
    WEB_ADDRESS,
    Lab,
    lab,
)

LAME_PORT, SLOW_PORT = 5301, 5302
SHARED_VM_ADDRESS, LIMITED_VM_ADDRESS = "2001:db8:1::c0e1", "2001:db8:1::c0e2"
#: For tests of what the device alone decides: long but with the newest kernel.
one_kernel = pytest.mark.parametrize("guest", kernels(kernel.NEWEST), indirect=True)
NGINX = """\
daemon off; user root; pid /run/nginx.pid; error_log stderr;
events { worker_connections 1024; }
http { access_log off; server { listen 0.0.0.0:80; root /srv; } }
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab([f"denied.test. 60 IN AAAA {WEB2_ADDRESS}"], ROUGH) as built:
        for address in (SHARED_VM_ADDRESS, LIMITED_VM_ADDRESS):
            built.link.a.add_address(f"{address}/128")
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.OLDEST, kernel.NEWEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel."""
    with world.guest(request.param, ipv6=False) as running:
        yield running


@pytest.fixture(scope="module")
def second(world: Lab) -> Iterator[Guest]:
    """Another VM on the same host, whose DNS servers are a lame and a slow one."""
    device = world.device(
        SECOND_VM_ADDRESS, dns=f"{DNS_ADDRESS}@{LAME_PORT}+{DNS_ADDRESS}@{SLOW_PORT}"
    )
    with (
        peers.odd_dns(world.peer, DNS_ADDRESS, LAME_PORT, WEB_ADDRESS, lame=True),
        peers.odd_dns(world.peer, DNS_ADDRESS, SLOW_PORT, WEB_ADDRESS, delay=0.2),
        world.guest(device=device, name="second", ipv6=False) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def shared(world: Lab) -> Iterator[Guest]:
    """A guest for tests that change it, and whose last one resets it."""
    device = f"{world.device(SHARED_VM_ADDRESS)},event_idx=off"
    with world.guest(ipv6=False, device=device, arguments=["-action", "reboot=reset"]) as running:
        yield running


@pytest.fixture(scope="module")
def limited(world: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest whose device has few sockets, a policy, one queue and an IOThread of its own.

    The last of its tests takes the device away.
    """
    policy = tmp_path_factory.mktemp("policy") / "policy.conf"
    policy.write_text(f"deny {WEB2_ADDRESS} tcp 80\nallow host tcp 7777\n")
    # Without PCI the last of the tests does not run, and nothing can be taken away.
    ports = ["pcie-root-port,id=rp0,chassis=1,slot=1"] if machine.has_pci() else []
    options = {"iothread": "io0", "policy": policy, "num_queues": 1, "max_sockets": 64}
    device = f"{world.device(LIMITED_VM_ADDRESS, bus='rp0', **options)},packed=on"
    arguments = ["-object", "iothread,id=io0"]
    with world.guest(ipv6=False, devices=[*ports, device], arguments=arguments) as running:
        yield running


def python(guest: Guest, script: str, timeout: float = wait.PATIENCE) -> str:
    """Run a script in the guest; it fails by an exception."""
    return guest.run(["python3", "-c", script], timeout=timeout).stdout


# --- the paper's two directions ---------------------------------------------


def test_curl_by_name(guest: Guest) -> None:
    assert guest.run("curl -4 -sS http://www.test/").stdout == PAGE
    assert guest.run("curl -sS http://alias.test/").stdout == PAGE
    assert guest.run("wget -qO- http://both.test/").stdout == PAGE


def test_python_client(guest: Guest) -> None:
    page = python(
        guest,
        "import urllib.request as u; print(u.urlopen('http://www.test/').read().decode(), end='')",
    )
    assert page == PAGE


def test_large_download_is_intact(guest: Guest, world: Lab) -> None:
    ours = guest.run("curl -sS http://www.test/big.bin | sha256sum").stdout
    url = f"http://[{WEB_ADDRESS}]/big.bin"
    native = world.peer.run(["sh", "-c", f"curl -sS {url} | sha256sum"]).stdout
    assert ours == native


def test_server_in_guest(guest: Guest, world: Lab) -> None:
    guest.put(b"an IPv4 server\n", "/srv/index.html")
    guest.put(NGINX.encode(), "/run/nginx.conf")
    server = guest.spawn("exec nginx -c /run/nginx.conf")
    guest.wait_for("curl -s http://127.0.0.1/ >/dev/null")
    fetch = ["curl", "-6", "-sS", f"http://[{VM_ADDRESS}]/"]
    assert world.peer.run(fetch).stdout == "an IPv4 server\n"
    # the same listener serves both sides
    assert guest.run("curl -sS http://192.0.0.2/").stdout == "an IPv4 server\n"
    server.kill(15)
    server.wait()
    assert world.peer.run(fetch, check=False).returncode == 7


@pytest.mark.parametrize("reverse", [False, True], ids=["guest-sends", "guest-receives"])
def test_iperf3_to_outside(guest: Guest, world: Lab, reverse: bool) -> None:
    with peers.iperf3(world.peer, PEER_ADDRESS):
        command = f"iperf3 -4 -c peer.test -t 2 {'-R' if reverse else ''}"
        assert "iperf Done" in guest.run(command).stdout


def test_iperf3_server_in_guest(guest: Guest, world: Lab) -> None:
    server = guest.spawn("exec iperf3 -s -4 -1")
    guest.wait_for("ss -Hlnt | grep -q :5201")
    world.peer.run(["iperf3", "-6", "-c", VM_ADDRESS, "-t", "2"])
    server.wait(check=True)


# --- UDP ----------------------------------------------------------------------

UDP_CLIENT = f"""
import socket
peer = socket.gethostbyname('peer.test')
for connected in False, True:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout({wait.INNER})
    if connected:
        s.connect((peer, {ECHO_PORT}))
        assert s.getpeername() == (peer, {ECHO_PORT})
    for size in 1, 1400, 9000, 65507:
        data = bytes(i % 251 for i in range(size))
        if connected:
            s.send(data)
        else:
            s.sendto(data, (peer, {ECHO_PORT}))
        back, source = s.recvfrom(70000)
        assert back == data, size
        assert source == (peer, {ECHO_PORT}), source
    try:
        s.sendto(bytes(65508), (peer, {ECHO_PORT}))
        raise SystemExit('65508 bytes were taken')
    except OSError as e:
        assert e.errno == 90, e
"""


def test_udp_client(guest: Guest) -> None:
    python(guest, UDP_CLIENT)


UDP_SERVER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5353))
print('ready', flush=True)
for _ in range(4):
    data, source = s.recvfrom(2000)
    s.sendto(data.upper(), source)
"""


def test_udp_server_answers_where_it_was_asked(guest: Guest, world: Lab) -> None:
    server = guest.spawn(["python3", "-c", UDP_SERVER])
    server.wait_output("ready")
    ask = f"""
import socket
for port in 40001, 40002:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.settimeout({wait.INNER})
    s.bind(('{PEER_ADDRESS}', port))
    s.sendto(b'hello', ('{VM_ADDRESS}', 5353))
    data, source = s.recvfrom(100)
    assert data == b'HELLO' and source[:2] == ('{VM_ADDRESS}', 5353), source
s.sendto(b'', ('{VM_ADDRESS}', 5353))
assert s.recvfrom(100)[0] == b''
"""
    world.peer.run(["python3", "-c", ask])
    inside = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout({wait.INNER})
s.sendto(b'inside', ('127.0.0.1', 5353))
assert s.recvfrom(100) == (b'INSIDE', ('127.0.0.1', 5353))
"""
    python(guest, inside)
    server.wait(check=True)


def test_udp_unreachable_port_is_refused(guest: Guest) -> None:
    python(
        guest,
        f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout({wait.INNER})
s.connect((socket.gethostbyname('peer.test'), 9))
s.send(b'x')
try:
    s.recv(10)
    raise SystemExit('no error')
except ConnectionRefusedError:
    pass
""",
    )


# --- TCP's edges -----------------------------------------------------------------


def test_names_of_a_connection(guest: Guest) -> None:
    python(
        guest,
        f"""
import socket
peer = socket.gethostbyname('peer.test')
s = socket.create_connection((peer, {ECHO_PORT}))
assert s.getpeername() == (peer, {ECHO_PORT})
address, port = s.getsockname()
assert address == '192.0.0.2' and port > 1023, (address, port)
""",
    )


def test_half_close(guest: Guest) -> None:
    python(
        guest,
        f"""
import socket
s = socket.create_connection((socket.gethostbyname('peer.test'), {ECHO_PORT}))
s.sendall(b'a' * 300000)
s.shutdown(socket.SHUT_WR)
got = 0
while data := s.recv(65536):
    got += len(data)
assert got == 300000, got
try:
    s.send(b'x')
    raise SystemExit('sent after SHUT_WR')
except BrokenPipeError:
    pass
""",
    )


PEER_RESETS = """
import socket, struct
l = socket.create_server(('::', 4444), family=socket.AF_INET6)
print('ready', flush=True)
c, _ = l.accept()
c.recv(1)
c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
c.close()
"""


def test_peer_reset(guest: Guest, world: Lab) -> None:
    with world.peer.started(["python3", "-c", PEER_RESETS], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        python(
            guest,
            """
import socket, select
s = socket.create_connection((socket.gethostbyname('peer.test'), 4444))
s.send(b'x')
p = select.poll()
p.register(s, select.POLLIN)
(_, events), = p.poll(60000)
assert events & (select.POLLERR | select.POLLHUP), events
try:
    s.recv(1)
    raise SystemExit('no reset')
except ConnectionResetError:
    pass
assert s.recv(1) == b''
""",
        )


def connect_error(guest: Guest, host: str, port: int) -> str:
    """The name of the errno that a blocking connect gets in the guest."""
    script = f"""
import errno, socket
try:
    socket.create_connection(({host!r}, {port}), timeout={wait.INNER})
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
"""
    return python(guest, script).strip()


def test_refused(guest: Guest) -> None:
    assert connect_error(guest, "peer.test", 81) == "ECONNREFUSED"


NON_BLOCKING = f"""
import errno, select, socket
s = socket.socket()
s.setblocking(False)
peer = socket.gethostbyname('peer.test')
# The handshake may be over before connect() returns: the peer is near.
err = s.connect_ex((peer, {ECHO_PORT}))
assert err in (0, errno.EINPROGRESS), err
e = select.epoll()
e.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
assert e.poll(60) == [(s.fileno(), select.EPOLLOUT)]
assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
try:
    s.recv(1)
    raise SystemExit('data from nowhere')
except BlockingIOError:
    pass
s.send(b'ping')
events = e.poll(60)
assert events and events[0][1] & select.EPOLLIN, events
assert s.recv(10) == b'ping'
sent = 0
try:
    while True:
        sent += s.send(bytes(1 << 20))
except BlockingIOError:
    pass
got = 0
while got < sent:
    if not e.poll(60):
        raise SystemExit('stuck at %d of %d' % (got, sent))
    try:
        while data := s.recv(1 << 20):
            got += len(data)
    except BlockingIOError:
        pass
"""


def test_non_blocking_and_epoll(guest: Guest) -> None:
    python(guest, NON_BLOCKING)


def test_timeouts_and_signals(guest: Guest) -> None:
    python(
        guest,
        f"""
import signal, socket, struct, time
s = socket.create_connection((socket.gethostbyname('peer.test'), {ECHO_PORT}))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 200000))
try:
    s.recv(1)
    raise SystemExit('no timeout')
except BlockingIOError:
    pass
class Alarm(Exception):
    pass
def handler(*_):
    raise Alarm
signal.signal(signal.SIGALRM, handler)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 0))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    s.recv(1)
    raise SystemExit('not interrupted')
except Alarm:
    pass
""",
    )


def test_fork_shares_the_socket(guest: Guest) -> None:
    python(
        guest,
        f"""
import os, socket
s = socket.create_connection((socket.gethostbyname('peer.test'), {ECHO_PORT}))
pid = os.fork()
if pid == 0:
    s.sendall(b'child')
    os._exit(0)
os.waitpid(pid, 0)
assert s.recv(10) == b'child'
s.sendall(b'parent')
assert s.recv(10) == b'parent'
""",
    )


def test_bind_tells_the_real_port(guest: Guest, world: Lab) -> None:
    guest_side = guest.spawn(
        [
            "python3",
            "-c",
            """
import socket
l = socket.socket()
l.bind(('', 0))
l.listen()
print('port', l.getsockname()[1], flush=True)
c, peer = l.accept()
assert c.getpeername() == peer
c.sendall(b'here')
""",
        ]
    )
    port = int(guest_side.wait_output(r"^port (\d+)$").group(1))
    client = (
        f"import socket; s = socket.create_connection(('{VM_ADDRESS}', {port}));"
        "assert s.recv(10) == b'here'"
    )
    world.peer.run(["python3", "-c", client])
    guest_side.wait(check=True)


@one_kernel
def test_many_connections(guest: Guest, world: Lab) -> None:
    """A thousand at once, then another thousand one after the other."""
    python(
        guest,
        f"""
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
peer = (socket.gethostbyname('peer.test'), {ECHO_PORT})
socks = [socket.create_connection(peer) for _ in range(1000)]
for i, s in enumerate(socks):
    s.sendall(b'%d' % i)
for i, s in enumerate(socks):
    assert s.recv(10) == b'%d' % i
for s in socks:
    s.close()
for i in range(1000):
    with socket.create_connection(peer) as s:
        s.sendall(b'x')
        assert s.recv(1) == b'x'
""",
    )
    counters = world.counters(guest)
    assert counters["sockets_refused_limit"] == 0
    assert counters["sockets_refused_host"] == 0


def test_slow_reader_stalls_nobody(guest: Guest) -> None:
    python(
        guest,
        f"""
import socket
peer = (socket.gethostbyname('peer.test'), {ECHO_PORT})
slow = socket.create_connection(peer)
slow.setblocking(False)
try:
    while True:
        slow.send(bytes(1 << 20))
except BlockingIOError:
    pass
with socket.create_connection(peer, timeout={wait.INNER}) as fast:
    for i in range(100):
        fast.sendall(b'x' * 1000)
        got = 0
        while got < 1000:
            got += len(fast.recv(1000))
""",
    )


# --- what stays inside, what stays outside -----------------------------------------


def test_loopback_stays_inside(guest: Guest, world: Lab) -> None:
    before = world.counters(guest)["requests"]
    python(
        guest,
        """
import socket
for address in '127.0.0.1', '127.1.2.3', '192.0.0.2':
    l = socket.socket()
    l.bind(('127.0.0.1' if address == '127.0.0.1' else address, 0))
    if address == '192.0.0.2':
        l.close()
        continue
    l.listen()
    c = socket.create_connection(l.getsockname())
    s, _ = l.accept()
    c.sendall(b'inside')
    assert s.recv(10) == b'inside'
""",
    )
    # the one address that is also reachable from outside was bound there
    assert world.counters(guest)["requests"] - before <= 3


@pytest.fixture
def box(guest: Guest) -> Iterator[str]:
    """A container in the guest, beyond the interface v0; its address."""
    guest.run(
        "modprobe veth; ip netns add box && ip link add v0 type veth peer name v1 netns box &&"
        "ip address add 10.9.9.1/24 dev v0 && ip link set v0 up &&"
        "ip -n box address add 10.9.9.2/24 dev v1 && ip -n box link set v1 up"
    )
    yield "10.9.9.2"
    guest.run("ip netns delete box")


def test_container_in_the_guest_is_reached_natively(guest: Guest, box: str) -> None:
    """What the guest's own routes lead to another interface does not go to the host."""
    server = guest.spawn("exec ip netns exec box socat TCP-LISTEN:80,fork SYSTEM:'echo boxed'")
    assert guest.wait_for(f"socat -u TCP:{box}:80 -").stdout == "boxed\n"
    server.kill(15)
    server.wait()


def test_interface_decides_where_datagrams_go(guest: Guest, world: Lab, box: str) -> None:
    """SO_BINDTODEVICE: a socket of another interface has nothing to do with the host."""
    send = """
import socket
to = socket.gethostbyname('www.test'), 9
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'%s')
s.sendto(b'x', to)
"""
    opened = []
    for interface in "v0", "vmrpc0":
        before = world.counters(guest)["sockets_opened"]
        python(guest, send % interface)
        opened.append(world.counters(guest)["sockets_opened"] - before)
    # Each asks for the name first.
    assert opened[1] == opened[0] + 1, opened


@pytest.mark.parametrize("late", [False, True], ids=["before-bind", "while-listening"])
def test_interface_decides_who_may_call(guest: Guest, world: Lab, box: str, late: bool) -> None:
    """A listener of another interface hears those behind it, and nobody outside."""
    server = guest.spawn(
        [
            "python3",
            "-c",
            """
import socket, sys
def choose():
    l.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'v0')
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
late = sys.argv[1] == 'True'
late or choose()
l.bind(('', 8090))
l.listen()
late and choose()
print('ready', flush=True)
print(l.accept()[1][0])
""",
            str(late),
        ]
    )
    server.wait_output("ready")
    call = f"import socket; socket.create_connection(('{VM_ADDRESS}', 8090), timeout={wait.INNER})"
    refused = world.host.run(["python3", "-c", call], check=False)
    assert "ConnectionRefusedError" in refused.stderr, refused.stderr
    guest.run("ip netns exec box socat -u TCP:10.9.9.1:8090 -")
    assert server.wait(check=True).stdout == f"ready\n{box}\n"


@one_kernel
def test_own_name_stays_inside(guest: Guest) -> None:
    assert "192.0.0.2" in guest.run("getent ahostsv4 vm.test").stdout


@one_kernel
@pytest.mark.parametrize("name", ["host.test", "loopback.test"])
def test_host_is_unreachable(guest: Guest, world: Lab, name: str) -> None:
    with peers.echo(world.host, 7777):
        error = connect_error(guest, name, 7777)
    # A name that is only loopback has no address for the guest at all.
    assert error.startswith("ENETUNREACH" if name == "host.test" else "[Errno -5]"), error


@one_kernel
def test_host_address_by_listener_is_unreachable(guest: Guest, world: Lab) -> None:
    """An address learnt from a peer that connected is no way in either."""
    server = guest.spawn(
        [
            "python3",
            "-c",
            f"""
import socket
l = socket.create_server(('', 8088))
print('ready', flush=True)
c, peer = l.accept()
try:
    socket.create_connection((peer[0], 7777), timeout={wait.INNER})
    raise SystemExit('the host let us in')
except OSError as e:
    assert e.errno == 101, e
""",
        ]
    )
    server.wait_output("ready")
    with peers.echo(world.host, 7777):
        connect = (
            f"import socket; s = socket.create_connection(('{VM_ADDRESS}', 8088),"
            f"source_address=('{HOST_ADDRESS}', 0)); s.recv(1)"
        )
        world.host.run(["python3", "-c", connect])
        server.wait(check=True)
    assert world.counters(guest)["refused_host_address"] > 0


@one_kernel
def test_literals_without_nat64(guest: Guest) -> None:
    assert connect_error(guest, "203.0.113.7", 80) == "ENETUNREACH"
    assert connect_error(guest, "198.19.255.1", 80) == "EHOSTUNREACH"


def test_foreign_address_cannot_be_bound(guest: Guest) -> None:
    python(
        guest,
        """
import errno, socket
for address in '198.18.0.1', '203.0.113.7', '192.0.0.1':
    s = socket.socket()
    try:
        s.bind((address, 8080))
        raise SystemExit('bound ' + address)
    except OSError as e:
        assert e.errno == errno.EADDRNOTAVAIL, e
""",
    )


# --- names ------------------------------------------------------------------------------


@one_kernel
def test_dns_answers(guest: Guest) -> None:
    def dig(question: str) -> str:
        return guest.run(f"dig +short {question}").stdout.strip()

    address = dig("www.test A")
    assert address.startswith(("198.18.", "198.19."))
    assert dig("+tcp www.test A") == address
    assert dig("www.test AAAA") == ""
    assert dig("alias.test A").splitlines() == ["www.test.", address]
    assert len(dig("both.test A").splitlines()) == 2
    assert dig(f"-x {address}") == "www.test."
    assert dig("text.test TXT") == '"as it is"'
    assert dig("v4only.test A") == ""
    assert dig("localhost A") == dig("www.localhost A") == "127.0.0.1"
    assert dig("-x 127.0.0.1") == "localhost."
    assert sorted(dig("ipv4only.arpa A").splitlines()) == ["192.0.0.170", "192.0.0.171"]
    assert "NXDOMAIN" in guest.run("dig nothing.test").stdout
    # what is not told can be cached as such
    assert "IN\tSOA\tinvalid." in guest.run("dig www.test AAAA").stdout
    assert "status: NOERROR" in guest.run("dig www.test AAAA").stdout


@one_kernel
def test_resolver_is_not_the_last_peer(guest: Guest) -> None:
    """A stream that was connected to it can be connected elsewhere, or listen."""
    python(
        guest,
        f"""
import ctypes, socket
peer = socket.gethostbyname('peer.test'), {ECHO_PORT}
for port in 0, 4053:
    s = socket.socket()
    if port:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('', port))
    for _ in range(2):
        s.connect(('192.0.0.1', 53))
        assert ctypes.CDLL(None).connect(s.fileno(), bytes(16), 16) == 0
    s.connect(peer)
    s.sendall(b'x')
    assert s.recv(1) == b'x'
    assert not port or s.getsockname()[1] == port
""",
    )


def test_interface_list_shows_the_address(guest: Guest) -> None:
    assert "192.0.0.2/29" in guest.run("ip -4 address show").stdout
    assert "default" in guest.run("ip -4 route").stdout


# --- two VMs, one host -----------------------------------------------------------------


@one_kernel
def test_second_vm_same_port(guest: Guest, second: Guest, world: Lab) -> None:
    serve = "exec nginx -c /run/nginx.conf"
    for number, vm in enumerate((guest, second)):
        vm.put(NGINX.encode(), "/run/nginx.conf")
        vm.put(f"VM {number}\n".encode(), "/srv/index.html")
        vm.spawn(serve)
        vm.wait_for("curl -s http://127.0.0.1/ >/dev/null")
    for number, address in enumerate((VM_ADDRESS, SECOND_VM_ADDRESS)):
        page = world.peer.run(["curl", "-6", "-sS", f"http://[{address}]/"]).stdout
        assert page == f"VM {number}\n"
    for vm in (guest, second):
        vm.run("pkill nginx")


MANY_NAMES = """
import socket, struct, sys
names = 1000
def query(number):
    label = b'%x' % (number // 2)
    name = bytes([len(label)]) + label + b'\\4many\\4test\\0'
    header = struct.pack('>6H', number, 0x100, 1, 0, 0, 0)
    return header + name + struct.pack('>2H', 28 if number % 2 else 1, 1)
def check(answer):
    number, flags, _, records = struct.unpack('>4H', answer[:8])
    assert number in missing, number
    missing.remove(number)
    assert flags & 15 == 0, (number, flags)
    assert records == (number + 1) % 2, (number, records)
s = socket.socket(socket.AF_INET, getattr(socket, sys.argv[1]))
s.settimeout(float(sys.argv[2]))
s.connect(('192.0.0.1', 53))
missing = set(range(2 * names))
if s.type == socket.SOCK_DGRAM:
    for number in range(2 * names):
        s.send(query(number))
    while missing:
        check(s.recv(512))
else:
    s.sendall(b''.join(struct.pack('>H', len(q)) + q for q in map(query, range(2 * names))))
    stream = s.makefile('rb')
    while missing:
        check(stream.read(struct.unpack('>H', stream.read(2))[0]))
"""


@pytest.mark.parametrize("kind", ["SOCK_DGRAM", "SOCK_STREAM"])
def test_many_names_at_once(second: Guest, kind: str) -> None:
    """A and AAAA of 1,000 names, as c-ares asks for them: by one socket."""
    second.run(["python3", "-c", MANY_NAMES, kind, str(wait.PATIENCE)], timeout=2 * wait.PATIENCE)
    counters = second.vmrpc_counters()
    failures = ("dropped_dns_wait_full", "dropped_dns_queue_full", "dns_servfail_upstream")
    assert not any(counters[name] for name in failures), counters


# --- tests that disturb the world, or a guest: last -------------------------------------

COUNT_DOWN = """
import socket, sys
s = socket.create_connection((socket.gethostbyname('peer.test'), 7))
print('connected', flush=True)
for line in sys.stdin:
    s.sendall(line.encode())
    got = b''
    while len(got) < len(line):
        part = s.recv(100)
        if not part:
            sys.exit('the stream ended')
        got += part
    print('echoed', got.decode(), end='', flush=True)
"""


@one_kernel
def test_cable_pulled_and_plugged_in_again(guest: Guest, world: Lab) -> None:
    """TCP survives; a connection attempt meanwhile gets a true error."""
    talk = guest.spawn(["python3", "-c", COUNT_DOWN])
    talk.wait_output("connected")
    peer = guest.run("getent ahostsv4 www.test").stdout.split()[0]
    world.link.down()
    try:
        talk.write(b"one\n")
        assert connect_error(guest, peer, 80) in ("ENETUNREACH", "EHOSTUNREACH", "EINVAL")
    finally:
        world.link.up()
        world.host.ip("-6", "route", "replace", "2001:db8:80::/64", "via", PEER_ADDRESS)
    talk.wait_output("echoed one")
    talk.write(b"two\n")
    talk.wait_output("echoed two")
    talk.close_input()
    talk.wait(check=True)


@one_kernel
def test_server_restart(guest: Guest, world: Lab) -> None:
    """The peer's server ends and comes back: EOF, refused, then served again."""
    with peers.echo(world.peer, 4007):
        talk = guest.spawn(["python3", "-c", COUNT_DOWN.replace("7))", "4007))")])
        talk.wait_output("connected")
    talk.write(b"anyone?\n")
    assert talk.wait().rc != 0
    assert connect_error(guest, "peer.test", 4007) == "ECONNREFUSED"
    with peers.echo(world.peer, 4007):
        assert connect_error(guest, "peer.test", 4007) == ""


def test_module_is_pinned_by_sockets_then_gives_back_native_ones(shared: Guest) -> None:
    holder = shared.spawn(["python3", "-c", COUNT_DOWN])
    holder.wait_output("connected")
    assert shared.run("rmmod vmrpc", check=False).rc != 0
    holder.write(b"still here\n")
    holder.wait_output("echoed still here")
    holder.close_input()
    holder.wait(check=True)
    shared.wait_for("rmmod vmrpc")
    assert "vmrpc0" not in shared.run("ip link").stdout
    shared.run(["python3", "-c", "import socket; socket.create_server(('127.0.0.1', 80))"])
    shared.run("insmod /usr/lib/vmmnet/vmrpc.ko")
    assert shared.run("curl -sS http://www.test/").stdout == PAGE


def download_is_intact(guest: Guest, world: Lab) -> bool:
    ours = guest.run("curl -sS http://www.test/big.bin | sha256sum").stdout
    url = f"http://[{WEB_ADDRESS}]/big.bin"
    return ours == world.peer.run(["sh", "-c", f"curl -sS {url} | sha256sum"]).stdout


def test_rings_without_event_index(shared: Guest, world: Lab) -> None:
    assert download_is_intact(shared, world)


def test_guest_reboot_closes_host_sockets(shared: Guest, world: Lab) -> None:
    server = shared.spawn(
        "exec python3 -c \"import socket; s = socket.create_server(('', 6000));"
        "print('ready', flush=True); s.accept()\""
    )
    server.wait_output("ready")
    listening = ["ss", "-6", "-Hlnt", "sport = :6000"]
    assert world.host.run(listening).stdout
    # The guest's own way down; QEMU resets its devices.
    shared.spawn("sync; echo b > /proc/sysrq-trigger")
    wait.until(lambda: not world.host.run(listening).stdout, "listener to go")


def test_packed_rings(limited: Guest, world: Lab) -> None:
    assert download_is_intact(limited, world)


def test_socket_limit_is_emfile(limited: Guest) -> None:
    out = python(
        limited,
        """
import errno, socket
socks = []
try:
    while True:
        socks.append(socket.socket())
except OSError as e:
    print(errno.errorcode[e.errno], len(socks))
socks.pop().close()
socks.append(socket.socket())
""",
    )
    assert out.split()[0] == "EMFILE" and int(out.split()[1]) <= 64, out


def test_given_iothread_and_policy(limited: Guest, world: Lab) -> None:
    with peers.echo(world.host, 7777):
        assert connect_error(limited, "denied.test", 80) == "EACCES"
        assert connect_error(limited, "host.test", 7777) == ""
        assert connect_error(limited, "host.test", 7778) == "ENETUNREACH"
        assert world.counters(limited)["refused_policy"] == 1


def test_unplug_with_open_sockets(limited: Guest) -> None:
    """The programs get errors, the guest lives."""
    holder = limited.spawn(["python3", "-c", COUNT_DOWN])
    holder.wait_output("connected")
    limited.monitor.command("device_del", id="vmrpc0")
    limited.monitor.wait_event("DEVICE_DELETED")
    holder.write(b"gone\n")
    assert holder.wait().rc != 0


def test_migration_keeps_listeners_and_tells_connections(world: Lab) -> None:
    with world.guest(device=world.device(OWN_VM_ADDRESS), ipv6=False) as source:
        server = source.spawn(
            [
                "python3",
                "-c",
                """
import socket
s = socket.create_server(('', 6001))
print('ready', flush=True)
c, _ = s.accept()
c.sendall(b'after the move')
""",
            ]
        )
        server.wait_output("ready")
        talk = source.spawn(["python3", "-c", COUNT_DOWN])
        talk.wait_output("connected")
        with migrated(source, name="moved") as moved:
            # Both QEMUs are on one host here: the source has the port until it ends.
            source.qmp("quit")
            talk.write(b"hello?\n")
            ended = talk.wait()
            assert "ConnectionResetError" in ended.stderr, ended
            client = (
                "import socket;"
                f"s = socket.create_connection(('{OWN_VM_ADDRESS}', 6001), timeout={wait.INNER});"
                "assert s.recv(100) == b'after the move'"
            )
            world.peer.run(["python3", "-c", client])
            server.wait(check=True)
            assert moved.run("curl -sS http://www.test/").stdout == PAGE


#: Of a connection over which 5 octets went and came: what TCP_INFO has of them.
TCP_INFO = f"""
import socket, struct
TCP, INFO = socket.IPPROTO_TCP, socket.TCP_INFO
print('whole', len(socket.socket().getsockopt(TCP, INFO, 1024)), flush=True)
while word := input():
    sock = socket.create_connection(('peer.test', {ECHO_PORT}))
    sock.sendall(b'12345')
    sock.recv(5, socket.MSG_WAITALL)
    info = sock.getsockopt(TCP, INFO, 1024)
    state, received, sent, again = struct.unpack_from('B127xQ64xQQ', info)
    print(word, len(info), state, received, sent - again, flush=True)
"""


@pytest.mark.parametrize("long_values", ["on", "off"])
def test_tcp_info_is_as_long_after_a_migration(world: Lab, long_values: str) -> None:
    """It is that of the guest's kernel, also with a device that has no longer values."""
    here = world.device(OWN_VM_ADDRESS, long_values=long_values)
    with world.guest(kernel.NEWEST, device=here, ipv6=False) as source:
        program = source.spawn(["python3", "-c", TCP_INFO])
        length = int(program.wait_output(r"^whole (\d+)$")[1])
        program.write(b"before\n")
        program.wait_output(f"^before {length} 1 5 5$")
        with migrated(source, name="moved", devices=[world.device(OWN_VM_ADDRESS)]) as moved:
            # Both QEMUs are on one host here: the source has the address until it ends.
            source.qmp("quit")
            program.write(b"after\n")
            program.wait_output(f"^after {length} 1 5 5$")
            moved.check_kernel()


#: Bound like a server of datagrams; it sends where it is told to.
UDP_SENDER = f"""
import errno, socket
peer = socket.gethostbyname('peer.test')
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 6002))
print('ready', flush=True)
while input():
    try:
        s.sendto(b'datagram', (peer, {ECHO_PORT}))
        print('sent', s.recv(100).decode(), flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
"""


def test_address_comes_long_after_the_guest(world: Lab) -> None:
    """On the second host where the guest waits for it; until then its server sleeps."""
    late = "2001:db8:1::1a7e"
    there = world.network.namespace("there")
    link = world.network.connect(there, world.peer, ["2001:db8:2::1/64"], ["2001:db8:2::2/64"])
    for network in ("2001:db8:1::/64", "2001:db8:80::/64"):
        there.route(network, "2001:db8:2::2")
    world.link.a.add_address(f"{late}/128")
    missing = {"id": "vmrpc0", "missing": "address", "address": late, "sockets": 2}
    with world.guest(ipv6=False, device=world.device(late)) as source:
        source.put(b"still here\n", "/srv/www/index.html")
        server = source.spawn("cd /srv/www && exec python3 -u -m http.server 6001")
        source.wait_for("curl -s http://127.0.0.1:6001/ >/dev/null")
        sender = source.spawn(["python3", "-c", UDP_SENDER])
        sender.wait_output("ready")
        world.link.a.remove_address(f"{late}/128")
        with migrated(source, netns=there.netns, name="first") as first:
            first.monitor.wait_event("VMRPC_SOCKETS_ARRIVING", **missing)
            before = world.counters(first)["requests"]
            sender.write(b"send\n")
            # A sender waits for half a minute; the server has not asked once.
            sender.wait_output("ENETUNREACH")
            assert world.counters(first)["requests"] - before < 20
            with migrated(first, name="second") as second:
                second.monitor.wait_event("VMRPC_SOCKETS_ARRIVING", **missing)
                world.peer.ip("-6", "route", "add", f"{late}/128", "via", "2001:db8:2::1")
                link.a.add_address(f"{late}/128")
                second.monitor.wait_event("VMRPC_SOCKETS_ARRIVED", id="vmrpc0")
                fetch = ["curl", "-6", "-sS", f"http://[{late}]:6001/"]
                assert world.peer.run(fetch).stdout == "still here\n"
                sender.write(b"send\n")
                sender.wait_output("sent datagram")
                assert world.counters(second)["connections_lost"] == 0
                assert server.running
                second.check_kernel()
        world.peer.ip("-6", "route", "del", f"{late}/128")


def test_snapshot_is_of_what_the_guest_knew(world: Lab, tmp_path: Path) -> None:
    """Also in a QEMU whose guest has looked up other names, in their places."""
    state = tmp_path / "state.qcow2"
    tools.run([qemu.binary().with_name("qemu-img"), "create", "-fqcow2", state, "1G"])
    # With one seed both devices begin at the same virtual address.
    options = ["-drive", f"file={state},format=qcow2,if=none,id=state", "-seed", "1"]
    fetch = "curl -sS http://www.test/"

    def hmp(guest: Guest, line: str) -> None:
        assert guest.qmp("human-monitor-command", **{"command-line": line}) == ""

    device = world.device(OWN_VM_ADDRESS)
    with world.guest(device=device, ipv6=False, arguments=options) as before:
        assert before.run(fetch).stdout == PAGE
        known = before.run("getent ahostsv4 www.test").stdout
        hmp(before, "savevm then")
    with world.guest(device=device, ipv6=False, arguments=options) as after:
        assert after.run("getent ahostsv4 peer.test").stdout.split()[0] == known.split()[0]
        hmp(after, "loadvm then")
        assert after.run(fetch).stdout == PAGE
        assert after.run("getent ahostsv4 www.test").stdout == known
