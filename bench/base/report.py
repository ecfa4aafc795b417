# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the samples of two paths and write them down: as tables, as JSON.

A value is the median of its rounds, beside it stand the least and the
greatest.  A ratio is ours divided by the peer's, of the medians; its spread is
that of the rounds' own ratios, because a round measures both within seconds
of each other.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .loads import Load, Metric, Values

# One value for each round; None where the measurement failed.
Rounds = Sequence[float | None]
_T = TypeVar("_T")
#: Part of the machine's time used by other work that makes values doubtful.
DISTURBED = 0.05


def turned(paths: Sequence[_T], by: int) -> list[_T]:
    """Return the paths in the order of a round: each round begins with another path."""
    first = by % len(paths)
    return [*paths[first:], *paths[:first]]


def _warning(others: float) -> str:
    warning = "; the machine was not idle, treat all values as approximate"
    return warning if others > DISTURBED else ""


def background(others: float) -> str:
    """Text about the part of the machine that others used, with a warning if it is large."""
    return f"background load {others:.0%}{_warning(others)}"


@dataclass
class Samples:
    """All measured values, by path and metric, one for each round."""

    rounds: int
    values: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def of(self, path: str, metric: str) -> list[float | None]:
        """Return the rounds of one metric on one path."""
        by_metric = self.values.setdefault(path, {})
        return by_metric.setdefault(metric, [None] * self.rounds)

    def record(self, index: int, path: str, load: Load, measure: Callable[[], Values]) -> None:
        """Measure once; record a failure as a result, so that the others go on."""
        label = f"round {index + 1}, {path}, {load.name}"
        try:
            values = measure()
        except (RuntimeError, OSError) as error:
            self.failures.append(f"{label}: {error}")
            print(f"  {label}: FAILED: {error}", flush=True)
            return
        self.others.append(values.pop("others"))
        for name, value in values.items():
            self.of(path, name)[index] = value
        shown = (f"{m.name} {number(values[m.name])} {m.unit}" for m in load.metrics)
        print(f"  {label}: {', '.join(shown)}", flush=True)

    def disturbance(self) -> str:
        """Text about the part of the machine that others used, with a warning if it is large."""
        if not self.others:
            return "nothing was measured"
        median, most = statistics.median(self.others), max(self.others)
        return f"background load {median:.0%}, peak {most:.0%}{_warning(median)}"


@dataclass(frozen=True)
class Spread:
    """Median, least and greatest of some values."""

    median: float
    least: float
    greatest: float

    def scaled(self, by: float) -> Spread:
        """Return all three multiplied by a factor."""
        return Spread(self.median * by, self.least * by, self.greatest * by)

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.least)}..{number(self.greatest)})"


def number(value: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: Rounds) -> Spread | None:
    """Summarize the rounds that succeeded; None when none did."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(statistics.median(known), min(known), max(known))


@dataclass(frozen=True)
class Comparison:
    """One metric of ours beside that of one peer."""

    metric: Metric
    name: str
    peer_name: str
    ours: Rounds
    peer: Rounds

    @property
    def ratio(self) -> Spread | None:
        """Ratio of ours to the peer's; None when it has no meaning."""
        if not self.metric.compared:
            return None
        ours, peer = spread(self.ours), spread(self.peer)
        rounds = [a / b for a, b in zip(self.ours, self.peer, strict=True) if a and b]
        if ours is None or peer is None or not rounds or not peer.median:
            return None
        return Spread(ours.median / peer.median, min(rounds), max(rounds))

    @property
    def runs(self) -> int:
        """Rounds in which both sides have a value."""
        both = zip(self.ours, self.peer, strict=True)
        return sum(1 for a, b in both if a is not None and b is not None)

    def entry(self) -> dict[str, Any] | None:
        """Return the JSON; None when there is nothing to compare."""
        ours, peer, ratio = spread(self.ours), spread(self.peer), self.ratio
        if ours is None or peer is None or ratio is None:
            return None
        return {
            "name": self.name,
            "unit": self.metric.unit,
            "ours": _round(ours.median),
            "peer": _round(peer.median),
            "peer_name": self.peer_name,
            "ratio": _round(ratio.median),
            "runs": self.runs,
        }

    def cell(self) -> str:
        """Return the peer's value and, below it, the ratio."""
        value = _text(spread(self.peer))
        return f"{value}<br>**{_text(self.ratio)}**" if self.ratio else value

    def row(self) -> list[str]:
        """Return the line of the table."""
        best = "more" if self.metric.higher_is_better else "less"
        return [
            self.name.rpartition("-vs-")[0],
            self.metric.unit,
            best,
            _text(spread(self.ours)),
            self.peer_name,
            _text(spread(self.peer)),
            _text(self.ratio),
            str(self.runs),
        ]


_HEAD = ["metric", "unit", "better", "ours (min..max)", "peer", "peer's (min..max)"]
_HEAD += ["ratio (min..max)", "runs"]


def _text(value: Spread | None) -> str:
    return "-" if value is None else str(value)


def _round(value: float) -> float:
    return float(f"{value:.5g}")


def table(comparisons: Sequence[Comparison]) -> str:
    """Return the table of all comparisons; a metric's name is only in its first line."""
    rows, last = [_HEAD], ""
    for comparison in comparisons:
        row = comparison.row()
        rows.append(["", "", "", "", *row[4:]] if row[0] == last else row)
        last = row[0]
    return plain(rows)


def plain(rows: Iterable[Sequence[str]]) -> str:
    """Format a table for a terminal; the first row is its head."""
    lines = [[_unmarked(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    layout = "  ".join(f"{{:{width}}}" for width in widths)
    return "\n".join(layout.format(*line).rstrip() for line in lines)


def _unmarked(cell: str) -> str:
    return cell.replace("<br>", "  ").replace("**", "")


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Format a table for a page of the documentation; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def matrix(comparisons: Sequence[Comparison], ours: str) -> Iterator[list[str]]:
    """Yield a row for each metric: ours, then each peer with its value and the ratio."""
    peers = list(dict.fromkeys(comparison.peer_name for comparison in comparisons))
    yield ["", ours, *peers]
    by_metric: dict[str, dict[str, Comparison]] = {}
    for comparison in comparisons:
        by_metric.setdefault(comparison.metric.name, {})[comparison.peer_name] = comparison
    for found in by_metric.values():
        any_of_them = next(iter(found.values()))
        metric = any_of_them.metric
        cells = [found[peer].cell() if peer in found else "-" for peer in peers]
        yield [f"{metric.title}, {metric.unit}", _text(spread(any_of_them.ours)), *cells]


def write_json(file: Path, comparisons: Sequence[Comparison], more: dict[str, Any]) -> None:
    """Write the comparisons, and ``more`` under its own keys."""
    entries = [entry for entry in (item.entry() for item in comparisons) if entry is not None]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"metrics": entries, **more}, indent=1) + "\n")
