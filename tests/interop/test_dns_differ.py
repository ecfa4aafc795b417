# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd answers as BIND, NSD and Knot do, or differs for a reason that is written down."""

from __future__ import annotations

import secrets

import pytest
from vmmnet.testbed.dns_differ import whole

#: Questions for each kind of zone.
SAMPLE = 400
#: 100,000 in all: this many zones of each kind, and questions for each of them.
ZONES = 5
MANY = 100_000 // (ZONES * len(whole.KINDS))


def compare(kind: str, seed: int, count: int) -> None:
    result = whole.run(seed, kind, count, size=150)
    text = f"vmmnet.testbed.dns_differ.whole --kind {kind} --seed {seed} --questions {count}"
    print(f"{text}\n{result.report()}")
    assert result.asked == count
    # Were all the same, the zones or the questions would be too easy.
    assert result.explained
    assert not result.unexplained, text


@pytest.mark.parametrize("kind", whole.KINDS)
def test_known_questions(kind: str) -> None:
    compare(kind, 31, SAMPLE)


# A difference that is new is for a person to look at, not for every run to fail by.
@pytest.mark.long
def test_questions_never_asked_before() -> None:
    compare(secrets.choice(whole.KINDS), secrets.randbelow(1 << 32), SAMPLE)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(ZONES))
@pytest.mark.parametrize("kind", whole.KINDS)
def test_many_questions(kind: str, seed: int) -> None:
    compare(kind, seed, MANY)
