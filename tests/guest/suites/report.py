# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the two runs of a suite, and write down what all of them have found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from lab.base import conditions, paths

from .catalogue import Suite
from .known import BY_THE_CLOCK, DIFFERENT, LEFT_OUT
from .outcome import Outcome

#: Where the reports are, for each origin of suites and each kernel.
FOLDER = paths.BUILD / "suites"
_MISSING = Outcome("", "missing")
_ENDS = ("passed", "skipped", "failed")
_DETAIL_LINES = 12
_TITLES = {
    "cpython": "CPython 3.11 (`libpython3.11-testsuite`)",
    "go": "Go 1.19 (`golang-1.19-src`): net, net/http, internal/poll",
    "libuv": "libuv 1.44 (Debian's source package `libuv1`): the tests of sockets",
}
_COLUMNS = (
    "suite",
    "tests",
    "passed natively",
    "passed outsourced",
    "different",
    "failing on both sides",
    "skipped by themselves",
    "left out",
    "more attempts",
    "in the guest, natively",
    "in the guest, outsourced",
    "sockets on the host",
    "MB through them",
)
_SECONDS = ("suite", "seconds native", "seconds outsourced", "tests with sockets on the host")


@dataclass(frozen=True)
class Run:
    """One run of a suite.

    ``inside`` counts connections and datagrams of the guest's own IPv4 stack,
    ``counters`` is what the device counted meanwhile.
    """

    outcomes: Mapping[str, Outcome]
    seconds: float
    inside: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)

    def of(self, test: str) -> Outcome:
        """The outcome of a test, if only that it is missing."""
        return self.outcomes.get(test, _MISSING)

    def passed(self) -> int:
        """How many tests passed."""
        return sum(outcome.kind == "passed" for outcome in self.outcomes.values())

    def outside(self) -> int:
        """How many tests had sockets on the host."""
        return sum(outcome.outside > 0 for outcome in self.outcomes.values())

    def more_attempts(self) -> int:
        """How many tests needed more than one."""
        return sum(outcome.attempts > 1 for outcome in self.outcomes.values())


@dataclass(frozen=True)
class Comparison:
    """Both runs of a suite in one guest."""

    kernel: str
    suite: Suite
    native: Run
    outsourced: Run

    @property
    def tests(self) -> list[str]:
        """Every test that either run knows."""
        return list({**self.native.outcomes, **self.outsourced.outcomes})

    def differences(self) -> list[str]:
        """The tests that end in another way."""
        return [
            test
            for test in self.tests
            if self.native.of(test).kind != self.outsourced.of(test).kind
        ]

    def with_both(self, *kinds: str) -> list[str]:
        """The tests that end in the same way, one of these."""
        return [
            test
            for test in self.tests
            if self.native.of(test).kind == self.outsourced.of(test).kind
            and self.native.of(test).kind in kinds
        ]

    def left_out(self) -> list[str]:
        """The tests that were not to run, by their full names."""
        return [each for each in LEFT_OUT if belongs(each, self.suite)]

    def _ended(self, test: str) -> bool:
        """Whether a test came to its end in both runs, well or not."""
        return all(run.of(test).kind in _ENDS for run in (self.native, self.outsourced))

    def stayed_inside(self) -> bool:
        """Whether tests that have to do with sockets did not use any on the host."""
        return self.native.inside > 0 and not self.outsourced.counters.get("sockets_opened")

    def complaints(self) -> list[str]:
        """What is not as it has to be, or as the list of known differences has it."""
        different = {self.suite.full_name(test): test for test in self.differences()}
        known = {name for name in DIFFERENT if belongs(name, self.suite)}
        complaints = [
            f"{name}: {_both_kinds(self, test)}\n{_excerpt(self.outsourced.of(test).detail)}"
            for name, test in different.items()
            if name not in known and not (name in BY_THE_CLOCK and self._ended(test))
        ]
        if self.stayed_inside():
            complaints.append(f"{self.suite.name}: outsourced, but nothing was outside")
        for name in sorted(known - set(different)):
            complaints.append(f"{name}: known to differ, but it does not: {DIFFERENT[name]}")
        return complaints


def belongs(name: str, suite: Suite) -> bool:
    """Whether a test, by its full name, is one of a suite's."""
    return name.startswith(f"{suite.name}.")


def _both_kinds(comparison: Comparison, test: str) -> str:
    return f"{comparison.native.of(test).kind}, outsourced {comparison.outsourced.of(test).kind}"


def _excerpt(detail: str) -> str:
    lines = [line for line in detail.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-_DETAIL_LINES:])


def _numbers(one: Comparison) -> tuple[int, ...]:
    counters = one.outsourced.counters
    moved = counters.get("bytes_sent", 0) + counters.get("bytes_received", 0)
    return (
        len(one.tests),
        one.native.passed(),
        one.outsourced.passed(),
        len(one.differences()),
        len(one.with_both("failed", "hangs", "crashes")),
        len(one.with_both("skipped")),
        len(one.left_out()),
        one.native.more_attempts() + one.outsourced.more_attempts(),
        one.native.inside,
        one.outsourced.inside,
        counters.get("sockets_opened", 0),
        round(moved / 1e6),
    )


def _seconds(one: Comparison) -> tuple[int, ...]:
    return round(one.native.seconds), round(one.outsourced.seconds), one.outsourced.outside()


def _table(
    columns: Sequence[str],
    numbers: Callable[[Comparison], Sequence[int]],
    comparisons: Sequence[Comparison],
) -> Iterator[str]:
    rows = [numbers(one) for one in comparisons]
    names = [*(one.suite.name for one in comparisons), "all"]
    yield from ("", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|")
    for name, row in zip(names, [*rows, map(sum, zip(*rows, strict=True))], strict=True):
        yield f"| {name} | {' | '.join(map(str, row))} |"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield from ("", f"#### {title}", "", *listed)


def _differing(all_of: Iterable[Comparison]) -> Iterator[str]:
    for one in all_of:
        for test in one.differences():
            name = one.suite.full_name(test)
            why = DIFFERENT.get(name) or BY_THE_CLOCK.get(name, "NOT KNOWN WHY")
            yield f"- `{name}`: {_both_kinds(one, test)}. {why}"


def _findings(all_of: list[Comparison]) -> Iterator[str]:
    yield from _table(_COLUMNS, _numbers, all_of)
    yield from _section("Different", _differing(all_of))
    failing = (
        f"- `{one.suite.full_name(test)}`"
        for one in all_of
        for test in one.with_both("failed", "hangs", "crashes")
    )
    yield from _section("Failing on both sides", failing)
    inside = (
        f"- `{one.suite.full_name(test)}`: {one.outsourced.of(test).inside}"
        for one in all_of
        for test in one.tests
        if one.outsourced.of(test).inside
    )
    yield from _section("Connections and datagrams that stayed in the guest", inside)
    again = (
        f"- `{one.suite.full_name(test)}`, {side}"
        for one in all_of
        for side, run in (("native", one.native), ("outsourced", one.outsourced))
        for test in one.tests
        if run.of(test).attempts > 1 and run.of(test).kind in ("passed", "skipped")
    )
    yield from _section("Passed at another attempt, alone", again)
    reasons = Counter(
        one.native.of(test).detail.strip().splitlines()[-1:][0]
        if one.native.of(test).detail.strip()
        else "(no reason given)"
        for one in all_of
        for test in one.with_both("skipped")
    )
    skips = (f"- {count}: {reason}" for reason, count in reasons.most_common())
    yield from _section("Skipped by the suites themselves", skips)
    outs = (f"- `{name}`: {LEFT_OUT[name]}" for one in all_of for name in one.left_out())
    yield from _section("Left out by us", outs)
    yield from _section("How long it took", [*_table(_SECONDS, _seconds, all_of)][1:])


def _record(one: Comparison) -> dict[str, object]:
    """Everything that is known of a suite, for programs."""
    return {
        "kernel": one.kernel,
        "suite": one.suite.name,
        "native": asdict(one.native),
        "outsourced": asdict(one.outsourced),
    }


def write(comparisons: Iterable[Comparison]) -> None:
    """Write the reports, for people and for programs.

    Each kernel has files of its own, as the kernels run side by side.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in comparisons:
        groups.setdefault((one.suite.origin, one.kernel), []).append(one)
    for (origin, kernel), ours in groups.items():
        lines = [f"### {_TITLES[origin]}, on Linux {kernel}"]
        lines += ["", f"{conditions.machine()}, guests under TCG.", *_findings(ours)]
        name = f"{origin}-{kernel}"
        (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
        records = json.dumps([_record(one) for one in ours], indent=1)
        (FOLDER / f"{name}.json").write_text(records + "\n")
