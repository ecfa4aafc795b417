# SPDX-License-Identifier: GPL-2.0-or-later
"""Differences from other servers that are explained, one by one.

A rule says of a difference between our reply and that of a peer why it is right, or that both
are. Where peers differ from each other and we do as one of them, the rule names that, too:
each difference needs a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .questions import Question
from .replies import Reply


@dataclass(frozen=True)
class Difference:
    """A question, and two replies that are not the same."""

    question: Question
    server: str
    ours: Reply
    theirs: Reply

    @property
    def parts(self) -> tuple[str, ...]:
        """Where they differ."""
        return self.ours.differs(self.theirs)


@dataclass(frozen=True)
class Rule:
    """Explains some differences."""

    name: str
    why: str
    applies: Callable[[Difference], bool]


RULES: tuple[Rule, ...] = ()


def explain(difference: Difference) -> Rule | None:
    """The rule of a difference; None: it has none."""
    return next((each for each in RULES if each.applies(difference)), None)
