# SPDX-License-Identifier: GPL-2.0-or-later
"""Authoritative servers of one zone, on loopback of a namespace, a port each."""

from __future__ import annotations

import contextlib
import itertools
import re
import select
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...base import wait
from ...base.net import Namespace
from .. import products as dns_peers
from ..products import ADDRESS, BIND, KNOT, NAMES, NSD, OURS, Setup
from . import replies, zones
from .questions import Question

#: IDs of queries that end rounds; what has no reply before some of theirs has none.
_LASTS = range(0x8000, 0x10000)
#: BIND follows no more in one answer (its max-query-restarts).
_ALIASES = 11


@dataclass
class Server:
    """One that answers at a port, what comes over UDP in the order in which it came.

    Over TCP BIND 9.20 has any order (RFC 7766, section 6.2.1.1), and over UDP it goes on to other
    queries after each alias of an answer.
    """

    name: str
    space: Namespace
    port: int
    version: str
    _udp: socket.socket | None = None
    _tcp: socket.socket | None = None
    _rest: bytes = field(default=b"")
    #: Replies of this round over UDP and over TCP, by ID.
    _kept: dict[bytes, bytes] = field(default_factory=dict)
    _streamed: dict[bytes, bytes] = field(default_factory=dict)
    _rounds: Iterator[int] = field(default_factory=lambda: itertools.cycle(_LASTS))
    _last: int = 0

    def send_all(self, asked: Sequence[tuple[Question, bytes]]) -> None:
        """Ask a round of questions."""
        self._kept.clear()
        self._streamed.clear()
        if self._tcp is not None and self._is_closed(self._tcp):
            self.close()
        for question, message in asked:
            if question.stream:
                self._stream().sendall(len(message).to_bytes(2, "big") + message)
            else:
                self._datagrams().send(message)
        self._end_round()

    def _end_round(self) -> None:
        """Ask what is answered when all before it is."""
        last = Question(zones.ORIGIN, "SOA", None, dnssec=False, stream=False)
        self._last = next(self._rounds)
        self._datagrams().send(last.message(self._last))

    def receive(self, question: Question, ident: bytes) -> bytes | None:
        """The reply to one of them, in this order; None: there was none."""
        if not question.stream:
            return self._datagram(ident)
        try:
            while ident not in self._streamed:
                found = self._framed()
                self._streamed[found[:2]] = found
            return self._streamed.pop(ident)
        except ConnectionError:
            self.close()
            return None

    @staticmethod
    def _is_closed(stream: socket.socket) -> bool:
        """Whether the server has closed it behind a reply."""
        # It has nothing more to say.
        return bool(select.select([stream], [], [], 0)[0])

    def has(self, origin: str) -> bool:
        """Whether it serves a zone."""
        question = Question(origin, "SOA", None, dnssec=False, stream=False)
        message = question.message(0)
        self.send_all([(question, message)])
        reply = replies.read(self.receive(question, message[:2]))
        return reply.rcode == "NOERROR" and "AA" in reply.flags

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
        made.settimeout(wait.PATIENCE)
        made.connect((ADDRESS, self.port))
        return made

    def _datagram(self, ident: bytes) -> bytes | None:
        for _ in range(_ALIASES + 1):
            last = self._last.to_bytes(2, "big")
            while ident not in self._kept and last not in self._kept:
                found = self._datagrams().recv(65535)
                self._kept[found[:2]] = found
            if ident in self._kept:
                return self._kept.pop(ident)
            self._end_round()
        return None

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


#: In the words of BIND, NSD and Knot: a zone that is not served.
_FAILED = re.compile(r"not loaded due to errors|contained errors|failed to load zone")


@contextlib.contextmanager
def running(
    space: Namespace, folder: Path, files: Mapping[str, Path], names: Sequence[str] = NAMES
) -> Iterator[list[Server]]:
    """The servers, each with the zones, whose master files these are, by origin."""
    more = dict(files)
    zone = more.pop(zones.ORIGIN)
    with contextlib.ExitStack() as stack:
        found = []
        for number, name in enumerate(names):
            port = 5301 + number
            command = dns_peers.command(name, Setup(folder, zones.ORIGIN, zone, port, more=more))
            log = folder / f"{name}.log"
            out = stack.enter_context(log.open("ab"))
            child = stack.enter_context(space.started(command, stdout=out, stderr=out))
            server = Server(name, space, port, _VERSIONS[name])
            stack.callback(server.close)
            try:
                wait.listening(child.pid, port)
                _await_zones(server, list(files), log)
            except (RuntimeError, TimeoutError) as error:
                text = log.read_text(errors="replace")
                raise RuntimeError(f"{name}: {error}\n{text[-3000:]}") from error
            found.append(server)
        yield found


def _await_zones(server: Server, origins: Sequence[str], log: Path) -> None:
    """Some load them when they listen already, or say that they will not."""

    def served() -> bool:
        if _FAILED.search(log.read_text(errors="replace")):
            raise RuntimeError("it does not serve all zones")
        return all(map(server.has, origins))

    wait.until(served, "the zones")
