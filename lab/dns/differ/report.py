# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of runs: each rule, how often it was needed, what it would hide, and why."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import conditions
from . import rules
from .whole import Result


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _rules(found: Result) -> Iterator[str]:
    yield "| difference | of | replies | faults hidden | why |"
    yield "|---|---|---|---|---|"
    known = {rule.name: rule for rule in rules.RULES}
    for name, count in found.explained.most_common():
        rule = known[name]
        hidden = _share(found.hidden[name], found.tried[name])
        yield f"| {name} | {', '.join(rule.servers)} | {count} | {hidden} | {rule.why} |"


def _faults(found: Result) -> Iterator[str]:
    yield "| fault of ours, made up | replies | no peer shows it |"
    yield "|---|---|---|"
    for name, count in found.faults.most_common():
        yield f"| {name} | {count} | {_share(found.unseen[name], count)} |"


def page(found: Result, zones: int) -> str:
    """The page for so many sets of zones."""
    unseen = _share(found.unseen.total(), found.faults.total())
    return "\n".join(
        [
            conditions.machine(),
            "",
            f"{found.asked} questions about {zones} sets of zones; {found.differing} replies "
            f"differ from ours, {len(found.unexplained)} of them unexplained.",
            "",
            "To see whether the rules are narrow, each of our replies is compared once more with "
            "a fault that is made up. A rule hides a fault if nothing is left to be explained "
            f"at its server; {unseen} of the faults are seen with no server.",
            "",
            *_faults(found),
            "",
            *_rules(found),
            "",
        ]
    )
