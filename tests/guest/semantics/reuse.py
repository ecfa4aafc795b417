# SPDX-License-Identifier: GPL-2.0-or-later
"""One buffer again and again, whose memory changes behind the socket's back.

The module has the host remember a buffer that comes often.  Whatever the
kernel does to the memory meanwhile, the bytes must be the program's.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from .harness import World, case, case_of, checked, expect, fails, libc
from .peer import numbered

_SIZE = 128 << 10
#: More often than it takes until the buffer is remembered, twice.
_TIMES = 12
_MAP_FIXED = 0x10
_PKEY_DISABLE_ACCESS = 1


def _private() -> mmap.mmap:
    return mmap.mmap(-1, _SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _map_over(address: int, file: int) -> None:
    """Map the second part of a file where something else is."""
    access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED
    place, size, offset = (
        ctypes.c_void_p(address),
        ctypes.c_size_t(_SIZE),
        ctypes.c_long(_SIZE),
    )
    libc.mmap.restype = ctypes.c_void_p
    expect(libc.mmap(place, size, access, flags, file, offset), address)


def _fill(memory: mmap.mmap, number: int) -> bytes:
    memory[:] = bytes([number % 251]) + numbered(len(memory))[1:]
    return bytes(memory)


def _send_whole(world: World, memory: mmap.mmap, change: Callable[[int], bytes]) -> None:
    """Send the memory many times; before each, ``change`` says what is in it."""
    sock, theirs = world.pair()
    for number in range(_TIMES):
        data = change(number)
        sock.sendall(memory)
        expect(theirs.read(len(data)), zlib.crc32(data))


def _receive_whole(sock: socket.socket, memory: mmap.mmap) -> None:
    view, filled = memoryview(memory), 0
    while filled < len(view):
        got = sock.recv_into(view[filled:])
        assert got, "the stream ended"
        filled += got


@case
def sent_while_it_changes(world: World) -> None:
    """Each time other bytes, at the same place."""
    memory = mmap.mmap(-1, _SIZE)
    _send_whole(world, memory, lambda number: _fill(memory, number))


@case
def without_rights_of_ones_own(world: World) -> None:
    """A thread that takes its rights to the memory from itself: EFAULT."""
    if " ospke" not in Path("/proc/cpuinfo").read_text():
        return  # the processor has no protection keys
    memory, (sock, theirs) = _private(), world.pair()
    address = ctypes.c_void_p(_address(memory))
    data = _fill(memory, 1)
    key = checked(libc.pkey_alloc(0, 0))
    access = mmap.PROT_READ | mmap.PROT_WRITE
    checked(libc.pkey_mprotect(address, ctypes.c_size_t(_SIZE), access, key))
    for _ in range(_TIMES):
        sock.sendall(memory)
        expect(theirs.read(len(data)), zlib.crc32(data))
    checked(libc.pkey_set(key, _PKEY_DISABLE_ACCESS))
    try:
        with fails(errno.EFAULT):
            sock.send(memory)
    finally:
        checked(libc.pkey_set(key, 0))
    sock.sendall(memory)
    expect(theirs.read(len(data)), zlib.crc32(data))


@case
def sent_from_parts(world: World) -> None:
    """Parts of a buffer, that begin and end anywhere."""
    sock, theirs = world.pair()
    memory = mmap.mmap(-1, _SIZE)
    data = _fill(memory, 1)
    for number in range(_TIMES):
        sock.sendall(memory)
        expect(theirs.read(_SIZE), zlib.crc32(data))
        begin, end = number * 4099, _SIZE - number * 1021
        sock.sendall(memoryview(memory)[begin:end])
        expect(theirs.read(end - begin), zlib.crc32(data[begin:end]))


@case_of("zeroed", "file", "replaced")
def sent_after(world: World, what: str) -> None:
    """The pages go in the middle, and others are at their place."""
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.write(numbered(2 * _SIZE))
        file.flush()
        memory = mmap.mmap(file.fileno(), _SIZE) if what == "file" else _private()
        address = _address(memory)

        def change(number: int) -> bytes:
            if number % 6 != 5:
                return _fill(memory, number)
            if what == "zeroed":
                memory.madvise(mmap.MADV_DONTNEED)
                return bytes(_SIZE)
            if what == "file":
                os.ftruncate(file.fileno(), 0)
                os.pwrite(file.fileno(), b"z" * _SIZE, 0)
                return b"z" * _SIZE
            _map_over(address, file.fileno())
            return numbered(2 * _SIZE)[_SIZE:]

        _send_whole(world, memory, change)


@case
def sent_by_parent_and_child(world: World) -> None:
    """After fork() each has its own bytes at the same address."""
    memory = _private()
    sock, theirs = world.pair()
    for number in range(_TIMES):
        data = _fill(memory, number)
        sock.sendall(memory)
        expect(theirs.read(_SIZE), zlib.crc32(data))
    child = os.fork()
    if child == 0:
        _fill(memory, 100)
        for _ in range(_TIMES):
            sock.sendall(memory)
        os._exit(0)
    mine = _fill(memory, 101)
    theirs_then = bytes([100]) + mine[1:]
    for _ in range(_TIMES):
        expect(theirs.read(_SIZE), zlib.crc32(theirs_then))
    expect(os.waitpid(child, 0)[1], 0)
    for _ in range(_TIMES):
        sock.sendall(memory)
        expect(theirs.read(_SIZE), zlib.crc32(mine))


@case
def received_while_it_is_read(world: World) -> None:
    """Each time other bytes arrive, at the same place."""
    sock = world.stream()
    memory = mmap.mmap(-1, _SIZE)
    for number in range(_TIMES):
        data = bytes([number]) * _SIZE
        sock.sendall(data)
        _receive_whole(sock, memory)
        assert bytes(memory) == data


@case
def received_beside_a_child(world: World) -> None:
    """A child that was forked in between keeps what there was."""
    sock = world.stream()
    memory = _private()
    for number in range(_TIMES):
        sock.sendall(bytes([number]) * _SIZE)
        _receive_whole(sock, memory)
    go_on, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(go_on, 1)
        same = bytes(memory) == bytes([_TIMES - 1]) * _SIZE
        os._exit(0 if same else 1)
    for number in range(_TIMES):
        sock.sendall(bytes([100 + number]) * _SIZE)
        _receive_whole(sock, memory)
        assert bytes(memory) == bytes([100 + number]) * _SIZE
    os.write(told, b"!")
    expect(os.waitpid(child, 0)[1], 0)


@case
def received_after_it_was_dropped(world: World) -> None:
    """Pages that were given back in the middle are filled like new ones."""
    sock = world.stream()
    memory = _private()
    for number in range(_TIMES):
        memory.madvise(mmap.MADV_DONTNEED)
        sock.sendall(bytes([number + 1]) * _SIZE)
        _receive_whole(sock, memory)
        assert bytes(memory) == bytes([number + 1]) * _SIZE


@case
def memory_that_is_gone(world: World) -> None:
    """EFAULT, however often it was good before; and the stream goes on."""
    sock, theirs = world.pair()
    memory = mmap.mmap(-1, _SIZE)
    data = _fill(memory, 1)
    address = _address(memory)
    for _ in range(_TIMES):
        sock.sendall(memory)
        expect(theirs.read(_SIZE), zlib.crc32(data))
    pointer, size = ctypes.c_void_p(address), ctypes.c_size_t(_SIZE)
    checked(libc.mprotect(pointer, size, 0))
    with fails(errno.EFAULT):
        checked(libc.send(sock.fileno(), pointer, size, 0))
    checked(libc.mprotect(pointer, size, mmap.PROT_READ | mmap.PROT_WRITE))
    for _ in range(_TIMES):
        sock.sendall(memory)
        expect(theirs.read(_SIZE), zlib.crc32(data))


@case
def many_sockets_one_buffer(world: World) -> None:
    """Forty sockets send from the same memory."""
    memory = mmap.mmap(-1, 64 << 10)
    data = _fill(memory, 3)
    pairs = [world.pair() for _ in range(40)]
    for _ in range(6):
        for sock, theirs in pairs:
            sock.sendall(memory)
            expect(theirs.read(len(data)), zlib.crc32(data))


@case
def datagrams_that_grow(world: World) -> None:
    """A datagram may be longer than those that came from the same memory before."""
    sock = world.datagrams(connected=True)
    memory = mmap.mmap(-1, _SIZE)
    data = _fill(memory, 5)
    for size in (*[40000] * _TIMES, 60000, 40001):
        expect(sock.send(memoryview(memory)[:size]), size)
        assert sock.recv(_SIZE) == data[:size]
