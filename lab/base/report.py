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
_TAP_BAIL = re.compile(r"^Bail out!\s*(.+)$")
# Characters of a long reason, from its beginning and from its end.
_REASON_PART = 200
# Reasons in a summary.
_REASONS = 20


@dataclass(frozen=True)
class Failure:
    """A test case that failed, and why."""

    case: str
    reason: str


@dataclass(frozen=True)
class Counts:
    """How many test cases passed and were skipped, and which failed."""

    passed: int = 0
    skipped: int = 0
    failures: tuple[Failure, ...] = ()

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.failures)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    @classmethod
    def of_failure(cls, case: str, reason: str) -> Counts:
        """One case that failed, and why, in one line: a command names its error last."""
        line = " ".join(reason.split())
        if len(line) > 2 * _REASON_PART:
            line = f"{line[:_REASON_PART]} ... {line[-_REASON_PART:]}"
        return cls(failures=(Failure(case, line),))

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Took:
    """A part of a run: its seconds, and its test cases; a build has none."""

    name: str
    seconds: float
    counts: Counts | None = None


def summary(failures: Sequence[Failure]) -> str:
    """A line for each reason, with the first of the cases that failed by it."""
    cases: dict[str, list[str]] = {}
    for each in failures:
        cases.setdefault(each.reason, []).append(each.case)
    lines = [
        f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {reason}"
        for reason, names in cases.items()
    ]
    rest = len(lines) - _REASONS
    return "\n".join(lines[:_REASONS] + ([f"and for {rest} other reasons"] if rest > 0 else []))


def table(parts: Sequence[Took]) -> str:
    """A line for each part of a run, below a line of titles."""
    titles = ("", "passed", "failed", "skipped", "seconds")
    rows: list[tuple[str, ...]] = [titles]
    for part in parts:
        found = part.counts
        cells = [str(n) for n in (found.passed, found.failed, found.skipped)] if found else [""] * 3
        rows.append((part.name if found else f"build {part.name}", *cells, f"{part.seconds:.0f}"))
    width = max(len(row[0]) for row in rows)
    return "\n".join(
        f"{row[0]:<{width}}" + "".join(f"{cell:>9}" for cell in row[1:]) for row in rows
    )


def from_tap(name: str, text: str, status: int) -> Counts:
    """Count the top-level lines of a program's TAP stream and of its end.

    Cases that were planned but never reported, and an error status without
    a failed case, count as failures: a crash must not look like success.
    """
    total = Counts()
    planned = 0
    end = f"it ended with status {status}"
    for line in text.splitlines():
        if plan := _TAP_PLAN.match(line):
            planned = int(plan[1])
        elif bail := _TAP_BAIL.match(line):
            end = bail[1]
        elif case := _TAP_LINE.match(line):
            if re.search(r"# (SKIP|TODO)", case[2], re.IGNORECASE):
                total += Counts(skipped=1)
            elif case[1]:
                total += Counts.of_failure(f"{name}{case[2]}", "not ok")
            else:
                total += Counts(passed=1)
    lost = planned - total.passed - total.failed - total.skipped
    for _ in range(lost):
        total += Counts.of_failure(name, f"{end}, before this case ended")
    if status and not total.failed:
        total += Counts.of_failure(name, end)
    return total


def from_junit(file: Path) -> Counts:
    """Count the cases of a JUnit file, as pytest and meson write it."""
    total = Counts()
    for case in ElementTree.parse(file).iter("testcase"):
        fault = case.find("failure")
        if fault is None:
            fault = case.find("error")
        if fault is not None:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            reason = fault.get("message") or fault.text or "see its output"
            total += Counts.of_failure(name, reason)
        elif case.find("skipped") is not None:
            total += Counts(skipped=1)
        else:
            total += Counts(passed=1)
    return total


def to_junit(counts: Counts, file: Path) -> None:
    """Write a JUnit file that from_junit() reads as the same counts; passed cases have no names."""
    suite = ElementTree.Element("testsuite")
    for _ in range(counts.passed):
        ElementTree.SubElement(suite, "testcase", name="passed")
    for _ in range(counts.skipped):
        ElementTree.SubElement(ElementTree.SubElement(suite, "testcase", name="skipped"), "skipped")
    for each in counts.failures:
        case = ElementTree.SubElement(suite, "testcase", name=each.case)
        ElementTree.SubElement(case, "failure", message=each.reason)
    ElementTree.ElementTree(suite).write(file, encoding="unicode")
