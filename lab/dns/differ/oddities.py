# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference the handling of odd queries explains; rules.py says why."""

from __future__ import annotations

from collections.abc import Callable

from .differences import Difference, Fact
from .replies import Reply

Facts = frozenset[Fact] | set[Fact]
_NOTHING: Facts = frozenset()
_MAIL = ("MAILA", "MAILB")


def _is_bare(reply: Reply, rcode: str) -> bool:
    """Whether it has an RCODE, and nothing else."""
    is_empty = not (reply.answer or reply.authority or reply.additional)
    return is_empty and reply.rcode == rcode and not {"AA", "TC", "AD"} & set(reply.flags)


def other_class(difference: Difference) -> Facts:
    """All, if ours is nothing but REFUSED to another class, or NOTIMP to its MAILA and MAILB."""
    is_other = difference.question.rdclass != "IN"
    rcode = "NOTIMP" if difference.question.kind in _MAIL else "REFUSED"
    return difference.facts if is_other and _is_bare(difference.ours, rcode) else _NOTHING


def mail(difference: Difference) -> Facts:
    """All, if ours is nothing but NOTIMP to MAILA or MAILB."""
    is_mail = difference.question.kind in _MAIL
    return difference.facts if is_mail and _is_bare(difference.ours, "NOTIMP") else _NOTHING


def bare(rcode: str, is_odd: Callable[[Difference], bool]) -> Callable[[Difference], Facts]:
    """All, if theirs is nothing but an RCODE to what is odd."""

    def explained(difference: Difference) -> Facts:
        is_right = _is_bare(difference.theirs, rcode) and is_odd(difference)
        return difference.facts if is_right else _NOTHING

    return explained


def has_tail(difference: Difference) -> bool:
    """Whether there are octets behind the message."""
    return difference.question.tail > 0


def has_type_0(difference: Difference) -> bool:
    """Whether the type asked is 0."""
    return difference.question.kind == "TYPE0"


def has_two(difference: Difference) -> bool:
    """Whether there are two questions."""
    return difference.question.count == 2


def has_none(difference: Difference) -> bool:
    """Whether there is no question."""
    return difference.question.count == 0


def opcode(difference: Difference) -> Facts:
    """OPT and the question, beside NOTIMP."""
    if not difference.question.opcode or not _is_bare(difference.ours, "NOTIMP"):
        return _NOTHING
    return {fact for fact in difference.facts if fact.part in ("edns", "question")}


def bad_version(difference: Difference) -> Facts:
    """DO, beside BADVERS."""
    ours, theirs = difference.ours, difference.theirs
    is_right = ours.rcode == theirs.rcode == "BADVERS" and ours.edns == f"{theirs.edns} do"
    return {Fact("edns")} if is_right and difference.question.dnssec else _NOTHING


def checking_disabled(difference: Difference) -> Facts:
    """CD, as it was sent."""
    return {Fact("flags", False, kind="CD")} & difference.facts
