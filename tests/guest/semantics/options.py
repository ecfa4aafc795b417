# SPDX-License-Identifier: GPL-2.0-or-later
"""Socket options and ioctls."""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Iterator

from .harness import (
    Task,
    World,
    case,
    checked,
    expect,
    fails,
    fill,
    libc,
    pending,
    set_flag,
    timeval,
    until,
    wait_for,
)
from .udp import IP_PKTINFO, IP_RECVERR, IP_RECVTTL, SO_TIMESTAMP

# What Python 3.11 has no names for.
IP_MTU_DISCOVER = 10
IP_MTU = 14
IP_MINTTL = 21
SO_ATTACH_FILTER = 26
SO_DETACH_FILTER = 27
SO_PROTOCOL = 38
SO_DOMAIN = 39
SO_MAX_PACING_RATE = 47
SO_ZEROCOPY = 60
TCP_MD5SIG = 14
TCP_REPAIR = 19
SIOCATMARK = 0x8905
SIOCGSTAMP = 0x8906
_ESTABLISHED = 1

_Option = tuple[int, int, int]


def _flags(level: int, *names: int) -> Iterator[_Option]:
    for name in names:
        yield level, name, 1


_STREAM: tuple[_Option, ...] = (
    *_flags(
        socket.SOL_SOCKET,
        socket.SO_KEEPALIVE,
        socket.SO_REUSEADDR,
        socket.SO_REUSEPORT,
        socket.SO_OOBINLINE,
        socket.SO_DONTROUTE,
        SO_TIMESTAMP,
    ),
    (socket.SOL_SOCKET, socket.SO_RCVLOWAT, 3),
    *_flags(socket.IPPROTO_TCP, socket.TCP_NODELAY, socket.TCP_CORK),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 33),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_SYNCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_LINGER2, 9),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 12345),
    (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 16384),
)
_IP: tuple[_Option, ...] = (
    (socket.IPPROTO_IP, socket.IP_TTL, 41),
    (socket.IPPROTO_IP, socket.IP_TOS, 0x10),
    (socket.IPPROTO_IP, IP_MTU_DISCOVER, 2),
    (socket.IPPROTO_IP, IP_MINTTL, 5),
    *_flags(socket.IPPROTO_IP, IP_RECVTTL, socket.IP_RECVTOS, IP_PKTINFO, IP_RECVERR),
)
_DATAGRAM: tuple[_Option, ...] = (
    *_flags(
        socket.SOL_SOCKET,
        socket.SO_BROADCAST,
        socket.SO_REUSEADDR,
        socket.SO_REUSEPORT,
        SO_TIMESTAMP,
    ),
    (socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 9),
    (socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0),
)


def _set(sock: socket.socket, options: tuple[_Option, ...]) -> None:
    for level, name, value in options:
        sock.setsockopt(level, name, value)


def _hold(sock: socket.socket, options: tuple[_Option, ...]) -> None:
    wrong = {
        (level, name): found
        for level, name, value in options
        if (found := sock.getsockopt(level, name)) != value
    }
    expect(wrong, {})


# --- values that read back ----------------------------------------------------


@case
def stream_options_set_before_connect(world: World) -> None:
    """They read back at once, and hold on the connection."""
    sock = socket.socket()
    _set(sock, _STREAM + _IP)
    _hold(sock, _STREAM + _IP)
    sock.connect(world.echo)
    _hold(sock, _STREAM + _IP)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def stream_options_set_on_a_connection(world: World) -> None:
    """They read back."""
    sock = world.stream()
    _set(sock, _STREAM + _IP)
    _hold(sock, _STREAM + _IP)


@case
def stream_options_set_on_an_accepted_connection(world: World) -> None:
    """They read back."""
    sock, _ = world.accepted()
    _set(sock, _STREAM + _IP)
    _hold(sock, _STREAM + _IP)


@case
def datagram_options_set_before_connect(world: World) -> None:
    """They read back: fresh, bound, and connected."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    _set(sock, _DATAGRAM + _IP)
    _hold(sock, _DATAGRAM + _IP)
    sock.bind(("", 0))
    _hold(sock, _DATAGRAM + _IP)
    sock.connect(world.echo)
    _hold(sock, _DATAGRAM + _IP)
    sock.send(b"x")
    expect(sock.recv(1), b"x")


@case
def datagram_options_set_on_a_connected_socket(world: World) -> None:
    """They read back."""
    sock = world.datagrams(connected=True)
    _set(sock, _DATAGRAM + _IP)
    _hold(sock, _DATAGRAM + _IP)


@case
def options_can_be_taken_back(world: World) -> None:
    """What was switched on can be switched off, on a connection too."""
    sock = world.stream()
    for level, name, value in _STREAM:
        if value == 1:
            sock.setsockopt(level, name, 1)
            sock.setsockopt(level, name, 0)
            expect((level, name, sock.getsockopt(level, name)), (level, name, 0))


@case
def buffer_sizes(world: World) -> None:
    """SO_RCVBUF and SO_SNDBUF are doubled, before and after connect()."""
    sock = socket.socket()
    for name in socket.SO_RCVBUF, socket.SO_SNDBUF:
        sock.setsockopt(socket.SOL_SOCKET, name, 30_000)
        expect(sock.getsockopt(socket.SOL_SOCKET, name), 60_000)
    sock.connect(world.echo)
    for name in socket.SO_RCVBUF, socket.SO_SNDBUF:
        expect(sock.getsockopt(socket.SOL_SOCKET, name), 60_000)
        sock.setsockopt(socket.SOL_SOCKET, name, 50_000)
        expect(sock.getsockopt(socket.SOL_SOCKET, name), 100_000)


@case
def small_send_buffer_is_soon_full(world: World) -> None:
    """SO_SNDBUF limits what a peer that does not read lets us send."""
    sock, _ = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    assert fill(sock) < 16 << 20


@case
def priority(world: World) -> None:
    """SO_PRIORITY reads back; IP_TOS changes it."""
    for sock in socket.socket(), world.stream(), world.datagrams(connected=True):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY), 5)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x10)
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY), 6)


@case
def identity(world: World) -> None:
    """SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ACCEPTCONN, SO_ERROR."""
    for sock, kind, protocol in (
        (world.stream(), socket.SOCK_STREAM, socket.IPPROTO_TCP),
        (world.datagrams(connected=True), socket.SOCK_DGRAM, socket.IPPROTO_UDP),
    ):
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE), kind)
        expect(sock.getsockopt(socket.SOL_SOCKET, SO_DOMAIN), socket.AF_INET)
        expect(sock.getsockopt(socket.SOL_SOCKET, SO_PROTOCOL), protocol)
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), 0)
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)


@case
def linger_and_timeouts(world: World) -> None:
    """Structures read back as they were set."""
    sock = socket.socket()
    values = {
        socket.SO_LINGER: struct.pack("ii", 1, 7),
        socket.SO_RCVTIMEO: timeval(1.5),
        socket.SO_SNDTIMEO: timeval(2.5),
    }
    for name, value in values.items():
        sock.setsockopt(socket.SOL_SOCKET, name, value)
    sock.connect(world.echo)
    for name, value in values.items():
        expect(sock.getsockopt(socket.SOL_SOCKET, name, len(value)), value)


@case
def congestion_control(world: World) -> None:
    """TCP_CONGESTION takes a name and tells it; an unknown one is ENOENT."""
    sock = socket.socket()
    for _ in "fresh", "connected":
        with fails(errno.ENOENT):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"nonesuch")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        expect(name.rstrip(b"\0"), b"reno")
        if sock.connect_ex(world.echo):
            break


@case
def tcp_info(world: World) -> None:
    """TCP_INFO tells the state, and is cut to the room there is."""
    sock, theirs = world.pair()
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    expect(info[0], _ESTABLISHED)
    expect(len(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 10)), 10)
    theirs.shutdown(socket.SHUT_WR)
    wait_for(sock, select.POLLRDHUP)
    close_wait = 8
    expect(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0], close_wait)


@case
def length_of_tcp_info(world: World) -> None:
    """It is that of the running kernel, whatever there is room for."""
    sock = socket.socket()
    before = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1024)
    sock.connect(world.echo)
    expect(len(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1024)), len(before))


@case
def pacing_rate(world: World) -> None:
    """SO_MAX_PACING_RATE reaches the connection, set before it and changed later."""

    def rate() -> int:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        found: int = struct.unpack_from("Q", info, 112)[0]
        return found

    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 1_000_000)
    sock.connect(world.echo)
    expect(rate(), 1_000_000)
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 2_000_000)
    expect(rate(), 2_000_000)
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("I", 0xFFFFFFFF))
    expect(rate(), 0xFFFFFFFFFFFFFFFF)


@case
def packet_filter(world: World) -> None:
    """SO_ATTACH_FILTER decides which datagrams a socket hears."""
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(drop_all))
    theirs = world.hands.open()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    sock.bind(("", 0))
    theirs.tell(sock.getsockname()[1], b"dropped")
    sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    theirs.tell(sock.getsockname()[1], b"heard")
    expect(sock.recv(100), b"heard")


@case
def largest_segment(world: World) -> None:
    """TCP_MAXSEG of a connection is what fits into a packet."""
    sock = world.stream()
    assert 500 < sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) < 65536
    assert sock.getsockopt(socket.IPPROTO_IP, IP_MTU) > 500
    with fails(errno.EINVAL):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 10)


@case
def mtu_without_a_peer(world: World) -> None:
    """IP_MTU is ENOTCONN where there is no route to ask."""
    with fails(errno.ENOTCONN):
        socket.socket().getsockopt(socket.IPPROTO_IP, IP_MTU)
    with fails(errno.ENOTCONN):
        world.datagrams().getsockopt(socket.IPPROTO_IP, IP_MTU)
    assert world.datagrams(connected=True).getsockopt(socket.IPPROTO_IP, IP_MTU) > 500


# --- what is refused ----------------------------------------------------------


@case
def impossible_options(world: World) -> None:
    """Unknown names are ENOPROTOOPT, values out of range EINVAL."""
    for sock in socket.socket(), world.stream():
        for level in socket.SOL_SOCKET, socket.IPPROTO_IP, socket.IPPROTO_TCP, 12345:
            with fails(errno.ENOPROTOOPT):
                sock.setsockopt(level, 250, 1)
            with fails(errno.ENOPROTOOPT if level != 12345 else errno.EOPNOTSUPP):
                sock.getsockopt(level, 250)
        for value in 0, 256, -2:
            with fails(errno.EINVAL):
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, value)
        for name in socket.TCP_KEEPIDLE, socket.TCP_KEEPCNT, socket.TCP_SYNCNT:
            with fails(errno.EINVAL):
                sock.setsockopt(socket.IPPROTO_TCP, name, 0)
        with fails(errno.EINVAL):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, b"\1")
        with fails(errno.EINVAL):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 1)


@case
def option_at_a_bad_address(world: World) -> None:
    """EFAULT."""
    bad = ctypes.c_void_p(1)
    for sock in socket.socket(), world.stream():
        arguments = (sock.fileno(), socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with fails(errno.EFAULT):
            checked(libc.setsockopt(*arguments, bad, 4))
        length = array.array("i", [4])
        with fails(errno.EFAULT):
            checked(libc.getsockopt(*arguments, bad, ctypes.c_void_p(length.buffer_info()[0])))


@case
def short_value(world: World) -> None:
    """getsockopt() fills the room that it gets and tells how much."""
    for sock in socket.socket(), world.stream():
        set_flag(sock, socket.IPPROTO_TCP, socket.TCP_NODELAY)
        expect(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 2), b"\1\0")
        expect(len(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 64)), 4)


@case
def one_byte_values(world: World) -> None:
    """Options of IP may be one byte, both ways."""
    for sock in socket.socket(), world.stream():
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, b"\x2a")
        expect(sock.getsockopt(socket.IPPROTO_IP, socket.IP_TTL), 42)
        expect(sock.getsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1), b"\x2a")


@case
def signatures(world: World) -> None:
    """TCP_MD5SIG takes a key for a peer."""
    address = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(world.peer))
    key = address + struct.pack("BBHi80s", 0, 0, 3, 0, b"key")
    socket.socket().setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, key)


@case
def repair(world: World) -> None:
    """TCP_REPAIR is for who may administer the network."""
    world.stream().setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)


@case
def zero_copy(world: World) -> None:
    """SO_ZEROCOPY can be set, and MSG_ZEROCOPY sends."""
    sock = world.stream()
    set_flag(sock, socket.SOL_SOCKET, SO_ZEROCOPY)
    sock.send(b"x", 0x4000000)


@case
def free_bind(world: World) -> None:
    """IP_FREEBIND lets bind() take an address that is not here."""
    sock = socket.socket()
    set_flag(sock, socket.IPPROTO_IP, 15)
    sock.bind(("203.0.113.99", 0))


# --- timeouts -----------------------------------------------------------------


@case
def receive_times_out(world: World) -> None:
    """SO_RCVTIMEO: EAGAIN; then none, and recv() waits again."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0.05))
    with fails(errno.EAGAIN):
        Task(sock.recv, 1).result()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval(0))
    reader = Task(sock.recv, 1).wait_blocked()
    theirs.send(b"x")
    expect(reader.result(), b"x")


@case
def send_times_out(world: World) -> None:
    """SO_SNDTIMEO: EAGAIN when there is no room at all, else a part is sent."""
    sock, _ = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval(0.05))
    size = 32 << 20
    assert 0 < Task(sock.send, bytes(size)).result() < size
    # There may be a last part, and another; then there is no room.
    with fails(errno.EAGAIN):
        while True:
            Task(sock.send, bytes(size)).result()


@case
def connect_times_out(world: World) -> None:
    """SO_SNDTIMEO: EINPROGRESS when nobody answers, then EALREADY; it goes on meanwhile."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval(0.05))
    address = (world.peer, world.hands.listen_full())
    for error in errno.EINPROGRESS, errno.EALREADY:
        waiting = Task(sock.connect, address)
        with fails(error):
            waiting.result()
    expect(pending(sock, select.POLLOUT), 0)


# --- ioctls -------------------------------------------------------------------


def _number(sock: socket.socket, command: int) -> int:
    room = array.array("i", [-1])
    fcntl.ioctl(sock, command, room)
    return room[0]


@case
def bytes_to_read(world: World) -> None:
    """FIONREAD is what recv() would find."""
    sock, theirs = world.pair()
    expect(_number(sock, termios.FIONREAD), 0)
    theirs.send(b"12345")
    wait_for(sock, select.POLLIN)
    expect(_number(sock, termios.FIONREAD), 5)
    sock.recv(2)
    expect(_number(sock, termios.FIONREAD), 3)


@case
def bytes_on_their_way(world: World) -> None:
    """TIOCOUTQ goes back to none when the peer has everything."""
    sock, theirs = world.pair()
    sock.send(b"12345")
    expect(theirs.receive(5), b"12345")
    until(lambda: _number(sock, termios.TIOCOUTQ) == 0, "an acknowledgement")
    fill(sock)
    assert _number(sock, termios.TIOCOUTQ) > 0


@case
def urgent_mark(world: World) -> None:
    """SIOCATMARK tells when the urgent byte would be next."""
    sock, theirs = world.pair()
    theirs.send(b"ab")
    theirs.send(b"!", socket.MSG_OOB)
    wait_for(sock, select.POLLPRI)
    expect(_number(sock, SIOCATMARK), 0)
    expect(sock.recv(100), b"ab")
    expect(_number(sock, SIOCATMARK), 1)


@case
def passing_the_mark(world: World) -> None:
    """A read steps over the urgent byte that has been fetched, and finds nothing."""
    sock, theirs = world.pair()
    theirs.send(b"ab")
    theirs.send(b"!", socket.MSG_OOB)
    wait_for(sock, select.POLLPRI)
    expect(sock.recv(100), b"ab")
    expect(sock.recv(1, socket.MSG_OOB), b"!")
    expect(libc.recv(sock.fileno(), None, 0, socket.MSG_DONTWAIT), 0)
    expect(_number(sock, SIOCATMARK), 1)
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)
    expect(_number(sock, SIOCATMARK), 0)
    with fails(errno.EAGAIN):
        checked(libc.recv(sock.fileno(), None, 0, socket.MSG_DONTWAIT))
    theirs.send(b"c")
    expect(sock.recv(100), b"c")


@case
def stamp_by_ioctl(world: World) -> None:
    """SIOCGSTAMP tells when a datagram came, unless that is told with the datagram."""
    for with_data in False, True:
        sock = world.datagrams(connected=True)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, with_data)
        before = int(time.time())
        sock.send(b"x")
        expect(sock.recv(10), b"x")
        if with_data:
            with fails(errno.ENOENT):
                fcntl.ioctl(sock, SIOCGSTAMP, bytes(16))
        else:
            seconds, _ = struct.unpack("qq", fcntl.ioctl(sock, SIOCGSTAMP, bytes(16)))
            assert before <= seconds <= time.time()


@case
def blocking_by_ioctl(world: World) -> None:
    """FIONBIO is O_NONBLOCK."""
    for sock in world.stream(), world.datagrams(connected=True):
        fcntl.ioctl(sock, termios.FIONBIO, array.array("i", [1]))
        assert fcntl.fcntl(sock, fcntl.F_GETFL) & os.O_NONBLOCK
        with fails(errno.EAGAIN):
            sock.recv(1)


@case
def unknown_ioctls(world: World) -> None:
    """ENOTTY."""
    for sock in world.stream(), world.datagrams(connected=True):
        with fails(errno.ENOTTY):
            fcntl.ioctl(sock, 0x5401, array.array("i", [0] * 20))
        with fails(errno.ENOTTY):
            fcntl.ioctl(sock, 0x1234, array.array("i", [0] * 20))


@case
def interface_ioctls(world: World) -> None:
    """Any socket can ask about interfaces: SIOCGIFADDR, SIOCGIFMTU."""
    request = struct.pack("16s24x", b"lo")
    for sock in world.stream(), world.datagrams(connected=True):
        answer = fcntl.ioctl(sock, 0x8915, request)
        expect(socket.inet_ntoa(answer[20:24]), "127.0.0.1")
        answer = fcntl.ioctl(sock, 0x8921, request)
        expect(struct.unpack_from("i", answer, 16)[0], 65536)
