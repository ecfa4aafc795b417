# SPDX-License-Identifier: GPL-2.0-or-later
"""How much more something costs than nothing, and how sure that is.

Each round compares a value with that of nothing on the same port, seconds apart; an
overhead is the median of these comparisons.  Beside it stands the interval that has
the median of all rounds there could be, with 95 % confidence, whatever their
distribution (of order statistics; with less than six rounds there is none, and least
and greatest stand there).
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
    """The median, and between what it is with confidence; None without values."""
    if not values:
        return None
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 0.0
    while outside < count // 2:
        # That so few of them are on one side of the median, by chance.
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
    """By how many per cent ours is above the base."""
    return _compared(ours, base, lambda a, b: 100 * (a / b - 1))


def ratio(ours: Rounds, base: Rounds) -> Spread | None:
    """What part of the base ours is."""
    return _compared(ours, base, lambda a, b: a / b)


def difference(ours: Rounds, base: Rounds) -> Spread | None:
    """By how much ours is above the base, in the same unit."""
    return _compared(ours, base, lambda a, b: a - b)


def nanoseconds(ours: Rounds, base: Rounds) -> Spread | None:
    """By how much longer a frame takes, of round trips in microseconds."""
    return _compared(ours, base, lambda a, b: 1000 * (a - b) / _FRAMES)


def share(cost: Spread, trip: float) -> Spread:
    """Per cent of a round trip, in microseconds, that frames cost, in nanoseconds each."""
    return cost.scaled(100 * _FRAMES / (1000 * trip))


def signed(value: Spread | None, unit: str = "") -> str:
    """An overhead for people, such as ``+0.31 % (-0.2..+0.8)``."""
    if value is None:
        return "-"
    median, least, greatest = map(_with_sign, (value.median, value.least, value.greatest))
    return f"{median}{unit} ({least}..{greatest})"


def at_least(value: Spread | None) -> Spread | None:
    """What a Goal takes of a value that is to be greater than a bound: both negated."""
    return value and Spread(-value.median, -value.greatest, -value.least)


def _with_sign(value: float) -> str:
    # What rounds to nothing has none.
    text = number(value)
    return text if value <= 0 else f"+{text}"


@dataclass(frozen=True)
class Goal:
    """A bound that was set before; ``value`` is what was measured, ``shown`` for people."""

    text: str
    wanted: str
    bound: float
    value: Spread | None
    shown: str
    # Whether there were enough rounds for an interval.
    enough: bool = True

    def row(self) -> list[str] | None:
        """A line of the table; None: nothing was measured."""
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
        return f"{better} by the median, but this run cannot tell"
