# SPDX-License-Identifier: GPL-2.0-or-later
"""Control frames of CVSW, and a controller's side of a session with a NIC.

The golden frames are those of tests/unit/test-cvsw-session.c.
"""

from __future__ import annotations

import struct

import pytest
from vmmnet.cvsw.wire.message import (
    CONTROLLER_MAC,
    WINDOW,
    Ack,
    Keys,
    Malformed,
    Message,
    Refusal,
    Registration,
    Type,
    build,
    is_signed,
    parse,
)
from vmmnet.cvsw.wire.session import HELLO_EVERY, REPEAT_FIRST, Answer, Command, Session

KEY = bytes(range(32))
NIC, OURS = bytes.fromhex("020000000001"), bytes.fromhex("02000000000c")
REGISTRATION = struct.pack(">16sIIIHH", b"\x11" * 16, 4096, 64, 3, 1450, 64)
REGISTER_FRAME = bytes.fromhex(
    "03565357000102000000000188b54356535701020020000000000000000002000000"
    "00010000000000000000000011111111111111111111111111111111000010000000"
    "00400000000305aa0040a503ab0b5a68e106bccd0373282c0d58"
)
ACCEPT_FRAME = bytes.fromhex(
    "02000000000102000000000c88b54356535701080020000000000000000002000000"
    "00010000000000000000000011111111111111111111111111111111222222222222"
    "222222222222222222225383187b779b5f1ed7f041ffcf590261"
)


def test_golden() -> None:
    """The frames that the NIC's own code writes and accepts."""
    key = Keys.registration(KEY, NIC)
    assert build(Message(Type.REGISTER, NIC, 0, REGISTRATION), NIC, CONTROLLER_MAC, key) == (
        REGISTER_FRAME
    )
    keys = Keys.session(KEY, NIC, b"\x11" * 16, b"\x22" * 16)
    nonces = b"\x11" * 16 + b"\x22" * 16
    assert build(Message(Type.ACCEPT, NIC, 0, nonces), OURS, NIC, keys.to_nic) == ACCEPT_FRAME


def test_parse() -> None:
    """Padding behind a frame does no harm; what is cut is refused."""
    message, covered = parse(REGISTER_FRAME + bytes(20))
    assert message == Message(Type.REGISTER, NIC, 0, REGISTRATION)
    assert is_signed(REGISTER_FRAME + bytes(20), covered, Keys.registration(KEY, NIC))
    assert Registration.parse(message.payload) == Registration(b"\x11" * 16, 4096, 64, 3, 1450, 64)
    for length in range(len(REGISTER_FRAME)):
        with pytest.raises(Malformed):
            parse(REGISTER_FRAME[:length])


class Nic:
    """A NIC that executes everything, except where a test changes it."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.session = Session(NIC, KEY, OURS, self.take, self.registered, self.events.append)
        self.registrations: list[Registration] = []
        self.frames: list[bytes] = []
        self.answers: list[Answer] = []
        self.keys: Keys | None = None

    def registered(self, about: Registration) -> None:
        """The session is open."""
        self.registrations.append(about)

    def take(self, frame: bytes) -> None:
        """Handle a frame of the controller."""
        self.frames.append(frame)

    def register(self, nonce: bytes = b"\x11" * 16, key: bytes = KEY) -> None:
        """Register, and handle the ACCEPT."""
        payload = nonce + REGISTRATION[16:]
        self.say(Message(Type.REGISTER, NIC, 0, payload), Keys.registration(key, NIC))
        if self.frames and parse(self.frames[-1])[0].type == Type.ACCEPT:
            nonces = parse(self.frames.pop())[0].payload
            self.keys = Keys.session(KEY, NIC, nonces[:16], nonces[16:])
            self.say(Message(Type.ACK, NIC, 0))

    def say(self, message: Message, key: bytes | None = None, now: float = 0) -> None:
        """Send a message, in the session if without a key."""
        if not key:
            assert self.keys
            key = self.keys.from_nic
        self.session.input(build(message, NIC, CONTROLLER_MAC, key), now)

    def order(self, payload: bytes, now: float = 0) -> None:
        """Send an order of the controller."""
        self.session.command(Command(Type.SET_ENTRY, payload, self.answers.append), now)

    def sent(self) -> list[tuple[int, bytes]]:
        """Numbers and payloads of what was sent since the last call."""
        messages = [parse(frame)[0] for frame in self.frames]
        self.frames.clear()
        return [(message.sequence, message.payload) for message in messages]


def test_commands() -> None:
    """Commands are sent in order, a window at a time, after registration."""
    nic = Nic()
    for number in range(WINDOW + 2):
        nic.order(b"%d" % number)
    assert not nic.sent()
    nic.register()
    assert nic.registrations == [Registration(b"\x11" * 16, 4096, 64, 3, 1450, 64)]
    assert nic.sent() == [(number + 1, b"%d" % number) for number in range(WINDOW)]
    # Not the oldest one: the NIC keeps the answers to the last ones only.
    nic.say(Message(Type.ACK, NIC, 2, struct.pack(">II", 1, 2)))
    assert nic.answers == [Ack(1, 2, b"")]
    assert not nic.sent()
    nic.say(Message(Type.ERROR, NIC, 1, struct.pack(">HxxI", 4, 0)))
    assert nic.answers[1:] == [Refusal(4, 0, b"")]
    assert nic.sent() == [(9, b"8"), (10, b"9")]


def test_repeated() -> None:
    """Commands without an answer are repeated; an answer counts once."""
    nic = Nic()
    nic.register()
    for number in range(3):
        nic.order(b"%d" % number)
    nic.sent()
    nic.say(Message(Type.ACK, NIC, 2, struct.pack(">II", 1, 1)))
    due = nic.session.tick(0)
    assert due == REPEAT_FIRST
    assert not nic.sent()
    due = nic.session.tick(due)
    assert due == 3 * REPEAT_FIRST
    assert nic.sent() == [(1, b"0"), (3, b"2")]
    for _ in range(2):
        nic.say(Message(Type.ACK, NIC, 1, struct.pack(">II", 1, 1)))
    assert len(nic.answers) == 2
    nic.say(Message(Type.ACK, NIC, 3, struct.pack(">II", 1, 1)))
    assert nic.session.tick(due) is None


def test_hello() -> None:
    """HELLO is repeated until the NIC registers, even if that fails."""
    nic = Nic()
    nic.session.hello(0)
    assert nic.session.tick(0) == HELLO_EVERY
    assert nic.session.tick(HELLO_EVERY) == 2 * HELLO_EVERY
    assert [parse(frame)[0].type for frame in nic.frames] == [Type.HELLO] * 2
    nic.frames.clear()
    nic.register()
    assert nic.session.tick(10) is None


def test_acceptance_is_lost() -> None:
    """A NIC acknowledges the ACCEPT, which is repeated until then."""
    nic = Nic()
    nic.say(Message(Type.REGISTER, NIC, 0, REGISTRATION), Keys.registration(KEY, NIC))
    due = nic.session.tick(0)
    assert due == REPEAT_FIRST
    nic.session.tick(due)
    first, second = nic.frames
    assert first == second
    assert parse(first)[0].type == Type.ACCEPT
    nonces = parse(first)[0].payload
    nic.keys = Keys.session(KEY, NIC, nonces[:16], nonces[16:])
    nic.say(Message(Type.ACK, NIC, 0))
    assert nic.session.is_open
    assert nic.session.tick(1000) is None


def test_forged() -> None:
    """Frames with another key neither register nor answer."""
    nic = Nic()
    nic.register(key=bytes(32))
    assert not nic.session.is_open
    assert not nic.frames
    nic.register()
    nic.order(b"x")
    nic.say(Message(Type.ACK, NIC, 1, struct.pack(">II", 1, 1)), bytes(32))
    nic.session.input(REGISTER_FRAME[:50], 0)
    assert not nic.answers
    assert nic.session.refused == 3


def test_events() -> None:
    """Each event is reported once, in order, if it is authentic; a new session has new numbers."""
    nic = Nic()
    nic.register()
    nic.say(Message(Type.EVENT, NIC, 1, b"one"))
    nic.say(Message(Type.EVENT, NIC, 3, b"three"))
    for sequence in (1, 2, 3):
        nic.say(Message(Type.EVENT, NIC, sequence, b"again"))
    nic.say(Message(Type.EVENT, NIC, 4, b"forged"), bytes(32))
    assert nic.events == [b"one", b"three"]
    old = nic.keys
    nic.register(b"\x33" * 16)
    assert old
    nic.say(Message(Type.EVENT, NIC, 9, b"old"), old.from_nic)
    nic.say(Message(Type.EVENT, NIC, 1, b"new"))
    assert nic.events == [b"one", b"three", b"new"]


def test_registers_again() -> None:
    """Commands without an answer are repeated in the new session, before the others."""
    nic = Nic()
    nic.register()
    for number in range(WINDOW + 1):
        nic.order(b"%d" % number)
    assert len(nic.sent()) == WINDOW
    nic.register(b"\x33" * 16)
    assert nic.sent() == [(number + 1, b"%d" % number) for number in range(WINDOW)]
    assert len(nic.registrations) == 2
    # The same registration once more, as its frame may come twice, changes nothing.
    nic.say(
        Message(Type.REGISTER, NIC, 0, b"\x33" * 16 + REGISTRATION[16:]),
        Keys.registration(KEY, NIC),
    )
    assert not nic.sent()
