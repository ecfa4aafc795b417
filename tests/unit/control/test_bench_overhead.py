# SPDX-License-Identifier: GPL-2.0-or-later
"""Small differences in bench/: confidence intervals, and goals."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.base.overhead import ROUNDS_MIN, Goal, interval, nanoseconds, percent, signed
from bench.base.report import Spread


@pytest.mark.parametrize(
    ("rounds", "first"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (60, 22)]
)
def test_interval_of_the_median(rounds: int, first: int) -> None:
    """The same as in tables of the sign test, such as the third of twelve."""
    found = interval([*range(rounds, 0, -1)])
    assert found == Spread((rounds + 1) / 2, first, rounds + 1 - first)


@pytest.mark.parametrize("rounds", range(1, ROUNDS_MIN))
def test_few_rounds_have_their_least_and_greatest(rounds: int) -> None:
    found = interval([*range(rounds)])
    assert found == Spread((rounds - 1) / 2, 0, rounds - 1)


def test_rounds_are_compared_with_their_own_base() -> None:
    """A machine that becomes slower from round to round changes nothing."""
    base = [100.0, 200.0, None, 400.0]
    ours = [101.0, 202.0, 303.0, None]
    found = percent(ours, base)
    assert found is not None
    assert (found.median, found.least, found.greatest) == pytest.approx((1, 1, 1))
    assert percent([None], [1.0]) is None


def test_a_round_trip_is_two_frames() -> None:
    assert nanoseconds([5.3], [5.2]) == Spread(*[pytest.approx(50)] * 3)


def test_overheads_have_a_sign() -> None:
    assert signed(Spread(0.314, -0.2, 0), " %") == "+0.314 % (-0.2..0)"
    assert signed(None) == "-"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (Spread(0.1, -0.3, 0.4), "met"),
        (Spread(0.9, 0.6, 1.2), "not met"),
        (Spread(0.3, -1, 2), "met by the median, inconclusive"),
        (Spread(0.7, -1, 2), "not met by the median, inconclusive"),
    ],
)
def test_goals(value: Spread, verdict: str) -> None:
    assert Goal("round trip", "at most 0.5 %", 0.5, value, "").row() == [
        "round trip",
        "at most 0.5 %",
        "",
        verdict,
    ]


def test_goals_of_few_rounds() -> None:
    row = Goal("", "", 0.5, Spread(0, 0, 0), "", enough=False).row()
    assert row is not None
    assert row[-1].startswith("too few rounds")
    assert Goal("", "", 0.5, None, "").row() is None
