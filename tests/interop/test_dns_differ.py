# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd answers as BIND, NSD and Knot do, or differs for a reason that is written down."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator

import pytest
from vmmnet.testbed import conditions, paths
from vmmnet.testbed.dns_differ import rules, whole
from vmmnet.testbed.dns_differ.whole import Result

#: Questions for each kind of zone.
SAMPLE = 400
#: 100,000 in all: this many zones of each kind, and questions for each of them.
ZONES = 5
MANY = 100_000 // (ZONES * len(whole.KINDS))


REPORT = paths.BUILD / "dns-differ.md"


def compare(kind: str, seed: int, count: int, results: list[Result] | None = None) -> None:
    result = whole.run(seed, kind, count, size=150)
    if results is not None:
        results.append(result)
    text = f"vmmnet.testbed.dns_differ.whole --kind {kind} --seed {seed} --questions {count}"
    print(f"{text}\n{result.report()}")
    assert result.asked == count
    # Were all the same, the zones or the questions would be too easy.
    assert result.explained
    assert not result.unexplained, text


@pytest.fixture(scope="module")
def results() -> Iterator[list[Result]]:
    """Those of all zones; the report has each rule, how often it was needed, and why."""
    found: list[Result] = []
    yield found
    explained = sum((each.explained for each in found), Counter[str]())
    lines = [
        conditions.machine(),
        "",
        f"{sum(each.asked for each in found)} questions about {len(found)} zones; "
        f"{sum(each.differing for each in found)} replies differ from ours, "
        f"{sum(len(each.unexplained) for each in found)} of them unexplained.",
        "",
        "| difference | of | replies | why |",
        "|---|---|---|---|",
    ]
    known = {rule.name: rule for rule in rules.RULES}
    for name, count in explained.most_common():
        rule = known[name]
        lines.append(f"| {name} | {', '.join(rule.servers)} | {count} | {rule.why} |")
    REPORT.write_text("\n".join(lines) + "\n")


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
def test_many_questions(results: list[Result], kind: str, seed: int) -> None:
    compare(kind, seed, MANY, results)
