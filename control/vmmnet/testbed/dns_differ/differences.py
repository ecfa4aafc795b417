# SPDX-License-Identifier: GPL-2.0-or-later
"""A difference of two replies, taken apart into facts that a rule explains one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from . import zones
from .questions import Question
from .replies import SECTIONS, Reply
from .zones import Zone

NO_EDNS_LIMIT = 512


class Fact(NamedTuple):
    """What one reply says and the other does not: a record, or all of another part."""

    part: str
    #: Whether the record is in our reply; a part that is no section is in both.
    is_ours: bool = True
    owner: str = ""
    kind: str = ""
    ttl: int = 0
    rdata: str = ""


@dataclass(frozen=True)
class Difference:
    """A question, and two replies that are not the same."""

    question: Question
    server: str
    ours: Reply
    theirs: Reply
    zone: Zone
    is_zone_signed: bool
    #: Our reply to the same question over TCP, if one of the two is truncated.
    whole: Reply | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Where they differ."""
        return self.ours.differs(self.theirs)

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """All that has to be explained."""
        found = {Fact(each) for each in self.parts if each not in SECTIONS}
        for section in SECTIONS:
            ours, theirs = getattr(self.ours, section), getattr(self.theirs, section)
            found |= {Fact(section, True, *each) for each in ours - theirs}
            found |= {Fact(section, False, *each) for each in theirs - ours}
        return frozenset(found)

    def only(self, section: str, *, is_ours: bool) -> set[Fact]:
        """Records that only one of them has in a section."""
        return {each for each in self.facts if each.part == section and each.is_ours == is_ours}

    @property
    def limit(self) -> int:
        """How long a reply may be."""
        if self.question.stream:
            return 65535
        return max(self.question.size or 0, NO_EDNS_LIMIT)

    @property
    def name(self) -> str:
        """The name asked, in lower case."""
        return self.question.name.lower()

    @property
    def is_referral(self) -> bool:
        """Whether our reply is one, which may stand behind an alias."""
        return self.cut != ""

    @cached_property
    def cut(self) -> str:
        """The delegation of our reply; empty: there is none."""
        return next((owner for owner, kind, *_ in self.ours.authority if kind == "NS"), "")

    @property
    def is_signed(self) -> bool:
        """Whether replies have signatures."""
        return self.is_zone_signed and self.question.dnssec

    @cached_property
    def ends(self) -> list[str]:
        """The name asked, and those that it is an alias of, in this order."""
        aliases = {
            owner: rdata
            for reply in (self.ours, self.theirs)
            for owner, kind, _, rdata in reply.answer
            if kind == "CNAME"
        }
        names = [self.name]
        while names[-1] in aliases and aliases[names[-1]] not in names:
            names.append(aliases[names[-1]])
        return names

    def is_glue(self, name: str) -> bool:
        """Whether a server of a referral is at its cut or below it."""
        return self.is_referral and is_below(name, self.cut)

    def targets(self, section: str) -> set[str]:
        """The names that NS, MX and SRV records of our reply and theirs refer to."""
        return {
            rdata.split()[-1]
            for reply in (self.ours, self.theirs)
            for _, kind, _, rdata in getattr(reply, section)
            if kind in ("NS", "MX", "SRV")
        }


def is_below(name: str, upper: str) -> bool:
    """Whether a name is another or is below it."""
    return name == upper or name.endswith(f".{upper}")


def names_above(name: str) -> Iterator[str]:
    """A name and those above it, up to the origin."""
    yield name
    if is_below(name, zones.ORIGIN) and name != zones.ORIGIN:
        yield from zones.above(name)
