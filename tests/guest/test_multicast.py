# SPDX-License-Identifier: GPL-2.0-or-later
"""IPv4 multicast of two guests, and IPv6 multicast of programs outside."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Link
from lab.guest.guest import Guest, Job
from lab.guest.migration import migrated
from lab.packages import kernel
from lab.peers.lab import (
    OWN_VM_ADDRESS,
    PEER_ADDRESS,
    SECOND_VM_ADDRESS,
    VM_ADDRESS,
    Lab,
    lab,
)

GROUP, GROUP6 = "239.1.2.3", "ff1e::239.1.2.3"
SITE, SITE6 = "239.255.1.2", "ff15::239.255.1.2"
PORT = 4711


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def guest(world: Lab) -> Iterator[Guest]:
    with world.guest(ipv6=False) as running:
        yield running


@pytest.fixture(scope="module")
def second(world: Lab) -> Iterator[Guest]:
    with world.guest(
        ipv6=False, kernel=kernel.MAIN, device=world.device(SECOND_VM_ADDRESS)
    ) as running:
        yield running


# A member of one group: it says what it hears, and from whom.
LISTEN = """
import socket, struct, sys
bound, group, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if 'join-first' not in sys.argv:
    s.bind((bound, port))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack(
    '4s4si', socket.inet_aton(group), bytes(4), 0))
if 'join-first' in sys.argv:
    s.bind((bound, port))
print('ready', flush=True)
for _ in range(count):
    data, source = s.recvfrom(2000)
    print(data.decode(), source[0], flush=True)
"""
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 4)
for text in sys.argv[3:]:
    s.sendto(text.encode(), (sys.argv[1], int(sys.argv[2])))
"""
# The same on the other side, with nothing but IPv6.
LISTEN6 = """
import json, socket, struct, sys
group, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
interface = socket.if_nametoindex(sys.argv[4])
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
s.bind((group, port, 0, interface))
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
             socket.inet_pton(socket.AF_INET6, group) + struct.pack('i', interface))
print('ready', flush=True)
for _ in range(count):
    data, control, _, source = s.recvmsg(2000, 100)
    print(json.dumps([data.decode(), source[0], control[0][2][0]]), flush=True)
"""
SEND6 = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(sys.argv[2]))
for text in sys.argv[5:]:
    s.sendto(text.encode(), (sys.argv[3], int(sys.argv[4])))
"""


def listen(guest: Guest, bound: str, group: str, port: int, count: int, *options: str) -> Job:
    job = guest.spawn(["python3", "-c", LISTEN, bound, group, str(port), str(count), *options])
    job.wait_output("ready")
    return job


def heard(job: Job) -> list[list[str]]:
    lines = job.wait(check=True).stdout.splitlines()
    return [line.split() for line in lines if line != "ready"]


def send(guest: Guest, group: str, port: int, *texts: str) -> None:
    guest.run(["python3", "-c", SEND, group, str(port), *texts])


@contextlib.contextmanager
def outer_member(world: Lab, group6: str, port: int, count: int) -> Iterator[Iterator[list[Any]]]:
    command = [sys.executable, "-c", LISTEN6, group6, str(port), str(count), world.link.b.name]
    with world.peer.started(command, stdout=subprocess.PIPE) as member:
        assert member.stdout is not None
        assert member.stdout.readline() == b"ready\n"
        yield (json.loads(line) for line in member.stdout)


def outer_send(world: Lab, group6: str, port: int, *texts: str) -> None:
    place = [PEER_ADDRESS, world.link.b.name, group6, str(port)]
    world.peer.run([sys.executable, "-c", SEND6, *place, *texts])


def peer_of(guest: Guest) -> str:
    return guest.run(["getent", "ahostsv4", "peer.test"]).stdout.split()[0]


@pytest.mark.parametrize(("group", "group6"), [(GROUP, GROUP6), (SITE, SITE6)])
def test_the_guest_sends(guest: Guest, world: Lab, group: str, group6: str) -> None:
    with outer_member(world, group6, PORT, 2) as member:
        send(guest, group, PORT, "one", "two")
        assert next(member) == ["one", VM_ADDRESS, 4]
        assert next(member) == ["two", VM_ADDRESS, 4]


@pytest.mark.parametrize("order", ["bind-first", "join-first"])
@pytest.mark.parametrize("bound", ["0.0.0.0", GROUP])
def test_the_guest_receives(guest: Guest, world: Lab, bound: str, order: str) -> None:
    job = listen(guest, bound, GROUP, PORT, 2, order)
    # What goes to another group on the same port is not for it.
    outer_send(world, "ff1e::239.1.2.4", PORT, "others")
    outer_send(world, GROUP6, PORT, "one", "two")
    peer = peer_of(guest)
    assert heard(job) == [["one", peer], ["two", peer]]


def test_two_members_of_one_guest(guest: Guest, world: Lab) -> None:
    """Both get each datagram, also those of the guest itself."""
    jobs = [listen(guest, bound, GROUP, PORT, 2) for bound in ("0.0.0.0", GROUP)]
    outer_send(world, GROUP6, PORT, "outside")
    send(guest, GROUP, PORT, "own")
    peer = peer_of(guest)
    for job in jobs:
        assert sorted(heard(job)) == [["outside", peer], ["own", "192.0.0.2"]]


def test_two_vms_share_a_group(guest: Guest, second: Guest, world: Lab) -> None:
    """Each VM of a host has its own copy; they hear each other."""
    jobs = [listen(one, "0.0.0.0", GROUP, PORT, 2) for one in (guest, second)]
    outer_send(world, GROUP6, PORT, "outside")
    send(guest, GROUP, PORT, "first")
    # Which of them comes first is up to the host.
    first, others = (dict(heard(job)) for job in jobs)
    assert first.keys() == others.keys() == {"outside", "first"}
    assert others["first"] != "192.0.0.2"


def test_a_vm_hears_only_what_it_has_joined(guest: Guest, second: Guest, world: Lab) -> None:
    """The other VM is a member; a socket with the same port hears nothing."""
    script = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', {PORT}))
print('ready', flush=True)
print(s.recv(100).decode())
"""
    alone = second.spawn(["python3", "-c", script])
    alone.wait_output("ready")
    job = listen(guest, "0.0.0.0", GROUP, PORT, 1)
    outer_send(world, GROUP6, PORT, "group")
    assert heard(job)[0][0] == "group"
    tell = f"""
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.sendto(b'alone', ('{SECOND_VM_ADDRESS}', {PORT}))
"""
    world.peer.run([sys.executable, "-c", tell])
    assert alone.wait(check=True).stdout.split() == ["ready", "alone"]


def test_inside_the_guest(guest: Guest, world: Lab) -> None:
    """On the loopback a group is the guest's own affair."""
    script = f"""
import socket, struct
group, lo = socket.inet_aton('{GROUP}'), socket.inet_aton('127.0.0.1')
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(('', 4712))
a.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + lo)
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, lo)
b.sendto(b'inside', ('{GROUP}', 4712))
print(a.recvfrom(100)[0].decode())
"""
    sent = world.counters(guest)["bytes_sent"]
    assert guest.run(["python3", "-c", script]).stdout == "inside\n"
    assert world.counters(guest)["bytes_sent"] == sent


ERRORS = """
import errno, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def join(group, name=socket.IP_ADD_MEMBERSHIP):
    try:
        s.setsockopt(socket.IPPROTO_IP, name, socket.inet_aton(group) + bytes(4))
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
def send(group):
    try:
        s.sendto(b'x', (group, 4711))
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
print(join('239.1.2.3'), join('239.1.2.3'))
print(join('239.1.2.3', socket.IP_DROP_MEMBERSHIP), join('239.1.2.3', socket.IP_DROP_MEMBERSHIP))
print(join('224.0.0.251'), join('224.0.0.251', socket.IP_DROP_MEMBERSHIP), send('224.0.0.251'))
print(join('10.1.2.3'))
"""


def test_errors(guest: Guest) -> None:
    """What the policy refuses (the link) is refused, and nothing stays behind."""
    said = guest.run(["python3", "-c", ERRORS]).stdout.splitlines()
    assert said == [
        "ok EADDRINUSE",
        "ok EADDRNOTAVAIL",
        "ENETUNREACH EADDRNOTAVAIL ENETUNREACH",
        "EINVAL",
    ]


# struct group_req, an option's value of the protocol-independent interface.
GENERIC = """
import socket, struct, sys
JOIN, LEAVE = 42, 45
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 4711))
index = socket.if_nametoindex('vmrpc0')
group = struct.pack('IxxxxHH4s120x', index, socket.AF_INET, 0, socket.inet_aton('239.1.2.3'))
s.setsockopt(socket.IPPROTO_IP, JOIN, group)
print('ready', flush=True)
print(s.recv(100).decode(), flush=True)
s.setsockopt(socket.IPPROTO_IP, LEAVE, group)
"""


def test_generic_interface(guest: Guest, world: Lab) -> None:
    job = guest.spawn(["python3", "-c", GENERIC])
    job.wait_output("ready")
    outer_send(world, GROUP6, 4711, "text")
    assert job.wait(check=True).stdout.split() == ["ready", "text"]


def has_arrived(guest: Guest) -> bool:
    (device,) = guest.qmp("query-vmrpc", id="vmrpc0")
    return all(sock["backing"] == "host" for sock in device["sockets"])


def test_membership_survives_migration(world: Lab) -> None:
    """The destination joins for the guest."""
    with world.guest(device=world.device(OWN_VM_ADDRESS), ipv6=False) as source:
        job = listen(source, "0.0.0.0", GROUP, PORT, 2)
        outer_send(world, GROUP6, PORT, "before")
        job.wait_output("before")
        with migrated(source, name="moved") as target:
            # Both QEMUs are on one host here: the source has the port until it ends.
            source.qmp("quit")
            wait.until(lambda: has_arrived(target), "the socket on the destination")
            outer_send(world, GROUP6, PORT, "after")
            assert [words[0] for words in heard(job)] == ["before", "after"]
            target.check_kernel()


@contextlib.contextmanager
def on_a_bridge(world: Lab) -> Iterator[Callable[[], Link]]:
    """OWN_VM_ADDRESS is on a bridge; each call makes the bridge, its port and its address anew."""
    own = f"{OWN_VM_ADDRESS}/128"

    def make() -> Link:
        if made:
            world.host.ip("link", "delete", made[-1].name)
        made.append(world.host.bridge("br-own", snooping=True))
        link = world.network.connect(made[-1], world.peer)
        made[-1].add_address(own)
        return link

    made: list[Interface] = []
    world.link.a.remove_address(own)
    try:
        yield make
    finally:
        world.host.ip("link", "delete", "br-own")
        world.link.a.add_address(own)


def test_membership_survives_a_bridge_made_again(world: Lab) -> None:
    """The program does nothing: QEMU joins at the new bridge, and tells of the address."""
    with on_a_bridge(world) as make:
        link = make()
        device = world.device(OWN_VM_ADDRESS)
        with world.guest(device=device, ipv6=False, kernel=kernel.MAIN) as guest:
            job = listen(guest, "0.0.0.0", GROUP, PORT, 2)
            command = [sys.executable, "-c", SEND6, PEER_ADDRESS]
            world.peer.run([*command, link.b.name, GROUP6, str(PORT), "before"])
            job.wait_output("before")
            link = make()
            for event in "VMRPC_ADDRESS_LOST", "VMRPC_ADDRESS_BACK":
                told = guest.monitor.wait_event(event, id="vmrpc0")
                assert told["data"]["address"] == OWN_VM_ADDRESS
            wait.until(
                lambda: world.counters(guest)["groups_joined_again"] == 1, "the new membership"
            )
            world.peer.run([*command, link.b.name, GROUP6, str(PORT), "after"])
            assert [words[0] for words in heard(job)] == ["before", "after"]
            guest.check_kernel()
