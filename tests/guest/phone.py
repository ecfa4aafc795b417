#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A telephone that speaks SIP (RFC 3261), as little of it as makes a call.

    phone.py call HOST udp|tcp CALL-ID        from IPv4: registers, calls, hangs up
    phone.py answer ADDRESS MEDIA-ADDRESS     at IPv6: takes calls until it is ended

It sends where the other's messages say, and nowhere else: requests to the Contact,
sound to the c= and m= lines of the session description.  Each message and each
datagram of sound that it has received becomes a line of JSON.
"""

from __future__ import annotations

import ipaddress
import json
import re
import selectors
import socket
import sys
from dataclasses import dataclass, field

PORT = 5060
TIMEOUT = 120
TYPE = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


@dataclass
class Message:
    """One message: its first line, header fields in order, and a body."""

    start: str
    fields: list[tuple[str, str]]
    body: str = ""

    def __getitem__(self, name: str) -> str:
        return next(value for key, value in self.fields if key == name)

    def __bytes__(self) -> bytes:
        fields = [*self.fields, ("Content-Length", str(len(self.body)))]
        lines = [self.start, *(f"{name}: {value}" for name, value in fields), "", self.body]
        return "\r\n".join(lines).encode()

    def media(self) -> tuple[str, int]:
        """Where the session description wants sound."""
        address = re.search(r"^c=IN IP[46] (\S+)\r$", self.body, re.M)
        port = re.search(r"^m=audio (\d+) ", self.body, re.M)
        assert address and port, self.body
        return address[1], int(port[1])

    def contact(self) -> tuple[str, str, int]:
        """The URI of the Contact, with its host and port."""
        found = re.search(r"<(sip:\w+@\[?([^]>]+?)\]?:(\d+))>", self["Contact"])
        assert found, self["Contact"]
        return found[1], found[2], int(found[3])


def parse(data: bytes) -> tuple[Message, bytes]:
    """A message, and what follows it; raises EOFError if it is not all there."""
    head, end, rest = data.decode().partition("\r\n\r\n")
    if not end:
        raise EOFError
    start, *lines = head.split("\r\n")
    fields = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    last, length = fields.pop()
    assert last == "Content-Length", head
    if len(rest) < int(length):
        raise EOFError
    return Message(start, fields, rest[: int(length)]), rest[int(length) :].encode()


def report(call: str, kind: str, text: str, sender: str) -> None:
    """Tell what has come."""
    print(json.dumps({"call": call, "kind": kind, "text": text, "from": sender}), flush=True)


@dataclass
class Line:
    """A way to one other phone: whole messages, by UDP or TCP."""

    sock: socket.socket
    peer: tuple[str, int] | None = None  # of a socket that is not connected
    data: bytes = field(default=b"")

    def send(self, message: Message) -> None:
        """Send a message; by TCP in two parts, as the network may cut it."""
        if self.peer:
            self.sock.sendto(bytes(message), self.peer)
        elif self.sock.type == socket.SOCK_DGRAM:
            self.sock.send(bytes(message))
        else:
            self.sock.sendall(bytes(message)[:50])
            self.sock.sendall(bytes(message)[50:])

    def receive(self) -> Message:
        """Wait for a message; EOFError: there will be none."""
        packets = self.sock.type == socket.SOCK_DGRAM
        while True:
            more, sender = self.sock.recvfrom(65536)
            if not more:
                raise EOFError
            if self.peer:
                self.peer = sender[:2]
            self.data += more
            try:
                message, self.data = parse(self.data)
            except EOFError:
                assert not packets, "half a message"
                continue
            assert not self.data, "more than its Content-Length says"
            report(message["Call-ID"], message.start, bytes(message).decode(), self.source())
            return message

    def source(self) -> str:
        """The address of who has sent the message."""
        return (self.peer or self.sock.getpeername())[0]


def session(address: str, port: int) -> str:
    """A description of a session that wants sound here (RFC 8866)."""
    version = f"IP{ipaddress.ip_address(address).version}"
    return (
        f"v=0\r\no=- 1 1 IN {version} {address}\r\ns=-\r\nc=IN {version} {address}\r\n"
        f"t=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
    )


# --- from inside --------------------------------------------------------------


def call(host: str, transport: str, call_id: str) -> None:
    """Register, call, exchange sound, and be hung up on."""
    peer = socket.gethostbyname(host)
    sock = socket.socket(socket.AF_INET, TYPE[transport])
    sock.settimeout(TIMEOUT)
    sock.connect((peer, PORT))
    own, port = sock.getsockname()
    sound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sound.settimeout(TIMEOUT)
    sound.bind(("", 0))
    line = Line(sock)

    def request(method: str, body: str = "") -> Message:
        fields = [
            ("Via", f"SIP/2.0/{transport.upper()} {own}:{port};branch=z9hG4bK{method}"),
            ("From", f"<sip:guest@{own}>;tag=1"),
            ("To", f"<sip:peer@{peer}>"),
            ("Call-ID", call_id),
            ("CSeq", f"1 {method}"),
            ("Contact", f"<sip:guest@{own}:{port}>"),
        ]
        if body:
            fields.append(("Content-Type", "application/sdp"))
        return Message(f"{method} sip:peer@{peer} SIP/2.0", fields, body)

    line.send(request("REGISTER"))
    line.receive()
    line.send(request("INVITE", session(own, sound.getsockname()[1])))
    there = line.receive().media()
    if ipaddress.ip_address(there[0]).version == 6:
        return  # nothing that this phone could reach
    sound.sendto(f"from inside, {call_id}".encode(), there)
    data, sender = sound.recvfrom(100)
    report(call_id, "sound", data.decode(), sender[0])
    line.send(request("ACK"))
    bye = line.receive()
    line.send(Message("SIP/2.0 200 OK", bye.fields))


# --- from outside -------------------------------------------------------------


class Answering:
    """The phone that is called; of one call after the other."""

    def __init__(self, address: str, media: str) -> None:
        self.address, self.media = address, media
        self.sound = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.sound.bind((media, 0))
        self.invite = Message("", [])

    def response(self, request: Message, sender: str, body: str = "") -> Message:
        """200, with what a response takes from its request."""
        fields = [
            (name, f"{value};received={sender}" if name == "Via" else value)
            for name, value in request.fields
            if name in ("Via", "From", "To", "Call-ID", "CSeq")
        ]
        own = f"<sip:peer@[{self.address}]:{PORT}>"
        if request.start.startswith("REGISTER"):
            own = request["Contact"]
        fields.append(("Contact", own))
        if body:
            fields.append(("Content-Type", "application/sdp"))
        return Message("SIP/2.0 200 OK", fields, body)

    def take(self, line: Line) -> None:
        """Receive a message, and do what it asks for."""
        message = line.receive()
        sender = line.source()
        method = message.start.split()[0]
        if method == "REGISTER":
            line.send(self.response(message, sender))
        elif method == "INVITE":
            self.invite = message
            self.speak(*message.media())
            here = self.sound.getsockname()[:2]
            line.send(self.response(message, sender, session(*here)))
        elif method == "ACK":
            self.hang_up(line)

    def speak(self, host: str, port: int) -> None:
        """Send sound, if this phone can."""
        if ipaddress.ip_address(host).version == 6:
            words = f"from outside, {self.invite['Call-ID']}"
            self.sound.sendto(words.encode(), (host, port))

    def hang_up(self, line: Line) -> None:
        """Send BYE to the Contact of who has called."""
        uri, host, port = self.invite.contact()
        transport = "UDP" if line.peer else "TCP"
        if line.peer:
            line.peer = (host, port)
        via = f"SIP/2.0/{transport} [{self.address}]:{PORT};branch=z9hG4bKBYE"
        names = ("To", "From", "Call-ID")
        turned = ("From", "To", "Call-ID")
        fields = [(name, self.invite[other]) for name, other in zip(turned, names, strict=True)]
        line.send(Message(f"BYE {uri} SIP/2.0", [("Via", via), *fields, ("CSeq", "2 BYE")]))

    def hear(self) -> None:
        """Sound that has come."""
        data, sender = self.sound.recvfrom(100)
        words = data.decode()
        report(words.rpartition(", ")[2], "sound", words, sender[0])


def answer(address: str, media: str) -> None:
    """Take calls."""
    phone = Answering(address, media)
    packets = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    packets.bind((address, PORT))
    listener = socket.create_server((address, PORT), family=socket.AF_INET6)
    with selectors.DefaultSelector() as selector:
        selector.register(phone.sound, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(packets, selectors.EVENT_READ, Line(packets, (address, PORT)))
        while True:
            for key, _ in selector.select():
                if key.fileobj is phone.sound:
                    phone.hear()
                elif key.fileobj is listener:
                    accepted = listener.accept()[0]
                    selector.register(accepted, selectors.EVENT_READ, Line(accepted))
                else:
                    try:
                        phone.take(key.data)
                    except EOFError:
                        selector.unregister(key.fileobj)


if __name__ == "__main__":
    if sys.argv[1] == "call":
        call(*sys.argv[2:])
    else:
        answer(*sys.argv[2:])
