# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of multicast; what groups hear is in tests/guest/test_multicast.py."""

from __future__ import annotations

import errno
import socket
import struct

from .harness import World, case, case_of, expect, fails

# What Python 3.11 has no names for.
IP_MULTICAST_ALL = 49
IP_UNBLOCK_SOURCE = 37
IP_BLOCK_SOURCE = 38
IP_DROP_SOURCE_MEMBERSHIP = 40
MCAST_JOIN_GROUP = 42
MCAST_LEAVE_GROUP = 45
_GROUP = "239.1.2.3"
_MAX = 20


def _socket(world: World) -> socket.socket:
    """Make one whose groups are where the peer is."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(world.me))
    return sock


def _change(world: World, sock: socket.socket, option: int, group: str = _GROUP) -> None:
    value = socket.inet_aton(group) + socket.inet_aton(world.me)
    sock.setsockopt(socket.IPPROTO_IP, option, value)


@case
def join_and_leave(world: World) -> None:
    """Once each; the second time is an error."""
    sock = _socket(world)
    for _ in range(2):
        _change(world, sock, socket.IP_ADD_MEMBERSHIP)
        with fails(errno.EADDRINUSE):
            _change(world, sock, socket.IP_ADD_MEMBERSHIP)
        _change(world, sock, socket.IP_DROP_MEMBERSHIP)
        with fails(errno.EADDRNOTAVAIL):
            _change(world, sock, socket.IP_DROP_MEMBERSHIP)


@case
def as_many_as_allowed(world: World) -> None:
    """Then ENOBUFS."""
    sock = _socket(world)
    for number in range(_MAX):
        _change(world, sock, socket.IP_ADD_MEMBERSHIP, f"239.2.0.{number}")
    with fails(errno.ENOBUFS):
        _change(world, sock, socket.IP_ADD_MEMBERSHIP)


@case
def wrong_values(world: World) -> None:
    """Too short, no group, no such interface."""
    sock = _socket(world)
    for option in socket.IP_ADD_MEMBERSHIP, socket.IP_DROP_MEMBERSHIP:
        with fails(errno.EINVAL):
            sock.setsockopt(socket.IPPROTO_IP, option, socket.inet_aton(_GROUP))
    with fails(errno.EINVAL):
        _change(world, sock, socket.IP_ADD_MEMBERSHIP, "10.1.2.3")
    with fails(errno.ENODEV):
        value = socket.inet_aton(_GROUP) + socket.inet_aton("203.0.113.9")
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, value)
    with fails(errno.ENODEV):
        value = socket.inet_aton(_GROUP) + struct.pack("4xi", 4711)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, value)


@case_of(IP_BLOCK_SOURCE, IP_UNBLOCK_SOURCE, IP_DROP_SOURCE_MEMBERSHIP)
def source_of_a_group_not_joined(world: World, option: int) -> None:
    """There is nothing to change."""
    addresses = _GROUP, world.me, world.peer
    value = b"".join(socket.inet_aton(address) for address in addresses)
    with fails(errno.EINVAL):
        _socket(world).setsockopt(socket.IPPROTO_IP, option, value)


@case
def numbered_interface(world: World) -> None:
    """The newer form names the interface by its number."""
    sock = _socket(world)
    loopback = socket.if_nametoindex("lo")
    group = struct.pack("HH4s120x", socket.AF_INET, 0, socket.inet_aton(_GROUP))
    value = struct.pack("I4x", loopback) + group
    sock.setsockopt(socket.IPPROTO_IP, MCAST_JOIN_GROUP, value)
    with fails(errno.EADDRINUSE):
        sock.setsockopt(socket.IPPROTO_IP, MCAST_JOIN_GROUP, value)
    sock.setsockopt(socket.IPPROTO_IP, MCAST_LEAVE_GROUP, value)


@case
def options(world: World) -> None:
    """They are remembered, whether a group has been used or not."""
    sock = _socket(world)
    for use in range(2):
        for name, value in (
            (socket.IP_MULTICAST_TTL, 7),
            (socket.IP_MULTICAST_LOOP, 0),
            (IP_MULTICAST_ALL, 0),
        ):
            sock.setsockopt(socket.IPPROTO_IP, name, value)
            expect(sock.getsockopt(socket.IPPROTO_IP, name), value)
        if not use:
            sock.sendto(b"x", (_GROUP, 4713))
    expect(
        sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, 4), socket.inet_aton(world.me)
    )


@case
def a_stream_to_a_group(world: World) -> None:
    """There is none."""
    with fails(errno.ENETUNREACH):
        socket.socket().connect((_GROUP, 4713))


@case_of("", _GROUP)
def own_datagrams(world: World, bound: str) -> None:
    """What is sent to a group comes back to a member, and says where it went."""
    sock = _socket(world)
    sock.bind((bound, 0))
    port = sock.getsockname()[1]
    expect(sock.getsockname()[0], bound or "0.0.0.0")
    sock.setsockopt(socket.IPPROTO_IP, 8, 1)  # IP_PKTINFO
    _change(world, sock, socket.IP_ADD_MEMBERSHIP)
    expect(sock.sendto(b"mine", (_GROUP, port)), 4)
    data, control, _, source = sock.recvmsg(100, 100)
    expect((data, source), (b"mine", (world.me, port)))
    expect(socket.inet_ntoa(control[0][2][8:12]), _GROUP)
    _change(world, sock, socket.IP_DROP_MEMBERSHIP)
    if bound:
        return
    sock.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)
    sock.sendto(b"mine", (_GROUP, port))
    with fails(errno.EAGAIN):
        sock.recv(100, socket.MSG_DONTWAIT)


@case
def connected_to_a_group(world: World) -> None:
    """It only sends: nobody's address is a group."""
    member = _socket(world)
    member.bind(("", 0))
    _change(world, member, socket.IP_ADD_MEMBERSHIP)
    sock = _socket(world)
    sock.connect((_GROUP, member.getsockname()[1]))
    expect(sock.getpeername(), (_GROUP, member.getsockname()[1]))
    sock.send(b"to all")
    expect(member.recv(100), b"to all")
