# SPDX-License-Identifier: GPL-2.0-or-later
"""Pings to and from a guest that moves, and which of them are lost."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from . import wait
from .guest import Guest
from .net import Namespace

_PING = ("ping", "-n", "-i", "0.01")
_SEQUENCE = re.compile(r"icmp_seq=(\d+) ")


class Pings:
    """The guest asks a correspondent, and that one the guest, a hundred times a second."""

    def __init__(
        self, correspondent: Namespace, peer: str, guest: Guest, address: str, folder: Path
    ) -> None:
        self._log = folder / f"ping-{guest.config.name}.log"
        self._guests = guest.spawn([*_PING, peer])
        with self._log.open("wb") as out:
            self._others = correspondent.popen(
                [*_PING, address], stdout=out, stderr=subprocess.STDOUT
            )
        self.go_on()

    def _texts(self) -> dict[str, str]:
        return {"guest": self._guests.output().stdout, "correspondent": self._log.read_text()}

    def last(self) -> dict[str, int]:
        """The last answer that each side has."""
        found = {side: _SEQUENCE.findall(text) for side, text in self._texts().items()}
        return {side: int(numbers[-1]) if numbers else 0 for side, numbers in found.items()}

    def go_on(self, answers: int = 50) -> None:
        """Wait for some more answers on both sides."""
        goal = {side: number + answers for side, number in self.last().items()}
        wait.until(
            lambda: all(number >= goal[side] for side, number in self.last().items()),
            "pings that go on",
        )

    def lost(self) -> dict[str, list[int]]:
        """The questions of each side that have no answer, up to the last one that has."""
        lost = {}
        for side, text in self._texts().items():
            answered = {int(number) for number in _SEQUENCE.findall(text)}
            lost[side] = sorted(set(range(1, max(answered) + 1)) - answered)
        return lost

    def end(self) -> dict[str, list[int]]:
        """End both; returns what is lost."""
        self.go_on()
        self._guests.kill(signal.SIGINT)
        self._guests.wait(wait.PATIENCE)
        self._others.send_signal(signal.SIGINT)
        self._others.wait(wait.PATIENCE)
        return self.lost()
