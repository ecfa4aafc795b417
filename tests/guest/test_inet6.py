# SPDX-License-Identifier: GPL-2.0-or-later
"""A device without ipv6: what programs of AF_INET6 meet, and that nothing vanishes.

Sockets of AF_INET6 are the guest's own, also with IPv4-mapped addresses.  What
they send to the outside goes to vmrpc0, which refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest, Job
from lab.packages import kernel
from lab.peers.lab import PAGE, VM_ADDRESS, Lab, lab

_STATE = "/proc/net/vmrpc_inet6"
_DISABLE = "net.ipv6.conf.all.disable_ipv6"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.NEWEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel, with IPv6."""
    with world.guest(request.param, device=world.device(ipv6="off")) as running:
        yield running


@pytest.fixture(params=["on", "no-addresses"])
def setting(request: pytest.FixtureRequest, guest: Guest) -> Iterator[str]:
    """How IPv6 is set, as the module says it."""
    name: str = request.param
    guest.run(["sysctl", "-qw", f"{_DISABLE}={int(name == 'no-addresses')}"])
    yield name
    guest.run(["sysctl", "-qw", f"{_DISABLE}=0"])


# --- what is sent to the outside ------------------------------------------------

_SEND = """
import errno, json, os, select, socket, struct

MAPPED, PLAIN = '::ffff:198.18.0.1', '198.18.0.1'
PORT = 9

def udp(to=MAPPED, data=b'x', **options):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    for name, (level, value) in options.items():
        s.setsockopt(level, getattr(socket, name), value)
    s.sendto(data, (to, PORT))

def connected_udp():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.connect((MAPPED, PORT))
    s.send(b'x')

def mmsg():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.sendmsg([b'a', b'b'], [], 0, (MAPPED, PORT))

def tcp():
    socket.socket(socket.AF_INET6).connect((MAPPED, PORT))

def tcp_later():
    s = socket.socket(socket.AF_INET6)
    s.setblocking(False)
    assert s.connect_ex((MAPPED, PORT)) == errno.EINPROGRESS
    select.select([], [s], [])
    raise OSError(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), '')

def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 253).sendto(b'x', (PLAIN, 0))

def raw_header():
    ends = socket.inet_aton('192.0.0.2'), socket.inet_aton(PLAIN)
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 21, 0, 0, 64, 253, 0, *ends)
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    s.sendto(header + b'x', (PLAIN, 0))

def packet():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    s.sendto(bytes(40), ('vmrpc0', 0x0800))

def udplite():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136).sendto(b'x', (PLAIN, PORT))

CASES = {
    'datagram': udp,
    'fragments': lambda: udp(data=bytes(60000), IPV6_MTU_DISCOVER=(41, 0)),
    'group': lambda: udp('::ffff:239.1.2.3'),
    'broadcast': lambda: udp('::ffff:255.255.255.255', SO_BROADCAST=(1, 1)),
    'error queue': lambda: udp(IPV6_RECVERR=(41, 1)),
    'connected datagram': connected_udp,
    'message': mmsg,
    'stream': tcp,
    'stream that does not wait': tcp_later,
    'raw': raw,
    'raw with header': raw_header,
    'packet': packet,
    'UDP-Lite': udplite,
}
socket.IPV6_MTU_DISCOVER, socket.IPV6_RECVERR = 23, 25

def dropped():
    with open('/sys/class/net/vmrpc0/statistics/tx_dropped') as file:
        return int(file.read())

def error(case):
    try:
        case()
    except OSError as e:
        return errno.errorcode[e.errno]
    return 'sent'

found = {}
for name, case in CASES.items():
    before = dropped()
    found[name] = error(case), dropped() > before
print(json.dumps(found))
"""


def test_what_is_sent_outside_is_refused(guest: Guest, setting: str) -> None:
    """The call that sends says so, and the drop is counted."""
    found = json.loads(guest.run(["python3", "-c", _SEND]).stdout)
    # Linux 7.3 has none.
    if guest.run("test -e /proc/net/udplite", check=False).rc:
        assert found.pop("UDP-Lite") == ["EPROTONOSUPPORT", False]
    assert {name: error for name, (error, _) in found.items()} == dict.fromkeys(
        found, "ENETUNREACH"
    )
    assert all(counted for _, counted in found.values()), found


_MANY = """
import errno, select, socket
socks, errors = {}, set()
for _ in range(900):
    s = socket.socket(socket.AF_INET6)
    s.setblocking(False)
    error = s.connect_ex(('::ffff:198.18.0.1', 9))
    if error == errno.EINPROGRESS:
        socks[s.fileno()] = s
    else:
        errors.add(errno.errorcode.get(error, error))
poller = select.poll()
for s in socks.values():
    poller.register(s, select.POLLOUT)
while socks:
    for fd, events in poller.poll():
        poller.unregister(fd)
        s = socks.pop(fd)
        error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        errors.add(errno.errorcode.get(error, f'{error} of events {events}'))
print(*errors)
"""


def test_many_streams_are_refused(guest: Guest) -> None:
    """All of them, however many they are at once: no rate limits it."""
    assert guest.run(["python3", "-c", _MANY]).stdout == "ENETUNREACH\n"
    guest.check_kernel()


_BOX = """
import errno, socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET6, kind)
    try:
        s.connect(('::ffff:198.18.0.1', 9))
        s.send(b'x')
        s.recv(1)
    except OSError as error:
        print(errno.errorcode.get(error.errno, error))
"""


def test_a_container_is_refused(guest: Guest) -> None:
    """Its packets are forwarded: an ICMP error tells it."""
    guest.run(
        "modprobe veth; ip netns add box && ip link add b0 type veth peer name b1 netns box &&"
        "ip address add 10.9.8.1/24 dev b0 && ip link set b0 up &&"
        "ip -n box address add 10.9.8.2/24 dev b1 && ip -n box link set b1 up &&"
        "ip -n box route add default via 10.9.8.1 && sysctl -qw net.ipv4.ip_forward=1"
    )
    told = guest.run(["ip", "netns", "exec", "box", "python3", "-c", _BOX])
    assert told.stdout.split() == ["ENETUNREACH", "ENETUNREACH"]
    guest.run("ip netns delete box")


# The kernel's own datagrams: a tunnel counts what it could not send.
_TUNNEL = """
ip link add tun0 type gretap local 192.0.0.2 remote 198.18.0.1 &&
ip address add 10.7.7.1/24 dev tun0 && ip link set tun0 up &&
ip neigh add 10.7.7.2 lladdr 02:00:00:00:00:01 dev tun0 &&
ping -c 1 -W 1 10.7.7.2; cat /sys/class/net/tun0/statistics/tx_dropped; ip link del tun0
"""


def test_a_tunnel_of_the_kernel_is_refused(guest: Guest) -> None:
    out = guest.run(_TUNNEL).stdout
    assert int(out.split()[-1]) > 0, out


# --- what is said of it ---------------------------------------------------------


def test_the_module_says_how_it_is(guest: Guest, setting: str) -> None:
    lines = dict(line.split(": ", 1) for line in guest.run(f"cat {_STATE}").stdout.splitlines())
    assert lines["ipv6"].split()[0] == setting
    assert "ENETUNREACH" in lines["sockets"]
    assert "not reached from outside" in lines["servers"]
    log = guest.run("dmesg").stdout
    # When it was loaded; of the table of sockets the format is what it was.
    assert log.count("IPv6 is on (the default); AF_INET6 sockets: ") == 1
    assert guest.run("head -1 /proc/net/vmrpc").stdout.split()[0] == "sl"


# --- programs: docs/guest.md has the table --------------------------------------

_NGINX = """
daemon off; user root; error_log stderr; pid /run/nginx.pid;
events { worker_connections 64; }
http { access_log off; server { listen 80; listen [::]:80; root /srv; } }
"""

# Go opens [::] for 0.0.0.0, too; an address of the guest's own opens AF_INET.
_DUAL_STACK = """
import select, socket
servers = {
    socket.create_server(('', 8080), family=socket.AF_INET6, dualstack_ipv6=True): b'dual stack',
    socket.create_server(('192.0.0.2', 8081)): b'own address',
}
print('ready', flush=True)
while True:
    for s in select.select(servers, [], [])[0]:
        c = s.accept()[0]
        c.recv(1000)
        c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + servers[s] + b'\\n')
        c.close()
"""


@pytest.fixture
def servers(guest: Guest) -> Iterator[None]:
    """Debian's nginx; [::] alone, for both families; the guest's own address alone."""
    guest.put(_NGINX.encode(), "/run/nginx.conf")
    guest.put(b"nginx\n", "/srv/index.html")
    jobs: list[Job] = [
        guest.spawn(["nginx", "-c", "/run/nginx.conf"]),
        guest.spawn(["python3", "-c", _DUAL_STACK]),
    ]
    jobs[1].wait_output("ready")
    guest.wait_for("curl -s http://127.0.0.1/")
    yield
    for job in jobs:
        job.kill(15)
        job.wait()


@pytest.mark.usefixtures("servers")
def test_servers(guest: Guest, world: Lab, setting: str) -> None:
    """Who has a socket of AF_INET is reached; who listens on [::] alone is not."""

    def fetch(port: int) -> str:
        command = ["curl", "-6", "-sS", "-m", "30", f"http://[{VM_ADDRESS}]:{port}/"]
        return world.peer.run(command, check=False).stdout

    assert wait.until(lambda: fetch(80), "nginx") == "nginx\n"
    assert guest.run("curl -sS http://127.0.0.1:8080/").stdout == "dual stack\n"
    assert fetch(8080) == ""
    assert fetch(8081) == "own address\n"


def test_clients(guest: Guest, setting: str) -> None:
    """By name there is IPv4 only, so those who ask for both take AF_INET."""
    assert guest.run("curl -sS http://www.test/").stdout == PAGE
    script = "import urllib.request as u; print(u.urlopen('http://www.test/').read().decode())"
    assert guest.run(["python3", "-c", script]).stdout == f"{PAGE}\n"
    assert "::" not in guest.run("getent ahosts www.test").stdout
