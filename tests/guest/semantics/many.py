# SPDX-License-Identifier: GPL-2.0-or-later
"""sendmmsg() and recvmmsg(): many messages in one call."""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import struct

from .harness import Task, World, case, checked, expect, fails, libc, wait_for

MSG_WAITFORONE = 0x10000
_ROOM = 2000
_ATTEMPTS = 10


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


class _Header(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("namelen", ctypes.c_uint32),
        ("iov", ctypes.POINTER(_Vector)),
        ("iovlen", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("count", ctypes.c_uint32),
    )


class Messages:
    """What both calls take: messages to send, or room for some."""

    def __init__(self, content: list[bytes] | int, room: int = _ROOM) -> None:
        parts = [bytes(room)] * content if isinstance(content, int) else content
        self._buffers = [ctypes.create_string_buffer(each, len(each)) for each in parts]
        self._names = [ctypes.create_string_buffer(16) for _ in parts]
        self._vectors = [_Vector(ctypes.addressof(b), len(b)) for b in self._buffers]
        self._controls: list[object] = []
        self.headers = (_Header * len(parts))()
        for header, vector in zip(self.headers, self._vectors, strict=True):
            header.iov, header.iovlen = ctypes.pointer(vector), 1
        if isinstance(content, int):
            self.name()

    def name(self, *addresses: tuple[str, int]) -> Messages:
        """Give each message its destination, or room for where it comes from."""
        for header, name in zip(self.headers, self._names, strict=True):
            header.name, header.namelen = ctypes.addressof(name), len(name)
        for name, (host, port) in zip(self._names, addresses, strict=False):
            family = struct.pack("=H", socket.AF_INET)
            name.raw = family + struct.pack("!H4s8x", port, socket.inet_aton(host))
        return self

    def control(self, which: int, level: int, kind: int, value: bytes) -> None:
        """Give a message ancillary data."""
        data = struct.pack("Nii", 16 + len(value), level, kind) + value
        buffer = ctypes.create_string_buffer(data, -(-len(data) // 8) * 8)
        header = self.headers[which]
        header.control, header.controllen = ctypes.addressof(buffer), len(buffer)
        self._controls.append(buffer)

    def spoil(self, which: int) -> None:
        """Have a message be where there is no memory."""
        self._vectors[which].base = 8

    def counts(self) -> list[int]:
        """How much of each has been sent."""
        return [header.count for header in self.headers]

    def heard(self) -> list[bytes]:
        """What has been received."""
        pairs = zip(self.headers, self._buffers, strict=True)
        return [buffer.raw[: header.count] for header, buffer in pairs]

    def sources(self) -> list[tuple[str, int]]:
        """Where that came from."""
        found = [struct.unpack_from("!2xH4s", name.raw) for name in self._names]
        return [(socket.inet_ntoa(host), port) for port, host in found]


def send_many(sock: socket.socket, messages: Messages, flags: int = 0) -> int:
    """sendmmsg() of all of them."""
    return checked(libc.sendmmsg(sock.fileno(), messages.headers, len(messages.headers), flags))


def receive_many(
    sock: socket.socket, messages: Messages, flags: int = 0, time: bytes | None = None
) -> int:
    """recvmmsg() into all of them."""
    room = ctypes.create_string_buffer(time, len(time)) if time else None
    return checked(
        libc.recvmmsg(sock.fileno(), messages.headers, len(messages.headers), flags, room)
    )


@case
def of_a_stream(world: World) -> None:
    """Messages of a stream are one after the other; each has the room that it has."""
    sock, theirs = world.pair()
    messages = Messages([b"one ", b"two ", b"three"])
    expect(send_many(sock, messages), 3)
    expect(messages.counts(), [4, 4, 5])
    got = b""
    while len(got) < 13:
        got += theirs.receive(13)
    expect(got, b"one two three")
    theirs.send(b"aaaabbbbcc")
    room = Messages(3, 4)
    expect(receive_many(sock, room, socket.MSG_WAITALL | MSG_WAITFORONE), 3)
    expect(room.heard(), [b"aaaa", b"bbbb", b"cc"])


@case
def to_several(world: World) -> None:
    """Each datagram has its own destination, and brings where it comes from."""
    there = [world.hands.open() for _ in range(3)]
    addresses = [(world.peer, each.port) for each in there]
    sock = world.datagrams()
    messages = Messages([b"to the first", b"", b"x" * 1200]).name(*addresses)
    expect(send_many(sock, messages), 3)
    expect(messages.counts(), [12, 0, 1200])
    for each, data in zip(there, (b"to the first", b"", b"x" * 1200), strict=True):
        expect(each.hear().data, data)
    room = Messages(3)
    waiting = Task(receive_many, sock, room).wait_blocked()
    for number, each in enumerate(there):
        each.tell(sock.getsockname()[1], b"%d" % number)
    expect(waiting.result(), 3)
    expect(
        sorted(zip(room.heard(), room.sources(), strict=True)),
        [(b"%d" % number, address) for number, address in enumerate(addresses)],
    )


@case
def what_is_there(world: World) -> None:
    """MSG_WAITFORONE waits for the first and takes what has come with it; so does a timeout."""
    sock = world.datagrams(connected=True)
    parts = [b"1", b"22", b"333"]
    together = []
    for _ in range(_ATTEMPTS):
        send_many(sock, Messages(parts))
        heard: list[bytes] = []
        while len(heard) < len(parts):
            wait_for(sock, select.POLLIN)
            room = Messages(8)
            count = receive_many(sock, room, MSG_WAITFORONE)
            together.append(count)
            heard += room.heard()[:count]
        expect(heard, parts)
        if len(parts) in together:
            break
    assert len(parts) in together, together
    with fails(errno.EAGAIN):
        receive_many(sock, Messages(2), socket.MSG_DONTWAIT)
    send_many(sock, Messages(parts))
    # The time is looked at after each datagram, and then it is over.
    for part in parts:
        room = Messages(8)
        expect(receive_many(sock, room, time=struct.pack("qq", 0, 1)), 1)
        expect(room.heard()[0], part)
    with fails(errno.EINVAL):
        receive_many(sock, Messages(2), time=struct.pack("qq", 0, 1 << 40))


@case
def a_part_succeeds(world: World) -> None:
    """An error after the first message is not told at once; of a receive, by the next call."""
    sock = world.datagrams(connected=True)
    messages = Messages([b"fits", bytes(65536), b"is not tried"])
    expect(send_many(sock, messages), 1)
    expect(sock.recv(100), b"fits")
    with fails(errno.EMSGSIZE):
        send_many(sock, Messages([bytes(65536), b"x"]))
    send_many(sock, Messages([b"1", b"2", b"3"]))
    room = Messages(3)
    room.spoil(1)
    expect(receive_many(sock, room), 1)
    expect(room.heard()[0], b"1")
    with fails(errno.EFAULT):
        receive_many(sock, Messages(1))
    expect(sock.recv(100), b"3")
