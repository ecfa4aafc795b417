# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd answers as BIND, NSD and Knot do, or differs for a reason that is written down."""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Iterable

import pytest
from lab.base import paths
from lab.dns.differ import report, whole
from lab.dns.differ.whole import Result

#: Questions for each kind of zones.
SAMPLE = 400
#: The seed of those that every run asks.
KNOWN = 31
#: 100,000 in all: this many sets of zones of each kind, and questions for each of them.
ZONES = 5
MANY = 100_000 // (ZONES * len(whole.KINDS))
#: A rule that explains this much of what is made up explains without a look at the answers.
HIDDEN = 0.33
UNSEEN = 0.02
#: Fewer faults say nothing of a rule.
FEW = 30
REPORT = paths.BUILD / "dns-differ.md"


@functools.cache
def ask(kind: str, seed: int, count: int) -> Result:
    """What so many questions find; tests that look at the same ones ask them once."""
    return whole.run(seed, kind, count, size=150)


def compare(kind: str, seed: int, count: int) -> None:
    found = ask(kind, seed, count)
    text = f"lab.dns.differ.whole --kind {kind} --seed {seed} --questions {count}"
    print(f"{text}\n{found.report()}")
    assert found.asked == count
    # Were all the same, the zones or the questions would be too easy.
    assert found.explained
    assert not found.unexplained, text


def all_kinds(seeds: Iterable[int], count: int) -> Result:
    """What the questions to zones of all kinds find together."""
    found = Result()
    for kind, seed in itertools.product(whole.KINDS, seeds):
        found.merge(ask(kind, seed, count))
    return found


def are_narrow(found: Result) -> None:
    """No rule explains what it does not look at: faults that are made up are seen."""
    assert found.faults.total()
    hiding = {
        name: (found.hidden[name], tried)
        for name, tried in found.tried.items()
        if tried >= FEW and found.hidden[name] > HIDDEN * tried
    }
    assert not hiding
    assert found.unseen.total() <= UNSEEN * found.faults.total(), found.unseen


@pytest.mark.parametrize("kind", whole.KINDS)
def test_known_questions(kind: str) -> None:
    compare(kind, KNOWN, SAMPLE)


def test_narrow() -> None:
    are_narrow(all_kinds([KNOWN], SAMPLE))


# A difference that is new is for a person to look at, not for every run to fail by.
@pytest.mark.long
def test_questions_never_asked_before() -> None:
    compare(secrets.choice(whole.KINDS), secrets.randbelow(1 << 32), SAMPLE)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(ZONES))
@pytest.mark.parametrize("kind", whole.KINDS)
def test_many_questions(kind: str, seed: int) -> None:
    compare(kind, seed, MANY)


@pytest.mark.long
def test_all_narrow() -> None:
    found = all_kinds(range(ZONES), MANY)
    # Each rule, how often it was needed, and why.
    REPORT.write_text(report.page(found, ZONES * len(whole.KINDS)))
    are_narrow(found)
