# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces of a guest, as containers have them, without an engine.

A namespace behind a bridge, with the packet filter that Docker sets up, is what
an engine gives a container.  The module decides what of it the host serves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.fixtures import kernels
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import PAGE, PEER_ADDRESS, VM_ADDRESS, Lab, lab

_PARAMETER = "/sys/module/vmrpc/parameters/namespaces"

_ADD = """
add() {
    ip netns add $1
    ip link add v$1 master docker0 up type veth peer name eth0 netns $1
    ip -n $1 link set lo up
    ip -n $1 address add 172.17.0.$2/16 dev eth0
    ip -n $1 link set eth0 up
    ip -n $1 route add default via 172.17.0.1
}
"""
# What dockerd does for two containers, but for their file systems.
_BRIDGE = f"""
modprobe bridge; modprobe veth; set -e
ip link add docker0 type bridge
ip address add 172.17.0.1/16 dev docker0
ip link set docker0 up
{_ADD}add one 2
add two 3
sysctl -qw net.ipv4.ip_forward=1
nft -f - <<END
table ip nat {{
    chain POSTROUTING {{
        type nat hook postrouting priority srcnat;
        ip saddr 172.17.0.0/16 oifname != docker0 masquerade
    }}
}}
table ip filter {{
    chain USER {{ }}
    chain FORWARD {{
        type filter hook forward priority filter; policy drop;
        jump USER
        oifname docker0 ct state related,established accept
        iifname docker0 ct state invalid drop
        iifname docker0 oifname != docker0 accept
        iifname docker0 oifname docker0 accept
    }}
}}
END
"""

# The same of IPv6.
_BRIDGE6 = """
ip -6 address add fd00:17::1/64 dev docker0 nodad
ip -n one -6 address add fd00:17::2/64 dev eth0 nodad
ip -n two -6 address add fd00:17::3/64 dev eth0 nodad
for each in one two; do ip -n $each -6 route add default via fd00:17::1; done
nft -f - <<END
table ip6 filter {
    chain FORWARD { type filter hook forward priority filter; }
}
END
"""
_UNDO6 = """
for each in one two; do ip -n $each -6 route del default; done
ip -6 address del fd00:17::1/64 dev docker0
ip -n one -6 address del fd00:17::2/64 dev eth0
ip -n two -6 address del fd00:17::3/64 dev eth0
nft delete table ip6 filter
"""

# The beginning of every script that a test runs.
_HEAD = """
import ctypes, errno, os, socket, sys
def peer():
    return socket.gethostbyname('peer.test')
def tcp(port=7):
    s = socket.create_connection((peer(), port), timeout=PATIENCE)
    return s
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(PATIENCE)
    return s
def echoed(s):
    s.sendall(b'hello')
    return s.recv(100).decode()
def own(s):
    '''The line of a socket in /proc/net/vmrpc: its mode, or nothing.'''
    inode = str(os.fstat(s.fileno()).st_ino)
    lines = map(str.split, open('/proc/net/vmrpc'))
    return [line[-3] for line in lines if inode in line]
""".replace("PATIENCE", str(wait.PATIENCE))


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        built.host.sysctl({"net.ipv4.ping_group_range": "0 2147483647"})
        yield built


@pytest.fixture(scope="module", params=kernels(kernel.OLDEST))
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """A guest with two namespaces, one and two, on a bridge."""
    with world.guest(request.param, packages=("nftables",)) as running:
        running.run(_BRIDGE)
        yield running


def _in(guest: Guest, box: str, script: str) -> str:
    words = ["ip", "netns", "exec", box] if box else []
    return guest.run([*words, "python3", "-c", _HEAD + script]).stdout.strip()


def _serve(guest: Guest, box: str, port: int, word: str) -> None:
    """Start a server that says a word."""
    enter = f"ip netns exec {box} " if box else ""
    guest.spawn(f"exec {enter}socat TCP4-LISTEN:{port},fork,reuseaddr SYSTEM:'echo {word}'")
    guest.wait_for(f"{enter}ss -Hltn | grep -q ':{port} '")


_READ = "print(socket.create_connection({0}, timeout=60).makefile().read().strip())"


def test_outside_is_reached(guest: Guest) -> None:
    """By name, by TCP, UDP with and without a peer, and ping; the program has its own address."""
    enter = ["ip", "netns", "exec", "one"]
    assert guest.run([*enter, "curl", "-sS", "http://www.test/"]).stdout == PAGE
    said = _in(
        guest,
        "one",
        "s = tcp(); print(echoed(s), s.getsockname()[0], s.getpeername()[1], *own(s))",
    )
    assert said == "hello 172.17.0.2 7 remote"
    said = _in(
        guest,
        "one",
        """
s = udp(); s.connect((peer(), 7)); print(echoed(s), s.getsockname()[0], *own(s))
s = udp(); s.sendto(b'bye', (peer(), 7)); print(s.recv(9).decode(), s.getsockname()[0], *own(s))
""",
    )
    assert said == "hello 172.17.0.2 remote\nbye 0.0.0.0 both"
    ping = guest.run([*enter, "ping", "-c1", "peer.test"]).stdout
    assert "1 received" in ping or "1 packets received" in ping, ping


def test_outside_is_reached_by_mapped_addresses(guest: Guest) -> None:
    """Sockets of AF_INET6, as Java's; without a route, IPv6 addresses are not reached."""
    said = _in(
        guest,
        "one",
        """
to = '::ffff:' + peer(), 7
s = socket.socket(socket.AF_INET6); s.connect(to)
print(echoed(s), s.getsockname()[0], s.getpeername() == (*to, 0, 0), *own(s))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 5300)); s.settimeout(60)
s.sendto(b'bye', to); print(s.recv(9).decode(), s.getsockname()[:2], *own(s))
s.connect(to); print(echoed(s), s.getsockname()[:2], *own(s))
l = socket.socket(socket.AF_INET6); l.bind(('::', 5300)); l.listen()
c = socket.create_connection(('127.0.0.1', 5300)); a = l.accept()[0]
c.send(b'in'); print(a.recv(9))
s = socket.socket(socket.AF_INET6); s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
for address in to, ('2001:db8:1::2', 7):
    try:
        s.connect(address)
    except OSError as error:
        print(errno.errorcode[error.errno])
""",
    )
    assert said.splitlines() == [
        "hello ::ffff:172.17.0.2 True remote",
        "bye ('::', 5300) both",
        "hello ('::ffff:172.17.0.2', 5300) remote",
        "b'in'",
        "ENETUNREACH",
        "ENETUNREACH",
    ]


@pytest.fixture
def forwards6(guest: Guest) -> Iterator[None]:
    """The guest forwards IPv6, too."""
    before = guest.run("sysctl -n net.ipv6.conf.all.forwarding").stdout.strip()
    guest.run(f"set -e\n{_BRIDGE6}sysctl -qw net.ipv6.conf.all.forwarding=1")
    yield
    guest.run(f"{_UNDO6}sysctl -qw net.ipv6.conf.all.forwarding={before}")


@pytest.mark.usefixtures("forwards6")
def test_ipv6_addresses_are_reached(guest: Guest) -> None:
    """TCP, UDP with and without a peer, bound to an address or not; neighbours stay native."""
    script = """
to = 'PEER', 7
s = socket.create_connection(to, timeout=60)
print(echoed(s), *s.getsockname()[:1], *s.getpeername()[:2], *own(s))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 5300)); s.settimeout(60)
s.sendto(b'bye', to); print(s.recv(9).decode(), s.getsockname()[:2], *own(s))
s.connect(to); print(echoed(s), s.getsockname()[:2], *own(s))
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET6, kind); s.bind(('fd00:17::2', 5301)); s.connect(to)
    print(echoed(s), s.getsockname()[:2], *own(s))
s = socket.create_connection(('fd00:17::3', 8600), timeout=60)
print(s.makefile().read().strip(), *own(s))
""".replace("PEER", PEER_ADDRESS)
    serve = "TCP6-LISTEN:8600,fork,reuseaddr SYSTEM:'echo neighbour'"
    server = guest.spawn(f"exec ip netns exec two socat {serve}")
    guest.wait_for("ip netns exec two ss -Hltn | grep -q ':8600 '")
    assert _in(guest, "one", script).splitlines() == [
        f"hello fd00:17::2 {PEER_ADDRESS} 7 remote",
        "bye ('::', 5300) both",
        "hello ('fd00:17::2', 5300) remote",
        "hello ('fd00:17::2', 5301) remote",
        "hello ('fd00:17::2', 5301) remote",
        "neighbour native",
    ]
    server.kill()
    server.wait()


@pytest.mark.usefixtures("forwards6")
def test_ping_of_ipv6_addresses(guest: Guest) -> None:
    """Outside, unless the guest's packet filter forbids it; inside it is native."""

    def ping(address: str, patience: float = wait.PATIENCE) -> bool:
        words = f"ip netns exec one ping -6 -n -c 1 -W {patience} {address}"
        return guest.run(words, check=False).rc == 0

    assert ping(PEER_ADDRESS)
    for inside in "fd00:17::3", "fd00:17::1", "::1":
        assert ping(inside)
    guest.run("nft add rule ip6 filter FORWARD icmpv6 type echo-request drop")
    assert not ping(PEER_ADDRESS, 1)
    guest.run("nft flush chain ip6 filter FORWARD")
    # The port is nothing to an echo request.
    script = """
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6)
s.settimeout(PATIENCE)
for to, port in ('PEER', 53), ('PEER', 0), ('fd00:17::3', 0), ('PEER', 0):
    s.sendto(bytes([128, 0, 0, 0, 0, 0, 0, 1]) + b'hello', (to, port))
    data, source = s.recvfrom(100)
    print(data[:1] + data[8:], source[0] == to, *own(s))
"""
    script = script.replace("PATIENCE", str(wait.PATIENCE)).replace("PEER", PEER_ADDRESS)
    assert _in(guest, "one", script).splitlines() == [r"b'\x81hello' True both"] * 4


@pytest.mark.usefixtures("forwards6")
def test_an_ipv6_address_is_reached_from_a_new_bridge(guest: Guest) -> None:
    """Docker starts a container before the kernel knows that the bridge's address is its own."""
    guest.run(
        "set -e; sysctl -qw net.ipv6.conf.docker0.dad_transmits=1000\n"
        "ip -6 address del fd00:17::1/64 dev docker0; ip -6 address add fd00:17::1/64 dev docker0"
    )
    script = f"s = socket.create_connection(('{PEER_ADDRESS}', 7), timeout=60); print(echoed(s))"
    assert _in(guest, "one", script) == "hello"
    assert "fd00:17::1" in guest.run("ip -6 address show dev docker0 tentative").stdout


@pytest.mark.usefixtures("forwards6")
def test_ipv6_addresses_that_the_guest_does_not_forward(guest: Guest) -> None:
    """By its packet filter or the container's, or without forwarding, they are not the host's."""
    script = f"""
s = socket.socket(socket.AF_INET6); s.settimeout(float(sys.argv[1]))
try:
    s.connect(('{PEER_ADDRESS}', 7)); print(*own(s))
except OSError as error:
    print(type(error).__name__)
"""

    def attempt(patience: float = wait.PATIENCE) -> str:
        words = ["ip", "netns", "exec", "one", "python3", "-c", _HEAD + script, str(patience)]
        return guest.run(words).stdout.strip()

    assert attempt() == "remote"
    guest.run("nft add rule ip6 filter FORWARD tcp dport 7 reject with tcp reset")
    assert attempt() == "ConnectionRefusedError"
    guest.run("nft flush chain ip6 filter FORWARD")
    guest.run(
        "ip netns exec one nft 'table ip6 own "
        "{ chain OUT { type filter hook output priority 0; tcp dport 7 drop; }; }'"
    )
    assert attempt(1) == "TimeoutError"
    guest.run("ip netns exec one nft delete table ip6 own")
    guest.run("sysctl -qw net.ipv6.conf.all.forwarding=0")
    assert attempt(1) == "TimeoutError"
    guest.run("sysctl -qw net.ipv6.conf.all.forwarding=1")
    # The next hop is another container.
    guest.run("ip -n one -6 route replace default via fd00:17::3")
    assert attempt(1) == "TimeoutError"
    guest.run("ip -n one -6 route replace default via fd00:17::1")
    assert attempt() == "remote"


def test_a_chosen_port_is_the_namespaces_own(guest: Guest) -> None:
    """A program that has bound its socket sees its port, and takes none of the guest."""
    said = _in(
        guest,
        "one",
        """
s = udp(); s.bind(('', 5300)); s.sendto(b'one', (peer(), 7)); print(s.recv(9).decode())
t = socket.socket(); t.bind(('172.17.0.2', 5300)); t.connect((peer(), 7)); print(echoed(t))
print(s.getsockname(), t.getsockname())
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0)
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
    u = socket.socket(socket.AF_INET, kind); u.bind(('', 5300)); print(own(u))
""",
    )
    assert said.splitlines() == [
        "one",
        "hello",
        "('0.0.0.0', 5300) ('172.17.0.2', 5300)",
        "['both']",
        "['both']",
    ]


def test_servers_of_one_port(guest: Guest, world: Lab) -> None:
    """Each namespace has the port; a neighbour reaches its neighbour, the outside the guest."""
    for box in "one", "two", "":
        _serve(guest, box, 8000, f"server-{box or 'guest'}")
    assert _in(guest, "one", _READ.format("('172.17.0.3', 8000)")) == "server-two"
    assert _in(guest, "two", _READ.format("('172.17.0.2', 8000)")) == "server-one"
    assert _in(guest, "two", _READ.format("('127.0.0.1', 8000)")) == "server-two"
    assert _in(guest, "two", _READ.format("('172.17.0.1', 8000)")) == "server-guest"
    assert _in(guest, "", _READ.format("('172.17.0.2', 8000)")) == "server-one"
    script = f"import socket\n{_READ.format((VM_ADDRESS, 8000))}"
    assert world.peer.run([sys.executable, "-c", script]).stdout.strip() == "server-guest"


def test_each_sees_its_own_sockets(guest: Guest) -> None:
    """/proc/net/vmrpc of a namespace has its sockets and no others."""
    said = _in(
        guest,
        "one",
        """
s = tcp()
libc = ctypes.CDLL(None, use_errno=True)
for net in '/proc/self/ns/net', '/run/netns/two', '/proc/1/ns/net':
    assert not libc.setns(os.open(net, os.O_RDONLY), 0)
    text = open('/proc/thread-self/net/vmrpc').read()
    print(str(os.fstat(s.fileno()).st_ino) in text.split())
# The socket stays where it was made.
t = tcp(); print(s.getsockname()[0], t.getsockname()[0], echoed(s))
""",
    )
    assert said.splitlines() == ["True", "False", "False", "172.17.0.2 192.0.0.2 hello"]


def test_the_guests_packet_filter_counts(guest: Guest) -> None:
    """What the guest would not forward is not the host's; other destinations are."""
    script = """
try:
    print(echoed(tcp()))
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    rejects = (
        ("nft add rule ip filter USER tcp dport 7 reject", "nft flush chain ip filter USER"),
        (
            "ip netns exec one nft 'table ip own "
            "{ chain OUT { type filter hook output priority 0; tcp dport 7 reject; }; }'",
            "ip netns exec one nft delete table ip own",
        ),
    )
    for forbid, allow in rejects:
        guest.run(forbid)
        assert _in(guest, "one", script) == "ECONNREFUSED"
        assert guest.run("ip netns exec one curl -sS http://www.test/").stdout == PAGE
        guest.run(allow)
        assert _in(guest, "one", script) == "hello"


def test_a_route_alone_leads_nowhere(guest: Guest) -> None:
    """A namespace without a link to the guest gets no way out by routes of its own."""
    # The other end of the second link has the number that one's has in the guest.
    guest.run(
        "ip netns add lone; ip -n lone link add eth0 type dummy\n"
        "ip -n lone link add eth1 type veth peer name far"
        " index $(cat /sys/class/net/vone/ifindex) netns two\n"
        "for each in eth0 eth1; do ip -n lone address add 172.17.0.9/16 dev $each; done"
    )
    script = """
s = socket.socket(); s.settimeout(1)
try:
    s.connect((sys.argv[1], 7))
except OSError as error:
    print(type(error).__name__)
"""
    address = _in(guest, "", "print(peer())")
    words = ["ip", "netns", "exec", "lone", "python3", "-c", _HEAD + script, address]
    for link in "eth1", "eth0":
        guest.run(
            f"ip -n two link set far up; ip -n lone link set {link} up\n"
            f"ip -n lone route add default via 172.17.0.1 dev {link}"
        )
        assert guest.run(words).stdout == "TimeoutError\n"
        guest.run("ip -n lone route del default; ip -n lone link set eth1 down")
    # One with such a link, whose next hop is another container.
    guest.run("ip -n one route replace default via 172.17.0.3")
    assert guest.run([*words[:3], "one", *words[4:]]).stdout == "TimeoutError\n"
    guest.run("ip -n one route replace default via 172.17.0.1")
    before = guest.run(f"cat {_PARAMETER}").stdout.strip()
    guest.run(f"echo all > {_PARAMETER}; ip -n lone route add default via 172.17.0.1 dev eth0")
    assert guest.run([*words[:-2], _HEAD + script + "else: print(own(s))", address]).stdout == (
        "['remote']\n"
    )
    guest.run(f"echo {before} > {_PARAMETER}; ip netns del lone")


def test_what_the_guest_sends_elsewhere_is_native(guest: Guest) -> None:
    """To another bridge, by its routes or by DNAT; a datagram socket sends there by turns."""
    guest.run(
        f"{_ADD.replace('docker0', 'docker1').replace('172.17', '172.18')}"
        "ip link add docker1 type bridge; ip address add 172.18.0.1/16 dev docker1\n"
        "ip link set docker1 up; add far 2"
    )
    _serve(guest, "far", 8100, "server-far")
    guest.spawn("exec ip netns exec far socat UDP4-RECVFROM:8100,fork EXEC:cat")
    guest.wait_for("ip netns exec far ss -Hlun | grep -q ':8100 '")
    assert _in(guest, "one", _READ.format("('172.18.0.2', 8100)")) == "server-far"
    script = """
s = udp()
for to in (peer(), 7), ('172.18.0.2', 8100), (peer(), 7):
    s.sendto(b'a word', to)
    data, source = s.recvfrom(9)
    print(data.decode(), source == to)
"""
    assert _in(guest, "one", script).splitlines() == ["a word True"] * 3
    guest.run(
        "nft add chain ip nat PRE '{ type nat hook prerouting priority dstnat; }'\n"
        "nft add rule ip nat PRE tcp dport 8101 dnat to 172.18.0.2:8100"
    )
    assert _in(guest, "one", _READ.format("(peer(), 8101)")) == "server-far"
    guest.run("nft flush chain ip nat PRE; nft delete chain ip nat PRE")


_ATTEMPT = """
family, to = (socket.AF_INET6, 'PEER') if sys.argv[1] == '6' else (socket.AF_INET, peer())
if sys.argv[3] == 'user':
    os.seteuid(1000)
s = socket.socket(family)
os.seteuid(0)
s.settimeout(float(sys.argv[2]))
loopback = '::1' if family == socket.AF_INET6 else '127.0.0.1'
try:
    match sys.argv[3]:
        case 'mark':
            s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
        case 'port':
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(('', 5310))
        case 'device':
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo')
        case 'loopback':
            s.bind((loopback, 0))
    s.connect((to, 7)); print(*own(s))
except OSError as error:
    print('not connected')
""".replace("PEER", PEER_ADDRESS)

_OWN = """
ip netns exec one nft 'table inet own { chain OUT { type filter hook output priority 0; RULE; }; }'
"""
_EXTRA = "nft 'table inet extra { chain F { type filter hook forward priority 0; RULE; }; }'"
_TABLE = """
for each in 4 6; do ip -n one -$each rule add fwmark 7 table 7; done
ip -n one route add default via 172.17.0.3 table 7
ip -n one -6 route add default via fd00:17::3 table 7
"""
_NO_TABLE = "for each in 4 6; do ip -n one -$each rule del fwmark 7; done"
#: What stops a socket: the one with a property, and no other.
_OBSTACLES = {
    "a rule about a mark": (_OWN.replace("RULE", "meta mark 7 drop"), "mark"),
    "a rule about an owner": (_OWN.replace("RULE", "meta skuid 1000 drop"), "user"),
    "a rule about a port": (_EXTRA.replace("RULE", "tcp sport 5310 drop"), "port"),
    "a route for a mark": (_TABLE, "mark"),
    "another interface": ("", "device"),
    "an address of loopback": ("", "loopback"),
    # The guest does not see who sends in a container, nor a mark.
    "none": (_EXTRA.replace("RULE", "meta skuid 0 drop; meta mark 7 drop"), ""),
}
_NO_OBSTACLE = f"""
nft delete table inet extra; ip netns exec one nft delete table inet own; {_NO_TABLE}
ip -n one route flush table 7; ip -n one -6 route flush table 7
"""


@pytest.mark.usefixtures("forwards6")
@pytest.mark.parametrize("family", ["4", "6"])
@pytest.mark.parametrize("name", _OBSTACLES)
def test_a_packet_would_meet_it(guest: Guest, name: str, family: str) -> None:
    """The question of the packet filters and routes is about this very socket."""
    forbid, having = _OBSTACLES[name]

    def attempt(having: str, patience: float = wait.PATIENCE) -> str:
        words = ["ip", "netns", "exec", "one", "python3", "-c", _HEAD + _ATTEMPT]
        return guest.run([*words, family, str(patience), having]).stdout.strip()

    guest.run(f"{forbid}\n:")
    if having:
        assert attempt(having, 1) == "not connected"
    else:
        assert attempt("mark") == "remote"
    assert attempt("") == "remote"
    guest.run(f"({_NO_OBSTACLE}) 2> /dev/null; :")
    assert attempt(having) == ("remote" if forbid else "not connected")


_SIDECAR = """
import struct, threading
family, level, size = (socket.AF_INET6, 41, 28) if sys.argv[1] == '6' else (socket.AF_INET, 0, 16)
server = socket.create_server(('', 15001), family=family)
to = ('PEER' if sys.argv[1] == '6' else peer()), 7
c = socket.create_connection(to, timeout=PATIENCE)
a = server.accept()[0]
value = a.getsockopt(level, 80, size)
address = value[8:24] if family == socket.AF_INET6 else value[4:8]
print((socket.inet_ntop(family, address), struct.unpack_from('!H', value, 2)[0]) == to, *own(c))
""".replace("PATIENCE", str(wait.PATIENCE)).replace("PEER", PEER_ADDRESS)


@pytest.mark.usefixtures("forwards6")
@pytest.mark.parametrize("family", ["4", "6"])
def test_a_proxy_in_the_container(guest: Guest, family: str) -> None:
    """What its filter redirects to it is native, and it learns the original destination."""
    enter = "ip netns exec one"
    rule = "type nat hook output priority -100; tcp dport 7 redirect to :15001"
    guest.run(f"{enter} nft 'table inet own {{ chain OUT {{ {rule}; }}; }}'")
    words = [*enter.split(), "python3", "-c", _HEAD + _SIDECAR, family]
    assert guest.run(words).stdout == "True native\n"
    guest.run(f"{enter} nft delete table inet own")


@pytest.mark.usefixtures("forwards6")
def test_diverted_to_another_address_outside(guest: Guest) -> None:
    """Packets go there, and no packet leaves: it is refused, and never goes where it was not to."""
    script = """
for family, to in (socket.AF_INET, peer()), (socket.AF_INET6, 'PEER'):
    s = socket.socket(family); s.settimeout(PATIENCE)
    try:
        s.connect((to, 7)); print(*own(s))
    except OSError as error:
        print(errno.errorcode.get(error.errno, error))
""".replace("PEER", PEER_ADDRESS).replace("PATIENCE", str(wait.PATIENCE))
    address = _in(guest, "", "print(peer())")
    guest.run(
        "nft -f - <<END\n"
        "table ip divert { chain PRE { type nat hook prerouting priority -100;"
        f" tcp dport 7 dnat to {address}:8; }}; }}\n"
        "table ip6 divert { chain PRE { type nat hook prerouting priority -100;"
        f" tcp dport 7 dnat to [{PEER_ADDRESS}]:8; }}; }}\nEND"
    )
    assert _in(guest, "one", script).split() == ["ENETUNREACH"] * 2
    guest.run("nft delete table ip divert; nft delete table ip6 divert")
    assert _in(guest, "one", script).split() == ["remote"] * 2


def test_a_link_without_a_bridge(guest: Guest) -> None:
    """A pair of veth whose end in the guest has the address of the next hop."""
    guest.run(
        "ip netns add direct; ip link add d0 type veth peer name eth0 netns direct\n"
        "ip address add 10.9.8.1/24 dev d0; ip link set d0 up\n"
        "ip -n direct address add 10.9.8.2/24 dev eth0; ip -n direct link set eth0 up\n"
        "ip -n direct route add default via 10.9.8.1\n"
        "nft 'add rule ip filter USER iifname d0 accept'"
    )
    assert _in(guest, "direct", "s = tcp(); print(echoed(s), *own(s))") == "hello remote"
    guest.run("nft flush chain ip filter USER; ip netns del direct")


def test_an_answer_is_of_its_destination_and_time(guest: Guest) -> None:
    """Of a datagram socket: another port may be diverted, and rules change."""
    guest.run(
        "nft add chain ip nat PRE '{ type nat hook prerouting priority dstnat; }'\n"
        "nft add rule ip nat PRE udp dport 8110 dnat to 172.17.0.3:8110"
    )
    guest.spawn("exec ip netns exec two socat UDP4-RECVFROM:8110,fork EXEC:cat")
    guest.wait_for("ip netns exec two ss -Hlun | grep -q ':8110 '")
    script = """
s = udp()
for port in 7, 8110, 7:
    s.sendto(b'a word', (peer(), port))
    print(s.recvfrom(9)[1][1])
print('forbid', flush=True)
sys.stdin.readline()
s.settimeout(0.2)
while True:
    s.sendto(b'a word', (peer(), 7))
    try:
        s.recv(9)
    except TimeoutError:
        break
print('forbidden')
"""
    job = guest.spawn(["ip", "netns", "exec", "one", "python3", "-c", _HEAD + script])
    job.wait_output("forbid")
    guest.run("nft add rule ip filter USER udp dport 7 drop")
    job.write(b"\n")
    assert job.wait(check=True).stdout.split() == ["7", "8110", "7", "forbid", "forbidden"]
    guest.run("nft flush chain ip filter USER; nft flush chain ip nat PRE")
    guest.run("nft delete chain ip nat PRE")


def test_all_namespaces(guest: Guest) -> None:
    """Without a route, and not to a neighbour nor to what a route refuses."""
    _serve(guest, "two", 8120, "server-two")
    address = _in(guest, "", "print(peer())")
    script = """
s = socket.socket(); s.settimeout(PATIENCE)
try:
    s.connect((sys.argv[1], 7)); print(*own(s))
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
""".replace("PATIENCE", str(wait.PATIENCE))
    alone = ["unshare", "-n", "python3", "-c", _HEAD + script, address]
    assert guest.run(alone).stdout == "ENETUNREACH\n"
    guest.run(f"echo all > {_PARAMETER}")
    assert guest.run(alone).stdout == "remote\n"
    assert _in(guest, "one", _READ.format("('172.17.0.3', 8120)")) == "server-two"
    guest.run(f"ip -n one route add unreachable {address}/32")
    words = ["ip", "netns", "exec", "one", "python3", "-c", _HEAD + script, address]
    assert guest.run(words).stdout == "EHOSTUNREACH\n"
    guest.run(f"ip -n one route del unreachable {address}/32")
    # No packet filter is asked.
    guest.run("nft add rule ip filter USER tcp dport 7 drop")
    assert guest.run(words).stdout == "remote\n"
    guest.run(f"nft flush chain ip filter USER; echo routed > {_PARAMETER}")


def test_the_parameter(guest: Guest) -> None:
    """Words; off leaves all other namespaces to the guest; what is none of them is refused."""
    assert guest.run(f"cat {_PARAMETER}").stdout == "routed\n"
    refused = guest.run(f"echo some > {_PARAMETER}", check=False)
    assert refused.rc
    assert "namespaces=some" in guest.run("dmesg").stdout
    address = _in(guest, "", "print(peer())")
    guest.run(f"echo off > {_PARAMETER}")
    words = ["ip", "netns", "exec", "one", "curl", "-sS", f"http://{address}/"]
    assert guest.run(words, check=False).rc == 7  # no connection
    assert guest.run("curl -sS http://www.test/").stdout == PAGE
    guest.run(f"echo routed > {_PARAMETER}")
    assert guest.run("ip netns exec one curl -sS http://www.test/").stdout == PAGE


def test_a_namespace_ends_before_its_sockets(guest: Guest) -> None:
    """A connection outlives the name and the link of its namespace, and then leaves nothing."""
    guest.run(f"{_ADD}add late 4")
    said = _in(
        guest,
        "late",
        """
import subprocess
s = tcp(); u = udp(); u.connect((peer(), 7))
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0)
subprocess.run('ip netns del late; ip link del vlate', shell=True, check=True)
print(echoed(s), echoed(u), s.getsockname()[0])
""",
    )
    assert said == "hello hello 172.17.0.4"
    assert (
        re.search(r"vlate|172\.17\.0\.4", guest.run("ip address; cat /proc/net/vmrpc").stdout)
        is None
    )


def test_root_of_a_user_namespace(guest: Guest) -> None:
    """It may ping where it might open a raw socket, and has no other way out than its routes."""
    script = """
socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).bind(('', 0))
t = socket.socket(); t.bind(('', 80))
try:
    t.connect((sys.argv[1], 7))
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    address = _in(guest, "", "print(peer())")
    words = ["unshare", "--user", "--map-root-user", "--net", "python3", "-c", _HEAD + script]
    assert guest.run([*words, address]).stdout == "ENETUNREACH\n"
