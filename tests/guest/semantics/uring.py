# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring: the same sockets, asked by a ring."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import zlib

from .harness import Task, World, case, case_of, expect, fails, pending, receive_all, wait_for
from .peer import numbered
from .ring import (
    ACCEPT,
    ACCEPT_MULTISHOT,
    ASYNC,
    BUFFER_SELECT,
    CANCEL,
    CLOSE,
    CONNECT,
    FIXED_BUFFER,
    LINK,
    LINK_TIMEOUT,
    POLL_ADD,
    POLL_FIRST,
    POLL_MULTISHOT,
    PROVIDE_BUFFERS,
    READ,
    READ_FIXED,
    RECV,
    RECV_MULTISHOT,
    RECVMSG,
    REPORT_USAGE,
    SEND,
    SEND_ZC,
    SENDMSG,
    SETUP_SQPOLL,
    SHUTDOWN,
    SOCKET,
    SPLICE,
    TOLD_NOTIFICATION,
    URING_CMD,
    WRITE,
    WRITE_FIXED,
    Memory,
    Message,
    Operation,
    Ring,
    Told,
    memory,
)

_SO_ZEROCOPY = 60
_LARGE = 150_000
_GROUP = 7
_COPIED = -1 << 31
_SIOCINQ, _SIOCOUTQ = 0, 1


def _name(address: tuple[str, int]) -> Memory:
    host, port = address
    return memory(struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, _packed(host)))


def _packed(host: str) -> bytes:
    return socket.inet_aton(host)


def _address(name: Memory) -> tuple[str, int]:
    port, host = struct.unpack_from("!H4s", name.raw, 2)
    return socket.inet_ntoa(host), port


def _connect(ring: Ring, sock: socket.socket, address: tuple[str, int]) -> Operation:
    name = _name(address)
    return ring.start(CONNECT, sock.fileno(), name, offset=len(name))


def _receive(ring: Ring, sock: socket.socket, room: Memory, flags: int = 0) -> Operation:
    return ring.start(RECV, sock.fileno(), room, len(room), flags=flags)


# --- connections ----------------------------------------------------------------


@case
def connects(world: World) -> None:
    """To who listens, to who does not, and then to who does."""
    ring = Ring()
    sock = socket.socket()
    expect(_connect(ring, sock, world.echo).result(), 0)
    expect(sock.getpeername(), world.echo)
    sock.send(b"x")
    expect(sock.recv(10), b"x")
    refused = socket.socket()
    with fails(errno.ECONNREFUSED):
        _connect(ring, refused, world.closed).result()


@case
def connects_without_blocking(world: World) -> None:
    """For the ring a socket that does not block is one like any other."""
    ring = Ring()
    for address, error in (world.echo, 0), (world.closed, errno.ECONNREFUSED):
        sock = socket.socket()
        sock.setblocking(False)
        expect(_connect(ring, sock, address).told().result, -error)
        expect(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)


@case
def accepts(world: World) -> None:
    """One that is awaited, one that waits; the address is the peer's."""
    ring = Ring()
    listener, port = world.listener()
    name, size = memory(16), ctypes.c_uint32(16)
    room = ctypes.addressof(size)
    awaited = ring.start(ACCEPT, listener.fileno(), name, offset=room)
    assert awaited.waits()
    theirs = world.hands.connect(port)
    ours = socket.socket(fileno=awaited.result())
    expect(_address(name), (world.peer, theirs.port))
    theirs = world.hands.connect(port)
    wait_for(listener, select.POLLIN)
    found = ring.start(ACCEPT, listener.fileno(), flags=socket.SOCK_NONBLOCK)
    ours = socket.socket(fileno=found.result())
    expect(ours.getpeername(), (world.peer, theirs.port))
    assert not os.get_blocking(ours.fileno())


@case
def accepts_many(world: World) -> None:
    """One request, a completion for each connection, from outside and inside."""
    ring = Ring()
    listener, port = world.listener()
    accepting = ring.start(ACCEPT, listener.fileno(), how=ACCEPT_MULTISHOT)
    for number in range(3):
        theirs = world.hands.connect(port)
        told = accepting.told()
        assert told.more, told
        ours = socket.socket(fileno=told.result)
        theirs.send(b"%d" % number)
        expect(ours.recv(10), b"%d" % number)
    inside = socket.create_connection(("127.0.0.1", port))
    told = accepting.told()
    assert told.more, told
    ours = socket.socket(fileno=told.result)
    expect(ours.getpeername(), inside.getsockname())
    listener.shutdown(socket.SHUT_RD)
    with fails(errno.EINVAL):
        accepting.result()


@case
def opens_and_shuts_down(world: World) -> None:
    """A socket of the ring's, its end, and the end of a receive that waits for it."""
    ring = Ring()
    opened = ring.start(SOCKET, socket.AF_INET, length=0, offset=socket.SOCK_STREAM)
    sock = socket.socket(fileno=opened.result())
    expect(_connect(ring, sock, world.echo).result(), 0)
    room = memory(10)
    waiting = _receive(ring, sock, room)
    assert waiting.waits()
    expect(ring.start(SHUTDOWN, sock.fileno(), length=socket.SHUT_RDWR).result(), 0)
    expect(waiting.result(), 0)
    with fails(errno.EPIPE):
        ring.start(SEND, sock.fileno(), room, 1, flags=socket.MSG_NOSIGNAL).result()


# --- streams --------------------------------------------------------------------


@case_of(0, ASYNC)
def receives(world: World, entry: int) -> None:
    """What is there at once, what is not later; by every operation that reads."""
    ring = Ring()
    sock, theirs = world.pair()
    room = memory(100)
    message = Message([memory(2), memory(98)])
    for operation, place in (
        (RECV, room),
        (READ, room),
        (RECVMSG, message.header),
    ):
        length = 1 if operation == RECVMSG else len(room)

        def start(how: int = 0) -> Operation:
            return ring.start(operation, sock.fileno(), place, length, entry=entry, how=how)  # noqa: B023

        theirs.send(b"there")
        wait_for(sock, select.POLLIN)
        expect(start().result(), 5)
        waiting = start(0 if operation == READ else POLL_FIRST)
        assert waiting.waits()
        theirs.send(b"later")
        expect(waiting.result(), 5)
    expect(room.raw[:5], b"later")
    expect(b"".join(part.raw for part in message.parts)[:5], b"later")


@case
def waits_for_all(world: World) -> None:
    """MSG_WAITALL: everything is received, and everything is sent."""
    ring = Ring()
    sock, theirs = world.pair()
    room = memory(2 * _LARGE)
    receiving = _receive(ring, sock, room, socket.MSG_WAITALL)
    theirs.send_numbered(len(room))
    expect(receiving.result(), len(room))
    assert room.raw == numbered(len(room))
    data = memory(numbered(4 * _LARGE))
    flags = socket.MSG_WAITALL
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    sending = ring.start(SEND, sock.fileno(), data, len(data), flags=flags)
    assert sending.waits()
    crc = theirs.read(len(data))
    expect(sending.result(), len(data))
    expect(crc, zlib.crc32(data.raw))


@case
def receives_many(world: World) -> None:
    """A multishot receive tells each piece, with the buffer that it is in."""
    ring = Ring()
    sock, theirs = world.pair()
    size, count = 1000, 8
    room = memory(size * count)
    provided = ring.start(PROVIDE_BUFFERS, count, room, size, index=_GROUP)
    expect(provided.result(), 0)
    receiving = ring.start(
        RECV, sock.fileno(), how=RECV_MULTISHOT, entry=BUFFER_SELECT, index=_GROUP
    )
    seen: set[int] = set()
    for number in range(4):
        theirs.send(b"%d" % number * 500)
        told = receiving.told()
        assert told.more and told.buffer is not None, told
        expect(told.result, 500)
        expect(room.raw[told.buffer * size :][:500], b"%d" % number * 500)
        seen.add(told.buffer)
    theirs.send(bytes(1500))
    left = 1500
    while left:
        told = receiving.told()
        assert told.more and told.buffer is not None, told
        left -= told.result
        seen.add(told.buffer)
    assert len(seen) >= 6, seen
    theirs.shutdown(socket.SHUT_WR)
    expect(receiving.result(), 0)


@case
def polls(world: World) -> None:
    """Once, or at each piece of news; the listener, the data, and the end."""
    ring = Ring()
    sock, theirs = world.pair()
    once = ring.start(POLL_ADD, sock.fileno(), flags=select.POLLIN)
    often = ring.start(
        POLL_ADD, sock.fileno(), flags=select.POLLIN | select.POLLRDHUP, length=POLL_MULTISHOT
    )
    assert once.waits() and often.waits()
    for number in range(3):
        theirs.send(b"x")
        told = often.told()
        assert told.more, told
        assert told.result & select.POLLIN
        if not number:
            assert once.result() & select.POLLIN
        expect(sock.recv(10), b"x")
    for _ in range(2):
        # News also while the last is unread.
        theirs.send(b"x")
        assert often.told().result & select.POLLIN
    writable = ring.start(POLL_ADD, sock.fileno(), flags=select.POLLOUT)
    expect(writable.result(), select.POLLOUT)
    theirs.shutdown(socket.SHUT_WR)
    assert often.told().result & select.POLLRDHUP


def _asks(ring: Ring, sock: socket.socket, what: int, answer: int) -> None:
    told = ring.start(URING_CMD, sock.fileno(), offset=what).told()
    # Linux 6.1 does not have it yet.
    if told.result != -errno.EOPNOTSUPP:
        expect(told.result, answer)


@case
def bytes_to_read(world: World) -> None:
    """SOCKET_URING_OP_SIOCINQ tells how much there is."""
    ring = Ring()
    for sock, theirs in world.pair(), world.accepted():
        _asks(ring, sock, _SIOCINQ, 0)
        theirs.send(b"12345")
        wait_for(sock, select.POLLIN)
        _asks(ring, sock, _SIOCINQ, 5)
        _asks(ring, sock, _SIOCOUTQ, 0)
        expect(sock.recv(2), b"12")
        _asks(ring, sock, _SIOCINQ, 3)


@case
def datagrams_to_read(world: World) -> None:
    """... of datagrams how long the next one is, wherever it comes from."""
    ring = Ring()
    sock, inside = world.datagrams(), world.datagrams()
    port = sock.getsockname()[1]
    _asks(ring, sock, _SIOCINQ, 0)
    theirs = world.hands.open()
    theirs.tell(port, b"outside")
    wait_for(sock, select.POLLIN)
    _asks(ring, sock, _SIOCINQ, 7)
    expect(sock.recv(100), b"outside")
    inside.sendto(b"in", ("127.0.0.1", port))
    wait_for(sock, select.POLLIN)
    _asks(ring, sock, _SIOCINQ, 2)
    expect(sock.recv(100), b"in")
    sock.connect((world.peer, theirs.port))
    theirs.tell(port, b"peer")
    wait_for(sock, select.POLLIN)
    _asks(ring, sock, _SIOCINQ, 4)
    _asks(ring, sock, _SIOCOUTQ, 0)


@case
def gives_up(world: World) -> None:
    """A receive that waits is cancelled, or its time is over; nothing is lost by it."""
    ring = Ring()
    sock, theirs = world.pair()
    room = memory(10)
    waiting = _receive(ring, sock, room)
    expect(ring.start(CANCEL, -1, waiting.number).result(), 0)
    with fails(errno.ECANCELED):
        waiting.result()
    time = memory(struct.pack("qq", 0, 20_000_000))
    linked = ring.start(RECV, sock.fileno(), room, len(room), entry=LINK)
    timeout = ring.start(LINK_TIMEOUT, -1, time, 1)
    with fails(errno.ECANCELED):
        linked.result()
    with fails(errno.ETIME):
        timeout.result()
    theirs.send(b"whole")
    expect(_receive(ring, sock, room).result(), 5)
    expect(room.raw[:5], b"whole")


@case
def ends_while_it_waits(world: World) -> None:
    """A close does not end a receive that waits; a reset does, with its error."""
    ring = Ring()
    room = memory(10)
    sock, theirs = world.pair()
    waiting = _receive(ring, sock, room)
    expect(ring.start(CLOSE, sock.detach()).result(), 0)
    assert waiting.waits()
    theirs.send(b"still")
    expect(waiting.result(), 5)
    expect(room.raw[:5], b"still")
    expect(theirs.receive(1), b"")

    sock, theirs = world.pair()
    waiting = _receive(ring, sock, room)
    theirs.reset()
    with fails(errno.ECONNRESET):
        waiting.result()


@case
def splices(world: World) -> None:
    """From the socket to a pipe and back."""
    ring = Ring()
    sock = world.stream()
    reader, writer = os.pipe()
    nowhere = (1 << 64) - 1

    def move(source: int, target: int, size: int) -> Operation:
        return ring.start(SPLICE, target, nowhere, size, offset=nowhere, other=source)

    data = numbered(50_000)
    os.write(writer, data)
    left = len(data)
    while left:
        left -= move(reader, sock.fileno(), left).result()
    back = b""
    while len(back) < len(data):
        moved = move(sock.fileno(), writer, len(data)).result()
        back += os.read(reader, moved)
    assert back == data


@case
def registered_memory(world: World) -> None:
    """Memory that the kernel holds for long is sent from and received into."""
    ring = Ring()
    sock, theirs = world.pair()
    data, room = memory(numbered(_LARGE)), memory(_LARGE)
    ring.register([data, room])
    for first in 1, 4096, 4097:
        theirs_has = Task(theirs.read, len(data) - first)
        sent = first
        while sent < len(data):
            place = ctypes.addressof(data) + sent
            sent += ring.start(WRITE_FIXED, sock.fileno(), place, len(data) - sent).result()
        expect(theirs_has.result(), zlib.crc32(data.raw[first:]))
    theirs.send_numbered(len(room))
    got = 0
    while got < len(room):
        place = ctypes.addressof(room) + got
        asked = ring.start(READ_FIXED, sock.fileno(), place, len(room) - got, index=1)
        got += asked.result()
    assert room.raw == data.raw


# --- sending without a copy -------------------------------------------------------


def _send_uncopied(
    ring: Ring, sock: socket.socket, data: Memory, how: int = 0, name: Memory | None = None
) -> int:
    """Send, see that the memory is given back once, and change it then."""
    sending = ring.start(
        SEND_ZC,
        sock.fileno(),
        data,
        len(data),
        how=how,
        offset=ctypes.addressof(name) if name else 0,
        # The low half of the field is the length of the address.
        other=len(name) if name else 0,
    )
    told = sending.told()
    if told.result < 0:
        raise OSError(-told.result, os.strerror(-told.result))
    assert told.more and not told.flags & TOLD_NOTIFICATION, told
    given_back = sending.told()
    expect((given_back.result, given_back.flags), (0, TOLD_NOTIFICATION))
    assert sending.waits()
    ctypes.memset(data, 0xEE, len(data))
    return told.result


@case
def sends_uncopied(world: World) -> None:
    """SEND_ZC: what arrives is what was there; its memory is given back once."""
    ring = Ring()
    fixed = memory(_LARGE)
    ring.register([fixed])
    sock, theirs = world.pair()
    # The ring tells, not the socket's error queue.
    sock.setsockopt(socket.SOL_SOCKET, _SO_ZEROCOPY, 1)
    for size in 10, 5000, _LARGE:
        for registered in False, True:
            fixed.raw = numbered(_LARGE)
            data = (
                (ctypes.c_char * size).from_buffer(fixed)
                if registered
                else memory(fixed.raw[:size])
            )
            heard = Task(theirs.read, size)
            sent = 0
            while sent < size:
                rest = (ctypes.c_char * (size - sent)).from_buffer(data, sent)
                sent += _send_uncopied(ring, sock, rest, FIXED_BUFFER if registered else 0)
            expect(heard.result(), zlib.crc32(numbered(size)))
    expect(pending(sock, select.POLLIN), 0)
    accepted, _ = world.accepted()
    expect(_send_uncopied(ring, accepted, memory(1)), 1)
    asking = ring.start(SEND_ZC, sock.fileno(), memory(1), 1, how=REPORT_USAGE)
    # Linux 6.1 does not know the flag yet.
    if asking.told().result != -errno.EINVAL:
        expect(asking.told(), Told(_COPIED, TOLD_NOTIFICATION))
    sock.shutdown(socket.SHUT_WR)
    with fails(errno.EPIPE):
        _send_uncopied(ring, sock, memory(1))


@case
def sends_uncopied_when_there_is_room(world: World) -> None:
    """SEND_ZC to a peer that does not read waits, and goes on when it does."""
    ring = Ring()
    sock, theirs = world.pair()
    data = memory(numbered(4 * _LARGE))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    sending = ring.start(SEND_ZC, sock.fileno(), data, len(data), flags=socket.MSG_WAITALL)
    assert sending.waits()
    expect(theirs.read(len(data)), zlib.crc32(data.raw))
    told = sending.told()
    expect((told.result, told.more), (len(data), True))
    expect(sending.told().flags, TOLD_NOTIFICATION)


# --- datagrams ------------------------------------------------------------------


@case
def datagrams(world: World) -> None:
    """sendmsg and recvmsg with addresses, what is there and what comes later."""
    ring = Ring()
    theirs = world.hands.open()
    sock = world.datagrams()
    port = sock.getsockname()[1]
    there = (world.peer, theirs.port)
    out = Message([memory(b"in "), memory(b"parts")], _name(there))
    expect(ring.start(SENDMSG, sock.fileno(), out.header, 1).result(), 8)
    heard = theirs.hear()
    expect((heard.data, heard.port), (b"in parts", port))
    back = Message([memory(4), memory(100)], memory(16))
    waiting = ring.start(RECVMSG, sock.fileno(), back.header, 1)
    assert waiting.waits()
    for data in b"an answer", b"and another":
        theirs.tell(port, data)
        expect(waiting.result(), len(data))
        expect(b"".join(part.raw for part in back.parts)[: len(data)], data)
        assert back.name is not None
        expect(_address(back.name), there)
        back = Message([memory(4), memory(100)], memory(16))
        waiting = ring.start(RECVMSG, sock.fileno(), back.header, 1)
    uncopied = memory(b"uncopied" * 150)
    _send_uncopied(ring, sock, uncopied, name=_name(there))
    expect(theirs.hear().data, b"uncopied" * 150)


@case
def refused_datagrams(world: World) -> None:
    """A receive that waits is told that nobody is there."""
    ring = Ring()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(world.closed)
    waiting = _receive(ring, sock, memory(10))
    assert waiting.waits()
    data = memory(b"x")
    expect(ring.start(SEND, sock.fileno(), data, 1).result(), 1)
    with fails(errno.ECONNREFUSED):
        waiting.result()


@case
def asked_by_a_thread_of_the_kernel(world: World) -> None:
    """IORING_SETUP_SQPOLL: no call of the program's begins the operations."""
    ring = Ring(flags=SETUP_SQPOLL)
    sock = world.stream()
    data, room = memory(numbered(_LARGE)), memory(_LARGE)
    for _ in range(6):
        sent = ring.start(SEND, sock.fileno(), data, len(data), flags=socket.MSG_WAITALL)
        got = _receive(ring, sock, room, socket.MSG_WAITALL)
        expect((sent.result(), got.result()), (len(data), len(room)))
        assert room.raw == data.raw
        ctypes.memset(room, 0, len(room))
    with fails(errno.EBADF):
        ring.start(WRITE, 999, data, 1).result()
    expect(sock.send(b"x"), 1)
    expect(receive_all(sock, 1), b"x")
