# SPDX-License-Identifier: GPL-2.0-or-later
"""A DNS server whose fault is chosen by the name asked for; run with ``-m``.

The first label of a name is ``FAULT-TYPE``: questions for that type get the fault, all others get
``A`` or ``AAAA``. ``slow-TYPE`` is answered when a client asks for the name ``release``, and
``late-TYPE`` after ``LATE`` seconds. The server also listens on TCP, where ``truncated-TYPE``
closes the connection without an answer.
"""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address, IPv6Address

A = IPv4Address("192.0.2.1")
AAAA = IPv6Address("2001:db8::1")
#: A forger's addresses, which no client may accept.
FORGED = IPv4Address("192.0.2.66")
#: Number of addresses of ``huge``; they do not fit into a datagram.
MANY = 2000
#: How late ``late`` is: longer than a client waits that has an address to which it has a route.
LATE = 0.3

_HEADER = 12
_TYPES = {1: "a", 28: "aaaa"}
_POINTER_TO_NAME = b"\xc0\x0c"
_FORMERR, _SERVFAIL, _NXDOMAIN, _NOTIMP, _REFUSED = 1, 2, 3, 4, 5
_TRUNCATED = 0x0200
_CNAME = 5

Send = Callable[[bytes], object]


class Question:
    """A query and the replies to it."""

    def __init__(self, query: bytes) -> None:
        end = query.index(0, _HEADER) + 5
        self.id = query[:2]
        self.text = query[_HEADER:end]
        self.kind = int.from_bytes(self.text[-4:-2])
        length = self.text[0]
        self.label = self.text[1 : 1 + length].decode().lower()

    def record(self, kind: int, data: bytes, length: int | None = None) -> bytes:
        """A record of the name, with a length of its data that may be wrong."""
        size = len(data) if length is None else length
        fixed = kind.to_bytes(2) + b"\0\1" + (60).to_bytes(4) + size.to_bytes(2)
        return _POINTER_TO_NAME + fixed + data

    def address(self, forged: bool = False) -> bytes:
        """The right record, or a forger's."""
        if self.kind == 1:
            return self.record(1, (FORGED if forged else A).packed)
        return self.record(28, AAAA.packed)

    def reply(self, *records: bytes, flags: int = 0) -> bytes:
        """A reply; flags are those beside QR, RD and RA, with the RCODE."""
        head = self.id + (0x8180 | flags).to_bytes(2) + b"\0\1"
        return head + len(records).to_bytes(2) + bytes(4) + self.text + b"".join(records)

    def wrong_id(self) -> bytes:
        """A forged reply with a wrong id."""
        right = self.reply(self.address(forged=True))
        return bytes((right[0] ^ 0xFF, right[1])) + right[2:]

    def wrong_question(self) -> bytes:
        """The answer to another question."""
        text = bytearray(self.reply(self.address(forged=True)))
        text[_HEADER + 1] ^= 1
        return bytes(text)


_RCODES = {
    "formerr": _FORMERR,
    "servfail": _SERVFAIL,
    "nxdomain": _NXDOMAIN,
    "notimp": _NOTIMP,
    "refused": _REFUSED,
}
_REPLIES: dict[str, Callable[[Question], bytes]] = {
    "wrongid": Question.wrong_id,
    "wrongquestion": Question.wrong_question,
    "garbage": lambda q: q.id + bytes(range(200, 255)),
    "query": lambda q: q.id + b"\x01\x00" + q.reply()[4:],
    "short": lambda q: q.reply(q.address())[:-3],
    "rdlength": lambda q: q.reply(q.record(q.kind, bytes(5))),
    "overlong": lambda q: q.reply(q.record(q.kind, bytes(4), 4000)),
    "loop": lambda q: q.reply(q.record(_CNAME, _POINTER_TO_NAME)),
    "nodata": lambda q: q.reply(),
}


class Server:
    """The data that all threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[Callable[[], object]] = []

    def answer(self, query: bytes, send: Send, over_tcp: bool) -> None:
        """Answer, once, several times, or not at all."""
        q = Question(query)
        fault, _, kind = q.label.partition("-")
        if q.label == "release":
            self._release()
        if kind != _TYPES.get(q.kind):
            send(q.reply(*([q.address()] if q.kind in _TYPES else [])))
        elif fault in _RCODES:
            send(q.reply(flags=_RCODES[fault]))
        elif fault in _REPLIES:
            send(_REPLIES[fault](q))
        elif fault == "forged":
            send(q.wrong_id())
            send(q.wrong_question())
            send(q.reply(q.address()))
        elif fault in ("noedns", "lostedns"):
            has_edns = int.from_bytes(query[10:12]) > 0
            if not has_edns:
                send(q.reply(q.address()))
            elif fault == "noedns":
                send(q.reply(flags=_FORMERR))
        elif fault == "truncated" and not over_tcp:
            send(q.reply(flags=_TRUNCATED))
        elif fault == "huge":
            many = [q.record(q.kind, (int(AAAA) + i).to_bytes(16)) for i in range(MANY)]
            send(q.reply(*many) if over_tcp else q.reply(flags=_TRUNCATED))
        elif fault == "slow":
            with self._lock:
                self._held.append(lambda: send(q.reply(q.address())))
        elif fault == "late":
            threading.Timer(LATE, send, [q.reply(q.address())]).start()
        # "drop", and "truncated" over TCP: nothing.

    def _release(self) -> None:
        with self._lock:
            held, self._held = self._held, []
        for send in held:
            send()

    def serve_udp(self, sock: socket.socket) -> None:
        """For good."""
        while True:
            query, peer = sock.recvfrom(4096)
            self.answer(query, partial(self._send_udp, sock, peer), False)

    def serve_tcp(self, listener: socket.socket) -> None:
        """Serve TCP for ever; one question for each connection."""
        while True:
            connection, _ = listener.accept()
            with connection:
                # A test that only checks whether we listen sends nothing.
                if len(head := connection.recv(2, socket.MSG_WAITALL)) == 2:
                    query = connection.recv(int.from_bytes(head), socket.MSG_WAITALL)
                    self.answer(query, partial(self._send_tcp, connection), True)

    @staticmethod
    def _send_udp(sock: socket.socket, peer: tuple[str, int], data: bytes) -> None:
        sock.sendto(data, peer)

    @staticmethod
    def _send_tcp(connection: socket.socket, data: bytes) -> None:
        connection.sendall(len(data).to_bytes(2) + data)


def main() -> None:
    """Parse the command line and serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", type=IPv4Address, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    here = (str(options.address), options.port)
    server = Server()
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(here)
    threading.Thread(target=server.serve_udp, args=(datagrams,), daemon=True).start()
    server.serve_tcp(socket.create_server(here))


if __name__ == "__main__":
    main()
