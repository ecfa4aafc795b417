# SPDX-License-Identifier: GPL-2.0-or-later
"""The scorecard: results of os-ken's cases on a NIC, from both sides, and on Open vSwitch."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...base import conditions
from . import lacks
from .cases import Case
from .trial import CANNOT, FAILED, PASSED, Verdict

_SPECIFICATION = {1: "1.0", 4: "1.3"}
_GROUPS = {"action/25_SET_FIELD": "SET_FIELD"}
_ORDER = ("match", "action", "SET_FIELD", "group", "meter")


@dataclass(frozen=True)
class Score:
    """Result of a case."""

    case: Case
    guest: Verdict
    wire: Verdict
    peer: Verdict

    @property
    def row(self) -> tuple[str, str]:
        """The version and the group of the case."""
        group = self.case.group
        return _SPECIFICATION[self.case.version], _GROUPS.get(group, group)

    @property
    def cell(self) -> str:
        """Short form of the result."""
        return f"{_SPECIFICATION[self.case.version]} {self.case.place}"


def written(scores: Sequence[Score], peer: str) -> str:
    """Return the card as a page; ``peer`` is the name and version of the other switch."""
    lines = [conditions.machine(), "", *_counts(scores, peer), "", *_lacking(scores, peer), ""]
    return "\n".join([*lines, *_differences(scores, peer)]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _counts(scores: Sequence[Score], peer: str) -> Iterator[str]:
    def row(name: tuple[str, str], some: Sequence[Score]) -> list[object]:
        nic = [_of(some, lambda each: each.guest), _of(some, lambda each: each.wire)]
        passed = sum(each.peer.how == PASSED for each in some)
        return [*name, len(some), *nic, f"{passed} / {len(some) - passed}"]

    by_row = collections.defaultdict(list)
    for score in scores:
        by_row[score.row].append(score)
    order = sorted(by_row, key=lambda name: (name[0], _ORDER.index(name[1])))
    rows = [row(name, by_row[name]) for name in order]
    for version in sorted({name[0] for name in by_row}):
        rows.append(row((version, "all"), [each for each in scores if each.row[0] == version]))
    counted = "passed / failed / cannot"
    sides = [f"NIC, {side}'s side: {counted}" for side in ("guest", "wire")]
    head = ["OpenFlow", "group", "cases", *sides, f"{peer}: passed / failed"]
    return _table(head, rows)


def _of(scores: Sequence[Score], verdict: Callable[[Score], Verdict]) -> str:
    count = collections.Counter(verdict(score).how for score in scores)
    return " / ".join(str(count[how]) for how in (PASSED, FAILED, CANNOT))


def _lacking(scores: Sequence[Score], peer: str) -> Iterator[str]:
    """Yield the cases that a NIC cannot support, by the first missing part."""
    rows = []
    for lack in lacks.ALL:
        some = [score for score in scores if score.guest == Verdict(CANNOT, lack.name)]
        passed = sum(score.peer.how == PASSED for score in some)
        if some:
            rows.append([lack.name, len(some), lack.reason, passed])
    head = ["cases that need", "cases", "OpenFlow 1.3.5", f"passed by {peer}"]
    return _table(head, rows)


def _differences(scores: Sequence[Score], peer: str) -> Iterator[str]:
    """Yield the cases that a NIC can support and that one of the two does not pass."""
    count: collections.Counter[tuple[str, str, str]] = collections.Counter()
    for score in scores:
        hows = {score.guest.how, score.wire.how, score.peer.how}
        if score.guest.how != CANNOT and hows != {PASSED}:
            nic = score.guest if score.guest.how == FAILED else score.wire
            count[score.cell, _shortly(nic), _shortly(score.peer)] += 1
    rows = [[cell, number, nic, other] for (cell, nic, other), number in count.items()]
    return _table(["not passed by both", "cases", "NIC", peer], rows)


def _shortly(verdict: Verdict) -> str:
    why = verdict.why.partition(":")[0]
    return f"{verdict.how}: {why}" if why else verdict.how
