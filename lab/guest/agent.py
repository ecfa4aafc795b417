# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's side of the guest agent: run commands, any number at once.

``guest-linux/agent/agent.c`` describes the frames.  One thread reads the
channel and hands output to the jobs; callers wait on the jobs.  The channel
outlives a socket, because a migration replaces the QEMU at its other end.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import re
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..base.wait import PATIENCE

_HEADER = struct.Struct("<III")
_CHUNK = 32 * 1024
# Of agent.c.
_PAYLOAD_MAX = 64 * 1024
_KINDS = "HOEAX"


class ChannelClosed(RuntimeError):
    """The guest or its QEMU is gone."""


class CommandError(RuntimeError):
    """A command in the guest ended with an error."""


@dataclass(frozen=True)
class Result:
    """How a command ended; ``rc`` is negative for the signal that killed it."""

    rc: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        """Standard output as text."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.stderr_bytes.decode(errors="replace")


class Job:
    """A command in the guest."""

    def __init__(self, channel: Channel, number: int, title: str) -> None:
        self._channel = channel
        self._number = number
        self._title = title
        self._changed = threading.Condition()
        self._output = {"O": bytearray(), "E": bytearray()}
        self._rc: int | None = None
        self._lost: str | None = None
        self._inputs: list[bytes] = []
        self._input_idle = True

    # Called by the reading thread.

    def _receive(self, kind: str, payload: bytes) -> None:
        with self._changed:
            if kind in self._output:
                self._output[kind] += payload
            elif kind == "X":
                self._rc = os.waitstatus_to_exitcode(struct.unpack("<I", payload)[0])
            elif kind == "A":
                self._input_idle = True
                self._send_next_input()
            self._changed.notify_all()

    def _lose(self, reason: str) -> None:
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def _send_next_input(self) -> None:
        """The agent takes one chunk at a time; the caller holds the lock."""
        if self._input_idle and self._inputs:
            chunk = self._inputs.pop(0)
            # An empty chunk ends the input and is not acknowledged.
            self._input_idle = not chunk
            self._channel._send(self._number, "I", chunk)

    # For callers.

    @property
    def running(self) -> bool:
        """Whether the command has not ended yet."""
        with self._changed:
            return self._rc is None and self._lost is None

    def write(self, data: bytes) -> None:
        """Queue bytes for the command's standard input."""
        with self._changed:
            self._inputs += [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
            self._send_next_input()

    def close_input(self) -> None:
        """End the command's standard input after what is queued."""
        with self._changed:
            self._inputs.append(b"")
            self._send_next_input()

    def output(self) -> Result:
        """What the command has written so far; ``rc`` is 0 while it runs."""
        with self._changed:
            return self._result(self._rc or 0)

    def lines(self) -> Iterator[str]:
        """Each line of standard output as it comes, until the command ends."""
        at = 0
        while (line := self._line(at)) is not None:
            at += len(line) + 1
            yield line.decode(errors="replace")

    def _line(self, at: int) -> bytes | None:
        """Wait for the complete line that begins at a byte; None: the output ended before."""
        out = self._output["O"]
        with self._changed:
            self._changed.wait_for(
                lambda: out.find(b"\n", at) >= 0 or self._rc is not None or bool(self._lost)
            )
            end = out.find(b"\n", at)
            return None if end < 0 else bytes(out[at:end])

    def _result(self, rc: int) -> Result:
        return Result(rc, bytes(self._output["O"]), bytes(self._output["E"]))

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to the command and everything it started."""
        if self.running:
            self._channel._send(self._number, "K", struct.pack("<I", number))

    def _await(self, done: Callable[[], bool], what: str, timeout: float) -> None:
        """Wait under the lock; the caller holds it."""
        if not self._changed.wait_for(lambda: done() or bool(self._lost), timeout):
            so_far = self._result(0)
            raise TimeoutError(
                f"guest: {self._title}: {what}: not within {timeout:g} s\n"
                f"{so_far.stdout[-2000:]}{so_far.stderr[-2000:]}"
            )
        if not done():
            raise ChannelClosed(f"guest: {self._title}: {self._lost}")

    def wait(self, timeout: float = PATIENCE, *, check: bool = False) -> Result:
        """Wait for the end; with ``check`` an error status raises."""
        with self._changed:
            self._await(lambda: self._rc is not None, "end", timeout)
            assert self._rc is not None
            result = self._result(self._rc)
        if check and result.rc:
            raise CommandError(
                f"guest: {self._title}: exit {result.rc}\n"
                f"{result.stdout[-2000:]}{result.stderr[-2000:]}"
            )
        return result

    def wait_output(self, pattern: str, timeout: float = PATIENCE) -> re.Match[str]:
        """Wait until the output or the error output matches ``pattern``."""
        expression = re.compile(pattern, re.MULTILINE)

        def search() -> re.Match[str] | None:
            result = self._result(0)
            return expression.search(result.stdout) or expression.search(result.stderr)

        with self._changed:
            self._await(
                lambda: search() is not None or self._rc is not None,
                f"output {pattern!r}",
                timeout,
            )
            match = search()
        if match is None:
            raise CommandError(
                f"guest: {self._title}: ended without {pattern!r}\n"
                f"{self.output().stdout[-2000:]}{self.output().stderr[-2000:]}"
            )
        return match


class Channel:
    """The connection to the agent of one guest."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._next_socket: socket.socket | None = None
        self._wake_read, self._wake_write = os.pipe()
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._switched = threading.Event()
        self._closed: str | None = None
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._reader.start()
        self._writer.start()

    def _frame(self, number: int, kind: str, payload: bytes) -> bytes:
        return _HEADER.pack(len(payload), number, ord(kind)) + payload

    def _send(self, number: int, kind: str, payload: bytes = b"") -> None:
        """Queue a frame, without waiting for the guest, as the guest may wait for us."""
        self._outbox.put(self._frame(number, kind, payload))

    def _write(self) -> None:
        while (frame := self._outbox.get()) is not None:
            # The reader reports a broken channel to the jobs.
            with self._sending, contextlib.suppress(OSError):
                self._socket.sendall(frame)

    def _read(self) -> None:
        reason = "the channel was closed"
        try:
            self._dispatch()
        except (OSError, ChannelClosed) as error:
            reason = str(error)
        with self._lock:
            self._closed = reason
            jobs = list(self._jobs.values())
        for job in jobs:
            job._lose(reason)

    def _dispatch(self) -> None:
        buffer = bytearray()
        while True:
            connection = self._socket.fileno()
            readable, _, _ = select.select([connection, self._wake_read], [], [])
            if connection in readable:
                data = self._socket.recv(1 << 20)
                buffer += data
                self._take_frames(buffer)
                if not data:
                    raise ChannelClosed("QEMU closed the agent's channel")
                # The old socket is drained before a new one takes over.
                continue
            wishes = os.read(self._wake_read, 4096)
            if b"q" in wishes:
                return
            if b"s" in wishes and self._next_socket is not None:
                self._socket.close()
                self._socket, self._next_socket = self._next_socket, None
                self._switched.set()

    def _take_frames(self, buffer: bytearray) -> None:
        while len(buffer) >= _HEADER.size:
            length, number, kind = _HEADER.unpack_from(buffer)
            if length > _PAYLOAD_MAX or not any(kind == ord(each) for each in _KINDS):
                raise ChannelClosed(f"not a frame of the agent: {bytes(buffer[:32])!r}")
            if len(buffer) < _HEADER.size + length:
                return
            payload = bytes(buffer[_HEADER.size : _HEADER.size + length])
            del buffer[: _HEADER.size + length]
            letter = chr(kind)
            with self._lock:
                job = self._jobs.get(number)
                if letter in "XH":
                    self._jobs.pop(number, None)
            if job is not None:
                job._receive("X" if letter == "H" else letter, payload or bytes(4))

    def _new_job(self, title: str) -> Job:
        number = next(self._numbers)
        job = Job(self, number, title)
        with self._lock:
            if self._closed:
                raise ChannelClosed(f"guest agent: {self._closed}")
            self._jobs[number] = job
        return job

    def hello(self, timeout: float = PATIENCE) -> None:
        """Wait until the agent has handled everything sent before."""
        job = self._new_job("hello")
        self._send(job._number, "H")
        job.wait(timeout)

    def start(self, argv: Sequence[str]) -> Job:
        """Start a command in the guest."""
        job = self._new_job(" ".join(argv[2:] if argv[:2] == ["sh", "-c"] else argv))
        self._send(job._number, "R", b"".join(word.encode() + b"\0" for word in argv))
        return job

    @contextlib.contextmanager
    def handed_over(self) -> Iterator[Callable[[socket.socket], None]]:
        """Hold the channel still while the guest moves to another QEMU.

        Yields a function that takes the connection to the new QEMU.
        """
        with self._sending:
            # The answer means that no data of ours is in flight.
            job = self._new_job("hello")
            self._socket.sendall(self._frame(job._number, "H", b""))
            job.wait()
            yield self._switch

    def _switch(self, connection: socket.socket) -> None:
        self._next_socket = connection
        self._switched.clear()
        os.write(self._wake_write, b"s")
        if not self._switched.wait(PATIENCE):
            raise TimeoutError("guest agent: the old channel does not run dry")

    def close(self) -> None:
        """Stop reading; waiting callers get ChannelClosed."""
        if self._reader.is_alive():
            os.write(self._wake_write, b"q")
            self._reader.join()
        self._outbox.put(None)
        self._writer.join()
        self._socket.close()
        for fd in (self._wake_read, self._wake_write):
            with contextlib.suppress(OSError):
                os.close(fd)
