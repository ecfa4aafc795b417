# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP_SEGMENT and UDP_GRO: many datagrams in one call."""

from __future__ import annotations

import errno
import socket
import struct

from .harness import World, case, case_of, expect, fails
from .many import Messages, receive_many, send_many
from .peer import numbered

# What Python 3.11 has no names for.
UDP_SEGMENT = 103
UDP_GRO = 104
_SO_NO_CHECK = 11
_SIZE = 1200
_MOST = 64


def _segment(size: int) -> list[tuple[int, int, bytes]]:
    return [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", size))]


def _parts(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def _receive(sock: socket.socket, size: int) -> bytes:
    """Receive so many bytes, in datagrams or in many at once."""
    data = b""
    while len(data) < size:
        data += sock.recv(1 << 16)
    return data


@case_of(1, 500, _SIZE, 1400)
def by_option(world: World, size: int) -> None:
    """One send is many datagrams of that size, and a shorter one."""
    theirs = world.hands.open()
    sock = world.datagrams()
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)
    expect(sock.getsockopt(socket.IPPROTO_UDP, UDP_SEGMENT), size)
    data = numbered(size * 5 + (size + 1) // 2)
    expect(sock.sendto(data, (world.peer, theirs.port)), len(data))
    for part in _parts(data, size):
        expect(theirs.hear().data, part)
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
    sock.sendto(data, (world.peer, theirs.port))
    expect(theirs.hear().data, data)


@case
def by_control_message(world: World) -> None:
    """The same for one call; it has precedence over the option."""
    theirs = world.hands.open()
    sock = world.datagrams()
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 100)
    data = numbered(3 * _SIZE)
    sock.sendmsg([data], _segment(_SIZE), 0, (world.peer, theirs.port))
    for part in _parts(data, _SIZE):
        expect(theirs.hear().data, part)


@case
def connected(world: World) -> None:
    """As much as one call takes, there and back."""
    sock = world.datagrams(connected=True)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    data = numbered(_SIZE * 16)
    expect(sock.sendmsg([data], _segment(_SIZE)), len(data))
    expect(_receive(sock, len(data)), data)


@case
def too_many_segments(world: World) -> None:
    """More than 64 (6.1) or 128 in one call are EINVAL."""
    sock = world.datagrams(connected=True)
    with fails(errno.EINVAL):
        sock.sendmsg([bytes(2 * _MOST + 1)], _segment(1))
    expect(sock.sendmsg([bytes(_MOST)], _segment(1)), _MOST)


@case
def too_large(world: World) -> None:
    """The whole is bounded like a datagram."""
    sock = world.datagrams(connected=True)
    with fails(errno.EMSGSIZE):
        sock.sendmsg([bytes(1 << 16)], _segment(_SIZE))
    with fails(errno.EMSGSIZE):
        sock.sendmsg([bytes(65508)], _segment(_SIZE))


@case
def wrong_values(world: World) -> None:
    """Sizes that do not fit 16 bits, control messages that are none."""
    sock = world.datagrams(connected=True)
    for size in -1, 1 << 16:
        with fails(errno.EINVAL):
            sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)
    for value in b"", b"\x01", b"\x01\x00\x00\x00":
        with fails(errno.EINVAL):
            sock.sendmsg([b"data"], [(socket.IPPROTO_UDP, UDP_SEGMENT, value)])


@case
def without_checksums(world: World) -> None:
    """Each segment needs its checksum: SO_NO_CHECK excludes the option and the control message."""
    theirs = world.hands.open()
    sock = world.datagrams()
    to = (world.peer, theirs.port)
    sock.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
    with fails(errno.EINVAL):
        sock.sendmsg([bytes(3 * _SIZE)], _segment(_SIZE), 0, to)
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, _SIZE)
    for size in 1, 3 * _SIZE:
        with fails(errno.EINVAL):
            sock.sendto(bytes(size), to)
    sock.sendmsg([b"one datagram"], _segment(0), 0, to)
    expect(theirs.hear().data, b"one datagram")
    sock.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 0)
    sock.sendto(bytes(2 * _SIZE), to)
    expect([len(theirs.hear().data) for _ in range(2)], 2 * [_SIZE])


@case
def received_together(world: World) -> None:
    """With UDP_GRO what was sent in one call comes in one, and the size of its parts with it."""
    sock = world.datagrams()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    expect(sock.getsockopt(socket.IPPROTO_UDP, UDP_GRO), 1)
    theirs = world.hands.open()
    data = numbered(_SIZE * 10 + 100)
    theirs.tell_segments(sock.getsockname()[1], data, _SIZE)
    whole, most = b"", 0
    while len(whole) < len(data):
        part, control, flags, source = sock.recvmsg(1 << 16, 100)
        expect((flags, source), (0, (world.peer, theirs.port)))
        found = {(level, kind): value for level, kind, value in control}
        if len(part) > _SIZE:
            expect(found.get((socket.IPPROTO_UDP, UDP_GRO)), struct.pack("i", _SIZE))
        whole, most = whole + part, max(most, len(part))
    expect(whole, data)
    assert most > _SIZE, most


@case
def many_in_one_call(world: World) -> None:
    """sendmmsg() with a size for each, recvmmsg() of what comes back."""
    sock = world.datagrams(connected=True)
    sizes = [100, 200, 300]
    payloads = [numbered(size * 4) for size in sizes]
    messages = Messages(payloads)
    for which, size in enumerate(sizes):
        messages.control(which, socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", size))
    expect(send_many(sock, messages), len(sizes))
    expect(messages.counts(), [len(payload) for payload in payloads])
    expected = [
        part for size, data in zip(sizes, payloads, strict=True) for part in _parts(data, size)
    ]
    room = Messages(len(expected))
    expect(receive_many(sock, room), len(expected))
    expect(room.heard(), expected)
