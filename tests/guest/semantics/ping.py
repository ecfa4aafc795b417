# SPDX-License-Identifier: GPL-2.0-or-later
"""Ping sockets: SOCK_DGRAM with IPPROTO_ICMP."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import select
import socket
import struct
import termios

from .clock import SO_TIMESTAMP, UNITS, between, now, time_of
from .harness import World, case, case_of, disconnect, expect, fails, pending, set_flag, wait_for
from .peer import numbered

# What Python 3.11 has no names for.
IP_PKTINFO = 8
IP_RECVTTL = 12

_REQUEST = 8
_REPLY = 0
#: With its header a message fills an IPv4 packet.
_LARGEST = 65507


def _socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)


def _message(payload: bytes, sequence: int = 1, kind: int = _REQUEST, code: int = 0) -> bytes:
    # The kernel knows the checksum and the identifier.
    return struct.pack("!BBHHH", kind, code, 0x5555, 0x7777, sequence) + payload


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _identifier(sock: socket.socket) -> int:
    number: int = sock.getsockname()[1]
    return number


def _check_reply(sock: socket.socket, message: bytes, payload: bytes, sequence: int = 1) -> None:
    kind, code, _, identifier, number = struct.unpack("!BBHHH", message[:8])
    expect((kind, code), (_REPLY, 0))
    expect(identifier, _identifier(sock))
    expect(number, sequence)
    assert message[8:] == payload
    expect(_sum(message), 0xFFFF)


@case_of(0, 1, 7, 56, 1000, 1017, 1472, 4096, 20001, _LARGEST)
def echo_of(world: World, size: int) -> None:
    """The reply is of the right kind and whole, and its checksum is right."""
    payload = numbered(size)
    sock = _socket()
    expect(sock.sendto(_message(payload), (world.peer, 0)), 8 + size)
    message, source = sock.recvfrom(1 << 17)
    expect(source, (world.peer, 0))
    _check_reply(sock, message, payload)


@case
def elsewhere_than_to_the_peer(world: World) -> None:
    """With a peer on this machine it can send to others."""
    sock = _socket()
    sock.connect((world.me, 0))
    expect(sock.sendto(_message(b"elsewhere"), (world.peer, 0)), 8 + 9)


@case
def nothing_is_held_back(world: World) -> None:
    """MSG_MORE means nothing here; MSG_OOB is EOPNOTSUPP."""
    sock = _socket()
    with fails(errno.EOPNOTSUPP):
        sock.recv(100, socket.MSG_OOB)
    for number in range(2):
        sock.sendto(_message(b"x", number), socket.MSG_MORE, (world.peer, 0))
        _check_reply(sock, sock.recv(100), b"x", number)


@case
def many(world: World) -> None:
    """Requests of several sockets are answered to each its own."""
    socks = [_socket() for _ in range(4)]
    for number in range(8):
        for sock in socks:
            sock.sendto(_message(b"x", number), (world.peer, 0))
    expect(len({_identifier(sock) for sock in socks}), len(socks))
    for number in range(8):
        for sock in socks:
            _check_reply(sock, sock.recv(100), b"x", number)


@case
def port_in_the_address_is_ignored(world: World) -> None:
    """An echo has no port; the reply's address has none either."""
    sock = _socket()
    sock.sendto(_message(b"x"), (world.peer, 53))
    expect(sock.recvfrom(100)[1], (world.peer, 0))


@case
def identifier_comes_with_the_first_request(world: World) -> None:
    """Before that there is none, and the address stays open."""
    sock = _socket()
    expect(sock.getsockname(), ("0.0.0.0", 0))
    sock.sendto(_message(b"x"), (world.peer, 0))
    assert _identifier(sock)
    expect(sock.getsockname()[0], "0.0.0.0")
    _check_reply(sock, sock.recv(100), b"x")


@case
def bound_to_an_identifier(world: World) -> None:
    """bind() chooses the identifier; others may have the same."""
    sock = _socket()
    sock.bind(("", 0))
    chosen = _identifier(sock)
    assert chosen
    with fails(errno.EINVAL):
        sock.bind(("", chosen))
    _socket().bind(("", chosen))
    sock.close()
    sock = _socket()
    sock.bind(("", chosen))
    expect(sock.getsockname(), ("0.0.0.0", chosen))
    sock.sendto(_message(b"x"), (world.peer, 0))
    _check_reply(sock, sock.recv(100), b"x")


@case
def connected(world: World) -> None:
    """A connected socket knows where to send; its peer has no port to show."""
    sock = _socket()
    sock.connect((world.peer, 0))
    expect(sock.getsockname()[0], world.me)
    assert _identifier(sock)
    with fails(errno.ENOTCONN):
        sock.getpeername()
    sock.send(_message(b"x"))
    message, source = sock.recvfrom(100)
    expect(source, (world.peer, 0))
    _check_reply(sock, message, b"x")
    sock.connect((world.peer, 7))
    expect(sock.getpeername(), (world.peer, 7))


@case
def disconnected(world: World) -> None:
    """Without its peer it needs an address again, and works with one."""
    sock = _socket()
    sock.connect((world.peer, 0))
    disconnect(sock)
    with fails(errno.EDESTADDRREQ):
        sock.send(_message(b"x"))
    sock.sendto(_message(b"x"), (world.peer, 0))
    _check_reply(sock, sock.recv(100), b"x")


@case
def inside_and_outside(world: World) -> None:
    """One socket pings this machine and others."""
    sock = _socket()
    for number in range(4):
        for address in "127.0.0.1", world.peer:
            sock.sendto(_message(b"x", number), (address, 0))
            message, source = sock.recvfrom(100)
            expect(source, (address, 0))
            _check_reply(sock, message, b"x", number)


@case
def nothing_but_echo_requests(world: World) -> None:
    """Other kinds and what is too short are EINVAL."""
    sock = _socket()
    for kind in 0, 3, 5, 11, 13, 17, 128, 255:
        with fails(errno.EINVAL):
            sock.sendto(_message(b"x", kind=kind), (world.peer, 0))
    with fails(errno.EINVAL):
        sock.sendto(_message(b"x", code=1), (world.peer, 0))
    for size in 0, 1, 7:
        with fails(errno.EINVAL):
            sock.sendto(bytes([_REQUEST, 0, 0, 0, 0, 0, 0])[:size], (world.peer, 0))


@case
def nowhere_to_send(world: World) -> None:
    """EDESTADDRREQ without a peer."""
    sock = _socket()
    with fails(errno.EDESTADDRREQ):
        sock.send(_message(b"x"))


@case
def too_large(world: World) -> None:
    """What no packet can hold is EMSGSIZE."""
    sock = _socket()
    for size in _LARGEST + 1, 1 << 16, 1 << 20:
        with fails(errno.EMSGSIZE):
            sock.sendto(_message(bytes(size)), (world.peer, 0))


@case
def out_of_band(world: World) -> None:
    """There is none."""
    sock = _socket()
    with fails(errno.EOPNOTSUPP):
        sock.sendto(_message(b"x"), socket.MSG_OOB, (world.peer, 0))


@case
def control_messages(world: World) -> None:
    """TTL, type of service, destination and time of a reply."""
    sock = _socket()
    set_flag(sock, socket.IPPROTO_IP, IP_RECVTTL, socket.IP_RECVTOS, IP_PKTINFO)
    set_flag(sock, socket.SOL_SOCKET, SO_TIMESTAMP)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x20)
    begin = now()
    sock.sendto(_message(b"x"), (world.peer, 0))
    _, control, _, _ = sock.recvmsg(100, 512)
    end = now()
    found = {(level, kind): value for level, kind, value in control}
    expect(found[socket.IPPROTO_IP, socket.IP_TTL], struct.pack("i", 64))
    expect(found[socket.IPPROTO_IP, socket.IP_TOS], b"\x20")
    destination = found[socket.IPPROTO_IP, IP_PKTINFO][8:12]
    expect(socket.inet_ntoa(destination), world.me)
    stamp = time_of(found[socket.SOL_SOCKET, SO_TIMESTAMP], UNITS[SO_TIMESTAMP])
    between(begin, stamp, UNITS[SO_TIMESTAMP], end)


@case
def control_messages_of_a_request(world: World) -> None:
    """TTL and type of service of one request."""
    sock = _socket()
    set_flag(sock, socket.IPPROTO_IP, socket.IP_RECVTOS)
    control = [
        (socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", 0x40)),
        (socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", 9)),
    ]
    sock.sendmsg([_message(b"x")], control, 0, (world.peer, 0))
    _, control, _, _ = sock.recvmsg(100, 512)
    expect(control, [(socket.IPPROTO_IP, socket.IP_TOS, b"\x40")])


@case
def ready(world: World) -> None:
    """poll() tells of a reply."""
    sock = _socket()
    expect(pending(sock, select.POLLIN | select.POLLOUT), select.POLLOUT)
    sock.sendto(_message(b"x"), (world.peer, 0))
    expect(wait_for(sock, select.POLLIN), select.POLLIN)
    _check_reply(sock, sock.recv(100, socket.MSG_PEEK), b"x")
    _check_reply(sock, sock.recv(100, socket.MSG_DONTWAIT), b"x")
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)


@case
def cut(world: World) -> None:
    """Too little room: the rest is gone, and MSG_TRUNC says so."""
    sock = _socket()
    for room in 0, 4, 8, 20:
        sock.sendto(_message(bytes(100)), (world.peer, 0))
        message, _, flags, _ = sock.recvmsg(room)
        expect((len(message), flags), (room, socket.MSG_TRUNC))
        expect(message[:2], bytes(2)[: min(room, 2)])


@case
def scattered(world: World) -> None:
    """Header and payload may lie in many places."""
    sock = _socket()
    message = _message(numbered(300))
    parts = [message[at : at + 3] for at in range(0, len(message), 3)]
    sock.sendmsg(parts, [], 0, (world.peer, 0))
    rooms = [bytearray(5) for _ in range(70)]
    size, _, flags, _ = sock.recvmsg_into(rooms)
    expect((size, flags), (308, 0))
    _check_reply(sock, b"".join(rooms)[:size], numbered(300))


@case
def no_queue_to_ask_for(world: World) -> None:
    """These sockets do not tell how much waits."""
    sock = _socket()
    sock.sendto(_message(b"x"), (world.peer, 0))
    wait_for(sock, select.POLLIN)
    with contextlib.suppress(OSError):
        fcntl.ioctl(sock, termios.FIONREAD, array.array("i", [0]))
        raise AssertionError("success instead of an error")


@case
def other_levels(world: World) -> None:
    """Options of UDP are none of theirs."""
    sock = _socket()
    for ready_for_it in range(2):
        with fails(errno.ENOPROTOOPT):
            sock.setsockopt(socket.IPPROTO_UDP, 1, 1)
        if not ready_for_it:
            sock.connect((world.peer, 0))


@case
def received_options(world: World) -> None:
    """ping(8) asks for the IP options of replies."""
    sock = _socket()
    set_flag(sock, socket.IPPROTO_IP, socket.IP_RETOPTS, socket.IP_RECVOPTS)
    sock.sendto(_message(b"x"), (world.peer, 0))
    _, control, _, _ = sock.recvmsg(100, 512)
    expect([kind for _, kind, _ in control if kind == socket.IP_TTL], [])
