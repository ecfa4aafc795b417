# SPDX-License-Identifier: GPL-2.0-or-later
"""ping(8) of an IPv4 guest and hosts that have nothing but IPv6.

host ------ peer, a router ------ far 2001:db8:9::9
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.guest.guest import MODULE_PATH, Guest
from lab.peers.lab import FAR_ADDRESS, PEER_ADDRESS, Lab, lab

_PATIENCE = int(wait.PATIENCE)
PING_SOCKETS = {"net.ipv4.ping_group_range": "0 2147483647"}
NO_PING_SOCKETS = {"net.ipv4.ping_group_range": "1 0"}


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        far = built.network.namespace("far")
        built.network.connect(built.peer, far, [f"{FAR_ADDRESS}1/64"], [f"{FAR_ADDRESS}/64"])
        built.peer.sysctl({"net.ipv6.conf.all.forwarding": 1})
        built.host.route(f"{FAR_ADDRESS}/128", PEER_ADDRESS)
        far.route("default", f"{FAR_ADDRESS}1")
        built.host.sysctl(PING_SOCKETS)
        yield built


@pytest.fixture(scope="module")
def guest(world: Lab) -> Iterator[Guest]:
    with world.guest(ipv6=False) as running:
        for key, value in PING_SOCKETS.items():
            running.run(["sysctl", "-qw", f"{key}={value}"])
        yield running


def address_of(guest: Guest, name: str) -> str:
    return guest.run(["getent", "ahostsv4", name]).stdout.split()[0]


def ping(guest: Guest, words: str, check: bool = True) -> str:
    """Run ping(8); return all that it said."""
    # One that cannot have a ping socket would try a raw one.
    done = guest.run(f"ping -n -i 0.1 -W {_PATIENCE} {words} 2>&1", check=check)
    for trouble in ("BAD CHECKSUM", "WARNING", "wrong data", "DUP"):
        assert trouble not in done.stdout
    return done.stdout


def test_by_name_and_by_address(guest: Guest) -> None:
    address = address_of(guest, "peer.test")
    for target in "peer.test", address:
        said = ping(guest, f"-c 3 {target}")
        assert "3 received, 0% packet loss" in said
        assert len(re.findall(f"64 bytes from {address}: icmp_seq=[123] ttl=64 time=", said)) == 3


@pytest.mark.parametrize("size", [0, 1400, 4000, 65507])
def test_size(guest: Guest, size: int) -> None:
    assert "2 received" in ping(guest, f"-c 2 -s {size} peer.test")


def test_a_user_pings(guest: Guest) -> None:
    """Without a privilege, and without those of the program's file."""
    guest.run("cp $(command -v ping) /run/ping")
    command = "setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    said = guest.run(f"{command} /run/ping -n -c 1 -W {_PATIENCE} peer.test").stdout
    assert "1 received" in said


@pytest.mark.parametrize("ahead", ["+30 seconds", "-60 seconds", "+30 seconds"])
def test_time_of_a_clock_that_is_set(guest: Guest, ahead: str) -> None:
    """The reply's stamp is of the guest's clock, whatever that is and was."""
    guest.run(["date", "--set", ahead])
    said = ping(guest, "-c 3 peer.test")
    times = [float(text) for text in re.findall(r"time=([0-9.]+) ms", said)]
    assert len(times) == 3 and all(0 <= each < 10_000 for each in times), said
    assert "time of day goes back" not in said


def test_own_addresses_stay_inside(guest: Guest, world: Lab) -> None:
    opened = world.counters(guest)["bytes_sent"]
    for target in "127.0.0.1", "192.0.0.2", "127.3.2.1":
        assert "2 received" in ping(guest, f"-c 2 {target}")
    assert world.counters(guest)["bytes_sent"] == opened


def test_time_exceeded(guest: Guest) -> None:
    """The router says so, under an address of its own."""
    said = ping(guest, "-c 1 -t 1 far.test", check=False)
    router = address_of(guest, "peer.test")
    assert f"From {router} icmp_seq=1 Time to live exceeded" in said
    assert "1 received" in ping(guest, "-c 1 -t 2 far.test")


def test_unreachable(guest: Guest) -> None:
    said = ping(guest, "-c 1 nowhere.test", check=False)
    router = address_of(guest, "peer.test")
    assert f"From {router} icmp_seq=1 Destination Net Unreachable" in said


def test_too_large_for_the_path(guest: Guest) -> None:
    """IPv6 has 20 bytes less to offer, and the guest is told."""
    assert "1 received" in ping(guest, "-c 1 -M do -s 1452 peer.test")
    said = ping(guest, "-c 1 -M do -s 1453 peer.test", check=False)
    assert "message too long, mtu=1480" in said


def test_nothing_is_there(guest: Guest) -> None:
    """A virtual address that stands for nobody."""
    assert "No route to host" in ping(guest, "-c 1 198.19.255.254", check=False)


def test_refused_by_the_policy(guest: Guest, world: Lab) -> None:
    """The host's own address, like a connection to it."""
    refused = world.counters(guest)["refused_host_address"]
    said = ping(guest, "-c 1 host.test", check=False)
    assert "Network is unreachable" in said
    assert world.counters(guest)["refused_host_address"] > refused


def test_shown_as_what_it_is(guest: Guest) -> None:
    script = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
s.sendto(struct.pack('!BBHHH', 8, 0, 0, 0, 1), (socket.gethostbyname('peer.test'), 0))
s.recv(100)
print(*[line for line in open('/proc/net/vmrpc') if ' icmp ' in line])
"""
    assert "icmp both" in guest.run(["python3", "-c", script]).stdout


ERROR = """
import errno, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
try:
    s.sendto(struct.pack('!BBHHH', 8, 0, 0, 0, 1), (socket.gethostbyname('peer.test'), 0))
    print('sent')
except OSError as e:
    print(errno.errorcode[e.errno])
"""


def test_the_host_forbids_ping_sockets(guest: Guest, world: Lab) -> None:
    world.host.sysctl(NO_PING_SOCKETS)
    try:
        assert guest.run(["python3", "-c", ERROR]).stdout == "EACCES\n"
    finally:
        world.host.sysctl(PING_SOCKETS)
    assert guest.run(["python3", "-c", ERROR]).stdout == "sent\n"


@pytest.fixture
def closed(guest: Guest) -> Iterator[None]:
    """net.ipv4.ping_group_range as the kernel has it by default: nobody."""
    (key, value), opened = next(iter(NO_PING_SOCKETS.items())), PING_SOCKETS
    guest.run(["sysctl", "-qw", f"{key}={value}"])
    yield
    guest.run(["sysctl", "-qw", f"{key}={opened[key]}"])


_UNPRIVILEGED = "setpriv --inh-caps=-all --bounding-set=-all"


@pytest.mark.usefixtures("closed")
def test_who_may_have_a_raw_socket_may_ping(guest: Guest) -> None:
    """Without the module ping of root takes a raw socket, which stays in the guest."""
    assert "2 received" in ping(guest, "-c 2 peer.test")
    assert "2 received" in ping(guest, "-c 2 127.0.0.1")
    guest.put(ERROR.encode(), "/run/error.py")
    done = guest.run(f"{_UNPRIVILEGED} python3 /run/error.py", check=False)
    assert "PermissionError: [Errno 13]" in done.stderr


@pytest.mark.usefixtures("closed")
def test_a_network_namespace_that_is_not_served_has_the_kernels_own_rule(guest: Guest) -> None:
    guest.put(ERROR.encode(), "/run/error.py")
    parameter = "/sys/module/vmrpc/parameters/namespaces"
    guest.run(f"echo off > {parameter}")
    done = guest.run("unshare -n python3 /run/error.py", check=False)
    guest.run(f"echo routed > {parameter}")
    assert "PermissionError: [Errno 13]" in done.stderr


def test_raw_sockets_are_refused_at_once(guest: Guest) -> None:
    """ping of BusyBox takes nothing else. The kernel's log names the program."""
    address = address_of(guest, "peer.test")
    done = guest.run(f"busybox ping -c 1 {address}", check=False)
    assert done.rc and "Network is unreachable" in done.stderr
    assert "1 packets received" in guest.run("busybox ping -c 1 192.0.0.2").stdout
    assert re.search(
        r"vmrpc: busybox\[\d+\] cannot send by a raw socket", guest.run("dmesg").stdout
    )


@pytest.mark.usefixtures("closed")
def test_the_module_gives_the_rule_back(guest: Guest) -> None:
    """Without the module the kernel's own holds, also for root."""
    guest.put(ERROR.replace("peer.test", "127.0.0.1").encode(), "/run/error.py")
    assert guest.run("python3 /run/error.py").stdout == "sent\n"
    guest.run("rmmod vmrpc")
    done = guest.run("python3 /run/error.py", check=False)
    guest.run(f"insmod {MODULE_PATH}")
    assert "PermissionError: [Errno 13]" in done.stderr
    assert "1 received" in ping(guest, "-c 1 peer.test")
    guest.check_kernel()
