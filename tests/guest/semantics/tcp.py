# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP: from connect() to close()."""

from __future__ import annotations

import errno
import fcntl
import select
import signal
import socket
import struct
import termios
import zlib

from .harness import (
    Task,
    World,
    case,
    checked,
    disconnect,
    expect,
    fails,
    fill,
    libc,
    pending,
    receive_all,
    timeval,
    until,
    wait_for,
)
from .peer import numbered
from .remote import Stream

SO_PEERNAME = 28
_IPPROTO_MPTCP = 262

# More than any two buffers.
_MUCH = 32 << 20
_ALL = select.POLLIN | select.POLLOUT | select.POLLRDHUP
_BROKEN = select.POLLIN | select.POLLOUT | select.POLLRDHUP | select.POLLERR | select.POLLHUP


# --- connect ------------------------------------------------------------------


@case
def connection_has_names(world: World) -> None:
    """Both ends tell the same addresses and ports."""
    ours, theirs = world.pair()
    expect(ours.getsockname(), (world.me, theirs.port))
    expect(ours.getpeername()[0], world.peer)


@case
def by_several_ways(world: World) -> None:
    """A multipath socket, which Go 1.24 asks for to listen."""
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP).close()


@case
def refused_then_connected(world: World) -> None:
    """A refused socket can be used for another attempt."""
    sock = socket.socket()
    with fails(errno.ECONNREFUSED):
        sock.connect(world.closed)
    sock.connect(world.echo)
    sock.send(b"again")
    expect(receive_all(sock, 5), b"again")


@case
def connect_without_blocking(world: World) -> None:
    """EINPROGRESS, then writable, then connected; from then on EISCONN."""
    sock = socket.socket()
    sock.setblocking(False)
    assert sock.connect_ex(world.echo) in (0, errno.EINPROGRESS)
    expect(wait_for(sock, _ALL), select.POLLOUT)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    # The first connect() after it may still tell of the success.
    assert sock.connect_ex(world.echo) in (0, errno.EISCONN)
    expect(sock.connect_ex(world.echo), errno.EISCONN)


def _filled(world: World) -> tuple[socket.socket, Stream]:
    """A connection made without blocking, and filled before connect() has told of it."""
    listener = world.hands.listen()
    sock = socket.socket()
    sock.setblocking(False)
    assert sock.connect_ex((world.peer, listener.port)) in (0, errno.EINPROGRESS)
    theirs = listener.accept()
    fill(sock)
    return sock, theirs


@case
def connected_and_full(world: World) -> None:
    """That there is no room to send does not mean that it is on its way still."""
    sock, _theirs = _filled(world)
    assert sock.connect_ex(world.echo) in (0, errno.EISCONN)
    expect(sock.connect_ex(world.echo), errno.EISCONN)


@case
def shut_down_and_full(world: World) -> None:
    """shutdown() of such a connection leaves it one."""
    sock, theirs = _filled(world)
    sock.shutdown(socket.SHUT_RD)
    expect(sock.recv(1), b"")
    expect(sock.getpeername()[0], world.peer)
    sock.shutdown(socket.SHUT_WR)
    size, _ = theirs.drain()
    assert size


@case
def full_and_told_nonsense(world: World) -> None:
    """Ancillary data that cannot be sent are EINVAL before room is waited for."""
    sock, _theirs = _filled(world)
    for blocking in False, True:
        sock.setblocking(blocking)
        with fails(errno.EINVAL):
            sock.sendmsg([b"x"], [(socket.SOL_SOCKET, 250, b"1234")])


@case
def refused_without_blocking(world: World) -> None:
    """The error is an event, SO_ERROR tells it once, then ECONNABORTED."""
    sock = socket.socket()
    sock.setblocking(False)
    expect(sock.connect_ex(world.closed), errno.EINPROGRESS)
    expect(wait_for(sock, _ALL), _BROKEN)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    expect(sock.connect_ex(world.closed), errno.ECONNABORTED)


@case
def refusal_is_told_by_the_next_connect(world: World) -> None:
    """Who does not ask SO_ERROR gets the error from connect() itself."""
    sock = socket.socket()
    sock.setblocking(False)
    expect(sock.connect_ex(world.closed), errno.EINPROGRESS)
    wait_for(sock, _ALL)
    expect(sock.connect_ex(world.closed), errno.ECONNREFUSED)
    assert sock.connect_ex(world.echo) in (0, errno.EINPROGRESS)
    expect(wait_for(sock, _ALL), select.POLLOUT)


@case
def name_of_a_peer_without_a_port(world: World) -> None:
    """Nobody is at port 0, which is how Linux tells a peer from none."""
    sock = socket.socket()
    sock.setblocking(False)
    expect(sock.connect_ex((world.peer, 0)), errno.EINPROGRESS)
    with fails(errno.ENOTCONN):
        sock.getsockopt(socket.SOL_SOCKET, SO_PEERNAME, 16)
    with fails(errno.ENOTCONN):
        sock.getpeername()


@case
def refusal_is_told_unasked(world: World) -> None:
    """connect() again and again, without poll(), ends with the refusal."""
    sock = socket.socket()
    sock.setblocking(False)
    ends: list[int] = []

    def ended() -> bool:
        ends.append(sock.connect_ex(world.closed))
        return ends[-1] not in (errno.EINPROGRESS, errno.EALREADY)

    until(ended, "connect() to end")
    expect(ends[-1], errno.ECONNREFUSED)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)


@case
def made_is_told_unasked(world: World) -> None:
    """Who hears by getpeername() or connect() that there is a connection may write to it."""
    for _ in range(10):
        sock = socket.socket()
        sock.setblocking(False)
        assert sock.connect_ex(world.echo) in (0, errno.EINPROGRESS)
        until(lambda: sock.connect_ex(world.echo) in (0, errno.EISCONN), "a connection")  # noqa: B023
        expect(sock.send(b"x"), 1)


@case
def unread_is_read(world: World) -> None:
    """What FIONREAD tells is there, without waiting."""
    ours, theirs = world.pair()
    for number in range(10):
        theirs.send(b"%d" % number)
        until(lambda: fcntl.ioctl(ours, termios.FIONREAD, b"\0\0\0\0") != b"\0\0\0\0", "data")
        expect(ours.recv(10, socket.MSG_DONTWAIT), b"%d" % number)


@case
def second_connect_is_eisconn(world: World) -> None:
    """A connected socket stays connected, wherever the second attempt goes."""
    sock = world.stream()
    expect(sock.connect_ex(world.echo), errno.EISCONN)
    expect(sock.connect_ex(("127.0.0.1", 9)), errno.EISCONN)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def malformed_addresses(world: World) -> None:
    """Another family is EAFNOSUPPORT, a short address is EINVAL."""
    sock = socket.socket()
    family10 = struct.pack("H14x", 10)
    with fails(errno.EAFNOSUPPORT):
        checked(libc.connect(sock.fileno(), family10, 16))
    ipv4 = struct.pack("=H2s4s8x", 2, b"\0\x07", socket.inet_aton(world.peer))
    with fails(errno.EINVAL):
        checked(libc.connect(sock.fileno(), ipv4, 8))
    with fails(errno.EINVAL):
        checked(libc.connect(sock.fileno(), ipv4, 1))
    sock.connect(world.echo)


@case
def source_port_of_ones_choice(world: World) -> None:
    """A bound port is the one the peer sees."""
    listener = world.hands.listen()
    sock = socket.socket()
    sock.bind(("", 0))
    port = sock.getsockname()[1]
    sock.connect((world.peer, listener.port))
    expect(listener.accept().port, port)
    expect(sock.getsockname(), (world.me, port))


@case
def address_of_send_is_ignored(world: World) -> None:
    """sendto() on a stream goes to the peer, whatever the address."""
    sock = world.stream()
    sock.sendto(b"data", ("192.0.2.1", 9))
    expect(receive_all(sock, 4), b"data")


# --- without a connection -----------------------------------------------------


@case
def unconnected(world: World) -> None:
    """ENOTCONN to read, EPIPE to write, hung up and writable to poll()."""
    fresh, bound = socket.socket(), socket.socket()
    bound.bind(("", 0))
    for sock in fresh, bound:
        with fails(errno.ENOTCONN):
            sock.recv(1)
        with fails(errno.EPIPE):
            sock.send(b"x")
        with fails(errno.ENOTCONN):
            sock.getpeername()
        expect(pending(sock, _ALL), select.POLLOUT | select.POLLHUP)
        with fails(errno.ENOTCONN):
            sock.shutdown(socket.SHUT_RDWR)


@case
def bind_twice(world: World) -> None:
    """A second bind() is EINVAL, also of a connected socket."""
    sock = socket.socket()
    sock.bind(("", 0))
    with fails(errno.EINVAL):
        sock.bind(("", 0))
    with fails(errno.EINVAL):
        world.stream().bind(("", 0))


@case
def disconnected_by_af_unspec(world: World) -> None:
    """A reset, for the peer and for us; then the socket is as if new."""
    sock, theirs = world.pair()
    disconnect(sock)
    with fails(errno.ECONNRESET):
        theirs.receive(1)
    with fails(errno.ECONNRESET):
        sock.recv(1)
    with fails(errno.ENOTCONN):
        sock.recv(1)
    with fails(errno.ENOTCONN):
        sock.getpeername()
    sock.connect(world.echo)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def disconnecting_wakes_a_reader(world: World) -> None:
    """A recv() that waits is EPIPE when another thread dissolves the connection."""
    sock = world.stream()
    reader = Task(sock.recv, 1).wait_blocked()
    disconnect(sock)
    with fails(errno.EPIPE):
        reader.result()


@case
def disconnected_error_does_not_stay(world: World) -> None:
    """The reset of the former connection says nothing about the next one."""
    sock = world.stream()
    disconnect(sock)
    sock.connect(world.echo)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


# --- ends ---------------------------------------------------------------------


@case
def half_close_by_us(world: World) -> None:
    """After SHUT_WR the peer's data still come, then its end; sending is EPIPE."""
    sock, theirs = world.pair()
    sock.send(b"last words")
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EPIPE):
        sock.send(b"x")
    expect(theirs.drain(), (10, zlib.crc32(b"last words")))
    theirs.send(b"answer")
    expect(receive_all(sock, 6), b"answer")
    theirs.close()
    expect(sock.recv(1), b"")
    expect(sock.recv(1), b"")


@case
def half_close_by_the_peer(world: World) -> None:
    """After the peer's end we can go on sending."""
    sock, theirs = world.pair()
    theirs.shutdown(socket.SHUT_WR)
    expect(sock.recv(1), b"")
    expect(pending(sock, _ALL), _ALL)
    sock.send(b"still here")
    expect(theirs.receive(100), b"still here")


@case
def shutdown_for_reading(world: World) -> None:
    """SHUT_RD ends a recv() that waits; later ones return at once; sending works."""
    sock, theirs = world.pair()
    reader = Task(sock.recv, 1).wait_blocked()
    sock.shutdown(socket.SHUT_RD)
    expect(reader.result(), b"")
    expect(sock.recv(1), b"")
    expect(pending(sock, _ALL), _ALL)
    sock.send(b"x")
    expect(theirs.receive(1), b"x")


@case
def shutdown_of_both_directions(world: World) -> None:
    """SHUT_RDWR wakes a reader; the peer sees the end."""
    sock, theirs = world.pair()
    reader = Task(sock.recv, 1).wait_blocked()
    sock.shutdown(socket.SHUT_RDWR)
    expect(reader.result(), b"")
    expect(theirs.receive(1), b"")
    with fails(errno.EPIPE):
        sock.send(b"x")


@case
def shutdown_wakes_a_writer(world: World) -> None:
    """A send() that waits for room ends with EPIPE."""
    sock, _ = world.pair()
    writer = Task(sock.sendall, bytes(_MUCH)).wait_blocked()
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EPIPE):
        writer.result()


@case
def shutdown_in_an_impossible_way(world: World) -> None:
    """A wrong direction is EINVAL and changes nothing."""
    sock = world.stream()
    with fails(errno.EINVAL):
        sock.shutdown(3)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def sigpipe(world: World) -> None:
    """EPIPE comes with SIGPIPE, unless MSG_NOSIGNAL is set."""
    caught: list[int] = []
    signal.signal(signal.SIGPIPE, lambda number, _: caught.append(number))
    sock = world.stream()
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EPIPE):
        sock.send(b"x", socket.MSG_NOSIGNAL)
    expect(caught, [])
    with fails(errno.EPIPE):
        sock.send(b"x")
    expect(caught, [signal.SIGPIPE])


@case
def close_sends_what_is_left(world: World) -> None:
    """What send() took arrives, although the program has closed since."""
    sock, theirs = world.pair()
    data = numbered(100_000)
    sock.sendall(data)
    sock.close()
    expect(theirs.drain(), (len(data), zlib.crc32(data)))


@case
def close_with_unread_data_resets(world: World) -> None:
    """The peer learns that its data were not read."""
    sock, theirs = world.pair()
    theirs.send(b"unread")
    wait_for(sock, select.POLLIN)
    sock.close()
    with fails(errno.ECONNRESET):
        theirs.receive(1)


@case
def abortive_close(world: World) -> None:
    """SO_LINGER with no time makes close() a reset."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    with fails(errno.ECONNRESET):
        theirs.receive(1)


@case
def lingering_close(world: World) -> None:
    """SO_LINGER with a time: close() returns when the peer has everything."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 10))
    sock.sendall(numbered(50_000))
    sock.close()
    expect(theirs.drain(), (50_000, zlib.crc32(numbered(50_000))))


# --- resets -------------------------------------------------------------------


@case
def reset_by_the_peer(world: World) -> None:
    """ECONNRESET once; then the end to read, EPIPE to write, no peer."""
    sock, theirs = world.pair()
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    expect(pending(sock, _ALL), _BROKEN)
    with fails(errno.ECONNRESET):
        sock.recv(1)
    expect(sock.recv(1), b"")
    with fails(errno.EPIPE):
        sock.send(b"x")
    with fails(errno.ENOTCONN):
        sock.getpeername()
    with fails(errno.ENOTCONN):
        sock.shutdown(socket.SHUT_RDWR)


@case
def nothing_wanted_of_what_a_reset_has_left(world: World) -> None:
    """A read of no bytes does not meet the error that is behind the data."""
    ours, theirs = world.pair()
    ours.send(b"unread")
    theirs.send(b"x")
    wait_for(ours, select.POLLIN)
    # Data that nobody has read make it a reset.
    theirs.close()
    wait_for(ours, select.POLLERR)
    expect(ours.recv(0), b"")
    expect(ours.recv(1), b"x")
    with fails(errno.ECONNRESET):
        ours.recv(1)


@case
def reset_told_by_getpeername(world: World) -> None:
    """There is no peer any more, though nobody has asked for events; data stay."""
    sock, theirs = world.accepted()
    theirs.send(b"x")
    theirs.reset()
    with fails(errno.ENOTCONN):
        sock.getpeername()
    expect(sock.recv(2, socket.MSG_DONTWAIT), b"x")
    with fails(errno.ECONNRESET):
        sock.recv(1)


@case
def reset_told_by_send(world: World) -> None:
    """The first send() after it gets the error, the next EPIPE."""
    sock, theirs = world.pair()
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    with fails(errno.ECONNRESET):
        sock.send(b"x")
    with fails(errno.EPIPE):
        sock.send(b"x")


@case
def reset_told_by_so_error(world: World) -> None:
    """SO_ERROR takes the error away."""
    sock, theirs = world.pair()
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNRESET)
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    expect(sock.recv(1), b"")


@case
def reset_wakes_a_reader(world: World) -> None:
    """A recv() that waits gets the error."""
    sock, theirs = world.pair()
    reader = Task(sock.recv, 1).wait_blocked()
    theirs.reset()
    with fails(errno.ECONNRESET):
        reader.result()


@case
def reset_wakes_a_writer(world: World) -> None:
    """A send() that waits for room gets the error."""
    sock, theirs = world.pair()
    writer = Task(sock.sendall, bytes(_MUCH)).wait_blocked()
    theirs.reset()
    with fails(errno.ECONNRESET):
        writer.result()


@case
def data_before_a_reset(world: World) -> None:
    """What arrived before is read before the error is."""
    sock, theirs = world.pair()
    theirs.send(b"before")
    wait_for(sock, select.POLLIN)
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    expect(sock.recv(100), b"before")
    with fails(errno.ECONNRESET):
        sock.recv(100)
    expect(sock.recv(100), b"")


@case
def reset_socket_connects_again(world: World) -> None:
    """Dissolving what is left of the connection makes the socket new."""
    sock, theirs = world.pair()
    theirs.reset()
    wait_for(sock, select.POLLHUP)
    disconnect(sock)
    sock.connect(world.echo)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def read_of_nothing_ends_when_woken(world: World) -> None:
    """Who asks for no bytes waits for some, and has them whatever ends the wait."""
    sock, theirs = world.pair()
    reader = Task(sock.recvmsg, 0).wait_blocked()
    theirs.send(b"x")
    expect(reader.result()[0], b"")
    expect(sock.recv(2), b"x")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.1))
    expect(sock.recvmsg(0)[0], b"")
    with fails(errno.EAGAIN):
        sock.recvmsg(0, 0, socket.MSG_DONTWAIT)


# --- urgent data --------------------------------------------------------------


@case
def urgent_byte_arrives(world: World) -> None:
    """It is an event of its own and is not among the other data."""
    sock, theirs = world.pair()
    with fails(errno.EINVAL):
        sock.recv(1, socket.MSG_OOB)
    theirs.send(b"!", socket.MSG_OOB)
    assert wait_for(sock, select.POLLPRI) & select.POLLPRI
    expect(sock.recv(1, socket.MSG_OOB), b"!")
    theirs.send(b"data")
    expect(receive_all(sock, 4), b"data")


@case
def urgent_byte_inline(world: World) -> None:
    """With SO_OOBINLINE it is in its place in the stream."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    theirs.send(b"ab")
    theirs.send(b"!", socket.MSG_OOB)
    theirs.send(b"cd")
    expect(receive_all(sock, 5), b"ab!cd")


@case
def urgent_byte_is_sent(world: World) -> None:
    """The peer can read the byte that MSG_OOB sent."""
    sock, theirs = world.pair()
    sock.send(b"a")
    sock.send(b"!", socket.MSG_OOB)
    expect(theirs.receive(1), b"a")
    expect(theirs.receive(1, socket.MSG_OOB), b"!")
