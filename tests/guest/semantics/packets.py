# SPDX-License-Identifier: GPL-2.0-or-later
"""How a stream is cut into segments, and what goes with the first of them."""

from __future__ import annotations

import errno
import socket
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from .harness import World, case, expect, fails, receive_all, wait_for
from .peer import numbered
from .remote import Stream

_ATTEMPTS = 10
_MSS = 700
_QUEUE = 16
TCP_FASTOPEN_CONNECT = 30


@dataclass(frozen=True)
class _Info:
    """Of struct tcp_info: the size of a segment, bytes not sent, segments sent with data."""

    mss: int
    unsent: int
    segments: int


def _info(sock: socket.socket) -> _Info:
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    value = {at: struct.unpack_from("I", info, at)[0] for at in (16, 100, 144, 156)}
    # What was sent twice does not count.
    return _Info(value[16], value[144], value[156] - value[100])


# --- held back ------------------------------------------------------------------


def _held_back(world: World, hold: Callable[[socket.socket, Stream], bool]) -> None:
    """What Linux holds back it sends after 0.2 s, so that a busy machine may need another try."""
    for _ in range(_ATTEMPTS):
        sock, theirs = world.pair()
        held = hold(sock, theirs)
        expect(receive_all_of(theirs, 7), b"one two")
        if held and _info(sock).segments == 1:
            return
        sock.close()
    raise AssertionError("nothing is held back")


def receive_all_of(theirs: Stream, size: int) -> bytes:
    """Have the peer receive exactly that much."""
    data = b""
    while len(data) < size:
        data += theirs.receive(size - len(data))
    return data


@case
def more_to_come(world: World) -> None:
    """What MSG_MORE holds back goes with the next send, in one segment."""

    def hold(sock: socket.socket, _: Stream) -> bool:
        sock.send(b"one ", socket.MSG_MORE)
        held = _info(sock).unsent == 4
        sock.send(b"two")
        return held

    _held_back(world, hold)


@case
def cork(world: World) -> None:
    """TCP_CORK holds everything back; to take it out sends, in one segment."""

    def hold(sock: socket.socket, _: Stream) -> bool:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        sock.send(b"one ")
        sock.send(b"two")
        held = _info(sock).unsent == 7
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        return held and _info(sock).unsent == 0

    _held_back(world, hold)


# --- size -----------------------------------------------------------------------


@case
def largest_segment_of_ones_choice(world: World) -> None:
    """TCP_MAXSEG bounds the segments of a connection, in both directions."""
    listener = world.hands.listen()
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _MSS)
    expect(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG), _MSS)
    sock.connect((world.peer, listener.port))
    theirs = listener.accept()
    assert _MSS - 40 <= sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= _MSS
    data = numbered(100 * _MSS)
    sock.sendall(data)
    expect(theirs.read(len(data)), zlib.crc32(data))
    info = _info(sock)
    assert _MSS - 40 <= info.mss <= _MSS, info
    assert info.segments >= 100, info


# --- data with the first segment --------------------------------------------------


@case
def fast_open(world: World) -> None:
    """sendto(MSG_FASTOPEN) connects and sends in one call, or tells why it cannot."""
    sock = socket.socket()
    expect(sock.sendto(b"at once", socket.MSG_FASTOPEN, world.echo), 7)
    expect(receive_all(sock, 7), b"at once")
    expect(sock.getpeername(), world.echo)
    refused = socket.socket()
    with fails(errno.ECONNREFUSED):
        refused.sendto(b"x", socket.MSG_FASTOPEN, world.closed)
    # Nothing of it is left.
    expect(refused.sendto(b"again", socket.MSG_FASTOPEN, world.echo), 5)
    expect(receive_all(refused, 5), b"again")
    waiting = socket.socket()
    waiting.setblocking(False)
    with fails(errno.EINPROGRESS):
        waiting.sendto(b"x", socket.MSG_FASTOPEN, world.echo)


@case
def fast_open_by_connect(world: World) -> None:
    """TCP_FASTOPEN_CONNECT: connect() and send() as ever, the answer as ever."""
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    expect(sock.getsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 1)
    sock.connect(world.echo)
    sock.sendall(b"at once")
    expect(receive_all(sock, 7), b"at once")
    refused = socket.socket()
    refused.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    with fails(errno.ECONNREFUSED):
        refused.connect(world.closed)
        refused.send(b"x")


@case
def fast_open_of_a_listener(world: World) -> None:
    """TCP_FASTOPEN of a listener is kept, and who does without it is served."""
    listener = socket.socket()
    listener.bind(("", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, _QUEUE)
    listener.listen()
    expect(listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN), _QUEUE)
    theirs = world.hands.connect(listener.getsockname()[1])
    ours, _ = listener.accept()
    theirs.send(b"x")
    wait_for(ours, 1)
    expect(ours.recv(10), b"x")
