# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring by its system calls, as far as the cases in ``uring`` need it."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
from dataclasses import dataclass

from .harness import PATIENCE, checked, libc

_SETUP, _ENTER, _REGISTER = 425, 426, 427
_SQES_AT = 0x10000000
_GETEVENTS, _SQ_WAKEUP, _EXT_ARG = 1, 2, 8
_REGISTER_BUFFERS = 0

SETUP_SQPOLL = 2

# Operations.
READ_FIXED, WRITE_FIXED, POLL_ADD, POLL_REMOVE = 4, 5, 6, 7
SENDMSG, RECVMSG, ACCEPT, CANCEL, LINK_TIMEOUT, CONNECT = 9, 10, 13, 14, 15, 16
CLOSE, READ, WRITE, SEND, RECV, SPLICE = 19, 22, 23, 26, 27, 30
PROVIDE_BUFFERS, SHUTDOWN, SOCKET, URING_CMD, SEND_ZC = 31, 34, 45, 46, 47

# How they are taken: of the entry, and of the operation.
LINK, ASYNC, BUFFER_SELECT = 4, 16, 32
POLL_FIRST, RECV_MULTISHOT, FIXED_BUFFER, REPORT_USAGE = 1, 2, 4, 8
ACCEPT_MULTISHOT, POLL_MULTISHOT = 1, 1

# What is told of them.
TOLD_BUFFER, TOLD_MORE, TOLD_NOTIFICATION = 1, 2, 8

Memory = ctypes.Array[ctypes.c_char]


def memory(content: int | bytes) -> Memory:
    """Memory of that size, or with that in it."""
    size = content if isinstance(content, int) else len(content)
    return ctypes.create_string_buffer(content, size)


class Message:
    """A struct msghdr with an address and the parts of the data."""

    def __init__(self, parts: list[Memory], name: Memory | None = None) -> None:
        self.parts = parts
        self.name = name
        pieces = b"".join(struct.pack("QQ", ctypes.addressof(each), len(each)) for each in parts)
        self._vector = memory(pieces)
        self.header = memory(
            struct.pack(
                "QI4xQQQQi4x",
                ctypes.addressof(name) if name else 0,
                len(name) if name else 0,
                ctypes.addressof(self._vector),
                len(parts),
                0,
                0,
                0,
            )
        )


@dataclass(frozen=True)
class Told:
    """A completion."""

    result: int
    flags: int

    @property
    def more(self) -> bool:
        """Are more to come of the same operation?"""
        return bool(self.flags & TOLD_MORE)

    @property
    def buffer(self) -> int | None:
        """The number of the provided buffer that was taken."""
        return self.flags >> 16 if self.flags & TOLD_BUFFER else None


class Operation:
    """Something that the ring is asked for; keeps its memory."""

    def __init__(self, ring: Ring, number: int, kept: object) -> None:
        self._ring = ring
        self._kept = kept
        self.number = number

    def told(self) -> Told:
        """Wait for its next completion."""
        return self._ring.wait(self.number)

    def result(self) -> int:
        """Wait for the only completion; raise the error that it is."""
        told = self.told()
        if told.flags & TOLD_MORE:
            raise AssertionError("more is to come")
        if told.result < 0:
            raise OSError(-told.result, os.strerror(-told.result))
        return told.result

    def waits(self) -> bool:
        """Nothing is told of it so far."""
        return not self._ring.has(self.number)


class Ring:
    """A ring; what is not linked to the next one is submitted at once."""

    def __init__(self, entries: int = 32, flags: int = 0) -> None:
        params = memory(struct.pack("III108x", 0, 0, flags))
        struct.pack_into("I", params, 16, 1000)  # SQPOLL: for a second
        self._wakeup = _SQ_WAKEUP if flags & SETUP_SQPOLL else 0
        self._file = checked(libc.syscall(_SETUP, entries, params))
        self._entries, cq_entries = struct.unpack_from("II", params)
        sq = struct.unpack_from("7I", params, 40)
        cq = struct.unpack_from("6I", params, 80)
        self._sq_tail, self._array = sq[1], sq[6]
        self._cq_head, self._cq_tail, self._cqes = cq[0], cq[1], cq[5]
        self._cq_mask = cq_entries - 1
        size = max(self._array + 4 * self._entries, self._cqes + 16 * cq_entries)
        self._rings = mmap.mmap(self._file, size, mmap.MAP_SHARED)
        self._sqes = mmap.mmap(self._file, 64 * self._entries, mmap.MAP_SHARED, offset=_SQES_AT)
        self._queued = 0
        self._number = 0
        self._told: dict[int, list[Told]] = {}
        self._kept: list[object] = []

    def _get(self, offset: int) -> int:
        value: int = struct.unpack_from("I", self._rings, offset)[0]
        return value

    def _set(self, offset: int, value: int) -> None:
        """In one store: struct.pack_into() clears first, and the kernel looks meanwhile."""
        ctypes.c_uint32.from_buffer(self._rings, offset).value = value

    def _enter(self, submit: int, wait: int, flags: int, seconds: float = 0) -> int:
        time = memory(struct.pack("qq", int(seconds), int(seconds % 1 * 1e9)))
        argument = memory(struct.pack("QIIQ", 0, 0, 0, ctypes.addressof(time)))
        size = ctypes.c_size_t(len(argument))
        called = libc.syscall(_ENTER, self._file, submit, wait, flags | _EXT_ARG, argument, size)
        return checked(called)

    def start(
        self,
        operation: int,
        file: int,
        address: object = None,
        length: int = 0,
        *,
        offset: int = 0,
        flags: int = 0,
        entry: int = 0,
        how: int = 0,
        index: int = 0,
        other: int = 0,
    ) -> Operation:
        """Ask for an operation; ``address`` is memory, a number or nothing."""
        place = address if isinstance(address, int) else 0
        if isinstance(address, ctypes.Array | ctypes.Structure):
            place = ctypes.addressof(address)
        tail = self._get(self._sq_tail)
        slot = tail % self._entries
        self._number += 1
        sqe = struct.pack(
            "BBHiQQIIQHHiQQ",
            *(operation, entry, how, file, offset, place, length, flags),
            *(self._number, index, 0, other, 0, 0),
        )
        self._sqes[slot * 64 : slot * 64 + 64] = sqe
        self._set(self._array + 4 * slot, slot)
        self._set(self._sq_tail, (tail + 1) & 0xFFFFFFFF)
        self._queued += 1
        if not entry & LINK:
            self._submit()
        # Whatever becomes of the caller's copy, the kernel may still use it.
        self._kept.append(address)
        return Operation(self, self._number, address)

    def _submit(self) -> None:
        queued, self._queued = self._queued, 0
        taken = self._enter(queued, 0, self._wakeup)
        if taken != queued:
            raise AssertionError(f"the ring took {taken} of {queued}")

    def register(self, buffers: list[Memory]) -> None:
        """Register memory, to be named by its place in the list."""
        vector = memory(b"".join(struct.pack("QQ", ctypes.addressof(b), len(b)) for b in buffers))
        called = libc.syscall(_REGISTER, self._file, _REGISTER_BUFFERS, vector, len(buffers))
        checked(called)
        self._kept += buffers

    def _collect(self) -> None:
        head, tail = self._get(self._cq_head), self._get(self._cq_tail)
        while head != tail:
            place = self._cqes + 16 * (head & self._cq_mask)
            number, result, flags = struct.unpack_from("QiI", self._rings, place)
            self._told.setdefault(number, []).append(Told(result, flags))
            head = (head + 1) & 0xFFFFFFFF
        self._set(self._cq_head, head)

    def has(self, number: int) -> bool:
        """Is there a completion of that operation?"""
        self._enter(0, 0, _GETEVENTS)
        self._collect()
        return bool(self._told.get(number))

    def wait(self, number: int) -> Told:
        """Wait for a completion of that operation."""
        self._collect()
        while not self._told.get(number):
            try:
                self._enter(0, 1, _GETEVENTS, PATIENCE)
            except OSError as error:
                if error.errno != errno.ETIME:
                    raise
                raise AssertionError("nothing is told of an operation") from error
            self._collect()
        return self._told[number].pop(0)
