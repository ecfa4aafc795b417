# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP."""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
import termios
import threading

from .harness import (
    Task,
    World,
    case,
    case_of,
    checked,
    disconnect,
    expect,
    fails,
    free_port,
    libc,
    pending,
    set_flag,
    timeval,
    until,
    wait_for,
)
from .peer import numbered

# What Python 3.11 has no names for.
IP_PKTINFO = 8
IP_RECVERR = 11
IP_RECVTTL = 12
IP_UNICAST_IF = 50
SO_TIMESTAMP = 29
SO_TIMESTAMPNS = 35
SO_MARK = 36
SO_SELECT_ERR_QUEUE = 45
SO_RCVMARK = 75
SO_PEEK_OFF = 42
UDP_CORK = 1

_LARGEST = 65507
_ORIGIN_ICMP = 2


def _port(sock: socket.socket) -> int:
    port: int = sock.getsockname()[1]
    return port


@case_of(0, 1, 1024, 1025, 1472, 4096, 4097, 9000, 30000, 65507)
def datagram_of(world: World, size: int) -> None:
    """It comes back whole, from where it went."""
    data = numbered(size)
    sock = world.datagrams()
    sock.sendto(data, world.echo)
    expect(sock.recvfrom(1 << 16), (data, world.echo))
    sock.connect(world.echo)
    expect(sock.send(data), size)
    assert sock.recv(1 << 16) == data


@case
def datagram_in_pieces(world: World) -> None:
    """Places all over the memory, each of which crosses the border of two pages."""
    count = 63
    size = _LARGEST // count
    memory = memoryview(mmap.mmap(-1, 2 * count * mmap.PAGESIZE))
    borders = range(mmap.PAGESIZE, len(memory), 2 * mmap.PAGESIZE)
    pieces = [memory[border - size // 2 :][:size] for border in borders]
    data = numbered(size * count)
    for number, piece in enumerate(pieces):
        piece[:] = data[number * size :][:size]
    sock = world.datagrams()
    expect(sock.sendmsg(pieces, [], 0, world.echo), len(data))
    for piece in pieces:
        piece[:] = bytes(size)
    expect(sock.recvmsg_into(pieces)[0], len(data))
    assert b"".join(pieces) == data


@case
def too_large(world: World) -> None:
    """65508 bytes are EMSGSIZE; the socket is none the worse."""
    sock = world.datagrams()
    with fails(errno.EMSGSIZE):
        sock.sendto(bytes(_LARGEST + 1), world.echo)
    sock.connect(world.echo)
    with fails(errno.EMSGSIZE):
        sock.send(bytes(1 << 20))
    sock.send(b"fits")
    expect(sock.recv(100), b"fits")


@case
def port_comes_with_the_first_datagram(world: World) -> None:
    """A socket without a port gets one, and the peer sees the same."""
    theirs = world.hands.open()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    expect(_port(sock), 0)
    sock.sendto(b"x", (world.peer, theirs.port))
    assert _port(sock)
    expect(theirs.hear().port, _port(sock))
    expect(sock.getsockname()[0], "0.0.0.0")


@case
def server(world: World) -> None:
    """A bound socket hears whoever sends and answers each."""
    sock = world.datagrams()
    callers = [world.hands.open() for _ in range(3)]
    for number, caller in enumerate(callers):
        caller.tell(_port(sock), b"%d" % number)
        data, source = sock.recvfrom(100)
        expect((data, source), (b"%d" % number, (world.peer, caller.port)))
        sock.sendto(data * 2, source)
    for number, caller in enumerate(callers):
        heard = caller.hear()
        expect((heard.data, heard.port), (b"%d" % number * 2, _port(sock)))


@case
def hears_inside_and_outside(world: World) -> None:
    """One socket hears the machine's own programs as well as others."""
    sock = world.datagrams()
    inside = world.datagrams()
    for _ in range(3):
        inside.sendto(b"inside", ("127.0.0.1", _port(sock)))
        expect(sock.recvfrom(100), (b"inside", ("127.0.0.1", _port(inside))))
        sock.sendto(b"outside", world.echo)
        expect(sock.recvfrom(100), (b"outside", world.echo))


@case
def reader_before_the_first_datagram(world: World) -> None:
    """Who reads before the socket has a port hears the answer to what another sends."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reader = Task(sock.recvfrom, 100).wait_blocked()
    sock.sendto(b"x", world.echo)
    expect(reader.result(), (b"x", world.echo))


@case
def poller_before_the_first_datagram(world: World) -> None:
    """So does who polls."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    poller = Task(wait_for, sock, select.POLLIN).wait_blocked()
    sock.connect(world.echo)
    sock.send(b"x")
    assert poller.result() & select.POLLIN
    expect(sock.recv(100), b"x")


@case
def queued_before_the_peer(world: World) -> None:
    """What has come before connect() can still be read, wherever it came from."""
    sock = world.datagrams()
    inside = world.datagrams()
    inside.sendto(b"inside", ("127.0.0.1", _port(sock)))
    sock.connect(world.echo)
    wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"inside")
    sock.send(b"x")
    expect(sock.recv(100), b"x")


@case
def connected_names(world: World) -> None:
    """A connected socket knows both addresses."""
    sock = world.datagrams(connected=True)
    expect(sock.getpeername(), world.echo)
    expect(sock.getsockname()[0], world.me)
    assert _port(sock)


@case
def connected_hears_its_peer_only(world: World) -> None:
    """What others send to a connected socket is not read."""
    stranger, friend = world.hands.open(), world.hands.open()
    sock = world.datagrams()
    sock.connect((world.peer, friend.port))
    stranger.tell(_port(sock), b"stranger")
    friend.tell(_port(sock), b"friend")
    expect(sock.recvfrom(100), (b"friend", (world.peer, friend.port)))
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)


@case
def shutdown_before_the_peer(world: World) -> None:
    """shutdown() without a peer is an error, but holds for the one to come."""
    sock = world.datagrams()
    with fails(errno.ENOTCONN):
        sock.shutdown(socket.SHUT_RD)
    sock.connect(world.echo)
    ended = select.POLLIN | select.POLLRDHUP
    expect(pending(sock, ended), ended)
    expect(sock.recv(100), b"")


@case
def connected_sends_elsewhere(world: World) -> None:
    """An address in sendto() has precedence over the peer; the peer stays."""
    theirs = world.hands.open()
    sock = world.datagrams(connected=True)
    sock.sendto(b"aside", (world.peer, theirs.port))
    expect(theirs.hear().data, b"aside")
    sock.send(b"straight")
    expect(sock.recv(100), b"straight")
    expect(sock.getpeername(), world.echo)


@case
def another_peer(world: World) -> None:
    """connect() again changes the peer and keeps the bound port."""
    first, second = world.hands.open(), world.hands.open()
    sock = world.datagrams()
    port = _port(sock)
    for theirs in first, second, first:
        sock.connect((world.peer, theirs.port))
        expect(sock.getpeername(), (world.peer, theirs.port))
        sock.send(b"x")
        expect(theirs.hear().port, port)


@case
def peer_of_no_address(world: World) -> None:
    """connect() to 0.0.0.0 goes to the source address of the peer before."""
    sock, inside = world.datagrams(), world.datagrams()
    sock.connect(world.echo)
    source = sock.getsockname()
    sock.connect(("0.0.0.0", _port(inside)))
    expect(sock.getsockname(), source)
    expect(sock.getpeername(), (source[0], _port(inside)))


@case
def peer_inside_and_outside(world: World) -> None:
    """The peer may be on the same machine, then elsewhere, then here again."""
    inside = world.datagrams()
    sock = world.datagrams()
    for _ in range(2):
        sock.connect(("127.0.0.1", _port(inside)))
        sock.send(b"inside")
        expect(inside.recvfrom(100), (b"inside", ("127.0.0.1", _port(sock))))
        sock.connect(world.echo)
        sock.send(b"outside")
        expect(sock.recv(100), b"outside")
        expect(sock.getsockname()[0], world.me)


@case
def peer_inside_who_sends_outside(world: World) -> None:
    """To send elsewhere does not make it hear others than its peer."""
    inside, theirs = world.datagrams(), world.hands.open()
    sock, other = world.datagrams(), world.datagrams()
    sock.connect((world.me, _port(inside)))
    sock.sendto(b"out", (world.peer, theirs.port))
    expect(theirs.hear().data, b"out")
    theirs.tell(_port(sock), b"stranger")
    theirs.tell(_port(other), b"after it")
    expect(other.recv(100), b"after it")
    expect(pending(sock, select.POLLIN), 0)
    sock.send(b"in")
    expect(inside.recvfrom(100)[0], b"in")
    sock.connect(world.echo)
    sock.send(b"back")
    expect(sock.recv(100), b"back")


@case
def peer_inside_and_a_group(world: World) -> None:
    """Nor does it to be a member of a group."""
    inside, theirs = world.datagrams(), world.hands.open()
    sock, other = world.datagrams(), world.datagrams()
    sock.connect((world.me, _port(inside)))
    group = socket.inet_aton("239.1.2.3") + socket.inet_aton(world.me)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    theirs.tell(_port(sock), b"stranger")
    theirs.tell(_port(other), b"after it")
    expect(other.recv(100), b"after it")
    expect(pending(sock, select.POLLIN), 0)
    sock.send(b"in")
    expect(inside.recvfrom(100), (b"in", (world.me, _port(sock))))


@case
def disconnected_by_af_unspec(world: World) -> None:
    """No peer, the bound port, and everybody is heard again."""
    theirs = world.hands.open()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port = free_port(socket.SOCK_DGRAM)
    sock.bind(("", port))
    sock.connect(world.echo)
    disconnect(sock)
    with fails(errno.ENOTCONN):
        sock.getpeername()
    expect(sock.getsockname(), ("0.0.0.0", port))
    with fails(errno.EDESTADDRREQ):
        sock.send(b"x")
    theirs.tell(port, b"stranger")
    expect(sock.recvfrom(100), (b"stranger", (world.peer, theirs.port)))


@case
def disconnected_loses_a_port_it_did_not_choose(world: World) -> None:
    """A port that connect() chose goes with the peer."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(world.echo)
    disconnect(sock)
    if _port(sock):
        raise AssertionError("the port stays")
    sock.sendto(b"x", world.echo)
    expect(sock.recvfrom(100), (b"x", world.echo))


@case_of("chosen", "given", "none")
def disconnected_keeps_what_is_queued(world: World, port: str) -> None:
    """What the peer has sent can be read without it, whatever becomes of the port."""
    theirs = world.hands.open()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if port != "none":
        sock.bind(("", free_port(socket.SOCK_DGRAM) if port == "chosen" else 0))
    sock.connect((world.peer, theirs.port))
    before = _port(sock)
    for data in b"first", b"second", b"third":
        theirs.tell(before, data)
        wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"first")
    disconnect(sock)
    expect(pending(sock, select.POLLIN), select.POLLIN)
    if port == "chosen":
        expect(sock.getsockname(), ("0.0.0.0", before))
    for data in b"second", b"third":
        expect(sock.recvfrom(100), (data, (world.peer, theirs.port)))
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)
    for _ in range(2):
        sock.sendto(b"x", world.echo)
        expect(sock.recvfrom(100), (b"x", world.echo))
    sock.connect((world.peer, theirs.port))
    theirs.tell(_port(sock), b"again")
    expect(sock.recv(100), b"again")


@case
def queued_while_peers_come_and_go(world: World) -> None:
    """It stays for as long as nobody reads it, through peers inside and outside."""
    theirs, inside = world.hands.open(), world.datagrams()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((world.peer, theirs.port))
    theirs.tell(_port(sock), b"first")
    wait_for(sock, select.POLLIN)
    disconnect(sock)
    sock.connect(("127.0.0.1", _port(inside)))
    sock.send(b"x")
    expect(inside.recvfrom(100), (b"x", ("127.0.0.1", _port(sock))))
    disconnect(sock)
    sock.connect((world.peer, theirs.port))
    theirs.tell(_port(sock), b"second")
    for data in b"first", b"second":
        expect(sock.recvfrom(100), (data, (world.peer, theirs.port)))


@case
def port_stays_with_another_peer(world: World) -> None:
    """Only the end of an association takes a port that it has brought."""
    inside = world.datagrams()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(world.echo)
    port = _port(sock)
    for peer in ("127.0.0.1", _port(inside)), world.echo, ("127.0.0.1", _port(inside)):
        sock.connect(peer)
        expect(_port(sock), port)
    sock.send(b"x")
    expect(inside.recvfrom(100), (b"x", ("127.0.0.1", port)))


@case_of("send", "splice")
def port_by_a_datagram_to_nobody(world: World, call: str) -> None:
    """What fails for want of a peer gives the socket a port as well."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reader, writer = os.pipe()
    os.write(writer, b"x")
    with fails(errno.EDESTADDRREQ):
        if call == "send":
            sock.send(b"x")
        else:
            os.splice(reader, sock.fileno(), 1)
    world.hands.open().tell(_port(sock), b"y")
    expect(sock.recv(2), b"y")


@case
def nowhere_to_send(world: World) -> None:
    """EDESTADDRREQ without a peer, EINVAL for port 0."""
    sock = world.datagrams()
    with fails(errno.EDESTADDRREQ):
        sock.send(b"x")
    with fails(errno.EINVAL):
        sock.sendto(b"x", (world.peer, 0))
    with fails(errno.ENOTCONN):
        sock.getpeername()


# --- reading ------------------------------------------------------------------


@case
def cut_off(world: World) -> None:
    """A small buffer loses the rest; MSG_TRUNC tells."""
    sock = world.datagrams(connected=True)
    sock.send(b"abcdef")
    data, _, flags, source = sock.recvmsg(3)
    expect((data, flags, source), (b"abc", socket.MSG_TRUNC, world.echo))
    sock.send(b"abcdef")
    room = bytearray(3)
    expect(sock.recv_into(room, 3, socket.MSG_TRUNC), 6)
    expect(bytes(room), b"abc")
    sock.send(b"next")
    expect(sock.recv(100), b"next")


@case
def peek(world: World) -> None:
    """MSG_PEEK shows a datagram, its sender and its length, and leaves it."""
    sock = world.datagrams()
    sock.sendto(b"first", world.echo)
    sock.sendto(b"second", world.echo)
    for _ in range(3):
        expect(sock.recvfrom(100, socket.MSG_PEEK), (b"first", world.echo))
        expect(sock.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC), 5)
    expect(sock.recvfrom(100), (b"first", world.echo))
    expect(sock.recvfrom(100), (b"second", world.echo))


@case_of(False, True)
def peeking_behind_everything(world: World, connected: bool) -> None:
    """Past all that there is, also of what came from inside, a peek waits."""
    sock = world.datagrams()
    sock.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 0)
    inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inside.sendto(b"seen", ("127.0.0.1", _port(sock)))
    wait_for(sock, select.POLLIN)
    if connected:
        sock.connect(world.echo)
    expect(sock.recv(100, socket.MSG_PEEK), b"seen")
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.1))
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_PEEK)
    expect(sock.recv(100), b"seen")


@case
def reader_of_another_peer(world: World) -> None:
    """Who waits for one peer's datagram gets that of the next one."""
    inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inside.bind(("127.0.0.1", 0))
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(inside.getsockname())
    reader = Task(sock.recv, 100).wait_blocked()
    sock.connect(world.echo)
    sock.send(b"from there")
    expect(reader.result(), b"from there")


@case
def asked_while_peers_come_and_go(world: World) -> None:
    """Who reads or asks meanwhile finds nothing, whoever serves the socket just then."""
    inside = world.datagrams()
    sock = world.datagrams()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.001))
    done = threading.Event()

    def read(flags: int) -> None:
        while not done.is_set():
            with fails(errno.EAGAIN):
                sock.recv(100, flags)

    def ask(command: int) -> None:
        while not done.is_set():
            expect(fcntl.ioctl(sock, command, bytes(4)), bytes(4))

    tasks = [Task(read, flags) for flags in (0, socket.MSG_DONTWAIT, socket.MSG_ERRQUEUE)]
    tasks += [Task(ask, command) for command in (termios.FIONREAD, termios.TIOCOUTQ)]
    for _ in range(300):
        sock.connect((world.me, _port(inside)))
        # What is under way on the host has the port until it ends.
        until(lambda: not sock.connect_ex(world.echo), "a peer")
    done.set()
    for task in tasks:
        task.result()


@case
def length_of_what_came_before(world: World) -> None:
    """FIONREAD tells of the datagram that recv() gives, with a peer by now."""
    sock = world.datagrams()
    inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inside.sendto(b"before", ("127.0.0.1", _port(sock)))
    wait_for(sock, select.POLLIN)
    sock.connect(world.echo)
    room = array.array("i", [0])
    fcntl.ioctl(sock, termios.FIONREAD, room)
    expect(room[0], 6)
    expect(sock.recv(100), b"before")


@case
def interface_for_unicast(world: World) -> None:
    """IP_UNICAST_IF says where to go out; systemd-resolved asks by link with it."""
    name = "lo" if world.peer.startswith("127.") else "vmrpc0"
    index = struct.pack("!I", socket.if_nametoindex(name))
    sock = world.datagrams()
    sock.setsockopt(socket.IPPROTO_IP, IP_UNICAST_IF, index)
    expect(sock.getsockopt(socket.IPPROTO_IP, IP_UNICAST_IF, 4), index)
    sock.sendto(b"that way", world.echo)
    expect(sock.recvfrom(100), (b"that way", world.echo))
    with fails(errno.EADDRNOTAVAIL):
        sock.setsockopt(socket.IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", 4711))


@case
def empty_datagram(world: World) -> None:
    """It is a datagram: readable, of no bytes, and not the end."""
    sock = world.datagrams(connected=True)
    sock.send(b"")
    wait_for(sock, select.POLLIN)
    expect(sock.recv(100), b"")
    expect(pending(sock, select.POLLIN), 0)
    sock.send(b"more")
    expect(sock.recv(100), b"more")


@case
def length_of_the_next(world: World) -> None:
    """FIONREAD is the size of the next datagram, not of all."""
    sock = world.datagrams(connected=True)
    room = array.array("i", [7])
    fcntl.ioctl(sock, termios.FIONREAD, room)
    expect(room[0], 0)
    sock.send(b"12345")
    sock.send(b"123")
    wait_for(sock, select.POLLIN)
    for size in 5, 3:
        wait_for(sock, select.POLLIN)
        fcntl.ioctl(sock, termios.FIONREAD, room)
        expect(room[0], size)
        sock.recv(100)


@case
def without_blocking(world: World) -> None:
    """EAGAIN while there is nothing, by flag and by mode."""
    sock = world.datagrams()
    with fails(errno.EAGAIN):
        sock.recv(1, socket.MSG_DONTWAIT)
    sock.setblocking(False)
    with fails(errno.EAGAIN):
        sock.recv(1)
    sock.sendto(b"x", world.echo)
    wait_for(sock, select.POLLIN)
    expect(sock.recv(1), b"x")


@case
def receive_times_out(world: World) -> None:
    """SO_RCVTIMEO limits recv(): EAGAIN."""
    for connected in False, True:
        sock = world.datagrams(connected)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.05))
        task = Task(sock.recv, 1)
        with fails(errno.EAGAIN):
            task.result()


@case
def waits_for_a_datagram(world: World) -> None:
    """A recv() that waits gets the next one, from inside or outside."""
    theirs, inside = world.hands.open(), world.datagrams()
    sock = world.datagrams()
    for _ in range(2):
        reader = Task(sock.recv, 100).wait_blocked()
        theirs.tell(_port(sock), b"outside")
        expect(reader.result(), b"outside")
        reader = Task(sock.recv, 100).wait_blocked()
        inside.sendto(b"inside", ("127.0.0.1", _port(sock)))
        expect(reader.result(), b"inside")


@case
def shutdown_wakes_a_reader(world: World) -> None:
    """SHUT_RD of a connected socket ends a recv() that waits."""
    sock = world.datagrams(connected=True)
    reader = Task(sock.recv, 1).wait_blocked()
    sock.shutdown(socket.SHUT_RD)
    expect(reader.result(), b"")


@case
def shutdown_ends_sending(world: World) -> None:
    """SHUT_WR of a connected socket: EPIPE; of another, ENOTCONN."""
    sock = world.datagrams(connected=True)
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EPIPE):
        sock.send(b"x")
    with fails(errno.ENOTCONN):
        world.datagrams().shutdown(socket.SHUT_WR)


# --- errors of the network ----------------------------------------------------


@case
def refused(world: World) -> None:
    """A connected socket hears that nobody listens: an event, and one error."""
    sock = world.datagrams()
    sock.connect(world.closed)
    sock.send(b"x")
    assert wait_for(sock, select.POLLIN) & select.POLLERR
    with fails(errno.ECONNREFUSED):
        sock.recv(1)
    expect(pending(sock, select.POLLIN), 0)
    with fails(errno.EAGAIN):
        sock.recv(1, socket.MSG_DONTWAIT)


@case
def refusal_told_by_send(world: World) -> None:
    """The next send() gets the error and sends nothing."""
    sock = world.datagrams()
    sock.connect(world.closed)
    sock.send(b"x")
    wait_for(sock, select.POLLERR)
    with fails(errno.ECONNREFUSED):
        sock.send(b"x")


@case
def refusal_wakes_a_reader(world: World) -> None:
    """A recv() that waits gets the error."""
    sock = world.datagrams()
    sock.connect(world.closed)
    reader = Task(sock.recv, 1).wait_blocked()
    sock.send(b"x")
    with fails(errno.ECONNREFUSED):
        reader.result()


@case
def unconnected_hears_no_refusal(world: World) -> None:
    """Without a peer the error is not the socket's."""
    sock = world.datagrams()
    sock.sendto(b"x", world.closed)
    sock.sendto(b"y", world.echo)
    expect(sock.recvfrom(10), (b"y", world.echo))


@case
def error_queue(world: World) -> None:
    """With IP_RECVERR the queue tells which datagram failed, where and why."""
    sock = world.datagrams()
    set_flag(sock, socket.IPPROTO_IP, IP_RECVERR)
    with fails(errno.EAGAIN):
        sock.recvmsg(100, 512, socket.MSG_ERRQUEUE)
    sock.sendto(b"lost", world.closed)
    assert wait_for(sock, select.POLLERR) & select.POLLERR
    data, control, flags, destination = sock.recvmsg(100, 512, socket.MSG_ERRQUEUE)
    expect((data, flags, destination), (b"lost", socket.MSG_ERRQUEUE, world.closed))
    [(level, kind, value)] = control
    expect((level, kind), (socket.IPPROTO_IP, IP_RECVERR))
    number, origin, icmp_type, code = struct.unpack_from("IBBB", value)
    expect((number, origin, icmp_type, code), (errno.ECONNREFUSED, _ORIGIN_ICMP, 3, 3))
    family, _, offender = struct.unpack_from("HH4s", value, 16)
    expect((family, socket.inet_ntoa(offender)), (socket.AF_INET, world.peer))


@case_of("inside", "outside", "nobody")
def error_queue_stays_with(world: World, peer: str) -> None:
    """Another peer, or none, takes nothing from it."""
    sock = world.datagrams()
    set_flag(sock, socket.IPPROTO_IP, IP_RECVERR)
    sock.sendto(b"lost", world.closed)
    wait_for(sock, select.POLLERR)
    with fails(errno.ECONNREFUSED):
        sock.recv(1)
    if peer == "nobody":
        disconnect(sock)
    else:
        sock.connect(world.echo if peer == "outside" else ("127.0.0.1", free_port()))
    expect(pending(sock, select.POLLERR), select.POLLERR)
    data, _, flags, destination = sock.recvmsg(100, 512, socket.MSG_ERRQUEUE)
    expect((data, flags, destination), (b"lost", socket.MSG_ERRQUEUE, world.closed))
    expect(pending(sock, select.POLLERR), 0)


@case
def error_is_urgent_if_wanted(world: World) -> None:
    """SO_SELECT_ERR_QUEUE: an error is POLLPRI as well."""
    sock = world.datagrams()
    set_flag(sock, socket.SOL_SOCKET, SO_SELECT_ERR_QUEUE)
    sock.connect(world.closed)
    sock.send(b"x")
    assert wait_for(sock, select.POLLERR) & select.POLLERR
    expect(pending(sock, select.POLLPRI) & select.POLLPRI, select.POLLPRI)


# --- ancillary data -----------------------------------------------------------


def _control(sock: socket.socket) -> dict[tuple[int, int], bytes]:
    data, control, flags, _ = sock.recvmsg(100, 512)
    expect((data, flags), (b"x", 0))
    return {(level, kind): value for level, kind, value in control}


@case
def destination_is_told(world: World) -> None:
    """IP_PKTINFO: the address that the datagram was sent to."""
    sock = world.datagrams()
    set_flag(sock, socket.IPPROTO_IP, IP_PKTINFO)
    world.hands.open().tell(_port(sock), b"x")
    value = _control(sock)[socket.IPPROTO_IP, IP_PKTINFO]
    _, local, destination = struct.unpack("i4s4s", value)
    expect(socket.inet_ntoa(local), world.me)
    expect(socket.inet_ntoa(destination), world.me)


@case
def mark_is_told(world: World) -> None:
    """SO_RCVMARK: what comes from outside has no mark of this machine's firewall."""
    sock = world.datagrams()
    set_flag(sock, socket.SOL_SOCKET, SO_RCVMARK)
    world.hands.open().tell(_port(sock), b"x")
    expect(_control(sock), {(socket.SOL_SOCKET, SO_MARK): bytes(4)})


@case
def interface_is_told_and_can_be_used(world: World) -> None:
    """IP_PKTINFO names an interface of the machine; the answer may name it too."""
    sock = world.datagrams()
    set_flag(sock, socket.IPPROTO_IP, IP_PKTINFO)
    theirs = world.hands.open()
    theirs.tell(_port(sock), b"x")
    value = _control(sock)[socket.IPPROTO_IP, IP_PKTINFO]
    index, local, _ = struct.unpack("i4s4s", value)
    assert index in dict(socket.if_nameindex()), f"interface {index}"
    answer = (socket.IPPROTO_IP, IP_PKTINFO, struct.pack("i4s4x", index, local))
    sock.sendmsg([b"answer"], [answer], 0, (world.peer, theirs.port))
    heard = theirs.hear()
    expect((heard.data, heard.port), (b"answer", _port(sock)))


@case
def source_of_ones_choice(world: World) -> None:
    """IP_PKTINFO of a datagram sent takes an address of ours."""
    sock = world.datagrams()
    ours = struct.pack("i4s4x", 0, socket.inet_aton(world.me))
    sock.sendmsg([b"x"], [(socket.IPPROTO_IP, IP_PKTINFO, ours)], 0, world.echo)
    expect(sock.recvfrom(10), (b"x", world.echo))


@case
def source_that_is_not_ours(world: World) -> None:
    """An address of somebody else is ENETUNREACH."""
    sock = world.datagrams()
    foreign = struct.pack("i4s4x", 0, socket.inet_aton("203.0.113.99"))
    with fails(errno.ENETUNREACH):
        sock.sendmsg([b"x"], [(socket.IPPROTO_IP, IP_PKTINFO, foreign)], 0, world.echo)


@case
def ttl_and_tos_are_told(world: World) -> None:
    """IP_RECVTTL is an int, IP_RECVTOS a byte."""
    sock = world.datagrams()
    set_flag(sock, socket.IPPROTO_IP, IP_RECVTTL, socket.IP_RECVTOS)
    world.hands.open().tell(_port(sock), b"x", tos=0x28)
    control = _control(sock)
    expect(control[socket.IPPROTO_IP, socket.IP_TTL], struct.pack("i", 64))
    expect(control[socket.IPPROTO_IP, socket.IP_TOS], b"\x28")


@case
def ttl_and_tos_are_sent(world: World) -> None:
    """As options for every datagram, as ancillary data for one."""
    theirs = world.hands.open()
    sock = world.datagrams()
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 33)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x10)
    sock.sendto(b"all", (world.peer, theirs.port))
    heard = theirs.hear()
    expect((heard.ttl, heard.tos), (33, 0x10))
    control = [
        (socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 7)),
        (socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", 0x20)),
    ]
    sock.sendmsg([b"one"], control, 0, (world.peer, theirs.port))
    heard = theirs.hear()
    expect((heard.ttl, heard.tos), (7, 0x20))


@case
def times_are_told(world: World) -> None:
    """SO_TIMESTAMP and SO_TIMESTAMPNS: a time with every datagram."""
    for option in SO_TIMESTAMP, SO_TIMESTAMPNS:
        sock = world.datagrams(connected=True)
        set_flag(sock, socket.SOL_SOCKET, option)
        sock.send(b"x")
        control = _control(sock)
        seconds, _ = struct.unpack("ll", control[socket.SOL_SOCKET, option])
        assert seconds > 0


@case_of(SO_TIMESTAMP, SO_TIMESTAMPNS)
def times_while_one_waits(world: World, option: int) -> None:
    """What another task asks for holds for the datagram that ends a wait."""
    sock = world.datagrams()
    theirs = world.hands.open()
    reader = Task(_control, sock).wait_blocked()
    set_flag(sock, socket.SOL_SOCKET, option)
    theirs.tell(_port(sock), b"x")
    assert (socket.SOL_SOCKET, option) in reader.result()


@case
def no_room_for_ancillary_data(world: World) -> None:
    """MSG_CTRUNC tells what did not fit; the datagram is whole."""
    sock = world.datagrams(connected=True)
    set_flag(sock, socket.IPPROTO_IP, IP_RECVTTL)
    sock.send(b"x")
    data, control, flags, _ = sock.recvmsg(100, 8)
    expect((data, control, flags), (b"x", [], socket.MSG_CTRUNC))


@case
def room_for_a_part_of_ancillary_data(world: World) -> None:
    """What there is room for of the last comes, and MSG_CTRUNC with it."""
    sock = world.datagrams(connected=True)
    set_flag(sock, socket.IPPROTO_IP, IP_PKTINFO)
    set_flag(sock, socket.IPPROTO_IP, IP_RECVTTL)
    for room, sizes in (
        (socket.CMSG_SPACE(12) + socket.CMSG_LEN(2), [12, 2]),
        (socket.CMSG_LEN(8), [8]),
        (socket.CMSG_LEN(5), [5]),
    ):
        sock.send(b"x")
        data, control, flags, _ = sock.recvmsg(100, room)
        expect([len(value) for *_, value in control], sizes)
        expect((data, flags), (b"x", socket.MSG_CTRUNC))


class _Call32:
    """System calls as a 32-bit program makes them, in memory that it could reach."""

    # push rbx; mov eax, edi; mov ebx, esi; xchg ecx, edx; int 0x80; pop rbx; cdqe; ret
    _CODE = bytes.fromhex("53 89f8 89f3 87d1 cd80 5b 4898 c3")
    _MAP_32BIT = 0x40
    RECVMSG = 372

    def __init__(self) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | self._MAP_32BIT
        protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self.memory = mmap.mmap(-1, mmap.PAGESIZE, flags, protection)
        self.memory[: len(self._CODE)] = self._CODE
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 4)(self.address)


@case
def ancillary_data_of_32_bits(world: World) -> None:
    """A header of a 32-bit program is smaller: what it has room for, it gets.

    Only on x86 can a 64-bit program make such calls.
    """
    if os.uname().machine != "x86_64":
        return
    header, part, data, control = 1024, 1060, 1072, 1088
    sock = world.datagrams(connected=True)
    set_flag(sock, socket.IPPROTO_IP, IP_RECVTTL)
    sock.send(b"x")
    program = _Call32()
    base = program.address
    program.memory[part : part + 8] = struct.pack("2I", base + data, 8)
    program.memory[header : header + 28] = struct.pack(
        "7I", 0, 0, base + part, 1, base + control, 16, 0
    )
    expect(program.call(program.RECVMSG, sock.fileno(), base + header, 0), 1)
    *_, length, flags = struct.unpack_from("7I", program.memory, header)
    expect((length, flags & socket.MSG_CTRUNC), (16, 0))
    size, level, kind, value = struct.unpack_from("I2iI", program.memory, control)
    expect((size, level, kind), (16, socket.IPPROTO_IP, socket.IP_TTL))
    assert 0 < value < 256


@case
def unknown_ancillary_data(world: World) -> None:
    """What is not known is EINVAL, and nothing is sent."""
    sock = world.datagrams(connected=True)
    with fails(errno.EINVAL):
        sock.sendmsg([b"x"], [(socket.IPPROTO_IP, 200, b"\0" * 4)])
    sock.send(b"y")
    expect(sock.recv(10), b"y")


# --- several as one, one as several -------------------------------------------


@case
def corked(world: World) -> None:
    """MSG_MORE and UDP_CORK make one datagram of several sends."""
    sock = world.datagrams(connected=True)
    sock.send(b"one ", socket.MSG_MORE)
    sock.send(b"two")
    expect(sock.recv(100), b"one two")
    sock.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)
    sock.send(b"three ")
    sock.send(b"four")
    sock.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 0)
    expect(sock.recv(100), b"three four")


@case
def corked_without_a_peer(world: World) -> None:
    """Only the first send names the destination; it stays, whatever later ones say."""
    theirs, other = world.hands.open(), world.hands.open()
    sock = world.datagrams()
    sock.sendto(b"one ", socket.MSG_MORE, (world.peer, theirs.port))
    sock.sendto(b"two ", socket.MSG_MORE, (world.peer, other.port))
    sock.send(b"three")
    expect(theirs.hear().data, b"one two three")
    sock.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)
    sock.sendto(b"four ", (world.peer, other.port))
    sock.send(b"five")
    sock.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 0)
    expect(other.hear().data, b"four five")
    with fails(errno.EDESTADDRREQ):
        sock.send(b"x")


@case
def corked_and_given_up(world: World) -> None:
    """An error throws away what there was of the datagram."""
    sock = world.datagrams(connected=True)
    sock.send(b"one ", socket.MSG_MORE)
    with fails(errno.EFAULT):
        checked(libc.send(sock.fileno(), ctypes.c_void_p(8), 10, 0))
    sock.send(b"two")
    expect(sock.recv(100), b"two")


@case
def in_pieces(world: World) -> None:
    """The buffers of sendmsg() and recvmsg() are one datagram."""
    sock = world.datagrams(connected=True)
    pieces = [numbered(size) for size in (1, 0, 4096, 33, 9000)]
    whole = b"".join(pieces)
    expect(sock.sendmsg(pieces), len(whole))
    rooms = [bytearray(size) for size in (100, 5000, 1, 20000)]
    expect(sock.recvmsg_into(rooms)[0], len(whole))
    assert b"".join(rooms)[: len(whole)] == whole


# --- ports --------------------------------------------------------------------


@case
def port_in_use(world: World) -> None:
    """EADDRINUSE, unless both sockets share it by SO_REUSEPORT."""
    first, second, third = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3))
    for sock in first, second:
        set_flag(sock, socket.SOL_SOCKET, socket.SO_REUSEPORT)
    first.bind(("", 0))
    second.bind(("", _port(first)))
    with fails(errno.EADDRINUSE):
        third.bind(("", _port(first)))
    first.close()
    second.close()
    third.bind(("", 0))
