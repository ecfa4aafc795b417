# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes through streams: every size, every call, every kind of memory."""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import mmap
import os
import select
import socket
import zlib
from collections.abc import Iterable
from pathlib import Path

from .harness import (
    Task,
    World,
    case,
    case_of,
    checked,
    expect,
    fails,
    libc,
    pending,
    receive_all,
    until,
    wait_for,
)
from .peer import numbered

# What the module copies, what it maps, and what a request can carry, with the
# sizes to either side; all of them are ordinary sizes to a program.
_SIZES = (1, 1024, 1025, 4096, 4097, 65535, 65536, 65537, 1 << 20, (5 << 20) + 3)
_PAGE = mmap.PAGESIZE
_OFFSETS = (0, 1, _PAGE - 1)
_MSG_TRUNC = socket.MSG_TRUNC


@case_of(*_SIZES)
def send_of(world: World, size: int) -> None:
    """The peer gets every byte, from memory at any alignment."""
    data = numbered(size)
    for offset in _OFFSETS if size < 1 << 20 else _OFFSETS[-1:]:
        memory = bytearray(offset) + data
        sock, theirs = world.pair()
        drained = Task(theirs.drain)
        sock.sendall(memoryview(memory)[offset:])
        sock.shutdown(socket.SHUT_WR)
        expect(drained.result(), (size, zlib.crc32(data)))


@case_of(*_SIZES)
def receive_of(world: World, size: int) -> None:
    """Every byte arrives, into memory at any alignment, and none beside it."""
    for offset in _OFFSETS if size < 1 << 20 else _OFFSETS[-1:]:
        sock, theirs = world.pair()
        theirs.send_numbered(size)
        memory = bytearray(b"\xee" * (offset + size + 8))
        filled = 0
        while filled < size:
            room = memoryview(memory)[offset + filled : offset + size]
            filled += sock.recv_into(room)
        expect(sock.recv(1), b"")
        assert memory[offset : offset + size] == numbered(size)
        expect(memory[:offset], b"\xee" * offset)
        expect(memory[offset + size :], b"\xee" * 8)


@case
def both_directions_at_once(world: World) -> None:
    """Three megabytes there and back; nobody waits for the other."""
    sock = world.stream()
    data = numbered(3 << 20)
    sender = Task(sock.sendall, data)
    assert receive_all(sock, len(data)) == data
    sender.result()


@case
def threads_do_not_mix(world: World) -> None:
    """Eight connections of eight threads, each with its own data."""

    def work(number: int) -> bool:
        sock = world.stream()
        data = bytes([number]) * 200_000
        sender = Task(sock.sendall, data)
        same = receive_all(sock, len(data)) == data
        sender.result()
        return same

    tasks = [Task(work, number) for number in range(8)]
    expect([task.result() for task in tasks], [True] * 8)


# --- several buffers ----------------------------------------------------------


def _gather(world: World, pieces: Iterable[bytes]) -> None:
    sock, theirs = world.pair()
    rest = list(pieces)
    whole = b"".join(rest)
    drained = Task(theirs.drain)
    # A stream that blocks takes everything.
    expect(sock.sendmsg(rest), len(whole))
    sock.shutdown(socket.SHUT_WR)
    expect(drained.result(), (len(whole), zlib.crc32(whole)))


@case
def gather_small_pieces(world: World) -> None:
    """Nine hundred pieces of 37 bytes."""
    _gather(world, [bytes([number % 251]) * 37 for number in range(900)])


@case
def gather_pages(world: World) -> None:
    """As many pieces as the kernel takes, of a page each."""
    _gather(world, [bytes([number % 251]) * _PAGE for number in range(1024)])


@case
def gather_all_sorts(world: World) -> None:
    """Empty, tiny and large pieces in one call."""
    sizes = (0, 1, 70_000, 0, 3, _PAGE, _PAGE + 1, 1 << 20, 0, 17)
    _gather(world, [numbered(size) for size in sizes])


@case
def gather_behind_nothing(world: World) -> None:
    """An empty piece in front, in memory that is sent from often."""
    data = numbered(100_000)
    sock, theirs = world.pair()
    drained = Task(theirs.drain)
    for _ in range(20):
        sock.sendall(data)
    expect(sock.sendmsg([memoryview(data)[:0], data]), len(data))
    sock.shutdown(socket.SHUT_WR)
    expect(drained.result(), (21 * len(data), zlib.crc32(data * 21)))


@case
def scatter_behind_nothing(world: World) -> None:
    """An empty buffer in front, in memory that is read into often, is not the end."""
    size = 100_000
    memory = bytearray(size)
    sock, theirs = world.pair()
    theirs.send_numbered(21 * size)
    for _ in range(20):
        expect(sock.recv_into(memory, 0, socket.MSG_WAITALL), size)
    until(lambda: _waiting(sock), "data")
    assert sock.recvmsg_into([memoryview(memory)[:0], memory])[0] > 0


@case
def too_many_pieces(world: World) -> None:
    """1025 pieces are EMSGSIZE."""
    with fails(errno.EMSGSIZE):
        world.stream().sendmsg([b"x"] * 1025)


@case
def scatter(world: World) -> None:
    """Data fill the buffers in their order, in one call if they are there."""
    for sizes in [1, 0, 9, 5000], [30_000, 1, 4096, 60_000], [1000] * 90:
        listener = world.hands.listen()
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
        sock.connect((world.peer, listener.port))
        theirs = listener.accept()
        total = sum(sizes)
        theirs.send_numbered(total)
        until(lambda: _waiting(sock) == total, "all of the data")  # noqa: B023
        rooms = [bytearray(size) for size in sizes]
        expect(sock.recvmsg_into(rooms)[0], total)
        assert b"".join(rooms) == numbered(total)


@case
def short_read_means_no_more(world: World) -> None:
    """As long as there are data a read fills its buffers, however many they are."""
    listener = world.hands.listen()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
    sock.connect((world.peer, listener.port))
    theirs = listener.accept()
    theirs.send_numbered(700_000)
    head = sock.recv(600_000, socket.MSG_WAITALL)
    until(lambda: _waiting(sock) == 100_000, "the rest")
    rooms = [bytearray(1000) for _ in range(95)]
    expect(sock.recvmsg_into(rooms)[0], 95_000)
    assert head + b"".join(rooms) == numbered(700_000)[:695_000]


def _waiting(sock: socket.socket) -> int:
    """How much recv() would return now."""
    with contextlib.suppress(BlockingIOError):
        return len(sock.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    return 0


@case
def files_calls(world: World) -> None:
    """read(), write(), readv() and writev() work; a socket has no position."""
    sock = world.stream()
    number = sock.fileno()
    expect(os.write(number, b"written"), 7)
    expect(os.writev(number, [b" in ", b"pieces"]), 10)
    until(lambda: _waiting(sock) == 17, "what was written")
    rooms = [bytearray(7), bytearray(4)]
    expect(os.readv(number, rooms), 11)
    expect(b"".join(rooms), b"written in ")
    expect(os.read(number, 100), b"pieces")
    with fails(errno.ESPIPE):
        os.lseek(number, 0, os.SEEK_SET)
    with fails(errno.ESPIPE):
        os.pread(number, 1, 0)


# --- flags --------------------------------------------------------------------


@case
def peek(world: World) -> None:
    """MSG_PEEK shows the same data again and again."""
    sock, theirs = world.pair()
    theirs.send(b"abcdef")
    for size in 1, 6, 3:
        expect(sock.recv(size, socket.MSG_PEEK), b"abcdef"[:size])
    expect(sock.recv(2), b"ab")
    expect(sock.recv(100, socket.MSG_PEEK), b"cdef")
    expect(sock.recv(100), b"cdef")


@case
def peek_at_much(world: World) -> None:
    """MSG_PEEK of more than a page shows what a read then gets."""
    sock, theirs = world.pair()
    theirs.send_numbered(50_000)
    until(lambda: _waiting(sock) == 50_000, "all of the data")
    seen = sock.recv(50_000, socket.MSG_PEEK)
    assert seen == numbered(50_000)
    assert sock.recv(50_000) == seen


@case_of("one", "two")
def peek_beyond_what_is_read_often(world: World, pieces: str) -> None:
    """MSG_PEEK shows all that there is, also in memory of which a part is read into often."""
    often, more = 100_000, 50_000
    listener = world.hands.listen()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
    sock.connect((world.peer, listener.port))
    theirs = listener.accept()
    data = numbered(often + more)
    memory = memoryview(bytearray(len(data)))
    for _ in range(20):
        theirs.send(data[:often])
        expect(sock.recv_into(memory, often, socket.MSG_WAITALL), often)
    theirs.send(data)
    until(lambda: _waiting(sock) == len(data), "all of the data")
    rooms = [memory] if pieces == "one" else [memory[:often], memory[often:]]
    expect(sock.recvmsg_into(rooms, 0, socket.MSG_PEEK)[0], len(data))
    assert memory == data


@case
def peek_for_all(world: World) -> None:
    """MSG_PEEK with MSG_WAITALL waits for all and leaves it."""
    sock, theirs = world.pair()
    theirs.send(b"123")
    wait_for(sock, select.POLLIN)
    reader = Task(sock.recv, 6, socket.MSG_PEEK | socket.MSG_WAITALL).wait_blocked()
    theirs.send(b"456")
    expect(reader.result(), b"123456")
    expect(sock.recv(100), b"123456")


@case
def discard(world: World) -> None:
    """MSG_TRUNC reads and throws away."""
    for size in 5, 50_000:
        sock, theirs = world.pair()
        theirs.send(numbered(size))
        theirs.send(b"kept")
        until(lambda: _waiting(sock) == size + 4, "all of the data")  # noqa: B023
        room = bytearray(b"\xee" * size)
        expect(sock.recv_into(room, size, _MSG_TRUNC), size)
        expect(room, b"\xee" * size)
        expect(sock.recv(100), b"kept")


@case
def wait_for_all(world: World) -> None:
    """MSG_WAITALL returns when the buffer is full, or the stream ends."""
    sock, theirs = world.pair()
    reader = Task(sock.recv, 10, socket.MSG_WAITALL).wait_blocked()
    theirs.send(b"12345")
    reader.wait_blocked()
    theirs.send(b"67890x")
    expect(reader.result(), b"1234567890")
    reader = Task(sock.recv, 10, socket.MSG_WAITALL).wait_blocked()
    theirs.shutdown(socket.SHUT_WR)
    expect(reader.result(), b"x")


@case
def wait_for_all_of_much(world: World) -> None:
    """MSG_WAITALL for two megabytes."""
    sock, theirs = world.pair()
    theirs.send_numbered(2 << 20)
    assert sock.recv(2 << 20, socket.MSG_WAITALL) == numbered(2 << 20)


@case
def do_not_wait(world: World) -> None:
    """MSG_DONTWAIT: EAGAIN on a socket that blocks, to read and to write."""
    sock, theirs = world.pair()
    with fails(errno.EAGAIN):
        sock.recv(1, socket.MSG_DONTWAIT)
    theirs.send(b"x")
    wait_for(sock, select.POLLIN)
    expect(sock.recv(10, socket.MSG_DONTWAIT), b"x")
    with fails(errno.EAGAIN):
        while True:
            sock.send(bytes(65536), socket.MSG_DONTWAIT)


@case
def nothing(world: World) -> None:
    """No bytes: sending succeeds, receiving neither waits nor takes anything."""
    sock, theirs = world.pair()
    expect(sock.send(b""), 0)
    theirs.send(b"x")
    wait_for(sock, select.POLLIN)
    expect(checked(libc.recv(sock.fileno(), None, 0, 0)), 0)
    expect(sock.recv(1), b"x")
    with fails(errno.EAGAIN):
        checked(libc.recv(sock.fileno(), None, 0, socket.MSG_DONTWAIT))


@case
def a_part_is_sent(world: World) -> None:
    """A send() without room for everything tells how much it took."""
    sock, theirs = world.pair()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    data = numbered(6 << 20)
    taken = sock.send(data, socket.MSG_DONTWAIT)
    assert 0 < taken < len(data)
    sock.shutdown(socket.SHUT_WR)
    expect(theirs.drain(), (taken, zlib.crc32(data[:taken])))


@case
def a_third_is_free(world: World) -> None:
    """A socket that poll() calls full, as little is free, still takes a byte."""
    sock, theirs = world.pair()
    sent = 0
    while pending(sock, select.POLLOUT):
        sent += sock.send(bytes(4096), socket.MSG_DONTWAIT)
    expect(sock.send(b"x", socket.MSG_DONTWAIT), 1)
    sock.shutdown(socket.SHUT_WR)
    expect(theirs.drain()[0], sent + 1)


@case
def blocking_send_takes_everything(world: World) -> None:
    """One send() of more than any buffer returns when all is taken."""
    sock, theirs = world.pair()
    data = numbered(8 << 20)
    sender = Task(sock.send, data).wait_blocked()
    received = Task(theirs.drain)
    expect(sender.result(), len(data))
    sock.shutdown(socket.SHUT_WR)
    expect(received.result(), (len(data), zlib.crc32(data)))


# --- files and pipes ----------------------------------------------------------


@case_of(1, 4096, 65537, 300_001)
def sendfile_of(world: World, size: int) -> None:
    """The peer gets the file."""
    path = Path(f"/tmp/sendfile-{size}")
    path.write_bytes(numbered(size))
    sock, theirs = world.pair()
    with path.open("rb") as file:
        left, offset = size, 0
        while left:
            sent = os.sendfile(sock.fileno(), file.fileno(), offset, left)
            left, offset = left - sent, offset + sent
    sock.shutdown(socket.SHUT_WR)
    expect(theirs.drain(), (size, zlib.crc32(numbered(size))))


@case_of(1, 4096, 60_000)
def splice_to_a_pipe_of(world: World, size: int) -> None:
    """splice() moves what has arrived into a pipe."""
    sock, theirs = world.pair()
    reader, writer = os.pipe()
    theirs.send_numbered(size)
    data = b""
    while moved := os.splice(sock.fileno(), writer, size + 1):
        while moved:
            part = os.read(reader, moved)
            data, moved = data + part, moved - len(part)
    assert data == numbered(size)


@case_of(1, 4096, 60_000)
def splice_from_a_pipe_of(world: World, size: int) -> None:
    """splice() sends what is in a pipe."""
    sock, theirs = world.pair()
    reader, writer = os.pipe()
    os.write(writer, numbered(size))
    os.close(writer)
    moved = 0
    while part := os.splice(reader, sock.fileno(), size):
        moved += part
    expect(moved, size)
    sock.shutdown(socket.SHUT_WR)
    expect(theirs.drain(), (size, zlib.crc32(numbered(size))))


@case
def tee_shows_both(world: World) -> None:
    """splice() into a pipe, tee() into another: both have it; one of them goes back."""
    sock = world.stream()
    data = numbered(5000)
    sock.sendall(data)
    pipes = [os.pipe() for _ in range(2)]
    moved = 0
    while moved < len(data):
        moved += os.splice(sock.fileno(), pipes[0][1], len(data) - moved)
    expect(checked(libc.tee(pipes[0][0], pipes[1][1], len(data), 0)), len(data))
    expect(os.read(pipes[1][0], len(data)), data)
    expect(os.splice(pipes[0][0], sock.fileno(), len(data)), len(data))
    assert receive_all(sock, len(data)) == data


@case
def splice_at_the_mark(world: World) -> None:
    """splice() stops at an urgent byte, but tells of the end, and of a reset, behind it."""
    _, writer = os.pipe()
    for resets in (False, True):
        sock, theirs = world.pair()
        sock.setblocking(False)
        theirs.send(b"data", socket.MSG_OOB)
        wait_for(sock, select.POLLPRI)
        expect(sock.recv(10), b"dat")
        with fails(errno.EAGAIN):
            os.splice(sock.fileno(), writer, 10)
        if resets:
            theirs.reset()
            wait_for(sock, select.POLLHUP)
            with fails(errno.ECONNRESET):
                os.splice(sock.fileno(), writer, 10)
        else:
            theirs.shutdown(socket.SHUT_WR)
            wait_for(sock, select.POLLRDHUP)
        expect(os.splice(sock.fileno(), writer, 10), 0)


@case
def splice_waits(world: World) -> None:
    """splice() of an empty socket waits; with SPLICE_F_NONBLOCK it does not."""
    sock, theirs = world.pair()
    reader, writer = os.pipe()
    sock.setblocking(False)
    with fails(errno.EAGAIN):
        os.splice(sock.fileno(), writer, 10)
    sock.setblocking(True)
    task = Task(os.splice, sock.fileno(), writer, 10).wait_blocked()
    theirs.send(b"x")
    expect(task.result(), 1)
    expect(os.read(reader, 10), b"x")


# --- memory -------------------------------------------------------------------


@case
def memory_of_a_file(world: World) -> None:
    """Mapped files are memory like any other, to send from and receive into."""
    data = numbered(300_000)
    source, target = Path("/tmp/source"), Path("/tmp/target")
    source.write_bytes(data)
    target.write_bytes(bytes(len(data)))
    sock = world.stream()
    with source.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sender = Task(sock.sendall, mapped)
    with target.open("r+b") as file:
        room = mmap.mmap(file.fileno(), 0)
        filled = 0
        while filled < len(data):
            filled += sock.recv_into(memoryview(room)[filled:])
    sender.result()
    assert target.read_bytes() == data


@case
def memory_of_a_relative(world: World) -> None:
    """What a process receives does not show in the memory of its child."""
    size = 40 * _PAGE
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.write(b"\xaa" * size)
    go, went = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(went)
        os.read(go, 1)
        os._exit(0 if room[:] == b"\xaa" * size else 1)
    sock, theirs = world.pair()
    theirs.send_numbered(size)
    filled = 0
    while filled < size:
        filled += sock.recv_into(memoryview(room)[filled:])
    os.close(went)
    expect(os.waitpid(pid, 0)[1], 0)
    assert room[:] == numbered(size)


class _Trap:
    """Memory that ends where a page does; what follows is not there."""

    def __init__(self, pages: int) -> None:
        self.size = pages * _PAGE
        libc.mmap.restype = ctypes.c_void_p
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        length = ctypes.c_size_t(self.size + _PAGE)
        base = libc.mmap(None, length, protection, flags, -1, ctypes.c_long(0))
        self.end = base + self.size
        checked(libc.munmap(ctypes.c_void_p(self.end), ctypes.c_size_t(_PAGE)))

    def put(self, data: bytes) -> None:
        """Write data that end where the memory does."""
        ctypes.memmove(self.end - len(data), data, len(data))

    def get(self, size: int) -> bytes:
        """Read the last bytes."""
        return ctypes.string_at(self.end - size, size)

    def before(self, size: int) -> ctypes.c_void_p:
        """Point ``size`` bytes before the end."""
        return ctypes.c_void_p(self.end - size)


@case_of(100, 3000, 200_000)
def send_from_nowhere(world: World, size: int) -> None:
    """Memory that is not there is EFAULT, and nothing is sent."""
    sock, theirs = world.pair()
    trap = _Trap(1)
    with fails(errno.EFAULT):
        checked(libc.send(sock.fileno(), trap.before(0), ctypes.c_size_t(size), 0))
    sock.send(b"x")
    expect(theirs.receive(100), b"x")


@case_of(100, 3000, 50_000)
def receive_to_nowhere(world: World, size: int) -> None:
    """EFAULT; the data stay where they are."""
    sock, theirs = world.pair()
    theirs.send_numbered(size)
    until(lambda: _waiting(sock) == size, "all of the data")
    trap = _Trap(1)
    with fails(errno.EFAULT):
        checked(libc.recv(sock.fileno(), trap.before(0), ctypes.c_size_t(size), 0))
    assert receive_all(sock, size) == numbered(size)


@case
def send_up_to_the_edge(world: World) -> None:
    """The last bytes before memory that is not there can be sent."""
    sock, theirs = world.pair()
    # Nobody reads yet, so it is less than all buffers hold.
    trap = _Trap(max(2, 81920 // _PAGE))
    data = numbered(trap.size)
    trap.put(data)
    sent = checked(libc.send(sock.fileno(), trap.before(trap.size), trap.size, 0))
    expect(sent, trap.size)
    sock.shutdown(socket.SHUT_WR)
    expect(theirs.drain(), (len(data), zlib.crc32(data)))


@case
def receive_up_to_the_edge(world: World) -> None:
    """The last bytes before memory that is not there can be received into."""
    for size in 100, 4000, 50_000:
        sock, theirs = world.pair()
        theirs.send_numbered(size)
        until(lambda: _waiting(sock) == size, "all of the data")  # noqa: B023
        trap = _Trap(20)
        expect(checked(libc.recv(sock.fileno(), trap.before(size), size, 0)), size)
        assert trap.get(size) == numbered(size)


@case
def buffer_can_be_used_again_at_once(world: World) -> None:
    """When send() has returned, its buffer is the program's again."""
    sock, theirs = world.pair()
    block = array.array("I", [0]) * 50_000
    drained = Task(theirs.drain)
    crc = 0
    for number in range(20):
        for index in range(0, len(block), 1000):
            block[index] = number
        crc = zlib.crc32(block, crc)
        sock.sendall(block)
    sock.shutdown(socket.SHUT_WR)
    expect(drained.result(), (20 * 200_000, crc))
