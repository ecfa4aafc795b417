# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a suite to its end, in the guest, whatever its tests do.

The tests of a suite share a process, as their authors have them run.  When it
hangs or crashes, it goes on in another one without those that were at work.
These, and all that failed, run again, alone: that tells who did it.  What fails
alone has another attempt, as on a busy machine some tests miss their moment.
The last outcome counts.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from .outcome import Outcome
from .watch import Watched

#: Stands for what is wrong with no test in particular.
WHOLE_SUITE = "(the suite)"
#: The attempts of a test that did not get through with the others.
_ALONE = (2, 3)


@dataclass(frozen=True)
class Begin:
    """A test begins."""

    test: str


class Suite(Protocol):
    """How to run a suite and to understand what it says."""

    #: The signal that has what hangs tell where it is.
    plea: signal.Signals

    def start(self, without: Collection[str], only: Collection[str]) -> Watched:
        """Start the tests ``only``, by default all, ``without`` some."""

    def events(self, lines: Iterator[str]) -> Iterator[Begin | Outcome]:
        """What is happening."""


def whole(test: str) -> str:
    """The test that can be run alone: a part of one cannot."""
    return test.partition("/")[0]


class Campaign:
    """One run of one suite, but for the tests ``without``."""

    def __init__(self, suite: Suite, without: Collection[str]) -> None:
        self._suite = suite
        self._without = set(without)
        self._outcomes: dict[str, Outcome] = {}
        self._suspects: dict[str, None] = {}

    def run(self) -> Iterator[Outcome]:
        """Run everything; then tell the outcomes."""
        while self._run_together():
            pass
        for test in self._suspects:
            for attempt in _ALONE:
                if not self._run_alone(test, attempt):
                    break
        yield from self._outcomes.values()

    def _follow(self, watched: Watched) -> tuple[dict[str, Outcome], list[str]]:
        """What has ended, and what has begun and did not end."""
        begun: dict[str, None] = {}
        ended: dict[str, Outcome] = {}
        for event in self._suite.events(watched.lines()):
            if isinstance(event, Begin):
                begun[event.test] = None
            else:
                begun.pop(event.test, None)
                ended[event.test] = event
        return ended, list(begun)

    def _run_together(self) -> bool:
        """Run what is left; tell whether that needs another process."""
        known = {*self._without, *map(whole, self._outcomes), *self._suspects}
        with self._suite.start(known, ()) as watched:
            ended, begun = self._follow(watched)
            failed = [each.test for each in ended.values() if each.kind == "failed"]
            if watched.status(self._suite.plea) and not failed and not begun:
                ended[WHOLE_SUITE] = Outcome(WHOLE_SUITE, "crashes", watched.last_words())
        self._outcomes |= ended
        self._suspects |= dict.fromkeys(map(whole, [*failed, *begun]))
        return bool(begun)

    def _run_alone(self, test: str, attempt: int) -> bool:
        """Run one test and nothing else; tell whether it fails."""
        with self._suite.start((), [test]) as watched:
            ended, begun = self._follow(watched)
            status = watched.status(self._suite.plea)
            if begun or not ended:
                kind = "hangs" if watched.hangs else "crashes"
                detail = f"status {status}\n{watched.last_words()}"
                ended |= {each: Outcome(each, kind, detail) for each in begun or [test]}
        self._outcomes = {
            name: outcome for name, outcome in self._outcomes.items() if whole(name) != test
        }
        self._outcomes |= {name: replace(each, attempts=attempt) for name, each in ended.items()}
        return any(each.kind not in ("passed", "skipped") for each in ended.values())
