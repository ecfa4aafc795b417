# SPDX-License-Identifier: GPL-2.0-or-later
"""Timestamps of the kernel are of the program's own clock, while it is slewed, too.

Whoever runs these has set that clock to another time than others have.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import time
from collections.abc import Iterator

from .harness import World, case, case_of, checked, expect, fails, libc, set_flag, until, wait_for

# Of asm-generic/socket.h; those with 64-bit times for everybody are the latter ones.
SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING = 29, 35, 37
SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW, SO_TIMESTAMPING_NEW = 63, 64, 65
SIOCGSTAMP, SIOCGSTAMPNS = 0x8906, 0x8907
_SIOCGSTAMP_NEW, _SIOCGSTAMPNS_NEW = 0x80108906, 0x80108907

_IP_RECVTTL = 12

_NS = 10**9
#: Nanoseconds in the second number of each.
UNITS = {
    SO_TIMESTAMP: 1000,
    SO_TIMESTAMP_NEW: 1000,
    SO_TIMESTAMPNS: 1,
    SO_TIMESTAMPNS_NEW: 1,
    SIOCGSTAMP: 1000,
    _SIOCGSTAMP_NEW: 1000,
    SIOCGSTAMPNS: 1,
    _SIOCGSTAMPNS_NEW: 1,
}
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _TSONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 11

# struct timex of a 64-bit Linux: modes, and where the tick is.
_ADJ_TICK, _TIMEX_SIZE, _TICK_AT = 0x4000, 208, 88
#: Microseconds; the kernel's own, and its bounds.
_TICK, _SLOW, _FAST = 10000, 9000, 11000


_held: list[int] = []


def _hold(how: int) -> None:
    """Let nobody slew the clock, or only this process; until it ends."""
    if not _held:
        _held.append(os.open(__file__, os.O_RDONLY))
        fcntl.flock(_held[0], how)


def now() -> int:
    """Nanoseconds of the clock, which goes on at its pace from here on."""
    _hold(fcntl.LOCK_SH)
    return time.time_ns()


def _set_tick(tick: int) -> None:
    timex = ctypes.create_string_buffer(_TIMEX_SIZE)
    struct.pack_into("I", timex, 0, _ADJ_TICK)
    struct.pack_into("q", timex, _TICK_AT, tick)
    checked(libc.adjtimex(timex))


@contextlib.contextmanager
def _slewed(tick: int) -> Iterator[None]:
    """The clock goes too fast or too slowly, by a tenth at most."""
    _set_tick(tick)
    try:
        yield
    finally:
        _set_tick(_TICK)


def time_of(value: bytes, unit: int) -> int:
    """Nanoseconds of the first time in there; the unit is that of its second number."""
    seconds, part = struct.unpack_from("qq", value)
    assert 0 <= part < _NS // unit, value
    return int(seconds * _NS + part * unit)


def between(begin: int, stamp: int, unit: int, end: int) -> None:
    """The stamp, of which the unit says how it is rounded, is neither early nor late."""
    assert begin - begin % unit <= stamp <= end, (stamp - begin, end - begin)


def _send_and_receive(sock: socket.socket, option: int) -> None:
    begin = now()
    sock.send(b"x")
    data, ancillary, _, _ = sock.recvmsg(10, 100)
    end = now()
    expect((data, [row[:2] for row in ancillary]), (b"x", [(socket.SOL_SOCKET, option)]))
    between(begin, time_of(ancillary[0][2], UNITS[option]), UNITS[option], end)


_OPTIONS = (SO_TIMESTAMP, SO_TIMESTAMP_NEW, SO_TIMESTAMPNS, SO_TIMESTAMPNS_NEW)


@case_of(*_OPTIONS)
def of_a_datagram(world: World, option: int) -> None:
    """SO_TIMESTAMP and SO_TIMESTAMPNS: it came after it was sent, and before now."""
    sock = world.datagrams(connected=True)
    set_flag(sock, socket.SOL_SOCKET, option)
    for _ in range(3):
        _send_and_receive(sock, option)


@case
def of_a_datagram_that_waits(world: World) -> None:
    """It is the time of arrival, not that of reading."""
    sock = world.datagrams(connected=True)
    set_flag(sock, socket.SOL_SOCKET, SO_TIMESTAMPNS)
    # Linux begins to stamp some time after it was asked.
    begin = now()

    def came_before_it_was_read() -> bool:
        sock.send(b"x")
        wait_for(sock, select.POLLIN)
        seen = now()
        _, ancillary, _, _ = sock.recvmsg(10, 100)
        stamp = time_of(ancillary[0][2], 1)
        between(begin, stamp, 1, now())
        return stamp <= seen

    until(came_before_it_was_read, "a stamp of before poll() returned")


@case_of(SO_TIMESTAMP, SO_TIMESTAMPNS_NEW)
def of_a_stream(world: World, option: int) -> None:
    """Of the last of the data that are read."""
    sock = world.stream()
    set_flag(sock, socket.SOL_SOCKET, option)
    begin = now()

    def stamped() -> list[tuple[int, int, bytes]]:
        sock.send(b"x")
        return sock.recvmsg(10, 100)[1]

    ancillary = until(stamped, "data with a stamp")
    end = now()
    between(begin, time_of(ancillary[0][2], UNITS[option]), UNITS[option], end)


def _sent(sock: socket.socket) -> int:
    wait_for(sock, select.POLLERR)
    _, ancillary, _, _ = sock.recvmsg(100, 1000, socket.MSG_ERRQUEUE)
    (value,) = (row[2] for row in ancillary if row[0] == socket.SOL_SOCKET)
    expect(value[16:], bytes(32))
    return time_of(value, 1)


def _send_and_look(sock: socket.socket) -> None:
    begin = now()
    sock.send(b"x")
    sent = _sent(sock)
    _, ancillary, _, _ = sock.recvmsg(10, 1000)
    end = now()
    between(begin, sent, 1, end)
    # The first packets have no stamp, as Linux has only just been asked.
    for row in ancillary:
        between(begin, time_of(row[2], 1), 1, end)


def _stamping(world: World, option: int) -> socket.socket:
    sock = world.datagrams(connected=True)
    flags = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _TSONLY
    sock.setsockopt(socket.SOL_SOCKET, option, flags)
    return sock


@case_of(SO_TIMESTAMPING, SO_TIMESTAMPING_NEW)
def when_it_was_sent(world: World, option: int) -> None:
    """SO_TIMESTAMPING: it has left after send() and before now, and so has the answer."""
    sock = _stamping(world, option)
    for _ in range(3):
        _send_and_look(sock)


@case
def while_the_clock_is_slewed(world: World) -> None:
    """The same of a clock that is on its way to another time."""
    _hold(fcntl.LOCK_EX)
    came = world.datagrams(connected=True)
    set_flag(came, socket.SOL_SOCKET, SO_TIMESTAMPNS)
    left = _stamping(world, SO_TIMESTAMPING)
    for tick in _SLOW, _FAST:
        with _slewed(tick):
            for _ in range(10):
                _send_and_receive(came, SO_TIMESTAMPNS)
                _send_and_look(left)


@case_of(SIOCGSTAMP, _SIOCGSTAMP_NEW, SIOCGSTAMPNS, _SIOCGSTAMPNS_NEW)
def by_ioctl(world: World, request: int) -> None:
    """SIOCGSTAMP and SIOCGSTAMPNS tell when the latest datagram came."""
    sock = world.datagrams(connected=True)
    with fails(errno.ENOENT):
        fcntl.ioctl(sock, request, bytes(16))
    for _ in range(3):
        begin = now()
        sock.send(b"x")
        expect(sock.recvmsg(10, 100)[:2], (b"x", []))
        stamp = time_of(fcntl.ioctl(sock, request, bytes(16)), UNITS[request])
        end = now()
        between(begin, stamp, UNITS[request], end)
        # It is not the time of asking.
        again = time_of(fcntl.ioctl(sock, request, bytes(16)), UNITS[request])
        expect(again, stamp)


@case
def by_ioctl_and_with_the_data(world: World) -> None:
    """What comes with the data is not kept for SIOCGSTAMP."""
    sock = world.datagrams(connected=True)
    sock.send(b"x")
    expect(sock.recv(10), b"x")
    first = fcntl.ioctl(sock, SIOCGSTAMPNS, bytes(16))
    set_flag(sock, socket.SOL_SOCKET, SO_TIMESTAMPNS)
    _send_and_receive(sock, SO_TIMESTAMPNS)
    expect(fcntl.ioctl(sock, SIOCGSTAMPNS, bytes(16)), first)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 0)
    begin = now()
    sock.send(b"x")
    expect(sock.recvmsg(10, 100)[:2], (b"x", []))
    stamp = time_of(fcntl.ioctl(sock, SIOCGSTAMPNS, bytes(16)), 1)
    between(begin, stamp, 1, now())


@case
def by_ioctl_of_a_stream(world: World) -> None:
    """There is none."""
    sock = world.stream()
    for _ in range(2):
        sock.send(b"x")
        expect(sock.recv(10), b"x")
        with fails(errno.ENOENT):
            fcntl.ioctl(sock, SIOCGSTAMP, bytes(16))


@case
def with_other_ancillary_data(world: World) -> None:
    """MSG_CTRUNC is about what the program has asked for."""
    sock = world.datagrams(connected=True)
    sock.send(b"x")
    expect(sock.recv(10), b"x")
    fcntl.ioctl(sock, SIOCGSTAMP, bytes(16))
    set_flag(sock, socket.IPPROTO_IP, _IP_RECVTTL)
    for room, told, flags in (100, 1, 0), (8, 0, socket.MSG_CTRUNC), (0, 0, socket.MSG_CTRUNC):
        sock.send(b"x")
        _, ancillary, seen, _ = sock.recvmsg(10, room)
        expect((len(ancillary), seen), (told, flags))
