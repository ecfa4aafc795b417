# SPDX-License-Identifier: GPL-2.0-or-later
"""What really arrives: each packet of a wire, read where the servers are.

A place that has no server is a place, too: what counts is the packet.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from lab.base import wait
from lab.base.net import Namespace

_ALL_PROTOCOLS = 0x0003
_OUTGOING = 4
_SO_RCVBUFFORCE = 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_BUFFER = 64 << 20
_SYN, _ACK = 0x02, 0x10
_BARRIER_PORT = 9
_ECHO_REQUEST = 128


@dataclass(frozen=True)
class Packet:
    """One that arrived; ``begins`` a connection, or has a payload, or both."""

    proto: str
    source: str
    source_port: int
    address: str
    port: int
    begins: bool
    sequence: int
    payload: bytes

    @property
    def flow(self) -> tuple[str, str, int, str, int]:
        """What the packets of a connection have in common."""
        return self.proto, self.source, self.source_port, self.address, self.port

    def __str__(self) -> str:
        place = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.proto} {place}:{self.port}"


def _parsed(data: bytes) -> Packet | None:
    if len(data) >= 40 and data[0] >> 4 == 6:
        proto, rest = data[6], data[40 : 40 + int.from_bytes(data[4:6], "big") or None]
        source, to = str(IPv6Address(data[8:24])), str(IPv6Address(data[24:40]))
    elif len(data) >= 20 and data[0] >> 4 == 4:
        proto, rest = data[9], data[(data[0] & 15) * 4 : int.from_bytes(data[2:4], "big")]
        source, to = str(IPv4Address(data[12:16])), str(IPv4Address(data[16:20]))
    else:
        return None
    if proto == socket.IPPROTO_TCP and len(rest) >= 20:
        ports, flags = struct.unpack_from("!HH", rest), rest[13]
        number, payload = int.from_bytes(rest[4:8], "big"), rest[(rest[12] >> 4) * 4 :]
        begins = flags & (_SYN | _ACK) == _SYN
        if not begins and not payload:
            return None
        return Packet("tcp", source, ports[0], to, ports[1], begins, number, payload)
    if proto == socket.IPPROTO_UDP and len(rest) >= 8:
        ports = struct.unpack_from("!HH", rest)
        return Packet("udp", source, ports[0], to, ports[1], True, 0, rest[8:])
    if proto == socket.IPPROTO_ICMPV6 and rest[:1] == bytes([_ECHO_REQUEST]):
        return Packet("icmp", source, 0, to, 0, True, 0, rest[8:])
    if proto == socket.IPPROTO_ICMP and rest[:1] == b"\x08":
        return Packet("icmp", source, 0, to, 0, True, 0, rest[8:])
    return None


class Wire:
    """Reads all that comes into a namespace, on any of its interfaces or on one."""

    def __init__(self, space: Namespace, interface: str = "") -> None:
        with space.entered():
            self._socket = socket.socket(
                socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS)
            )
            if interface:
                self._socket.bind((interface, _ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._packets: list[Packet] = []
        self._known: set[tuple[object, ...]] = set()
        self._barriers: set[bytes] = set()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            data, (_, _, kind, *_) = self._socket.recvfrom(1 << 17)
            if kind == _OUTGOING or (packet := _parsed(data)) is None:
                continue
            if packet.proto == "udp" and packet.port == _BARRIER_PORT:
                if packet.payload == b"end":
                    return
                self._barriers.add(packet.payload)
            elif self._is_new(packet):
                self._packets.append(packet)

    def _is_new(self, packet: Packet) -> bool:
        """Whether it is no answer of a server, and nothing that was sent twice."""
        if packet.proto != "tcp":
            return True
        part = (*packet.flow, packet.sequence, len(packet.payload))
        if part in self._known or not (packet.begins or packet.flow in self._known):
            return False
        self._known.update((part, packet.flow))
        return True

    def passed(self, barrier: bytes) -> bool:
        """Whether all before a barrier has been read; fails if some was lost."""
        lost = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        if struct.unpack("II", lost)[1]:
            raise RuntimeError("the witness lost packets")
        return barrier in self._barriers

    @property
    def number(self) -> int:
        """How many packets have come."""
        return len(self._packets)

    def since(self, number: int) -> list[Packet]:
        """Packets after the first ``number``."""
        return self._packets[number:]

    def close(self) -> None:
        """Stop to read, after a last barrier."""
        self._thread.join(wait.PATIENCE)
        self._socket.close()


class Witness:
    """The wires of two hosts: the one where the guest's sockets are, and the servers'.

    A host sees its own servers on its loopback interface.
    """

    def __init__(self, host: Namespace, peer: Namespace, peer_address: str) -> None:
        self.host, self.peer = Wire(host, "lo"), Wire(peer)
        self._to = ("::1", peer_address)
        with host.entered():
            self._socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self._numbers = itertools.count()

    def _wires(self) -> tuple[Wire, Wire]:
        return self.host, self.peer

    def _send(self, data: bytes) -> None:
        for address in self._to:
            # A host that has no server there may have said so.
            with contextlib.suppress(ConnectionRefusedError):
                self._socket.sendto(data, (address, _BARRIER_PORT))

    def settle(self) -> tuple[int, int]:
        """Wait for all that is under way; returns how many packets each wire has had."""
        barrier = b"barrier %d" % next(self._numbers)
        self._send(barrier)
        wait.until(lambda: all(wire.passed(barrier) for wire in self._wires()), "the wires")
        return self.host.number, self.peer.number

    def since(self, numbers: tuple[int, int]) -> list[Packet]:
        """What came to either host after ``settle`` returned these numbers."""
        self.settle()
        found = zip(self._wires(), numbers, strict=True)
        return [packet for wire, number in found for packet in wire.since(number)]

    def close(self) -> None:
        """Stop reading."""
        self._send(b"end")
        for wire in self._wires():
            wire.close()
        self._socket.close()


@contextlib.contextmanager
def witness(host: Namespace, peer: Namespace, peer_address: str) -> Iterator[Witness]:
    """A witness for the time of a block."""
    made = Witness(host, peer, peer_address)
    try:
        yield made
    finally:
        made.close()
