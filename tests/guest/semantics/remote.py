# SPDX-License-Identifier: GPL-2.0-or-later
"""The peer's hands, as a case uses them; see ``peer.py`` for what they do."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from typing import Any

from .peer import HANDS_PORT


class Hands:
    """A connection to the peer, which does what it is told."""

    def __init__(self, peer: str) -> None:
        self._control = socket.create_connection((peer, HANDS_PORT))
        self._control.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._control.makefile("rb")

    def do(self, name: str, *arguments: object) -> Any:
        """Have it done; what fails there raises its OSError here."""
        self._control.sendall(json.dumps({"do": name, "with": arguments}).encode() + b"\n")
        answer = json.loads(self._answers.readline())
        if "timeout" in answer:
            raise AssertionError(f"the peer waited in vain: {name}")
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))
        return answer["value"]

    def listen(self) -> Listener:
        """Listen on a port of the peer's choice."""
        return Listener(self, *self.do("listen"))

    def listen_full(self) -> int:
        """Listen on a port that answers nobody; return it."""
        port: int = self.do("listen_full")
        return port

    def connect(self, port: int) -> Stream:
        """Have the peer connect to a port of ours."""
        return Stream(self, *self.do("connect", port))

    def open(self) -> Datagrams:
        """Open a datagram socket at the peer."""
        return Datagrams(self, *self.do("open"))


@dataclass
class Stream:
    """A connection's other end; ``port`` is the port of whoever connected."""

    hands: Hands
    which: int
    port: int

    def send(self, data: bytes, flags: int = 0) -> None:
        """Send all of the data."""
        self.hands.do("send", self.which, data.hex(), flags)

    def send_numbered(self, size: int) -> None:
        """Begin to send ``numbered(size)``, and then end the stream."""
        self.hands.do("send_numbered", self.which, size)

    def receive(self, size: int, flags: int = 0) -> bytes:
        """Receive once."""
        return bytes.fromhex(self.hands.do("receive", self.which, size, flags))

    def readable(self) -> bool:
        """Is there something to read, or the end, now?"""
        answer: bool = self.hands.do("readable", self.which)
        return answer

    def delivered(self) -> bool:
        """Has everything that was sent been acknowledged?"""
        answer: bool = self.hands.do("delivered", self.which)
        return answer

    def drain(self) -> tuple[int, int]:
        """Receive to the end: the size and the CRC-32 of everything."""
        size, crc = self.hands.do("drain", self.which)
        return size, crc

    def read(self, size: int) -> int:
        """Receive exactly that much: the CRC-32 of it."""
        crc: int = self.hands.do("read", self.which, size)
        return crc

    def shutdown(self, how: int) -> None:
        """End one direction or both."""
        self.hands.do("shutdown", self.which, how)

    def close(self) -> None:
        """Close, as a program does at the end."""
        self.hands.do("close", self.which)

    def reset(self) -> None:
        """Break the connection off."""
        self.hands.do("reset", self.which)


@dataclass
class Listener:
    """A listener at the peer."""

    hands: Hands
    which: int
    port: int

    def accept(self) -> Stream:
        """Wait for a connection."""
        return Stream(self.hands, *self.hands.do("accept", self.which))


@dataclass
class Heard:
    """A datagram that arrived at the peer."""

    data: bytes
    port: int
    ttl: int
    tos: int


@dataclass
class Datagrams:
    """A datagram socket at the peer."""

    hands: Hands
    which: int
    port: int

    def tell(self, port: int, data: bytes, tos: int = 0) -> None:
        """Send a datagram to a port of ours."""
        self.hands.do("tell", self.which, port, data.hex(), tos)

    def tell_segments(self, port: int, data: bytes, size: int) -> None:
        """Send many datagrams of that size in one call."""
        self.hands.do("tell_segments", self.which, port, data.hex(), size)

    def hear(self) -> Heard:
        """Wait for a datagram."""
        text, port, ttl, tos = self.hands.do("hear", self.which)
        return Heard(bytes.fromhex(text), port, ttl, tos)
