# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller's session with one NIC, without a network and a clock.

Frames go in and come out; time is passed in. A window of commands is under way; commands
without an answer are repeated.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .message import (
    NONCE_LEN,
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

#: Seconds until a command without an answer is repeated, or three times an answer's usual
#: time; it doubles.
REPEAT_FIRST, REPEAT_LAST = 0.25, 4.0
#: An ACCEPT without an answer is repeated for ever, at most at this interval, seconds.
ACCEPT_LAST = 30.0
#: Seconds between two HELLOs to a NIC that does not register; it ignores more.
HELLO_EVERY = 1.0

Answer = Ack | Refusal


@dataclass
class Command:
    """A command, and the callback for its result."""

    type: Type
    payload: bytes
    done: Callable[[Answer], None]


def _ignore(event: bytes) -> None:
    """The default callback: ignore events."""


@dataclass
class Session:
    """A session with one NIC; ``send`` sends frames to it.

    ``event`` gets its events, OFPT_FLOW_REMOVED and OFPT_PACKET_IN, each once and in order.
    Some may be lost on the way.
    """

    mac: bytes
    key: bytes = field(repr=False)
    source: bytes
    send: Callable[[bytes], None]
    registered: Callable[[Registration], None]
    event: Callable[[bytes], None] = _ignore

    is_open: bool = False
    refused: int = 0  # frames that were malformed, forged or old
    strangers: int = 0  # of these, registrations signed by another key
    lost: int = 0  # lost events
    _keys: Keys | None = field(default=None, repr=False)
    _offered: tuple[Keys, Registration, bytes] | None = field(default=None, repr=False)
    _nonce: bytes = b""
    _sequence: int = 0  # number of the last command that was sent
    _event: int = 0  # number of the last event
    _waiting: deque[Command] = field(default_factory=deque)
    _under_way: deque[tuple[int, bytes, Command]] = field(default_factory=deque)
    _repeat_at: float | None = None
    _hello_at: float | None = None
    _accept_at: float | None = None
    _accept_wait: float = 0.0
    _interval: float = REPEAT_FIRST
    _silent_since: float = 0.0
    _first: float = REPEAT_FIRST
    _timed: tuple[int, float] | None = None  # a command that was sent once, and when

    def hello(self, now: float) -> None:
        """Ask the NIC to register, until it does."""
        self.send(build(Message(Type.HELLO), self.source, self.mac, None))
        self._hello_at = now + HELLO_EVERY

    @property
    def secret_key(self) -> bytes:
        """The key that encrypts SET_SA's keying material in the open session."""
        assert self._keys
        return self._keys.secrets

    def command(self, command: Command, now: float) -> None:
        """Send a command, or keep it until there is room in the window."""
        self._waiting.append(command)
        self._push(now)

    @property
    def secrets(self) -> bytes:
        """The key that encrypts ESP keys; it ends with the session."""
        assert self._keys, "nobody asks before the session is open"
        return self._keys.secrets

    def silent_since(self) -> float | None:
        """Since when commands wait without any answer; None: none waits."""
        return self._silent_since if self._under_way else None

    def try_again(self, now: float) -> None:
        """Nothing could be heard until now: repeat what has no answer, and wait anew."""
        if self._under_way:
            self._silent_since = self._repeat_at = now
            self._interval = self._first

    def forget(self) -> None:
        """Drop all commands without an answer; the caller has new ones."""
        self._waiting.clear()
        self._under_way.clear()
        self._repeat_at = self._timed = None

    def input(self, frame: bytes, now: float) -> bool:
        """A control frame of this NIC has arrived; returns whether the open session signed it."""
        try:
            message, covered = parse(frame)
            if message.type == Type.REGISTER:
                self._take_registration(frame, covered, message, now)
                return False
            return self._take_answer(frame, covered, message, now)
        except Malformed:
            self.refused += 1
            return False

    def tick(self, now: float) -> float | None:
        """Repeat what is due; returns when to call again."""
        if self._hello_at is not None and now >= self._hello_at:
            self.hello(now)
        if self._accept_at is not None and now >= self._accept_at:
            self._accept_again(now)
        if self._repeat_at is not None and now >= self._repeat_at:
            for _, frame, _ in self._under_way:
                self.send(frame)
            self._timed = None  # the answer could be to either of both
            self._interval = min(2 * self._interval, REPEAT_LAST)
            self._repeat_at = now + self._interval
        due = (self._hello_at, self._accept_at, self._repeat_at)
        return min((at for at in due if at is not None), default=None)

    def _take_registration(
        self, frame: bytes, covered: bytes, message: Message, now: float
    ) -> None:
        if not is_signed(frame, covered, Keys.registration(self.key, self.mac)):
            self.refused += 1
            self.strangers += 1
            return
        about = Registration.parse(message.payload)
        self._hello_at = None
        if about.nonce != self._nonce:
            mine = secrets.token_bytes(NONCE_LEN)
            keys = Keys.session(self.key, self.mac, about.nonce, mine)
            accept = Message(Type.ACCEPT, self.mac, 0, about.nonce + mine)
            frame = build(accept, self.source, self.mac, keys.to_nic)
            self._nonce = about.nonce
            self._offered = (keys, about, frame)
        if self._offered:
            self.send(self._offered[2])
            self._accept_wait = REPEAT_FIRST
            self._accept_at = now + REPEAT_FIRST

    def _accept_again(self, now: float) -> None:
        """Repeat ACCEPT: the NIC may have received it, and its answer may be lost."""
        assert self._offered
        self._accept_wait = min(2 * self._accept_wait, ACCEPT_LAST)
        self._accept_at = now + self._accept_wait
        self.send(self._offered[2])

    def _take_answer(self, frame: bytes, covered: bytes, message: Message, now: float) -> bool:
        if self._offered and is_signed(frame, covered, self._offered[0].from_nic):
            self._open(now)
        if not self._keys or not is_signed(frame, covered, self._keys.from_nic):
            self.refused += 1
            return False
        if message.type in (Type.ACK, Type.ERROR):
            self._answered(message, now)
        elif message.type == Type.EVENT and message.sequence > self._event:
            self.lost += message.sequence - self._event - 1
            self._event = message.sequence
            self.event(message.payload)
        return True

    def _open(self, now: float) -> None:
        """The NIC uses the offered session: the one before has ended."""
        assert self._offered
        self._keys, about, _ = self._offered
        self._offered = self._accept_at = None
        lost = [command for _, _, command in self._under_way]
        self._waiting.extendleft(reversed(lost))
        self._under_way.clear()
        self._sequence = self._event = 0
        self._repeat_at = self._timed = None
        self._interval = self._first
        self.is_open = True
        self.registered(about)
        self._push(now)

    def _answered(self, message: Message, now: float) -> None:
        for at, (sequence, _, command) in enumerate(self._under_way):
            if sequence == message.sequence:
                del self._under_way[at]
                self._time(sequence, now)
                self._interval = self._first
                self._silent_since = now
                self._repeat_at = now + self._interval if self._under_way else None
                refused = message.type == Type.ERROR
                command.done((Refusal if refused else Ack).parse(message.payload))
                break
        self._push(now)

    def _time(self, sequence: int, now: float) -> None:
        """Measure how long an answer took: many NICs at once wait for each other."""
        if self._timed and self._timed[0] == sequence:
            took = now - self._timed[1]
            self._first = min(max(REPEAT_FIRST, 3 * took), REPEAT_LAST)
            self._timed = None

    def _push(self, now: float) -> None:
        while self._keys and self._waiting and self._has_room():
            command = self._waiting.popleft()
            self._sequence += 1
            message = Message(command.type, self.mac, self._sequence, command.payload)
            frame = build(message, self.source, self.mac, self._keys.to_nic)
            self._under_way.append((self._sequence, frame, command))
            self._timed = self._timed or (self._sequence, now)
            if self._repeat_at is None:
                self._repeat_at = now + self._interval
                self._silent_since = now
            self.send(frame)

    def _has_room(self) -> bool:
        """The NIC keeps the answers to the last WINDOW commands, and no older ones."""
        return not self._under_way or self._sequence - self._under_way[0][0] < WINDOW - 1
