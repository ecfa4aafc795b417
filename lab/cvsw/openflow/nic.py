# SPDX-License-Identifier: GPL-2.0-or-later
"""The switch of a NIC, without QEMU, between the tester's ports."""

from __future__ import annotations

import contextlib
import struct
import subprocess
from collections.abc import Iterator, Mapping

from ...base import process
from ...packages import programs
from .cases import IN, OUT, Flood, Seen
from .osken import OsKen
from .trial import error_name

#: Port numbers of a NIC.
GUEST, WIRE = 1, 2
#: Side of the tester: it sends as the guest, or as the wire.
SIDES: dict[str, Mapping[int, int]] = {
    "guest": {IN: GUEST, OUT: WIRE},
    "wire": {IN: WIRE, OUT: GUEST},
}
_HEAD = struct.Struct("!IB")


class Nic:
    """A process with a binary protocol; ``cvsw-nic-peer.c`` defines it."""

    def __init__(self, child: subprocess.Popen[bytes], side: str) -> None:
        self._child = child
        self.ports = SIDES[side]
        self._testers = {number: port for port, number in self.ports.items()}
        self._osken: OsKen | None = None
        self._counted = (0, 0)

    @classmethod
    @contextlib.contextmanager
    def running(cls, side: str) -> Iterator[Nic]:
        """Start it, for the time of a block."""
        pipe = subprocess.PIPE
        child = process.start([programs.built("cvsw-nic-peer")], stdin=pipe, stdout=pipe)
        try:
            yield cls(child, side)
        finally:
            process.stop(child)

    def clear(self, osken: OsKen) -> None:
        """Make an empty table."""
        self._osken = osken
        self._ask("R")

    def set(self, message: bytes) -> str:
        """Send a message; return the name of the error, or nothing."""
        assert self._osken is not None
        answers = self._ask("M", message)
        return error_name(self._osken, answers[0][1]) if answers else ""

    def send(self, frame: bytes) -> Seen:
        """Send a frame to the NIC."""
        before = self._counted
        answers = self._ask("F", bytes([self.ports[IN]]) + frame)
        out = [(self._testers[each[0]], each[1:]) for letter, each in answers if letter == "O"]
        told = [each[1:] for letter, each in answers if letter == "P"]
        looked_up, matched = (now - then for now, then in zip(self._counted, before, strict=True))
        return Seen(out, told, {0: (looked_up, matched)})

    def flood(self, flood: Flood) -> str:
        """Not possible: a NIC has no meters and no groups that select a bucket."""
        return f"nobody counts {flood.pktps} packets a second"

    def advance(self, milliseconds: int) -> list[bytes]:
        """Set its clock; return the FLOW_REMOVED messages of expired flows."""
        return [each for _, each in self._ask("T", struct.pack("!Q", milliseconds))]

    def _ask(self, letter: str, rest: bytes = b"") -> list[tuple[str, bytes]]:
        assert self._child.stdin is not None
        self._child.stdin.write(_HEAD.pack(1 + len(rest), ord(letter)) + rest)
        self._child.stdin.flush()
        answers: list[tuple[str, bytes]] = []
        while True:
            answer, octets = self._answer()
            if answer == "D":
                looked_up, matched = struct.unpack("!QQ", octets)
                self._counted = (looked_up, matched)
                return answers
            answers.append((answer, octets))

    def _answer(self) -> tuple[str, bytes]:
        assert self._child.stdout is not None
        head = self._child.stdout.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise RuntimeError(f"cvsw-nic-peer ended: {self._child.wait()}")
        length, letter = _HEAD.unpack(head)
        return chr(letter), self._child.stdout.read(length - 1)
