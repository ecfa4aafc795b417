# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traffic from many threads, to find what stalls or corrupts.

    python3 -m semantics.stress PEER [--seconds S] [--threads N] [--seed N]

Prints a line of JSON: the rounds done, the bytes that came back, and what
went wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import select
import socket
import threading
import time

from .peer import ECHO_PORT, SLOWNESS

_STREAM_SIZES = (1, 10, 5000, 70_000, 1_500_000)
_SEND_SIZES = (1, 100, 1024, 1025, 4096, 4097, 65536, 1 << 20)
_RECEIVE_SIZES = (1, 1000, 4096, 4097, 65536, 1 << 20)
_DATAGRAM_SIZES = (1, 1400, 9000)
_STALL = 60.0 * SLOWNESS
_ABANDONED = 0.1


class _Worker(threading.Thread):
    """One thread's random traffic."""

    def __init__(self, peer: str, seed: int, end: float) -> None:
        super().__init__(daemon=True)
        self._address = (peer, ECHO_PORT)
        self._random = random.Random(seed)
        self._end = end
        self.rounds = 0
        self.bytes = 0
        self.failure: str | None = None

    def run(self) -> None:
        """Work until the time is over or something is wrong."""
        try:
            while time.monotonic() < self._end:
                self._stream()
                self._datagram()
                self._inside()
                self.rounds += 1
        except Exception as error:  # the thread's outcome, whatever it is
            self.failure = f"{type(error).__name__}: {error}"

    def _connect(self) -> socket.socket:
        sock = socket.socket()
        sock.setblocking(self._random.random() < 0.5)
        with contextlib.suppress(BlockingIOError):
            sock.connect(self._address)
        sock.setblocking(False)
        return sock

    def _stream(self) -> None:
        size = self._random.choice(_STREAM_SIZES)
        data = self._random.randbytes(size)
        with self._connect() as sock:
            if self._random.random() < _ABANDONED:
                return
            if self._exchange(sock, data) != data:
                raise AssertionError(f"{size} bytes came back changed")
        self.bytes += size

    def _exchange(self, sock: socket.socket, data: bytes) -> bytes:
        """Send everything, without waiting, and receive as much."""
        sent, got = 0, bytearray()
        while len(got) < len(data):
            writers = [sock] if sent < len(data) else []
            readable, writable, _ = select.select([sock], writers, [], _STALL)
            if not readable and not writable:
                raise AssertionError(f"stalled: {sent} sent, {len(got)} back of {len(data)}")
            with contextlib.suppress(BlockingIOError):
                if writable:
                    sent += sock.send(data[sent : sent + self._random.choice(_SEND_SIZES)])
            with contextlib.suppress(BlockingIOError):
                if readable:
                    part = sock.recv(self._random.choice(_RECEIVE_SIZES))
                    if not part:
                        raise AssertionError(f"ended: {len(got)} of {len(data)}")
                    got += part
        return bytes(got)

    def _datagram(self) -> None:
        data = self._random.randbytes(self._random.choice(_DATAGRAM_SIZES))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(_STALL)
            sock.connect(self._address)
            sock.send(data)
            if sock.recv(1 << 16) != data:
                raise AssertionError("a datagram came back changed")

    def _inside(self) -> None:
        """A connection within the guest, meanwhile."""
        with socket.create_server(("", 0)) as listener:
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), _STALL) as one:
                other, _ = listener.accept()
                with other:
                    other.send(b"x")
                    if one.recv(1) != b"x":
                        raise AssertionError("loopback is broken")


def main() -> None:
    """Run the threads and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", help="name or address of the peer")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    peer = socket.gethostbyname(arguments.peer)
    end = time.monotonic() + arguments.seconds
    workers = [_Worker(peer, arguments.seed + number, end) for number in range(arguments.threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(arguments.seconds + 2 * _STALL)
        if worker.is_alive():
            worker.failure = "hangs"
    report = {
        "rounds": [worker.rounds for worker in workers],
        "bytes": sum(worker.bytes for worker in workers),
        "failures": [worker.failure for worker in workers if worker.failure],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
