# SPDX-License-Identifier: GPL-2.0-or-later
"""What the fuzzer of tests/fuzz/guest found: orders of checks, odd moments."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import tempfile

from .harness import (
    Task,
    World,
    case,
    case_of,
    checked,
    disconnect,
    expect,
    fails,
    fill,
    libc,
    pending,
    set_flag,
    until,
    wait_for,
)

MSG_FASTOPEN = 0x20000000
MSG_ZEROCOPY = 0x4000000
SO_PEEK_OFF = 42
SO_TIMESTAMPING = 37
SO_ZEROCOPY = 60
IP_RECVERR = 11
TCP_CC_INFO = 26

_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _OPT_ID, _TSONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 7, 1 << 11
_ORIGIN_TIMESTAMPING, _ORIGIN_ZEROCOPY, _ZEROCOPY_COPIED = 4, 5, 1

_ALL = select.POLLIN | select.POLLOUT | select.POLLRDHUP
_END = select.POLLIN | select.POLLRDHUP | select.POLLHUP

# --- the end of a connection -------------------------------------------------


@case
def receive_after_shutdown_without_waiting(world: World) -> None:
    """A datagram socket that is shut down has nothing yet; who waits gets the end."""
    sock = world.datagrams(connected=True)
    sock.shutdown(socket.SHUT_RD)
    with fails(errno.EAGAIN):
        sock.recv(1, socket.MSG_DONTWAIT)
    expect(sock.recv(1), b"")


@case
def shutdown_tells_that_it_is_connected(world: World) -> None:
    """After shutdown() the connection counts as made: connect() is EISCONN."""
    sock = socket.socket()
    sock.setblocking(False)
    with fails(errno.EINPROGRESS):
        sock.connect(world.echo)
    wait_for(sock, select.POLLOUT)
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EISCONN):
        sock.connect(world.echo)


@case_of(socket.SHUT_WR, socket.SHUT_RDWR)
def shutdown_before_there_is_a_connection(world: World, how: int) -> None:
    """It says ENOTCONN and counts for the next one all the same, until that is dissolved."""
    sock = socket.socket()
    with fails(errno.ENOTCONN):
        sock.shutdown(how)
    sock.connect(world.echo)
    expect(pending(sock, _ALL), select.POLLOUT | (_END if how == socket.SHUT_RDWR else 0))
    with fails(errno.EPIPE):
        sock.send(b"x")
    disconnect(sock)
    sock.connect(world.echo)
    expect(pending(sock, _ALL), select.POLLOUT)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def shutdown_for_reading_before_there_is_a_connection(world: World) -> None:
    """A read finds the end, or what comes nevertheless: no peer is told."""
    sock = socket.socket()
    with fails(errno.ENOTCONN):
        sock.shutdown(socket.SHUT_RD)
    sock.connect(world.echo)
    expect(pending(sock, _ALL), select.POLLOUT | select.POLLIN | select.POLLRDHUP)
    expect(sock.recv(1), b"")
    sock.send(b"x")
    until(lambda: sock.recv(1) == b"x", "what comes nevertheless")


@case
def shutdown_before_connecting_without_blocking(world: World) -> None:
    """Readiness has the end at once; that the connection is made is told too."""
    sock = socket.socket()
    sock.setblocking(False)
    with fails(errno.ENOTCONN):
        sock.shutdown(socket.SHUT_RDWR)
    with fails(errno.EINPROGRESS):
        sock.connect(world.echo)
    expect(pending(sock, _ALL) & ~select.POLLOUT, _END)
    until(lambda: pending(sock, _ALL) & select.POLLOUT, "the connection")
    expect(sock.connect_ex(world.echo), 0)
    with fails(errno.EPIPE):
        sock.send(b"x")


@case
def shutdown_of_what_was_refused(world: World) -> None:
    """After shutdown() of a connection that failed the socket cannot try again."""
    sock = socket.socket()
    sock.setblocking(False)
    with fails(errno.EINPROGRESS):
        sock.connect(world.closed)
    wait_for(sock, select.POLLOUT)
    with fails(errno.ENOTCONN):
        sock.shutdown(socket.SHUT_WR)
    with fails(errno.EINVAL):
        sock.connect(world.echo)


@case
def fast_open_of_a_connection(world: World) -> None:
    """MSG_FASTOPEN connects, so that of a connected socket it is EISCONN."""
    sock = world.stream()
    with fails(errno.EISCONN):
        sock.send(b"x", MSG_FASTOPEN)
    with fails(errno.EISCONN):
        sock.sendto(b"x", MSG_FASTOPEN, world.echo)
    sock.send(b"x")
    expect(sock.recv(10), b"x")


@case
def reset_after_the_end(world: World) -> None:
    """The end of the stream has come; that it was broken off afterwards shows in SO_ERROR."""
    sock, theirs = world.pair()
    theirs.shutdown(socket.SHUT_WR)
    wait_for(sock, select.POLLIN)
    theirs.reset()
    until(lambda: pending(sock, select.POLLERR) & select.POLLERR, "the reset")
    expect(sock.recv(1), b"")
    expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.EPIPE)


@case
def close_waits_for_the_peer(world: World) -> None:
    """SO_LINGER with a time: close() waits while the peer does not take the data."""
    sock, theirs = world.pair()
    size = fill(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    closing = Task(sock.close).wait_blocked()
    expect(theirs.drain()[0], size)
    closing.result()


@case
def lingering_is_over(world: World) -> None:
    """SO_LINGER with a time: close() waits no longer than that."""
    sock, _theirs = world.pair()
    fill(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))
    Task(sock.close).wait_blocked().result()


@case
def lingering_ends_by_a_reset(world: World) -> None:
    """SO_LINGER with a time: nobody is left to wait for."""
    sock, theirs = world.pair()
    fill(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    closing = Task(sock.close).wait_blocked()
    theirs.reset()
    closing.result()


@case
def lingering_sleeps(world: World) -> None:
    """SO_LINGER with a time: who waits does so without looking again and again."""
    long, theirs = world.pair()
    short, _others = world.pair()
    for sock, seconds in (long, 600), (short, 1):
        fill(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))
    closing = Task(long.close).wait_blocked()
    before = closing.wakings()
    short.close()
    expect(closing.wakings() - before < 10, True)
    theirs.drain()
    closing.result()


# --- checks in the kernel's order ---------------------------------------------


@case_of(socket.SOCK_STREAM, socket.SOCK_DGRAM)
def ancillary_data_of_nobody(world: World, kind: int) -> None:
    """What is of a level that Linux does not look at is no error."""
    stream = kind == socket.SOCK_STREAM
    sock = world.stream() if stream else world.datagrams(connected=True)
    sock.sendmsg([b"x"], [(socket.IPPROTO_IPV6, 250, b"1234")])
    expect(sock.recv(10), b"x")
    if stream:
        sock.sendmsg([b"y"], [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 0))])
        expect(sock.recv(10), b"y")
    with fails(errno.EINVAL):
        sock.sendmsg([b"x"], [(socket.SOL_SOCKET, 250, b"1234")])


@case
def bind_of_a_connection(world: World) -> None:
    """bind() of a connected socket is EINVAL, but its address is looked at first."""
    for sock in world.stream(), world.datagrams(connected=True):
        with fails(errno.EINVAL):
            sock.bind(("", 0))
        with fails(errno.EADDRNOTAVAIL):
            sock.bind(("203.0.113.99", 0))


@case
def options_of_a_bad_address(world: World) -> None:
    """A wrong length comes before that the value cannot be read; too much is no error."""
    bad = ctypes.c_void_p(1)
    for sock in socket.socket(), world.stream():
        with fails(errno.EINVAL):
            checked(libc.setsockopt(sock.fileno(), socket.IPPROTO_TCP, 1, bad, 1))
        with fails(errno.EINVAL):
            checked(libc.setsockopt(sock.fileno(), socket.IPPROTO_IP, socket.IP_OPTIONS, bad, 41))
        value = ctypes.create_string_buffer(4096)
        value[0] = 1
        checked(libc.setsockopt(sock.fileno(), socket.IPPROTO_TCP, 1, value, 4096))
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@case
def options_of_the_machine(world: World) -> None:
    """What only this machine knows of a connected socket can be asked for."""
    ip = {6: 0, 7: 0, 15: 0, 18: 0, 19: 0, 20: 0, 25: 0, 26: 0}
    for sock in world.stream(), world.datagrams(connected=True):
        for name, value in ip.items():
            expect((name, sock.getsockopt(socket.IPPROTO_IP, name)), (name, value))
        expect(sock.getsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, 40), b"")
    for name in 27, 34, 37:
        expect((name, world.stream().getsockopt(socket.IPPROTO_TCP, name)), (name, 0))


@case
def sendfile_after_shutdown(world: World) -> None:
    """EPIPE, connected or not."""
    with tempfile.TemporaryFile() as file:
        file.write(bytes(5000))
        file.flush()
        connected = world.stream()
        connected.shutdown(socket.SHUT_WR)
        for sock in socket.socket(), connected:
            with fails(errno.EPIPE):
                os.sendfile(sock.fileno(), file.fileno(), 0, 5000)


# --- datagrams ------------------------------------------------------------------


@case
def splice_makes_one_datagram(world: World) -> None:
    """What a pipe holds goes out as one datagram, however many pages it has."""
    sock = world.datagrams(connected=True)
    reader, writer = os.pipe()
    data = os.urandom(12_000)
    os.write(writer, data)
    expect(os.splice(reader, sock.fileno(), len(data)), len(data))
    assert sock.recv(1 << 16) == data


@case
def peer_inside_keeps_what_is_queued(world: World) -> None:
    """What has come before connect() can be received after it; strangers are not heard."""
    theirs = world.hands.open()
    inside = world.datagrams()
    sock = world.datagrams()
    port = sock.getsockname()[1]
    theirs.tell(port, b"before")
    wait_for(sock, select.POLLIN)
    sock.connect(("127.0.0.1", inside.getsockname()[1]))
    theirs.tell(port, b"stranger")
    expect(sock.recv(100), b"before")
    inside.sendto(b"friend", sock.getsockname())
    expect(sock.recv(100), b"friend")
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)


@case
def peek_offset(world: World) -> None:
    """SO_PEEK_OFF: MSG_PEEK goes on where it ended, also to the next datagram."""
    sock = world.datagrams(connected=True)
    sock.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 2)
    for data in b"first", b"second":
        sock.send(data)
        until(lambda: pending(sock, select.POLLIN), "the datagram")
    expect(sock.recv(2, socket.MSG_PEEK), b"rs")
    expect(sock.getsockopt(socket.SOL_SOCKET, SO_PEEK_OFF), 4)
    expect(sock.recv(10, socket.MSG_PEEK), b"t")
    expect(sock.recv(3, socket.MSG_PEEK), b"sec")
    expect(sock.recv(10), b"first")
    expect(sock.getsockopt(socket.SOL_SOCKET, SO_PEEK_OFF), 3)
    expect(sock.recv(10, socket.MSG_PEEK), b"ond")
    expect(sock.recv(10), b"second")


# --- the error queue ------------------------------------------------------------


def _error(sock: socket.socket) -> tuple[bytes, dict[tuple[int, int], bytes]]:
    until(lambda: pending(sock, 0) & select.POLLERR, "a message in the error queue")
    data, control, flags, _ = sock.recvmsg(100, 1000, socket.MSG_ERRQUEUE)
    assert flags & socket.MSG_ERRQUEUE
    return data, {(level, name): value for level, name, value in control}


@case_of(socket.SOCK_STREAM, socket.SOCK_DGRAM)
def zero_copy_completes(world: World, kind: int) -> None:
    """MSG_ZEROCOPY: each call is completed in the error queue, by its number."""
    stream = kind == socket.SOCK_STREAM
    sock = world.stream() if stream else world.datagrams(connected=True)
    set_flag(sock, socket.SOL_SOCKET, SO_ZEROCOPY)
    for number in range(2):
        sock.send(bytes(5000), MSG_ZEROCOPY)
        _, control = _error(sock)
        number_of, origin, _, code, low, high = struct.unpack_from(
            "=IBBBxII", control[socket.IPPROTO_IP, IP_RECVERR]
        )
        expect((number_of, origin, low, high), (0, _ORIGIN_ZEROCOPY, number, number))
        expect(code, _ZEROCOPY_COPIED)
    expect(pending(sock, 0) & select.POLLERR, 0)


def _stamping(world: World) -> socket.socket:
    """While this is open Linux stamps what comes; it begins some time after it was asked."""
    keeper = world.datagrams(connected=True)
    keeper.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, _RX_SOFTWARE | _SOFTWARE)

    def stamped() -> list[tuple[int, int, bytes]]:
        keeper.send(b"x")
        return keeper.recvmsg(10, 1000)[1]

    until(stamped, "a datagram with a stamp")
    return keeper


@case
def stamps_of_datagrams(world: World) -> None:
    """SO_TIMESTAMPING: when a datagram came, and when one has left, with its number."""
    keeper = _stamping(world)
    sock = world.datagrams(connected=True)
    flags = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _OPT_ID | _TSONLY
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
    for number in range(2):
        sock.send(b"x")
        data, control = _error(sock)
        number_of, origin, _, _, _, which = struct.unpack_from(
            "=IBBBxII", control[socket.IPPROTO_IP, IP_RECVERR]
        )
        expect((data, number_of, origin), (b"", errno.ENOMSG, _ORIGIN_TIMESTAMPING))
        expect(which, number)
        sent = struct.unpack("6q", control[socket.SOL_SOCKET, SO_TIMESTAMPING])
        _, ancillary, _, _ = sock.recvmsg(10, 1000)
        came = struct.unpack("6q", ancillary[0][2])
        expect([row[:2] for row in ancillary], [(socket.SOL_SOCKET, SO_TIMESTAMPING)])
        assert sent[0] and sent[:2] <= came[:2], (sent, came)
        expect((sent[2:], came[2:]), ((0,) * 4, (0,) * 4))
    keeper.close()


@case
def stamp_of_one_message(world: World) -> None:
    """SO_TIMESTAMPING as ancillary data: of this message only."""
    sock = world.datagrams(connected=True)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, _SOFTWARE | _TSONLY)
    sock.send(b"x")
    expect(sock.recv(10), b"x")
    sock.sendmsg([b"y"], [(socket.SOL_SOCKET, SO_TIMESTAMPING, struct.pack("I", _TX_SOFTWARE))])
    _, control = _error(sock)
    assert (socket.SOL_SOCKET, SO_TIMESTAMPING) in control
    expect(pending(sock, 0) & select.POLLERR, 0)


@case
def stamps_of_a_stream(world: World) -> None:
    """SO_TIMESTAMPING of a stream: when data have left, and when they came."""
    keeper = _stamping(world)
    sock = world.stream()
    flags = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _TSONLY
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
    sock.send(b"x")
    _, control = _error(sock)
    assert (socket.SOL_SOCKET, SO_TIMESTAMPING) in control
    wait_for(sock, select.POLLIN)
    _, ancillary, _, _ = sock.recvmsg(10, 1000)
    expect([row[:2] for row in ancillary], [(socket.SOL_SOCKET, SO_TIMESTAMPING)])
    keeper.close()
