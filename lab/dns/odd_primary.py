# SPDX-License-Identifier: GPL-2.0-or-later
"""A primary with wrong or slow zone transfers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from ..base.net import Namespace

PORT = 53
#: Records in each message of a transfer.
EACH = 200


def soa(origin: str, serial: int) -> dns.rrset.RRset:
    """The SOA of a version."""
    text = f"ns.{origin} root.{origin} {serial} 3600 600 86400 300"
    return dns.rrset.from_text(origin, 300, "IN", "SOA", text)


@dataclass
class Conversation:
    """A query, and functions to answer it."""

    connection: socket.socket
    query: dns.message.Message
    serial: int
    over: threading.Event

    @property
    def origin(self) -> str:
        """The zone of the query."""
        return self.query.question[0].name.to_text()

    def say(self, *rrsets: dns.rrset.RRset) -> None:
        """Send a message with these records."""
        reply = dns.message.make_response(self.query)
        reply.flags |= dns.flags.AA
        reply.answer.extend(rrsets)
        wire = reply.to_wire(max_size=65535)
        self.connection.sendall(len(wire).to_bytes(2, "big") + wire)

    def names(self, first: int, count: int = EACH) -> None:
        """Send a message with an address for each of ``count`` names."""
        self.say(
            *(
                dns.rrset.from_text(f"h{number}.{self.origin}", 300, "IN", "A", "192.0.2.9")
                for number in range(first, first + count)
            )
        )

    def begin(self) -> None:
        """Send the start of AXFR."""
        at = dns.rrset.from_text(self.origin, 300, "IN", "NS", f"ns.{self.origin}")
        self.say(soa(self.origin, self.serial), at)

    def end(self) -> None:
        """Send the end of AXFR."""
        self.say(soa(self.origin, self.serial))


#: Answers AXFR and IXFR.
Behaviour = Callable[[Conversation], None]


def close(talk: Conversation) -> None:
    """Stop in the middle."""
    talk.begin()
    talk.names(0)


def stall(talk: Conversation) -> None:
    """Stop in the middle, and keep the connection."""
    talk.begin()
    talk.names(0)
    talk.over.wait()


def babble(talk: Conversation) -> None:
    """Send octets that are no message."""
    talk.connection.sendall(b"\x00\x20" + b"\xff" * 32)


def flood(talk: Conversation) -> None:
    """Never end."""
    talk.begin()
    first = 0
    while not talk.over.is_set():
        talk.names(first)
        first += EACH


def swerve(talk: Conversation) -> None:
    """End with another serial than at the start."""
    talk.begin()
    talk.say(soa(talk.origin, talk.serial + 1))


def nothing(talk: Conversation) -> None:
    """Send no NS: these records are no zone."""
    talk.say(soa(talk.origin, talk.serial), soa(talk.origin, talk.serial))


def refuse(talk: Conversation) -> None:
    """REFUSED."""
    reply = dns.message.make_response(talk.query)
    reply.set_rcode(dns.rcode.REFUSED)
    wire = reply.to_wire()
    talk.connection.sendall(len(wire).to_bytes(2, "big") + wire)


def _whole(talk: Conversation) -> None:
    """Send a zone in whole, with a signature of an RRset that it does not have."""
    talk.begin()
    talk.names(0)
    signature = f"MX 13 2 300 20300101000000 20200101000000 1 {talk.origin} AAAA"
    talk.say(dns.rrset.from_text(f"h0.{talk.origin}", 300, "IN", "RRSIG", signature))
    talk.end()


def no_changes(instead: Behaviour) -> Behaviour:
    """AXFR is right; IXFR is answered by something else."""

    def answer(talk: Conversation) -> None:
        is_axfr = talk.query.question[0].rdtype == dns.rdatatype.AXFR
        (_whole if is_axfr else instead)(talk)

    return answer


def one_soa(talk: Conversation) -> None:
    """Send the SOA alone, and close."""
    talk.end()


def elsewhere(talk: Conversation) -> None:
    """Send a change from a serial that nobody asked for."""
    for serial in (talk.serial, talk.serial - 2, talk.serial, talk.serial):
        talk.say(soa(talk.origin, serial))


@dataclass
class OddPrimary:
    """The primary at an address of a host; a context manager.  Each zone has its behaviour."""

    host: Namespace
    address: str
    behaviours: dict[dns.name.Name, Behaviour]
    #: Serial of all zones, always greater than the secondary's.
    serial: int = 2
    #: Zones of all transfer requests.
    asked: list[dns.name.Name] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> OddPrimary:
        with self.host.entered():
            self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((self.address, PORT))
        self._listener.listen(64)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _start(self, run: Callable[..., None], *words: object) -> None:
        self._threads.append(threading.Thread(target=run, args=words))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, EOFError):
            for query in _queries(connection):
                talk = Conversation(connection, query, self.serial, self.over)
                question = query.question[0]
                if question.rdtype == dns.rdatatype.SOA:
                    talk.say(soa(talk.origin, self.serial))
                else:
                    self.asked.append(question.name)
                    self.behaviours[question.name](talk)
                    return


def _queries(connection: socket.socket) -> Iterator[dns.message.Message]:
    with connection.makefile("rb") as stream:
        while prefix := stream.read(2):
            wire = stream.read(int.from_bytes(prefix, "big"))
            # Without the signature, as there is no key here.
            yield dns.message.from_wire(wire, question_only=True)
