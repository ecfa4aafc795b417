# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast of two guests, and IPv6 multicast of programs outside."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Link
from lab.guest.fixtures import KERNELS
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
# Of AF_INET6
SITE_GROUP, GLOBAL_GROUP, LINK_GROUP = "ff05::7:1", "ff0e::7:1", "ff02::fb"
PORT = 4711


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    with world.guest(request.param) as running:
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


# --- sockets of AF_INET6 --------------------------------------------------------

# A member says what it hears: the text, from whom, to which group, at which interface.
MEMBER6 = """
import json, socket, struct, sys
bound, group, port, count, interface = *sys.argv[1:3], *map(int, sys.argv[3:5]), sys.argv[5]
index = socket.if_nametoindex(interface) if interface else 0
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
def join():
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                 socket.inet_pton(socket.AF_INET6, group) + struct.pack('i', index))
if 'join-first' in sys.argv:
    join()
s.bind((bound, port, 0, index))
if 'join-first' not in sys.argv:
    join()
print('ready', flush=True)
for _ in range(count):
    data, [(_, _, info)], _, source = s.recvmsg(2000, 100)
    to, at = socket.inet_ntop(socket.AF_INET6, info[:16]), struct.unpack('i', info[16:])[0]
    print(data.decode(), source[0], to, socket.if_indextoname(at), flush=True)
"""
SENDER6 = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 4)
index = socket.if_nametoindex('vmrpc0')
if 'by-option' in sys.argv:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
s.sendto(b'one', (sys.argv[1], int(sys.argv[2]), 0, index))
s.connect((sys.argv[1], int(sys.argv[2]), 0, index))
s.send(b'two')
assert s.getpeername() == (sys.argv[1], int(sys.argv[2]), 0,
                           index if sys.argv[1].startswith('ff02') else 0), s.getpeername()
"""


def member6(
    guest: Guest, bound: str, group: str, count: int, *options: str, interface: str = ""
) -> Job:
    command = ["python3", "-c", MEMBER6, bound, group, str(PORT), str(count), interface]
    job = guest.spawn([*command, *options])
    job.wait_output("ready")
    return job


def send6(guest: Guest, group: str, *options: str) -> None:
    guest.run(["python3", "-c", SENDER6, group, str(PORT), *options])


@pytest.mark.parametrize("options", [(), ("by-option",)])
@pytest.mark.parametrize("group", [SITE_GROUP, GLOBAL_GROUP])
def test_inet6_sends(guest: Guest, world: Lab, group: str, options: tuple[str, ...]) -> None:
    with outer_member(world, group, PORT, 2) as member:
        send6(guest, group, *options)
        assert next(member) == ["one", VM_ADDRESS, 4]
        assert next(member) == ["two", VM_ADDRESS, 4]


@pytest.mark.parametrize("order", ["bind-first", "join-first"])
@pytest.mark.parametrize("bound", ["::", SITE_GROUP])
@pytest.mark.parametrize("interface", ["", "vmrpc0"])
def test_inet6_receives(guest: Guest, world: Lab, bound: str, order: str, interface: str) -> None:
    job = member6(guest, bound, SITE_GROUP, 2, order, interface=interface)
    outer_send(world, "ff05::7:2", PORT, "others")
    outer_send(world, SITE_GROUP, PORT, "one", "two")
    names = [PEER_ADDRESS, SITE_GROUP, "vmrpc0"]
    assert heard(job) == [["one", *names], ["two", *names]]


def test_inet6_members_of_one_guest(guest: Guest, world: Lab) -> None:
    """All get each datagram, also those of the guest itself."""
    jobs = [member6(guest, bound, SITE_GROUP, 3) for bound in ("::", SITE_GROUP)]
    outer_send(world, SITE_GROUP, PORT, "outside")
    send6(guest, SITE_GROUP)
    for job in jobs:
        assert sorted(words[:3] for words in heard(job)) == [
            ["one", VM_ADDRESS, SITE_GROUP],
            ["outside", PEER_ADDRESS, SITE_GROUP],
            ["two", VM_ADDRESS, SITE_GROUP],
        ]
    guest.check_kernel()


# Groups of both families at one socket, as Java's have them.
BOTH = """
import socket, struct, sys
IP, IPV6 = socket.IPPROTO_IP, socket.IPPROTO_IPV6
group4, group6, plain, mapped = sys.argv[1:]
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', 4711))
s.setsockopt(IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group4) + bytes(4))
s.setsockopt(IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, group6) + bytes(4))
s.setsockopt(IP, 12, 1)  # IP_RECVTTL
s.setsockopt(IPV6, socket.IPV6_RECVTCLASS, 1)
for peer in (), (mapped, 9), (plain, 9), (mapped, 9):
    if peer:
        s.sendto(b'x', peer)
    print('next', flush=True)
    heard = []
    for _ in range(2):
        data, control, _, source = s.recvmsg(2000, 100)
        heard.append((data, source[0], *((level, name) for level, name, _ in control)))
    assert sorted(heard) == [
        (b'four', mapped, (IP, socket.IP_TTL)),
        (b'six', plain, (IPV6, socket.IPV6_TCLASS)),
    ], heard
"""


def test_groups_of_both_families(guest: Guest, world: Lab) -> None:
    """Names and ancillary data are those of the group's family, whatever peers there were."""
    names = [PEER_ADDRESS, f"::ffff:{peer_of(guest)}"]
    job = guest.spawn(["python3", "-c", BOTH, GROUP, SITE_GROUP, *names])
    for turn in range(1, 5):
        job.wait_output("next\n" * turn)
        outer_send(world, GROUP6, PORT, "four")
        outer_send(world, SITE_GROUP, PORT, "six")
    job.wait(check=True)


INSIDE6 = """
import socket, struct
for group, interface in ('ff05::7:1', 'in0'), ('ff01::7:1', 'vmrpc0'):
    index = struct.pack('i', socket.if_nametoindex(interface))
    a = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    a.bind(('::', 0))
    a.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                 socket.inet_pton(socket.AF_INET6, group) + index)
    b = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    b.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    b.sendto(b'inside', (group, a.getsockname()[1]))
    assert a.recvfrom(100)[0] == b'inside'
"""


def test_inet6_inside_the_guest(guest: Guest, world: Lab) -> None:
    """Groups of another interface, and those that leave none."""
    guest.run(
        "modprobe veth && ip link add in0 type veth peer name in1 && ip link set in0 up &&"
        "ip link set in1 up && ip address add fd00:1::1/64 dev in0 nodad"
    )
    sent = world.counters(guest)["bytes_sent"]
    guest.run(["python3", "-c", INSIDE6])
    guest.run("ip link delete in0")
    assert world.counters(guest)["bytes_sent"] == sent


ERRORS6 = """
import errno, socket, struct
JOIN, LEAVE, MCAST_JOIN, MCAST_LEAVE, MCAST_JOIN_SOURCE = 20, 21, 42, 45, 46
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
vmrpc0 = socket.if_nametoindex('vmrpc0')
def result(call, *args):
    try:
        call(*args)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
def change(group, name=JOIN, index=0):
    value = socket.inet_pton(socket.AF_INET6, group) + struct.pack('i', index)
    return result(s.setsockopt, socket.IPPROTO_IPV6, name, value)
def generic(name, *groups, family=socket.AF_INET6):
    # struct group_req and group_source_req
    value = struct.pack('Ixxxx', vmrpc0) + b''.join(
        struct.pack('HHI16sI100x', family, 0, 0, socket.inet_pton(socket.AF_INET6, group), 0)
        for group in groups)
    return result(s.setsockopt, socket.IPPROTO_IPV6, name, value)
print(change('ff05::1'), change('ff05::1'), change('ff05::1', LEAVE), change('ff05::1', LEAVE))
print(generic(MCAST_JOIN, 'ff05::1'), change('ff05::1', index=vmrpc0),
      generic(MCAST_LEAVE, 'ff05::1'), generic(MCAST_LEAVE, 'ff05::1'))
print(generic(MCAST_JOIN_SOURCE, 'ff05::1', '2001:db8::1'))
print(change('ff02::fb', index=vmrpc0), change('ff02::fb', LEAVE, index=vmrpc0),
      result(s.sendto, b'x', ('ff02::fb', 4711, 0, vmrpc0)))
print(change('2001:db8::1'), change('::ffff:239.1.2.3'), change('ff05::1', index=4711),
      generic(MCAST_JOIN, 'ff05::1', family=socket.AF_INET))
stream = socket.socket(socket.AF_INET6)
print(result(stream.connect, ('ff05::1', 4711)))
"""


def test_inet6_errors(guest: Guest) -> None:
    """What the policy refuses (the link) is refused, and nothing stays behind."""
    said = guest.run(["python3", "-c", ERRORS6]).stdout.splitlines()
    assert said == [
        "ok EADDRINUSE ok EADDRNOTAVAIL",
        "ok EADDRINUSE ok EADDRNOTAVAIL",
        "ENOPROTOOPT",
        "ENETUNREACH EADDRNOTAVAIL ENETUNREACH",
        "EINVAL EINVAL ENODEV EADDRNOTAVAIL",
        "ENETUNREACH",
    ]


# --- what the world does to memberships -------------------------------------------


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


def test_inet6_memberships_survive_migration(world: Lab, tmp_path: Path) -> None:
    """Of the link, too, if the policy allows it: with the interface's number, or bound to it."""
    policy = tmp_path / "policy.conf"
    policy.write_text("allow ff02::fb\n")
    device = world.device(OWN_VM_ADDRESS, policy=policy)
    with world.guest(device=device) as source:
        jobs = {
            SITE_GROUP: member6(source, "::", SITE_GROUP, 2),
            LINK_GROUP: member6(
                source, LINK_GROUP, LINK_GROUP, 4, "join-first", interface="vmrpc0"
            ),
        }
        with outer_member(world, LINK_GROUP, PORT, 2) as member:
            send6(source, LINK_GROUP)
            assert [next(member)[:2] for _ in range(2)] == [
                ["one", OWN_VM_ADDRESS],
                ["two", OWN_VM_ADDRESS],
            ]
        for group, job in jobs.items():
            outer_send(world, group, PORT, "before")
            job.wait_output("before")
        with migrated(source, name="moved") as target:
            # Both QEMUs are on one host here: the source has the port until it ends.
            source.qmp("quit")
            wait.until(lambda: has_arrived(target), "the sockets on the destination")
            for group in jobs:
                outer_send(world, group, PORT, "after")
            said = {group: [words[0] for words in heard(job)] for group, job in jobs.items()}
            assert said == {
                SITE_GROUP: ["before", "after"],
                LINK_GROUP: ["one", "two", "before", "after"],
            }
            target.check_kernel()
