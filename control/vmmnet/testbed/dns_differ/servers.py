# SPDX-License-Identifier: GPL-2.0-or-later
"""Authoritative servers of one zone, on loopback of a namespace, a port each."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import dns_peers, wait
from ..dns_peers import ADDRESS, BIND, KNOT, NAMES, NSD, OURS, Setup
from ..net import Namespace
from . import zones
from .questions import Question

#: For a reply over UDP that may never come; the servers are on this machine.
_PATIENCE = 5.0


@dataclass
class Server:
    """One that answers at a port."""

    name: str
    space: Namespace
    port: int
    version: str
    _udp: socket.socket | None = None
    _tcp: socket.socket | None = None
    _rest: bytes = field(default=b"")

    def send(self, question: Question, message: bytes) -> None:
        """Ask."""
        if question.stream:
            self._stream().sendall(len(message).to_bytes(2, "big") + message)
        else:
            self._datagrams().send(message)

    def receive(self, question: Question, ident: bytes) -> bytes | None:
        """The reply; None: there was none."""
        try:
            return self._framed() if question.stream else self._datagram(ident)
        except OSError:
            self.close()
            return None

    def close(self) -> None:
        """Forget the sockets."""
        for each in (self._udp, self._tcp):
            if each is not None:
                each.close()
        self._udp = self._tcp = None
        self._rest = b""

    def _datagrams(self) -> socket.socket:
        if self._udp is None:
            self._udp = self._connected(socket.SOCK_DGRAM)
        return self._udp

    def _stream(self) -> socket.socket:
        if self._tcp is None:
            self._tcp = self._connected(socket.SOCK_STREAM)
        return self._tcp

    def _connected(self, kind: int) -> socket.socket:
        with self.space.entered():
            made = socket.socket(socket.AF_INET, kind)
        made.settimeout(_PATIENCE)
        made.connect((ADDRESS, self.port))
        return made

    def _datagram(self, ident: bytes) -> bytes:
        while True:
            found = self._datagrams().recv(65535)
            if found[:2] == ident:
                return found

    def _framed(self) -> bytes:
        head = self._exactly(2)
        return self._exactly(int.from_bytes(head, "big"))

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = self._stream().recv(65535)
            if not more:
                raise ConnectionError("the server has closed the connection")
            self._rest += more
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


#: Of Debian 12, and ours.
_VERSIONS = {OURS: "0.1", BIND: "9.18", NSD: "4.6", KNOT: "3.2"}


@contextlib.contextmanager
def running(
    space: Namespace, folder: Path, zone: Path, names: Sequence[str] = NAMES
) -> Iterator[list[Server]]:
    """The servers, each with the zone."""
    with contextlib.ExitStack() as stack:
        found = []
        for number, name in enumerate(names):
            port = 5301 + number
            command = dns_peers.command(name, Setup(folder, zones.ORIGIN, zone, port))
            log = folder / f"{name}.log"
            out = stack.enter_context(log.open("ab"))
            child = stack.enter_context(space.started(command, stdout=out, stderr=out))
            try:
                wait.listening(child.pid, port)
            except (RuntimeError, TimeoutError) as error:
                text = log.read_text(errors="replace")
                raise RuntimeError(f"{name}: {error}\n{text[-3000:]}") from error
            server = Server(name, space, port, _VERSIONS[name])
            stack.callback(server.close)
            found.append(server)
        yield found
