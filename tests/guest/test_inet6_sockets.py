# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets of AF_INET6 on the host: a guest with IPv6, without NIC and boot option.

test_inet6.py has a device that does not take them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.packages import kernel
from lab.peers.lab import (
    ECHO_PORT,
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

_STATE = "/proc/net/vmrpc_inet6"
# A router says that it must not be reached.
_PROHIBITED = "2001:db8:99::99"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab([f"prohibited.test. 60 IN AAAA {_PROHIBITED}"]) as built:
        built.host.run(["sysctl", "-qw", "net.ipv4.ping_group_range=0 0"])
        built.host.route(f"{_PROHIBITED}/128", PEER_ADDRESS)
        built.peer.run(["ip", "-6", "route", "add", "prohibit", f"{_PROHIBITED}/128"])
        # Calls in a row are refused; each wants to be told.
        built.peer.sysctl({"net.ipv6.conf.all.forwarding": 1, "net.ipv6.icmp.ratelimit": 0})
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.NEWEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """One guest of each kernel, with IPv6."""
    with world.guest(request.param) as running:
        yield running


def python(guest: Guest, script: str) -> str:
    """Run a script in the guest; it fails by an exception."""
    return guest.run(["python3", "-c", script]).stdout


def fetch(world: Lab, port: int, address: str = VM_ADDRESS) -> str:
    """What the peer gets from a server of the guest, or ''."""
    command = ["curl", "-6", "-sS", "-m", "30", f"http://[{address}]:{port}/"]
    return world.peer.run(command, check=False).stdout


# --- what programs see ----------------------------------------------------------


def test_the_interface_has_the_address(guest: Guest) -> None:
    """Programs look for an address and a route before they use IPv6."""
    assert f"{VM_ADDRESS}/128" in guest.run("ip -6 address show dev vmrpc0").stdout
    assert "default dev vmrpc0" in guest.run("ip -6 route").stdout
    assert "fe80:" not in guest.run("ip -6 address show dev vmrpc0").stdout


@pytest.mark.parametrize("name", ["all", "vmrpc0"])
def test_the_address_comes_back(guest: Guest, name: str) -> None:
    """When IPv6 is switched off, and on again."""
    setting = f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6"
    guest.run(f"{setting}=1")
    assert guest.run("ip -6 address show dev vmrpc0").stdout == ""
    guest.run(f"{setting}=0")
    wait.until(lambda: "default" in guest.run("ip -6 route show dev vmrpc0").stdout, "a route")
    test_the_interface_has_the_address(guest)
    assert guest.run(f"curl -sS http://[{WEB_ADDRESS}]/").stdout == PAGE


def test_the_module_says_how_it_is(guest: Guest) -> None:
    lines = dict(line.split(": ", 1) for line in guest.run(f"cat {_STATE}").stdout.splitlines())
    assert lines == {
        "ipv6": "on (the default)",
        "sockets": "on the host",
        "servers": "all are reached",
        "clients": "all reach the outside",
    }
    assert "AF_INET6 sockets: on the host;" in guest.run("dmesg").stdout


# --- servers --------------------------------------------------------------------

_SERVER = """
import select, socket, sys
family, host, port, v6only = socket.AF_INET6, sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = socket.socket(family)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
s.bind((host, port))
s.listen()
print('ready', s.getsockname()[:2], flush=True)
while True:
    c, peer = s.accept()
    assert c.getpeername() == peer and c.family == family
    alone = c.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    assert alone == s.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    c.recv(1000)
    text = ' '.join((peer[0], c.getsockname()[0], str(c.getsockname()[1])))
    c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + text.encode() + b'\\n')
    c.close()
"""


@pytest.mark.parametrize("host", ["::", VM_ADDRESS])
def test_a_server_is_reached_from_everywhere(guest: Guest, world: Lab, host: str) -> None:
    """From outside, which shows its own address; and from inside, in both families."""
    job = guest.spawn(["python3", "-c", _SERVER, host, "8080", "0"])
    job.wait_output("ready")
    assert fetch(world, 8080) == f"{PEER_ADDRESS} {VM_ADDRESS} 8080\n"
    own = guest.run(f"curl -sS http://[{VM_ADDRESS}]:8080/").stdout
    assert own == f"{VM_ADDRESS} {VM_ADDRESS} 8080\n"
    if host == "::":
        assert guest.run("curl -sS http://[::1]:8080/").stdout == "::1 ::1 8080\n"
        for address in "127.0.0.1", "192.0.0.2":
            seen = guest.run(f"curl -sS http://{address}:8080/").stdout
            assert seen == f"::ffff:{address} ::ffff:{address} 8080\n"
    job.kill(15)
    job.wait()
    assert fetch(world, 8080) == ""


def test_v6only_is_for_ipv6_alone(guest: Guest, world: Lab) -> None:
    job = guest.spawn(["python3", "-c", _SERVER, "::", "8081", "1"])
    job.wait_output("ready")
    assert fetch(world, 8081) == f"{PEER_ADDRESS} {VM_ADDRESS} 8081\n"
    assert guest.run("curl -sS http://[::1]:8081/").stdout == "::1 ::1 8081\n"
    assert guest.run("curl -sS http://127.0.0.1:8081/", check=False).rc == 7
    job.kill(15)
    job.wait()


_UDP_SERVER = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
s.bind(('::', 5300))
print('ready', flush=True)
while True:
    data, control, flags, peer = s.recvmsg(1000, 1000)
    found = {(level, kind): value for level, kind, value in control}
    to = socket.inet_ntop(socket.AF_INET6, found[41, socket.IPV6_PKTINFO][:16])
    # Of IPv4 there are none.
    hops = int.from_bytes(found.get((41, socket.IPV6_HOPLIMIT), b''), 'little')
    s.sendto(f'{data.decode()} {peer[0]} {to} {hops}'.encode(), peer)
"""

_UDP_CLIENT = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(b'x', (sys.argv[1], 5300))
print(s.recv(1000).decode())
"""


def test_a_datagram_server(guest: Guest, world: Lab) -> None:
    job = guest.spawn(["python3", "-c", _UDP_SERVER])
    job.wait_output("ready")
    seen = world.peer.run(["python3", "-c", _UDP_CLIENT, VM_ADDRESS]).stdout
    assert seen == f"x {PEER_ADDRESS} {VM_ADDRESS} 64\n"
    for address, hops in ("::1", 64), ("::ffff:127.0.0.1", 0):
        seen = guest.run(["python3", "-c", _UDP_CLIENT, address]).stdout
        assert seen == f"x {address} {address} {hops}\n"
    job.kill(15)
    job.wait()


# --- one port, both families -----------------------------------------------------

_NGINX = """
daemon off; user root; error_log stderr; pid /run/nginx.pid;
events { worker_connections 64; }
http { access_log off; server { listen 80; listen [::]:80; root /srv; } }
"""


def test_nginx_as_debian_has_it(guest: Guest, world: Lab) -> None:
    """Two listeners of one port: of IPv4, and of IPv6 alone."""
    guest.put(_NGINX.encode(), "/run/nginx.conf")
    guest.put(b"nginx\n", "/srv/index.html")
    job = guest.spawn(["nginx", "-c", "/run/nginx.conf"])
    guest.wait_for("curl -s http://127.0.0.1/")
    for address in VM_ADDRESS, "::1":
        assert guest.run(f"curl -sS http://[{address}]/").stdout == "nginx\n"
    assert guest.run("curl -sS http://192.0.0.2/").stdout == "nginx\n"
    assert fetch(world, 80) == "nginx\n"
    job.kill(15)
    job.wait()


_TWO = """
import select, socket, sys
def server(family, host):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((host, 8090))
    s.listen()
    return s
servers = [server(socket.AF_INET, ''), server(socket.AF_INET6, '::')]
if sys.argv[1] == 'reverse':
    servers.reverse()
print('ready', flush=True)
while servers:
    for s in select.select(servers, [], [])[0]:
        c, peer = s.accept()
        if c.recv(1000).startswith(b'GET /close'):
            servers.remove(s)
            s.close()
        c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + s.family.name.encode() + b'\\n')
        c.close()
"""


def test_the_second_takes_the_port_over(guest: Guest, world: Lab) -> None:
    """When the first gives it up, as a server that is restarted for one family."""
    job = guest.spawn(["python3", "-c", _TWO, ""])
    job.wait_output("ready")
    assert fetch(world, 8090) == "AF_INET\n"
    world.peer.run(["curl", "-sS", f"http://[{VM_ADDRESS}]:8090/close"])
    wait.until(lambda: fetch(world, 8090) == "AF_INET6\n", "the other")
    world.peer.run(["curl", "-sS", f"http://[{VM_ADDRESS}]:8090/close"])
    job.wait(check=True)


def test_conflicts_are_the_native_ones(guest: Guest) -> None:
    """What the guest's kernel allows is allowed, and nothing else."""
    python(
        guest,
        """
import errno, itertools, socket
def bind(kind, name):
    family, host, v6only = {'4': (socket.AF_INET, '', 0), '6': (socket.AF_INET6, '::', 1),
                            '46': (socket.AF_INET6, '::', 0)}[name]
    s = socket.socket(family, kind)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    s.bind((host, 8100))
    if kind == socket.SOCK_STREAM:
        s.listen()
    return s
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    for names in itertools.product(('4', '6', '46'), repeat=2):
        allowed = set(names) == {'4', '6'}
        first = bind(kind, names[0])
        try:
            second = bind(kind, names[1])
            assert allowed, names
            second.close()
        except OSError as e:
            assert e.errno == errno.EADDRINUSE and not allowed, (names, e)
        first.close()
""",
    )


# --- clients --------------------------------------------------------------------


def test_a_real_address(guest: Guest, world: Lab) -> None:
    """Without translation: curl -6, as a name's address and as it is."""
    assert guest.run(f"curl -6 -sS http://[{WEB_ADDRESS}]/").stdout == PAGE
    assert guest.run(f"curl -sS http://[{WEB_ADDRESS}]/big.bin | wc -c").stdout == "4194304\n"


def test_names_lead_to_real_addresses(guest: Guest) -> None:
    """AAAA is answered beside the virtual A: programs choose."""
    assert guest.run("curl -6 -sS http://www.test/").stdout == PAGE
    assert guest.run("curl -4 -sS http://www.test/").stdout == PAGE
    assert guest.run("dig +short alias.test AAAA").stdout.split() == ["www.test.", WEB_ADDRESS]
    assert guest.run("dig +short www.test A").stdout.startswith("198.1")
    assert guest.run("dig +short v4only.test AAAA").stdout == ""
    # ::1 leads to nobody from outside, so it is in no answer.
    assert guest.run("dig +short loopback.test AAAA").stdout == ""
    found = python(guest, "import socket; print(socket.getaddrinfo('www.test', 80)[0][4][0])")
    assert found == f"{WEB_ADDRESS}\n"


_NAMES = """
import json, socket
found = {}
for name, kind in ('tcp', socket.SOCK_STREAM), ('udp', socket.SOCK_DGRAM):
    for to in sys.argv[1:]:
        s = socket.socket(socket.AF_INET6, kind)
        s.settimeout(60)
        s.connect((to, 7))
        s.send(b'x')
        assert s.recv(10) == b'x'
        assert s.getsockname()[1]
        found[name + ' ' + to] = [s.getpeername()[0], s.getsockname()[0]]
print(json.dumps(found))
"""


def test_names_of_a_connection(guest: Guest) -> None:
    """An address is shown as it was named; the guest's own is of the same kind."""
    virtual = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    mapped = f"::ffff:{virtual}"
    script = f"import sys\n{_NAMES}"
    found = json.loads(guest.run(["python3", "-c", script, PEER_ADDRESS, mapped]).stdout)
    for kind in "tcp", "udp":
        assert found[f"{kind} {PEER_ADDRESS}"] == [PEER_ADDRESS, VM_ADDRESS]
        assert found[f"{kind} {mapped}"] == [mapped, "::ffff:192.0.0.2"]


_UNCONNECTED = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(60)
for to in sys.argv[1:]:
    s.sendto(b'x', (to, 7))
    data, peer = s.recvfrom(10)
    assert (data, peer[:2]) == (b'x', (to, 7)), peer
"""


def test_answers_come_from_the_address_that_was_named(guest: Guest) -> None:
    virtual = guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    guest.run(["python3", "-c", _UNCONNECTED, PEER_ADDRESS, f"::ffff:{virtual}", PEER_ADDRESS])


def test_the_resolver_is_reached_as_mapped(guest: Guest) -> None:
    """As Java and Go do it."""
    python(
        guest,
        """
import socket
query = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3www\\4test\\0\\0\\1\\0\\1'
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(query, ('::ffff:192.0.0.1', 53))
answer, peer = s.recvfrom(1000)
assert answer[:2] == query[:2] and peer[:2] == ('::ffff:192.0.0.1', 53), peer
t = socket.create_connection(('::ffff:192.0.0.1', 53), 60)
t.sendall(len(query).to_bytes(2, 'big') + query)
assert t.recv(1000)
""",
    )


def test_v6only_does_not_connect_to_ipv4(guest: Guest) -> None:
    python(
        guest,
        """
import errno, socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET6, kind)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        s.connect(('::ffff:198.18.0.1', 9))
        raise SystemExit('connected')
    except OSError as e:
        assert e.errno == errno.ENETUNREACH, e
""",
    )


def test_ping(guest: Guest) -> None:
    assert " 0% packet loss" in guest.run(f"ping -6 -c 2 {PEER_ADDRESS}").stdout
    assert " 0% packet loss" in guest.run("ping -6 -c 1 ::1").stdout


def test_the_table_shows_them(guest: Guest) -> None:
    out = guest.run(
        [
            "python3",
            "-c",
            f"""
import socket, subprocess
s = socket.create_connection(('{PEER_ADDRESS}', {ECHO_PORT}))
print(subprocess.run(['cat', '/proc/net/vmrpc'], capture_output=True, text=True).stdout)
""",
        ]
    ).stdout
    lines = [line.split() for line in out.splitlines()[1:] if line.strip()]
    mine = [line for line in lines if line[10] == "tcp6" and line[11] == "remote"]
    assert [line[2] for line in mine] == ["B80D0120000001000000000002000000:0007"]


# --- options of both families ----------------------------------------------------

_TELLER = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for name in socket.IPV6_RECVHOPLIMIT, socket.IPV6_RECVTCLASS:
    s.setsockopt(socket.IPPROTO_IPV6, name, 1)
s.bind(('::', 5400))
print('ready', flush=True)
while True:
    data, control, flags, peer = s.recvmsg(1000, 1000)
    found = {kind: int.from_bytes(value, 'little') for level, kind, value in control}
    seen = f'{found[socket.IPV6_HOPLIMIT]} {found[socket.IPV6_TCLASS]}'
    tclass = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS, bytes([0x28, 0, 0, 0]))
    s.sendmsg([seen.encode()], [tclass], 0, peer)
"""

_OPTIONS = """
import socket, struct, sys
IP, IPV6 = socket.IPPROTO_IP, socket.IPPROTO_IPV6
PKTINFO, RECVERR, RECVTTL, MTU = 8, 11, 12, 14
PKTINFO6, MTU6 = 50, 24
plain, mapped, own = sys.argv[1:]
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(60)

def ask(to, control=()):
    s.sendmsg([b'x'], control, 0, (to, 5400))
    data, control, flags, peer = s.recvmsg(1000, 1000)
    assert peer[:2] == (to, 5400), peer
    return data.decode(), {(level, kind): value for level, kind, value in control}

def check(found, expected):
    assert found == expected, (found, expected)

check(ask(mapped), ('64 0', {}))
s.setsockopt(IP, socket.IP_TTL, 33)
s.setsockopt(IP, socket.IP_TOS, 0x10)
check(ask(mapped)[0], '33 16')
check(ask(plain)[0], '64 0')
s.setsockopt(IPV6, socket.IPV6_UNICAST_HOPS, 44)
check(ask(plain)[0], '44 0')
check(ask(mapped)[0], '33 16')
s.setsockopt(IPV6, socket.IPV6_TCLASS, 0x20)
check(ask(mapped)[0], '33 16')
check(ask(plain)[0], '44 32')
check([s.getsockopt(IP, socket.IP_TOS), s.getsockopt(IPV6, socket.IPV6_TCLASS)], [0x10, 0x20])

# As ancillary data: that of the destination's kind is used, the other one ignored.
both = [(IP, socket.IP_TTL, struct.pack('i', 7)), (IPV6, socket.IPV6_HOPLIMIT, struct.pack('i', 8))]
check(ask(mapped, both)[0], '7 16')
check(ask(plain, both)[0], '8 32')

# And what is told.
for name in RECVTTL, socket.IP_RECVTOS:
    s.setsockopt(IP, name, 1)
ttl, tos = {(IP, socket.IP_TTL): struct.pack('i', 64)}, {(IP, socket.IP_TOS): bytes([0x28])}
check(ask(mapped)[1], ttl | tos)
check(ask(plain)[1], {})
index, own4 = socket.if_nametoindex('vmrpc0'), socket.inet_aton('192.0.0.2')
info = {(IP, PKTINFO): struct.pack('i4s4s', index, own4, own4)}
own6 = socket.inet_pton(socket.AF_INET6, '::ffff:192.0.0.2')
info6 = {(IPV6, PKTINFO6): struct.pack('16si', own6, index)}
s.setsockopt(IP, PKTINFO, 1)
check(ask(mapped)[1], info | ttl | tos)
check(ask(plain)[1], {})
s.setsockopt(IPV6, socket.IPV6_RECVPKTINFO, 1)
check(ask(mapped)[1], info | info6 | ttl | tos)
s.setsockopt(IP, PKTINFO, 0)
check(ask(mapped)[1], info6 | ttl | tos)
real = struct.pack('16si', socket.inet_pton(socket.AF_INET6, own), index)
check(ask(plain)[1], {(IPV6, PKTINFO6): real})

# The errors of IPv4 for those that ask for these.
e = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
e.setsockopt(IP, RECVERR, 1)
e.sendto(b'lost', (mapped, 9))
import select
p = select.poll()
p.register(e, select.POLLERR)
assert p.poll(60000)
data, [(level, kind, value)], flags, to = e.recvmsg(1000, 1000, socket.MSG_ERRQUEUE)
check((data, level, kind, to[:2]), (b'lost', IPV6, 25, (mapped, 9)))
check(struct.unpack_from('IBBB', value), (111, 2, 3, 3))
check(socket.inet_ntop(socket.AF_INET6, value[24:40]), mapped)

# A connected one has the MTU of its peer's kind.
t = [socket.create_connection((to, 7)) for to in (plain, mapped)]
check(t[0].getsockopt(IPV6, MTU6) - t[1].getsockopt(IP, MTU), 20)
t[1].setsockopt(IP, socket.IP_TOS, 0x10)
check([one.getsockopt(IPV6, socket.IPV6_TCLASS) for one in t], [0, 0])
check(t[1].getsockopt(IP, socket.IP_TOS), 0x10)

# As BIND does it.
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(IPV6, MTU6, 1280)
s.settimeout(60)
check(ask(plain)[0], '64 0')
"""


def test_options_of_both_families(guest: Guest, world: Lab) -> None:
    """Those of IPv4 are in force with IPv4-mapped peers, those of IPv6 with others."""
    mapped = "::ffff:" + guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    with world.peer.started([sys.executable, "-c", _TELLER], stdout=subprocess.PIPE) as teller:
        assert teller.stdout is not None
        assert teller.stdout.readline() == b"ready\n"
        guest.run(["python3", "-c", _OPTIONS, PEER_ADDRESS, mapped, VM_ADDRESS])


# Who asks is told the flow label of the datagram, or of the connection; the answer has one.
_FLOWS = """
import ctypes, select, socket, struct
u, t = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6)
u.setsockopt(socket.IPPROTO_IPV6, 11, 1)  # IPV6_FLOWINFO
# The kernel before this one has left connections behind.
t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
for s in u, t:
    s.bind(('::', 5401))
t.listen()
print('ready', flush=True)
while True:
    for s in select.select([u, t], [], [])[0]:
        if s is u:
            _, control, _, peer = u.recvmsg(1000, 1000)
            seen = int.from_bytes(control[0][2], 'big') if control else 0
            label = socket.IPPROTO_IPV6, 11, (0xabcde).to_bytes(4, 'big')
            u.sendmsg([b'%x' % seen], [label], 0, peer)
        else:
            c = t.accept()[0]
            # struct in6_flowlabel_req: IPV6_FL_A_GET, IPV6_FL_F_REMOTE
            ask = ctypes.create_string_buffer(struct.pack('16sIBBHHHI', b'', 0, 0, 0, 8, 0, 0, 0))
            libc = ctypes.CDLL(None)
            assert not libc.getsockopt(c.fileno(), 41, 32, ask, ctypes.byref(ctypes.c_int(32)))
            c.sendall(b'%x' % int.from_bytes(ask.raw[16:20], 'big'))
            c.close()
"""

_ASK_FLOWS = """
import ctypes, errno, socket, struct, sys
IPV6, FLOWINFO, MGR, SEND, AUTO = socket.IPPROTO_IPV6, 11, 32, 33, 70
plain, mapped = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)

def udp():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.setsockopt(IPV6, AUTO, 0)
    return s

def told(s):
    data, control, _, _ = s.recvmsg(1000, 1000)
    return data.decode(), [(level, kind, value.hex()) for level, kind, value in control]

def lease(s, label):
    # GET, IPV6_FL_F_CREATE, IPV6_FL_S_EXCL
    value = ctypes.create_string_buffer(struct.pack(
        '16sIBBHHHI', socket.inet_pton(socket.AF_INET6, plain), label, 0, 1, 1, 0, 0, 0))
    if libc.setsockopt(s.fileno(), IPV6, MGR, value, 32):
        return errno.errorcode[ctypes.get_errno()]
    return int.from_bytes(value.raw[16:20], 'big')

s = udp()
s.sendto(b'x', (plain, 5401))
assert told(s) == ('0', [])
s.setsockopt(IPV6, FLOWINFO, 1)
s.sendmsg([b'x'], [(IPV6, FLOWINFO, (0x12345).to_bytes(4, 'big'))], 0, (plain, 5401))
assert told(s) == ('12345', [(IPV6, FLOWINFO, '000abcde')])
s.sendto(b'x', (plain, 5401, 0x54321, 0))
assert told(s)[0] == '0'
c = udp()
c.connect((plain, 5401, 0x54321, 7))
assert c.getpeername() == (plain, 5401, 0, 0), c.getpeername()
s.setsockopt(IPV6, SEND, 1)
s.sendto(b'x', (plain, 5401, 0x54321, 0))
assert told(s)[0] == '54321'
s.sendto(b'x', (mapped, 5401, 0x54321, 0))
assert told(s) == ('0', [])
s.connect((plain, 5401, 0x76543, 0))
assert s.getpeername() == (plain, 5401, 0x76543, 0), s.getpeername()
s.send(b'x')
assert told(s)[0] == '76543'

t = socket.socket(socket.AF_INET6)
t.setsockopt(IPV6, SEND, 1)
t.connect((plain, 5401, 0x13579, 0))
assert t.recv(100) == b'13579'

# As iperf3 does it: the kernel chooses a label, which is its owner's alone.
s = udp()
label = lease(s, 0)
assert label
assert lease(udp(), struct.unpack('I', label.to_bytes(4, 'big'))[0]) == 'EPERM'
s.setsockopt(IPV6, SEND, 1)
s.connect((plain, 5401, label, 0))
s.send(b'x')
assert told(s)[0] == f'{label:x}'
"""


def test_flow_labels(guest: Guest, world: Lab) -> None:
    """Sent as ancillary data and in addresses, for datagrams and streams; received; leased."""
    mapped = "::ffff:" + guest.run("getent ahostsv4 peer.test").stdout.split()[0]
    with world.peer.started([sys.executable, "-c", _FLOWS], stdout=subprocess.PIPE) as teller:
        assert teller.stdout is not None
        assert teller.stdout.readline() == b"ready\n"
        guest.run(["python3", "-c", _ASK_FLOWS, PEER_ADDRESS, mapped])


_REFUSALS = """
import errno, json, socket, sys
found = []
for to in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        s = socket.socket(socket.AF_INET6, kind)
        s.settimeout(60)
        try:
            s.connect((to, 80))
            s.send(b'x')
            s.recv(1)
        except OSError as e:
            found.append(errno.errorcode[e.errno])
print(json.dumps(found))
"""


def test_a_router_prohibits_it(guest: Guest) -> None:
    """Linux has another error for each family."""
    mapped = "::ffff:" + guest.run("getent ahostsv4 prohibited.test").stdout.split()[0]
    out = guest.run(["python3", "-c", _REFUSALS, _PROHIBITED, mapped]).stdout
    assert json.loads(out) == ["EACCES", "EACCES", "EHOSTUNREACH", "EHOSTUNREACH"]


# --- what is refused ------------------------------------------------------------

_ERRORS = """
import errno, json, socket, sys
found = []
for to in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        s = socket.socket(socket.AF_INET6, kind)
        try:
            s.connect((to, 80))
            found.append('connected')
        except OSError as e:
            found.append(errno.errorcode[e.errno])
print(json.dumps(found))
"""


def test_the_policy_refuses_ipv6_destinations(world: Lab, tmp_path: Path) -> None:
    """By the same rules: of the file, and of addresses of the host's."""
    policy = tmp_path / "policy.conf"
    policy.write_text(f"deny {WEB2_ADDRESS}\n")
    device = world.device(SECOND_VM_ADDRESS, policy=policy)
    with world.guest(device=device, name="refused") as guest:
        host = "2001:db8:1::1"
        out = guest.run(["python3", "-c", _ERRORS, WEB2_ADDRESS, host]).stdout
        assert json.loads(out) == ["EACCES", "EACCES", "ENETUNREACH", "ENETUNREACH"]
        assert guest.run(f"curl -sS http://[{WEB_ADDRESS}]/").stdout == PAGE


# --- settings -------------------------------------------------------------------


def test_without_ipv6_in_the_guest(world: Lab) -> None:
    """ipv6.disable=1: the module leaves the feature, and AF_INET works."""
    device = world.device(SECOND_VM_ADDRESS)
    with world.guest(device=device, name="without", ipv6=False) as guest:
        assert guest.run(f"head -1 {_STATE}").stdout == "ipv6: off (ipv6.disable=1)\n"
        assert guest.run("curl -sS http://www.test/").stdout == PAGE


def test_an_old_device(world: Lab) -> None:
    """Which does not know these sockets: they stay the guest's own."""
    device = world.device(SECOND_VM_ADDRESS, ipv6="off")
    with world.guest(device=device, name="old") as guest:
        assert "sockets: of the guest alone" in guest.run(f"cat {_STATE}").stdout
        assert guest.run("ip -6 route show default").stdout == ""
        assert guest.run(f"curl -6 -sS http://[{WEB_ADDRESS}]/", check=False).rc == 7
        assert guest.run("curl -sS http://www.test/").stdout == PAGE


def test_without_an_address_of_the_vm(world: Lab) -> None:
    """The guest sees a unique local one; it reaches others and is not reached."""
    with world.guest(device=world.device(None), name="nobody") as guest:
        assert "fd76:6d6d:6e65:7400::c000:2/128" in guest.run("ip -6 address").stdout
        assert guest.run(f"curl -sS http://[{WEB_ADDRESS}]/").stdout == PAGE


# --- programs -------------------------------------------------------------------

_NODE = """
const http = require('http')
http.createServer((q, a) => a.end(q.socket.remoteAddress + '\\n')).listen(3000, () => {
    http.get('http://www.test/', (a) => {
        a.setEncoding('utf8').on('data', (text) => console.log('client:', text))
    })
})
"""


def test_node(world: Lab) -> None:
    """A server without an address listens on [::] for both families."""
    device = world.device(SECOND_VM_ADDRESS)
    with world.guest(device=device, name="node", packages=("nodejs",)) as guest:
        job = guest.spawn(["node", "-e", _NODE])
        job.wait_output(f"client: {PAGE.strip()}")
        assert fetch(world, 3000, SECOND_VM_ADDRESS) == f"{PEER_ADDRESS}\n"
        assert guest.run("curl -sS http://127.0.0.1:3000/").stdout == "::ffff:127.0.0.1\n"
        assert guest.run("curl -sS http://[::1]:3000/").stdout == "::1\n"
        job.kill(15)
        job.wait()


# --- migration ------------------------------------------------------------------

_MOVE = """
import socket, sys
t = socket.create_server(('::', 8080), family=socket.AF_INET6, dualstack_ipv6=True)
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
u.connect((sys.argv[1], 7))
m = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
m.connect((sys.argv[2], 7))
print('ready', flush=True)
while True:
    c, peer = t.accept()
    c.recv(1000)
    for s in u, m:
        s.settimeout(60)
        s.send(b'x')
        assert s.recv(10) == b'x'
    names = [peer[0], u.getpeername()[0], m.getpeername()[0]]
    c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + ' '.join(names).encode() + b'\\n')
    c.close()
"""


def test_migration(world: Lab) -> None:
    """A server on [::] goes on, and so do UDP sockets with peers of both kinds."""
    device = world.device(OWN_VM_ADDRESS)
    with world.guest(device=device, name="source") as source:
        virtual = source.run("getent ahostsv4 peer.test").stdout.split()[0]
        job = source.spawn(["python3", "-c", _MOVE, PEER_ADDRESS, f"::ffff:{virtual}"])
        job.wait_output("ready")
        names = f"{PEER_ADDRESS} {PEER_ADDRESS} ::ffff:{virtual}\n"
        assert fetch(world, 8080, OWN_VM_ADDRESS) == names
        with migrated(source, name="moved") as moved:
            # Both QEMUs are on one host here: the source has the port until it ends.
            source.qmp("quit")
            wait.until(lambda: fetch(world, 8080, OWN_VM_ADDRESS), "the server")
            assert fetch(world, 8080, OWN_VM_ADDRESS) == names
            moved.check_kernel()
