# SPDX-License-Identifier: GPL-2.0-or-later
"""When things break: peers, wires, the host, the guest's memory.

A fault must end in what a native socket would see, must not touch the other
sockets, and must leave nothing behind.  Where the kernel decides, a native
program on the host, the twin, has the same fault at the same time, and both
have to be told the same.  What happened is in build/faults.

Time itself is the fault in some tests: an outage lasts OUTAGE seconds, as
peers and programs do things by the clock then.  All else waits for events.
"""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Link, Namespace, Network
from lab.guest.fixtures import KERNELS
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import ECHO_PORT, HOST_ADDRESS, PEER_ADDRESS, VM_ADDRESS, Lab, lab

_SCRIPTS = Path(__file__).parent / "faults"
sys.path.insert(0, str(_SCRIPTS.parent))

from faults import bed, host, report  # noqa: E402
from faults.bed import MIB, PORT, Note, Transfers, bystander  # noqa: E402
from faults.puppet import InGuest, Outside, Twins, in_guest, outside  # noqa: E402

OUTAGE = 5.0
FAR_ADDRESS = "2001:db8:80::fa"
_SCARCE_PATH = "/usr/lib/vmmnet/scarce.ko"

#: Peers of which nothing comes any more, each in a way of its own.
_LOST = ("mute", "unplugged", "gone")
_RECORDS = [f"distant.test. 60 IN AAAA {FAR_ADDRESS}"] + [
    f"{name}.test. 60 IN AAAA 2001:db8:{number:x}::2" for number, name in enumerate(_LOST, 16)
]


# --- the world ----------------------------------------------------------------


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab(_RECORDS) as built:
        built.link.b.add_address(f"{FAR_ADDRESS}/128")
        yield built


@pytest.fixture(scope="module")
def rows() -> Iterator[list[report.Row]]:
    """What became of all faults; it is written down at the end."""
    listed: list[report.Row] = []
    yield listed
    report.write("peers-and-hosts", listed)


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    module = kernel.build_module(request.param, _SCRIPTS / "scarce")
    with bed.guest(world, request.param, {_SCARCE_PATH: module}) as running:
        yield running


@pytest.fixture
def note(guest: Guest, rows: list[report.Row]) -> Note:
    return bed.noting(rows, guest)


@pytest.fixture
def ours(guest: Guest) -> Iterator[InGuest]:
    with in_guest(guest, PEER="peer.test", FAR="distant.test", HERE="") as puppet:
        yield puppet


@pytest.fixture
def twins(ours: InGuest, world: Lab) -> Iterator[Twins]:
    names = {"PEER": PEER_ADDRESS, "FAR": FAR_ADDRESS, "HERE": HOST_ADDRESS}
    with outside(world.host, **names) as native:
        yield Twins(ours, native)


@pytest.fixture
def peer(world: Lab) -> Iterator[Outside]:
    """A peer that listens, and of which the tests do what they like."""
    with outside(world.peer, VM=VM_ADDRESS, TWIN=HOST_ADDRESS) as puppet:
        puppet.do(f"l = listen({PORT}, address='::')")
        yield puppet


# --- peers that end -----------------------------------------------------------


def test_peer_killed_while_we_send(twins: Twins, peer: Outside, note: Note) -> None:
    with bystander(twins.ours):
        twins.do(f"s = connect(PEER, {PORT})")
        peer.do("kept = [l.accept()[0] for _ in range(2)]")
        twins.do("fill(s)")
        # It has read of it, but not all: the kernel then ends it by a reset.
        assert peer.do("[len(take(c, 100000)) for c in kept]") == [100000] * 2
        sending = twins.begin("stream(s, threading.Event())")
        peer.kill()
        assert twins.same(sending) == "ECONNRESET"
        assert twins.same("s.send(b'x')") == "EPIPE"
        assert twins.same("s.recv(1)") == ""
    note("peer killed while the guest sends", "ECONNRESET, then EPIPE, as natively")


def test_peer_killed_while_it_sends(twins: Twins, peer: Outside, note: Note) -> None:
    with bystander(twins.ours):
        for text in "reset", "end":
            twins.do(f"{text} = connect(PEER, {PORT})")
        peer.do("kept = [l.accept()[0] for _ in range(4)]")
        twins.do("reset.send(b'not to be read')")
        peer.do(
            "for c in kept: threading.Thread(target=outcome, args=(stream, c, "
            "threading.Event())).start()"
        )
        assert twins.same("len(take(reset, 100000)), len(take(end, 100000))") == [100000] * 2
        reading = [twins.begin(f"drain({text})[0] > 0") for text in ("reset", "end")]
        peer.kill()
        assert twins.same(reading[0]) == "ECONNRESET"
        assert twins.same("reset.recv(1)") == ""
        assert twins.same(reading[1]) is True
    note("peer killed while it sends", "ECONNRESET, or the stream's end, as natively")


@dataclass(frozen=True)
class _Doomed:
    """A peer on a wire of its own."""

    space: Namespace
    link: Link
    address: str


def _doomed(network: Network, host: Namespace, number: int, name: str) -> _Doomed:
    space = network.namespace(name)
    prefix = f"2001:db8:{number:x}:"
    link = network.connect(host, space, [f"{prefix}:1/64"], [f"{prefix}:2/64"])
    space.route("2001:db8:1::/64", f"{prefix}:1")
    return _Doomed(space, link, f"{prefix}:2")


def _lose(doomed: dict[str, _Doomed]) -> None:
    drop = "add table ip6 mute; add chain ip6 mute in { type filter hook input priority 0; }"
    doomed["mute"].space.run(["nft", f"{drop}; add rule ip6 mute in drop"])
    doomed["unplugged"].link.b.down()
    gone = doomed["gone"]
    gone.space.ip("link", "delete", gone.link.b.name)


def test_peers_of_which_nothing_comes(twins: Twins, world: Lab, note: Note) -> None:
    """They drop everything, or lose their wire, or their interface with the wire."""
    with Network() as network, bystander(twins.ours), contextlib.ExitStack() as stack:
        numbered = enumerate(_LOST, 16)
        doomed = {name: _doomed(network, world.host, number, name) for number, name in numbered}
        for name, one in doomed.items():
            puppet = stack.enter_context(outside(one.space))
            puppet.do(f"l = listen({PORT}, address='::')")
            twins.ours.give({name.upper(): f"{name}.test"})
            twins.native.give({name.upper(): one.address})
            twins.do(f"{name} = connect({name.upper()}, {PORT}, user_timeout_ms=500)")
        _lose(doomed)
        for name in _LOST:
            twins.do(f"{name}.send(b'anyone?')")
        waiting = {name: twins.begin(f"{name}.recv(1)") for name in _LOST}
        errors = {name: twins.same(pair) for name, pair in waiting.items()}
        assert errors["mute"] == "ETIMEDOUT"
        for name in _LOST:
            assert twins.same(f"{name}.recv(1)") == ""
            assert twins.same(f"{name}.send(b'x')") == "EPIPE"
        assert twins.same(f"connect(GONE, {PORT})") == "ENETUNREACH"
    note("peer drops everything (TCP_USER_TIMEOUT)", f"{errors['mute']}, as natively")
    note("peer's wire is cut (TCP_USER_TIMEOUT)", f"{errors['unplugged']}, as natively")
    note(
        "peer vanishes with its interface (TCP_USER_TIMEOUT)",
        f"{errors['gone']}; connect: ENETUNREACH; as natively",
    )


# What a router says in IPv6, what one says of the same in IPv4, and the errno.
_UNREACHABLE = {
    "no-route": ("net-unreachable", "ENETUNREACH"),
    # EACCES in IPv6: the guest's programs are IPv4's.
    "admin-prohibited": ("host-prohibited", "EHOSTUNREACH"),
    "policy-fail": ("host-prohibited", "EHOSTUNREACH"),
    "reject-route": ("host-prohibited", "EHOSTUNREACH"),
    "addr-unreachable": ("host-unreachable", "EHOSTUNREACH"),
    "port-unreachable": ("port-unreachable", "ECONNREFUSED"),
}

_ERROR_QUEUE = f"""
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.setsockopt(socket.SOL_IP, 11, 1)  # IP_RECVERR
u.connect((FAR, {PORT}))
def queued():
    u.send(b'anyone?')
    events(u, select.POLLERR)
    pending = os.strerror(u.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    control = u.recvmsg(0, 200, socket.MSG_ERRQUEUE)[1]
    return pending, struct.unpack("=IBBB", control[0][2][:7])
"""


@pytest.fixture
def ipv4(ours: InGuest, world: Lab) -> Iterator[Twins]:
    """The native twin has the peer's IPv4 address, by which the guest knows its errors."""
    world.link.a.add_address("192.0.2.1/24")
    world.link.b.add_address("192.0.2.2/24")
    try:
        with outside(world.host, FAR="192.0.2.2") as native:
            yield Twins(ours, native)
    finally:
        world.link.a.remove_address("192.0.2.1/24")
        world.link.b.remove_address("192.0.2.2/24")


def test_unreachable_by_icmpv6(ipv4: Twins, peer: Outside, world: Lab, note: Note) -> None:
    chain = "add table inet no; add chain inet no in { type filter hook input priority 0; }"
    world.peer.sysctl({"net.ipv6.icmp.ratelimit": 0, "net.ipv4.icmp_ratelimit": 0})
    peer.do(f"l4 = listen({PORT}, address='192.0.2.2')")
    with bystander(ipv4.ours):
        ipv4.do(f"s = connect(FAR, {PORT}, user_timeout_ms=500)")
        ipv4.do(_ERROR_QUEUE)
        for code6, (code4, error) in _UNREACHABLE.items():
            rules = (
                f"add rule inet no in ip6 daddr {FAR_ADDRESS} reject with icmpv6 type {code6};"
                f"add rule inet no in ip daddr 192.0.2.2 reject with icmp type {code4}"
            )
            world.peer.run(["nft", f"{chain}; {rules}"])
            try:
                assert ipv4.same(f"connect(FAR, {PORT})") == error
                assert ipv4.same("queued()")[1][0] == getattr(errno, error)
                if code6 == "addr-unreachable":
                    ipv4.do("s.send(b'anyone?')")
                    assert ipv4.same("s.recv(1)") == error
            finally:
                world.peer.run(["nft", "delete table inet no"])
    errors = dict.fromkeys(error for _, error in _UNREACHABLE.values())
    note("ICMPv6 says unreachable", f"connect, error queue: {', '.join(errors)}; as IPv4 natively")


# --- outages in the middle of transfers ----------------------------------------


@pytest.fixture
def transfers(world: Lab, guest: Guest, ours: InGuest, peer: Outside) -> Transfers:
    return Transfers(world, guest, ours, peer)


def test_cable_pulled(transfers: Transfers, world: Lab, note: Note) -> None:
    world.link.down()
    try:
        time.sleep(OUTAGE)
    finally:
        world.link.up()
        world.host.ip("-6", "route", "replace", "2001:db8:80::/64", "via", PEER_ADDRESS)
    transfers.flow()
    total = transfers.finish()
    note(
        f"cable pulled for {OUTAGE:g} s in mid-transfer",
        "both streams go on; checksums right",
        MiB=total // MIB,
    )


def test_guest_stopped(transfers: Transfers, guest: Guest, note: Note) -> None:
    guest.qmp("stop")
    time.sleep(OUTAGE)
    guest.qmp("cont")
    transfers.flow()
    total = transfers.finish()
    note(
        f"VM stopped for {OUTAGE:g} s in mid-transfer",
        "both streams go on; checksums right",
        MiB=total // MIB,
    )


_CROWD = 20
_SENT_MEANWHILE = 16

# A poller waits for some of them, and a task for each of the others.
_WAIT_FOR_ALL = f"""
crowd, read = ([connect(PEER, {PORT}) for _ in range({_CROWD})] for _ in range(2))
listener = listen(6200)
poller = select.epoll()
for s in [*crowd, listener]:
    poller.register(s, select.EPOLLIN | select.EPOLLET)
def hear():
    heard = set()
    while len(heard) < {_CROWD} + 1:
        heard |= {{fd for fd, _ in poller.poll(60)}}
    return len(heard)
"""

_CALLS = """
def calls(number):
    for _ in range(number):
        with socket.socket() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.bind(('', 0))
            s.listen()
            assert s.getsockname()[1]
    return number
"""


def test_iothread_stalled(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note
) -> None:
    """Calls go on, as they run on the vCPU; readiness events are delayed, and none is lost."""
    ours.do(_WAIT_FOR_ALL)
    ours.do(_CALLS)
    ours.do(f"busy = connect(PEER, {PORT})")
    peer.do(f"crowd = [l.accept()[0] for _ in range(2 * {_CROWD})]; busy = l.accept()[0]")
    hearing = ours.begin("hear()")
    reading = [ours.begin(f"take(read[{number}], 5)") for number in range(_CROWD)]
    with host.stalled(guest.pid, bed.iothread(guest)):
        began = time.monotonic()
        peer.do("for c in crowd: c.sendall(b'hello')")
        peer.do("caller = connect(VM, 6200)")
        made = ours.do("calls(50)")
        # What the host has room for needs no event.
        for _ in range(_SENT_MEANWHILE):
            ours.do("busy.send(bytes(2048), socket.MSG_DONTWAIT)")
            assert peer.do("len(take(busy, 2048))") == 2048
        time.sleep(max(0.0, began + OUTAGE - time.monotonic()))
    assert hearing.value() == _CROWD + 1
    assert [one.value() for one in reading] == ["hello"] * _CROWD
    assert ours.do("listener.accept()[0].getpeername()[1]") == peer.do("caller.getsockname()[1]")
    note(
        f"IOThread stalled for {OUTAGE:g} s",
        "calls on the vCPUs go on; every event comes afterwards",
        calls_meanwhile=made * 5,
        messages_sent_meanwhile=_SENT_MEANWHILE,
        events_late=2 * _CROWD + 1,
    )


def test_reset_whose_event_is_late(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note
) -> None:
    """An answer that overtakes the event of a reset does not look like a clean end."""
    ours.do(f"s = connect(PEER, {PORT}); heard = select.poll(); heard.register(s, select.POLLIN)")
    peer.do("c = l.accept()[0]; c.sendall(b'the last')")
    assert ours.do("len(heard.poll(60000))") == 1
    told = world.counters(guest)["events"]
    # The event is in the ring then, and the guest not interrupted.
    with host.delayed([bed.iothread(guest)], OUTAGE, "write"):
        peer.do("reset(c)")
        wait.until(lambda: world.counters(guest)["events"] > told, "the event")
        assert ours.do("s.recv(10)") == "the last"
        assert ours.error("s.recv(10)") == "ECONNRESET"
    assert ours.do("s.recv(10)") == ""
    note("answer overtakes the event of a reset", "ECONNRESET, once")


# --- a host that has no more ----------------------------------------------------


def test_host_out_of_descriptors(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note
) -> None:
    before = world.counters(guest)
    with bystander(ours):
        ours.do("listener = listen(6200); address = socket.gethostbyname(PEER)")
        ours.do("edge = select.epoll(); edge.register(listener, select.EPOLLIN | select.EPOLLET)")
        with host.without_descriptors(guest.pid):
            assert ours.error(f"connect(address, {PORT})") == "EMFILE"
            assert ours.error("listen(0)") == "EMFILE"
            udp = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
            assert ours.error(f"{udp}.sendto(b'x', (address, 9))") == "EMFILE"
            peer.do(f"callers = [connect(VM, 6200) for _ in range({_CROWD})]")
            peer.do("for number, c in enumerate(callers): c.sendall(bytes([65 + number]))")
            assert ours.do("len(edge.poll(60))") == 1
            assert ours.error("listener.accept()") == "EMFILE"
            # Nobody takes what waits, and nothing goes round in circles for it.
            thread = bed.iothread(guest)
            rested = host.quiet_switches(guest.pid, thread)
            assert ours.do("[outcome(listener.accept) for _ in range(100)]") == ["EMFILE"] * 100
            woken = host.switches(guest.pid, thread) - rested
            ours.do("bystander.sendall(b'go on')")
            assert ours.do("take(bystander, 5)") == "go on"
        taken = f"''.join(take(listener.accept()[0], 1).decode() for _ in range({_CROWD}))"
        assert ours.do(taken) == bytes(range(65, 65 + _CROWD)).decode()
        # Who waits for an edge hears of the next one.
        peer.do("caller = connect(VM, 6200)")
        assert ours.do("len(edge.poll(60))") == 1
        ours.do(f"listener.accept(); connect(PEER, {PORT})")
    refused = world.counters(guest)["sockets_refused_host"] - before["sockets_refused_host"]
    assert refused == 104 and woken < 10, (refused, woken)
    note(
        "host out of descriptors",
        "EMFILE from connect, bind, sendto and accept; pending connections are kept",
        refused=refused,
        IOThread_woken=woken,
        kept=_CROWD,
    )


#: What a host without memory refuses, and what the guest's program is told.
_REFUSALS = {
    "socket": ("ENOBUFS", f"connect(address, {PORT})"),
    "connect": ("EADDRNOTAVAIL", f"connect(address, {PORT})"),
    "listen": ("ENOMEM", "listen(0)"),
    "accept4": ("ENOMEM", "listener.accept()"),
    "sendmsg": ("ENOBUFS", "s.send(b'x')"),
    "recvmsg": ("ENOMEM", "s.recv(1)"),
}


def test_host_out_of_memory(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note
) -> None:
    """The host's kernel refuses one kind of call after the other, then no more."""
    cpus = bed.cpus(guest)
    ours.do(
        "listener = listen(6200); address = socket.gethostbyname(PEER); "
        f"s = connect(address, {ECHO_PORT})"
    )
    peer.do("caller = connect(VM, 6200); caller.sendall(b'waits')")
    ours.do("s.sendall(b'come back'); events(s, select.POLLIN); events(listener, select.POLLIN)")
    for call, (error, line) in _REFUSALS.items():
        with host.refused(cpus, error, call):
            assert ours.error(line) == error, call
    assert ours.do("take(s, 9)") == "come back"
    assert ours.do("take(listener.accept()[0], 5)") == "waits"
    # It cannot follow a socket's readiness for a time: news are late then.
    with host.refused([*cpus, bed.iothread(guest)], "ENOMEM", "epoll_ctl"):
        ours.do(f"fresh = connect(address, {PORT})")
        peer.do("fresh = l.accept()[0]")
        reading = ours.begin("take(fresh, 4)")
        refused = world.counters(guest)["sockets_refused_host"]
        wait.until(lambda: world.counters(guest)["sockets_refused_host"] > refused, "a refusal")
        peer.do("fresh.sendall(b'late')")
    assert reading.value() == "late"
    note(
        "host's kernel without memory, a call at a time",
        "its own errno; data and pending connections are kept; events come later",
        calls=", ".join([*_REFUSALS, "epoll_ctl"]),
    )


def test_error_that_follows_a_part(
    ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note
) -> None:
    """A call that has moved some bytes returns them; the next one tells the error."""
    ours.do(f"s = connect(PEER, {PORT})")
    peer.do("c = l.accept()[0]")
    received = world.counters(guest)["bytes_received"]
    reading = ours.begin("s.recv(10, socket.MSG_WAITALL)")
    peer.do("c.sendall(b'part')")
    wait.until(
        lambda: world.counters(guest)["bytes_received"] == received + 4, "the part to be read"
    )
    with host.refused(bed.cpus(guest), "ECONNRESET", "recvmsg"):
        peer.do("c.sendall(b'lost')")
        assert reading.value() == "part"
    # Natively, too, data come before the error.
    assert ours.do("s.recv(10)") == "lost"
    assert ours.error("s.recv(10)") == "ECONNRESET"
    note("connection breaks in the middle of a recv()", "the part, then ECONNRESET")


def test_guest_without_large_pieces_of_memory(
    ours: InGuest, peer: Outside, guest: Guest, note: Note
) -> None:
    """What a stream copies goes in pieces of a page where memory has none that are larger."""
    ours.do(f"s = connect(PEER, {PORT}); rooms = [bytearray(1000) for _ in range(65)]")
    peer.do("c = l.accept()[0]; c.sendall(BLOCK)")
    pid = ours.do("os.getpid()")
    guest.run(f"insmod {_SCARCE_PATH} above=4096 pid={pid}")
    try:
        assert ours.do("s.sendmsg([BLOCK[n * 37:n * 37 + 37] for n in range(900)])") == 33300
        assert ours.do("s.recvmsg_into(rooms, 0, socket.MSG_WAITALL)[0]") == 65_000
        assert ours.do("b''.join(rooms) == BLOCK[:65_000]")
        failed = int(guest.get("/sys/module/scarce/parameters/failed"))
    finally:
        guest.run("rmmod scarce")
    assert peer.do("take(c, 33300) == BLOCK[:33300]")
    assert failed > 0
    note("no piece of memory above a page in the guest", "streams go on", denied=failed)


_SCARCE_CALLS = {
    "socket.socket()": "ENOMEM",
    f"connect(address, {ECHO_PORT})": "ENOMEM",
    "s.send(b'x')": "ENOMEM",
    "s.recv(1)": "ENOMEM",
    "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)": "ENOMEM",
    "listener.accept()": "ENOMEM",
}


def test_guest_out_of_memory(ours: InGuest, peer: Outside, guest: Guest, note: Note) -> None:
    """What the module allocates for a program fails, each time, then now and then."""
    guest.run(f"insmod {_SCARCE_PATH}")
    knob = "/sys/module/scarce/parameters"

    def scarce(pid: int, every: int = 1) -> None:
        guest.run(f"echo {every} > {knob}/every; echo {pid} > {knob}/pid")

    pid = ours.do("os.getpid()")
    opened = bed.sockets(guest)
    ours.do("listener = listen(6200); address = socket.gethostbyname(PEER)")
    ours.do(f"s = connect(address, {ECHO_PORT}); s.sendall(b'come back'); events(s, select.POLLIN)")
    peer.do("caller = connect(VM, 6200); caller.sendall(b'waits')")
    ours.do("events(listener, select.POLLIN)")
    scarce(pid)
    for line, error in _SCARCE_CALLS.items():
        assert ours.error(line) == error, line
    scarce(0)
    assert ours.do("take(s, 9)") == "come back"
    assert ours.do("take(listener.accept()[0], 5)") == "waits"
    ours.do("s.sendall(b'again')")
    assert ours.do("take(s, 5)") == "again"
    scarce(pid)
    ours.do("s.shutdown(socket.SHUT_WR)")
    scarce(0)
    assert ours.do("s.recv(1)") == ""
    # The unlucky and the lucky, closed by a program without memory.
    scarce(pid, 16)
    ours.do(f"made = [outcome(connect, address, {ECHO_PORT}) for _ in range(60)]")
    unlucky = ours.do("made.count('ENOMEM')")
    scarce(pid)
    ours.do("listener.close(); s.close(); made.clear()")
    scarce(0)
    failed = int(guest.get(f"{knob}/failed"))
    guest.run("rmmod scarce")
    wait.until(lambda: bed.sockets(guest) == opened, "all sockets to be closed on the host")
    assert 0 < unlucky < 60
    note(
        "guest out of memory",
        "ENOMEM; data and pending connections are kept; shutdown() and close() work, nothing leaks",
        allocations_failed=failed,
        connections_refused=f"{unlucky} of 60",
    )


# --- peers that do not read, or do not mean it ------------------------------------

_FAST = 3


def test_slow_reader_beside_fast_ones(
    ours: InGuest, peer: Outside, guest: Guest, note: Note
) -> None:
    """Each side has a connection that it does not read; the others go on."""
    ours.do(f"slow, *fast = [connect(PEER, {PORT}) for _ in range(1 + {_FAST})]")
    peer.do(f"slow, *fast = [l.accept()[0] for _ in range(1 + {_FAST})]")
    before = host.memory(guest.pid)
    stuffed = ours.do("fill(slow)"), peer.do("fill(slow)")
    for sender, receiver in (ours, peer), (peer, ours):
        for number in range(_FAST):
            sending = sender.begin(f"pump(fast[{number}], {8 * MIB})")
            got = receiver.do(f"zlib.crc32(take(fast[{number}], {8 * MIB}))")
            assert sending.value() == [8 * MIB, got]
    grown = host.memory(guest.pid) - before
    # What the slow ones have not read is there, to the last byte.
    for sender, receiver, size in (ours, peer, stuffed[0]), (peer, ours, stuffed[1]):
        expected = sender.do(f"zlib.crc32((BLOCK * {size // 65536 + 1})[:{size}])")
        assert receiver.do(f"zlib.crc32(take(slow, {size}))") == expected
    assert grown < MIB, grown
    note(
        "slow reader beside fast ones, each way",
        "fast ones move all their bytes before the slow one reads its first",
        MiB_of_the_fast=2 * _FAST * 8,
        KiB_waiting=f"{stuffed[0] >> 10} and {stuffed[1] >> 10}",
        KiB_more_in_QEMU=grown >> 10,
    )


# Half of the connections end before anybody looks at them.
_RESETS = """
def annoy(host, number):
    for count in range(number):
        s = connect(host, 6300)
        s.sendall(b'x' * (count % 2))
        reset(s)
    keep.append(connect(host, 6300))
    keep[-1].sendall(b'sincere')
keep = []
"""


def test_connections_that_are_reset_at_once(twins: Twins, peer: Outside, note: Note) -> None:
    twins.do("l = listen(6300, address=HERE)")
    peer.do(_RESETS)
    peer.do("annoy(VM, 40); annoy(TWIN, 40)")
    accept = "[outcome(take, l.accept()[0], 7) for _ in range(41)]"
    twins.do(f"said = [one.decode() if isinstance(one, bytes) else one for one in {accept}]")
    said = twins.same("said")
    assert said[-1] == "sincere"
    note(
        "peer resets connections before they are accepted",
        "accept() and recv() say what they say natively",
        connections=40,
        reset=said.count("ECONNRESET"),
    )


# SYNs from addresses that never answer, with correct checksums (RFC 8200, 8.1).
_FLOOD = """
def checksum(data):
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff
def flood(host, port, number):
    raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_pton(socket.AF_INET6, host)
    for count in range(number):
        source = socket.inet_pton(socket.AF_INET6, f'2001:db8:80::bad:{count:x}')
        tcp = struct.pack('!HHIIBBHHH', 1024 + count, port, count, 0, 5 << 4, 2, 65535, 0, 0)
        check = checksum(source + to + struct.pack('!II', len(tcp), 6) + tcp)
        tcp = tcp[:16] + struct.pack('!H', check) + tcp[18:]
        raw.sendto(struct.pack('!IHBB', 6 << 28, len(tcp), 6, 64) + source + to + tcp, (host, 0))
    return number
"""


def test_syn_flood(ours: InGuest, peer: Outside, guest: Guest, world: Lab, note: Note) -> None:
    """It costs the host a little, the guest nothing, and keeps nobody out."""
    ours.do("l = listen(6400, backlog=8)")
    peer.do(_FLOOD)
    before = world.counters(guest)
    flooded = peer.do("flood(VM, 6400, 4000)")
    after = world.counters(guest)
    peer.do("caller = connect(VM, 6400); caller.sendall(b'sincere')")
    assert ours.do("take(l.accept()[0], 7)") == "sincere"
    for what in "requests", "events":
        assert after[what] == before[what]
    syn_received = world.host.run(["ss", "-6Htn", "state", "syn-recv"]).stdout.count("\n")
    assert syn_received > 0
    note(
        "SYN flood on the guest's listener",
        "the next connection is served; no request, no event",
        SYNs=flooded,
        half_open_on_the_host=syn_received,
    )


def test_full_backlog(twins: Twins, peer: Outside, note: Note) -> None:
    """More call than may wait: who got in is served, and then the others."""
    twins.do("l = listen(6500, backlog=3, address=HERE)")
    call = "[socket.socket(socket.AF_INET6) for _ in range(8)]"
    ask = "select.select([], callers, [], 0)[1]"
    for name, where in ("ours", "VM"), ("native", "TWIN"):
        peer.do(f"{name} = callers = {call}")
        peer.do(f"for s in callers: s.setblocking(False); outcome(s.connect, ({where}, 6500))")
    inside = [peer.do(f"len({ask.replace('callers', name)})") for name in ("ours", "native")]
    assert inside[0] == inside[1] == 4, inside
    accepting = twins.begin("len([l.accept() for _ in range(8)])")
    assert twins.same(accepting) == 8
    note(
        "more callers than the backlog holds",
        "as many get in as natively; the others when there is room",
        callers=8,
        backlog=3,
        inside=inside[0],
    )


def test_window_of_zero(twins: Twins, peer: Outside, note: Note) -> None:
    """A peer that takes nothing for a time: timeouts as natively, then all of it."""
    peer.do("l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)")
    # stuff() ends with EAGAIN.  A late acknowledgement makes room again: the second one finds none.
    twins.do(f"s = connect(PEER, {PORT}); sent = stuff(s)")
    twins.do("while part := stuff(s): sent += part")
    assert twins.same("events(s, select.POLLOUT, 0)") == []
    twins.do("s.shutdown(socket.SHUT_WR)")
    taken = peer.do("sorted(drain(l.accept()[0])[0] for _ in range(2))")
    assert taken == sorted(twins.do("sent"))
    assert twins.same("events(s, select.POLLIN)") == twins.same("events(s, select.POLLIN)")
    note("peer with a window of zero", "EAGAIN by SO_SNDTIMEO as natively, then every byte arrives")
