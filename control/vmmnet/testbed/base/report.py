# SPDX-License-Identifier: GPL-2.0-or-later
"""Count test cases in reports of test programs, TAP and JUnit XML; show what a run took."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

_TAP_LINE = re.compile(r"^(not )?ok\b(.*)$")
_TAP_PLAN = re.compile(r"^1\.\.(\d+)")


@dataclass(frozen=True)
class Counts:
    """How many test cases passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Took:
    """A part of a run: its seconds, and its test cases; a build has none."""

    name: str
    seconds: float
    counts: Counts | None = None


def table(parts: Sequence[Took]) -> str:
    """A line for each part of a run, below a line of titles."""
    titles = ("", "passed", "failed", "skipped", "seconds")
    rows = [titles]
    for part in parts:
        found = part.counts
        cells = [str(n) for n in (found.passed, found.failed, found.skipped)] if found else [""] * 3
        rows.append((part.name if found else f"build {part.name}", *cells, f"{part.seconds:.0f}"))
    width = max(len(row[0]) for row in rows)
    return "\n".join(
        f"{row[0]:<{width}}" + "".join(f"{cell:>9}" for cell in row[1:]) for row in rows
    )


def from_tap(text: str, status: int) -> Counts:
    """Count the top-level lines of a TAP stream and of its program's end.

    Cases that were planned but never reported, and an error status without
    a failed case, count as failures: a crash must not look like success.
    """
    passed = failed = skipped = planned = 0
    for line in text.splitlines():
        if plan := _TAP_PLAN.match(line):
            planned = int(plan[1])
        elif case := _TAP_LINE.match(line):
            if re.search(r"# (SKIP|TODO)", case[2], re.IGNORECASE):
                skipped += 1
            elif case[1]:
                failed += 1
            else:
                passed += 1
    failed += max(0, planned - passed - failed - skipped)
    if status and not failed:
        failed = 1
    return Counts(passed, failed, skipped)


def from_junit(file: Path) -> Counts:
    """Count the cases of a JUnit file, as pytest and meson write it."""
    total = Counts()
    for case in ElementTree.parse(file).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            total += Counts(failed=1)
        elif case.find("skipped") is not None:
            total += Counts(skipped=1)
        else:
            total += Counts(passed=1)
    return total
