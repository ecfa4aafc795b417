# SPDX-License-Identifier: GPL-2.0-or-later
"""Pings to and from a guest that moves, and the lost ones."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Protocol

from ..base import wait
from ..base.net import Namespace
from .guest import Guest

_PING = ("ping", "-n", "-i", "0.01")
_SEQUENCE = re.compile(r"icmp_seq=(\d+) ")


class Asker(Protocol):
    """Pings an address a hundred times a second."""

    def text(self) -> str:
        """The output of ping so far."""

    def running(self) -> bool:
        """Whether it goes on, and its output arrives."""

    def end(self) -> None:
        """End it."""


class GuestAsks:
    """A guest does."""

    def __init__(self, guest: Guest, address: str) -> None:
        self._ping = guest.spawn([*_PING, address])

    def text(self) -> str:
        """The output of ping so far."""
        return self._ping.output().stdout

    def running(self) -> bool:
        """Whether it goes on, and its output arrives."""
        return self._ping.running

    def end(self) -> None:
        """End it."""
        self._ping.kill(signal.SIGINT)
        self._ping.wait(wait.PATIENCE)


class HostAsks:
    """Pings from a host; a file has the output."""

    def __init__(self, host: Namespace, address: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self._ping = host.popen([*_PING, address], stdout=out, stderr=subprocess.STDOUT)

    def text(self) -> str:
        """The output of ping so far."""
        return self._log.read_text()

    def running(self) -> bool:
        """Whether it goes on."""
        return self._ping.poll() is None

    def end(self) -> None:
        """End it."""
        self._ping.send_signal(signal.SIGINT)
        self._ping.wait(wait.PATIENCE)


class Pings:
    """Several pings, by name."""

    def __init__(self, **askers: Asker) -> None:
        self._askers = askers
        self.go_on()

    def _texts(self) -> dict[str, str]:
        return {name: asker.text() for name, asker in self._askers.items()}

    def last(self) -> dict[str, int]:
        """The last answer of each."""
        found = {side: _SEQUENCE.findall(text) for side, text in self._texts().items()}
        return {side: int(numbers[-1]) if numbers else 0 for side, numbers in found.items()}

    def go_on(self, answers: int = 50) -> None:
        """Wait for ``answers`` more answers to each."""
        goal = {side: number + answers for side, number in self.last().items()}

        def is_reached() -> bool:
            for side, asker in self._askers.items():
                if not asker.running():
                    raise RuntimeError(f"ping has ended:\n{self._end_of(side)}")
            return all(number >= goal[side] for side, number in self.last().items())

        try:
            wait.until(is_reached, "pings that go on")
        except wait.Timeout as error:
            ends = "\n".join(map(self._end_of, self._askers))
            raise wait.Timeout(f"{error}; answers wanted: {goal}\n{ends}") from error

    def _end_of(self, side: str) -> str:
        lines = self._askers[side].text().splitlines()[-3:]
        return "\n".join([f"{side}:", *lines])

    def lost(self) -> dict[str, list[int]]:
        """The unanswered requests of each, up to its last answered one."""
        lost = {}
        for side, text in self._texts().items():
            answered = {int(number) for number in _SEQUENCE.findall(text)}
            lost[side] = sorted(set(range(1, max(answered) + 1)) - answered)
        return lost

    def end(self) -> dict[str, list[int]]:
        """End all; returns the lost requests."""
        self.go_on()
        for asker in self._askers.values():
            asker.end()
        return self.lost()
