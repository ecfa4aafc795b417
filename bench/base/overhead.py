# SPDX-License-Identifier: GPL-2.0-or-later
"""Overhead of a feature, with its confidence interval.

Each round compares a value with that of the same port without the feature, seconds apart; an
overhead is the median of these comparisons. Its interval contains the true median with 95 %
confidence, for any distribution (order statistics). With less than six rounds there is no such
interval, and the least and the greatest value replace it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .report import Rounds, Spread, number

_CONFIDENCE = 0.95
#: With fewer there is no such interval.
ROUNDS_MIN = 6
# A round trip of one byte is a frame to the VM and one from it: each acknowledges the
# one before.
_FRAMES = 2


def interval(values: Sequence[float]) -> Spread | None:
    """Return the median and its confidence interval; None without values."""
    if not values:
        return None
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 0.0
    while outside < count // 2:
        # Probability that so few values are on one side of the median by chance.
        tail += math.comb(count, outside) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            break
        outside += 1
    first = max(0, outside - 1)
    return Spread(statistics.median(ordered), ordered[first], ordered[-1 - first])


def _compared(
    ours: Rounds, base: Rounds, compare: Callable[[float, float], float]
) -> Spread | None:
    both = zip(ours, base, strict=True)
    return interval([compare(a, b) for a, b in both if a is not None and b])


def percent(ours: Rounds, base: Rounds) -> Spread | None:
    """Return the difference of ours to the base, in per cent."""
    return _compared(ours, base, lambda a, b: 100 * (a / b - 1))


def ratio(ours: Rounds, base: Rounds) -> Spread | None:
    """Return the ratio of ours to the base."""
    return _compared(ours, base, lambda a, b: a / b)


def difference(ours: Rounds, base: Rounds) -> Spread | None:
    """Return the difference of ours to the base, in the same unit."""
    return _compared(ours, base, lambda a, b: a - b)


def nanoseconds(ours: Rounds, base: Rounds) -> Spread | None:
    """Return the additional nanoseconds of a frame, from round trips in microseconds."""
    return _compared(ours, base, lambda a, b: 1000 * (a - b) / _FRAMES)


def share(cost: Spread, trip: float) -> Spread:
    """Return the cost of frames (nanoseconds each) in per cent of a round trip (microseconds)."""
    return cost.scaled(100 * _FRAMES / (1000 * trip))


def signed(value: Spread | None, unit: str = "") -> str:
    """Return an overhead as text, such as ``+0.31 % (-0.2..+0.8)``."""
    if value is None:
        return "-"
    median, least, greatest = map(_with_sign, (value.median, value.least, value.greatest))
    return f"{median}{unit} ({least}..{greatest})"


def at_least(value: Spread | None) -> Spread | None:
    """Negate a value, for a Goal with a lower bound (the bound is negated, too)."""
    return value and Spread(-value.median, -value.greatest, -value.least)


def _with_sign(value: float) -> str:
    # A value that rounds to 0 has no sign.
    text = number(value)
    return text if value <= 0 else f"+{text}"


@dataclass(frozen=True)
class Goal:
    """An upper bound, set before the measurement; ``value`` as measured, and ``shown`` as text."""

    text: str
    wanted: str
    bound: float
    value: Spread | None
    shown: str
    # True: there were enough rounds for an interval.
    enough: bool = True

    def row(self) -> list[str] | None:
        """Return a line of the table; None: not measured."""
        if self.value is None:
            return None
        return [self.text, self.wanted, self.shown, self._verdict(self.value)]

    def _verdict(self, value: Spread) -> str:
        if not self.enough:
            return f"too few rounds to tell: {ROUNDS_MIN} at least"
        if value.greatest <= self.bound:
            return "met"
        if value.least > self.bound:
            return "not met"
        better = "met" if value.median <= self.bound else "not met"
        return f"{better} by the median, inconclusive"
