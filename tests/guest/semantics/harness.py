# SPDX-License-Identifier: GPL-2.0-or-later
"""What every case has at hand.

A case is a function with the decorator ``case``; its docstring says what a
program expects.  It gets a ``World``: where its peer is, and sockets to it.
Its sockets block, without a time limit of Python's: so it is the kernel that
waits.  What a case leaves behind ends with its process.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from .peer import CLOSED_PORT, ECHO_PORT, SLOWNESS
from .remote import Hands, Stream

#: Only a failure takes so long, on a machine that has much else to do.
PATIENCE = 60.0 * SLOWNESS
# A new thread may wait for these before its call: a page, memory (mmap, mprotect, munmap,
# brk, madvise), Python's own lock (futex).
_ON_THE_WAY = {-1, 9, 10, 11, 12, 28, 202}
# A call may also sleep while its request is on the way to the host, for less time than these
# looks take.
_LOOKS = 5
# Who has no room for so long has none: the device may hear of it late.
_QUIET_MS = 500

#: connect() and other calls as they are, without Python's care.
libc = ctypes.CDLL(None, use_errno=True)

T = TypeVar("T")


class World:
    """A case's surroundings.

    ``peer`` and ``me`` are addresses: where the peer is, and what the sockets
    that talk to it have on our side.
    """

    def __init__(self, peer: str, me: str) -> None:
        self.peer = peer
        self.me = me
        self.echo = (peer, ECHO_PORT)
        self.closed = (peer, CLOSED_PORT)

    @functools.cached_property
    def hands(self) -> Hands:
        """The peer's hands."""
        return Hands(self.peer)

    def stream(self) -> socket.socket:
        """Connect to the echo server."""
        new = socket.socket()
        new.connect(self.echo)
        return new

    def pair(self) -> tuple[socket.socket, Stream]:
        """Connect to the peer's hands: our end and theirs."""
        listener = self.hands.listen()
        ours = socket.socket()
        ours.connect((self.peer, listener.port))
        return ours, listener.accept()

    def listener(self, backlog: int = 16) -> tuple[socket.socket, int]:
        """Listen on every address: the socket and its port."""
        new = socket.socket()
        new.bind(("", 0))
        new.listen(backlog)
        return new, new.getsockname()[1]

    def accepted(self) -> tuple[socket.socket, Stream]:
        """Have the peer connect to us: our end and theirs."""
        listener, port = self.listener()
        theirs = self.hands.connect(port)
        ours, _ = listener.accept()
        listener.close()
        return ours, theirs

    def datagrams(self, connected: bool = False) -> socket.socket:
        """Open a datagram socket, bound to a port or connected to the echo server."""
        new = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if connected:
            new.connect(self.echo)
        else:
            new.bind(("", 0))
        return new


Case = Callable[[World], None]

CASES: dict[str, Case] = {}


def _name(function: Callable[..., None]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def case(function: Case) -> Case:
    """Make the function one of the cases."""
    CASES[_name(function)] = function
    return function


def case_of(*values: T) -> Callable[[Callable[[World, T], None]], Callable[[World, T], None]]:
    """Make the function one case for each value."""

    def register(function: Callable[[World, T], None]) -> Callable[[World, T], None]:
        for value in values:
            CASES[f"{_name(function)}_{value}"] = _bind(function, value)
        return function

    return register


def _bind(function: Callable[[World, T], None], value: T) -> Case:
    return lambda world: function(world, value)


# Claims.


def expect(actual: object, expected: object) -> None:
    """Both must be the same."""
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def _error_name(number: int | None) -> str:
    return errno.errorcode.get(number or 0, str(number))


@contextlib.contextmanager
def fails(number: int) -> Iterator[None]:
    """What is done inside must fail with this errno."""
    try:
        yield
    except OSError as error:
        if error.errno != number:
            text = f"{_error_name(error.errno)} instead of {_error_name(number)}"
            raise AssertionError(text) from error
    else:
        raise AssertionError(f"success instead of {_error_name(number)}")


def checked(result: int) -> int:
    """Turn the result of a ``libc`` call into what Python would give."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# Waiting.


def until(condition: Callable[[], T], what: str) -> T:
    """Look until something is the case; return it."""
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.002)


def wait_for(sock: socket.socket, events: int) -> int:
    """Wait for any of these events; return all that there are of them."""
    poller = select.poll()
    poller.register(sock, events)
    found = poller.poll(PATIENCE * 1000)
    if not found:
        raise AssertionError(f"no event of {events:#x}")
    return found[0][1]


def pending(sock: socket.socket, events: int) -> int:
    """Which of these events there are now."""
    poller = select.poll()
    poller.register(sock, events)
    found = poller.poll(0)
    return found[0][1] if found else 0


def receive_all(sock: socket.socket, size: int) -> bytes:
    """Receive exactly that much."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 1 << 20))
        if not part:
            raise AssertionError(f"the stream ended after {len(data)} of {size} bytes")
        data += part
    return bytes(data)


def fill(sock: socket.socket) -> int:
    """Send until there is no room any more; return how much that was."""
    chunk = bytes(1 << 16)
    sent = 0
    poller = select.poll()
    poller.register(sock, select.POLLOUT)
    # While the peer's buffer fills as well, there is room again and again.
    while poller.poll(_QUIET_MS):
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += sock.send(chunk, socket.MSG_DONTWAIT)
    return sent


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that can be bound by its number."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


class Task(Generic[T]):
    """A call in a thread of its own."""

    def __init__(self, call: Callable[..., T], *arguments: Any) -> None:
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._started = threading.Event()
        self._identity = 0
        self._looks = self._wakings = self._asleep = 0
        self._call = functools.partial(call, *arguments)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._started.wait(PATIENCE)

    def _work(self) -> None:
        self._identity = threading.get_native_id()
        self._started.set()
        try:
            self._done.append(self._call())
        except BaseException as error:  # it belongs to whoever asks for the result
            self._error = error

    def _sleeps(self) -> bool:
        """It sleeps, and has not been awake at the last looks, as on the way to where it waits.

        One that is found asleep many times waits, too: it looks again and again.
        """
        words = Path(f"/proc/self/task/{self._identity}/syscall").read_text().split()
        sleeps = words[0] != "running" and int(words[0]) not in _ON_THE_WAY
        wakings = self.wakings()
        self._looks = self._looks + 1 if sleeps and wakings == self._wakings else 0
        self._wakings = wakings
        self._asleep += sleeps
        return self._looks >= _LOOKS or self._asleep >= 5 * _LOOKS

    def wait_blocked(self) -> Task[T]:
        """Wait until the call waits in the kernel."""
        until(self._sleeps, "a call to block")
        return self

    def wakings(self) -> int:
        """How often the call has gone to sleep."""
        status = Path(f"/proc/self/task/{self._identity}/status").read_text()
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    @property
    def ended(self) -> bool:
        """Has it returned, or failed?"""
        return not self._thread.is_alive()

    def result(self) -> T:
        """Wait for the end; return or raise what the call did."""
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise AssertionError("a call does not end")
        if self._error is not None:
            raise self._error
        return self._done[0]


# Small change.


def timeval(seconds: float) -> bytes:
    """The value of SO_RCVTIMEO."""
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))


def set_flag(sock: socket.socket, level: int, *names: int) -> None:
    """Switch options on."""
    for name in names:
        sock.setsockopt(level, name, 1)


def disconnect(sock: socket.socket) -> None:
    """Dissolve the association: connect() to AF_UNSPEC."""
    address = struct.pack("H14x", socket.AF_UNSPEC)
    checked(libc.connect(sock.fileno(), address, len(address)))
