# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd answers as BIND, NSD and Knot do, or differs for a reason that is written down."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from lab.base import paths
from lab.dns.differ import report, whole
from lab.dns.differ.whole import Result

#: Questions for each kind of zones.
SAMPLE = 400
#: 100,000 in all: this many sets of zones of each kind, and questions for each of them.
ZONES = 5
MANY = 100_000 // (ZONES * len(whole.KINDS))
#: A rule that explains this much of what is made up explains without a look at the answers.
HIDDEN = 0.33
UNSEEN = 0.02
#: Fewer faults say nothing of a rule.
FEW = 30
REPORT = paths.BUILD / "dns-differ.md"


def compare(kind: str, seed: int, count: int, found: Result) -> None:
    result = whole.run(seed, kind, count, size=150)
    found.merge(result)
    text = f"lab.dns.differ.whole --kind {kind} --seed {seed} --questions {count}"
    print(f"{text}\n{result.report()}")
    assert result.asked == count
    # Were all the same, the zones or the questions would be too easy.
    assert result.explained
    assert not result.unexplained, text


def are_narrow(found: Result) -> None:
    """No rule explains what it does not look at: faults that are made up are seen."""
    hiding = {
        name: (found.hidden[name], tried)
        for name, tried in found.tried.items()
        if tried >= FEW and found.hidden[name] > HIDDEN * tried
    }
    assert not hiding
    assert found.unseen.total() <= UNSEEN * found.faults.total(), found.unseen


@pytest.fixture(scope="module")
def sample() -> Result:
    """What the known questions have found."""
    return Result()


@pytest.fixture(scope="module")
def many() -> Iterator[Result]:
    """What all questions have found; the report has each rule, how often it was needed, and why."""
    found = Result()
    yield found
    REPORT.write_text(report.page(found, ZONES * len(whole.KINDS)))


@pytest.mark.parametrize("kind", whole.KINDS)
def test_known_questions(sample: Result, kind: str) -> None:
    compare(kind, 31, SAMPLE, sample)


def test_narrow(sample: Result) -> None:
    are_narrow(sample)


# A difference that is new is for a person to look at, not for every run to fail by.
@pytest.mark.long
def test_questions_never_asked_before() -> None:
    compare(secrets.choice(whole.KINDS), secrets.randbelow(1 << 32), SAMPLE, Result())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(ZONES))
@pytest.mark.parametrize("kind", whole.KINDS)
def test_many_questions(many: Result, kind: str, seed: int) -> None:
    compare(kind, seed, MANY, many)


@pytest.mark.long
def test_all_narrow(many: Result) -> None:
    are_narrow(many)
