# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy would have said to what a log has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import judge
from .judge import Destination, Name, Verdict
from .tally import Asked, Stream


@dataclass(frozen=True)
class Outcome:
    """What becomes of a stream or a question."""

    #: "allow", "watch", "deny"; or "tls", "http": allowed if the stream then says a name in it
    #: that the policy allows, and the log does not tell whether it did.
    verdict: str
    reason: str
    #: Of the file; 0: no line decided.
    line: int

    @property
    def allows(self) -> bool:
        """Whether nothing is refused, for all that the log tells."""
        return self.verdict in ("allow", "watch")


def replay(policy: bytes, name: str, items: Sequence[Stream | Asked]) -> list[Outcome]:
    """Judge parts of a log by a policy file's text; ``name`` is the file's, for errors.

    Raises judge.Wrong, judge.Missing.
    """
    asked = [each.to if isinstance(each, Stream) else each.name for each in items]
    verdicts = judge.ask(policy, name, asked).verdicts
    # A name that is said is judged as if the destination had no other one.
    saying = [_said(each) for each, verdict in zip(items, verdicts, strict=True) if verdict.says]
    said = dict(zip(saying, judge.ask(policy, name, saying).verdicts, strict=True))
    return [
        _outcome(each, verdict, said.get(_said(each)) if verdict.says else None)
        for each, verdict in zip(items, verdicts, strict=True)
    ]


def _said(item: Stream | Asked) -> Destination | Name:
    if isinstance(item, Asked):
        return item.name
    to = item.to
    return Destination(to.proto, to.address, to.port, (item.said,) if item.said else (), to.is_host)


def _outcome(item: Stream | Asked, verdict: Verdict, said: Verdict | None) -> Outcome:
    if said is None or isinstance(item, Asked):
        return Outcome(verdict.verdict, verdict.reason, verdict.line)
    if item.fault and item.fault != "other-name":
        return Outcome("deny", item.fault, verdict.line)
    if item.quiet:
        return Outcome(verdict.verdict, verdict.reason, verdict.line)
    if not item.said:
        return Outcome(verdict.says, verdict.reason, verdict.line)
    if item.says not in ("", verdict.says):
        return Outcome("deny", f"not-{verdict.says}", verdict.line)
    if said.denies:
        return Outcome("deny", "other-name", said.line)
    return Outcome(said.verdict, said.reason, said.line)
