# SPDX-License-Identifier: GPL-2.0-or-later
"""A difference between two replies, split into facts that rules explain one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from . import zones
from .questions import Question
from .replies import SECTIONS, Reply
from .zones import Zone

NO_EDNS_LIMIT = 512
#: Types that refer to a name that may have addresses, and which field of RDATA it is.
_TARGETS = {"NS": 0, "MX": 1, "SRV": 3, "SVCB": 1, "HTTPS": 1}
#: What all servers are set to, dns_peers.
SERVERS_LIMIT = 4096


class Fact(NamedTuple):
    """Something that only one reply has: a record, a flag, or another part as a whole."""

    part: str
    #: Whether the record, or the flag, is in our reply; another part is in both.
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
    #: The other servers' replies.
    others: tuple[Reply, ...] = ()
    #: All zones of the servers.
    served: tuple[Zone, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that differ."""
        return self.ours.differs(self.theirs)

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """All facts that must be explained."""
        found = {Fact(each) for each in self.parts if each not in (*SECTIONS, "flags")}
        ours, theirs = set(self.ours.flags), set(self.theirs.flags)
        found |= {Fact("flags", each in ours, kind=each) for each in ours ^ theirs}
        for section in SECTIONS:
            mine, others = getattr(self.ours, section), getattr(self.theirs, section)
            found |= {Fact(section, True, *each) for each in mine - others}
            found |= {Fact(section, False, *each) for each in others - mine}
        return frozenset(found)

    def only(self, section: str, *, is_ours: bool) -> set[Fact]:
        """Records that only one of them has in a section."""
        return {each for each in self.facts if each.part == section and each.is_ours == is_ours}

    def zone_has(self, owner: str, kind: str, rdata: str) -> bool:
        """Whether the zone that a name is in has a record there, or a wildcard has it for it."""
        return rdata in self._zone_types(owner).get(kind, ())

    def _zone_types(self, owner: str) -> dict[str, list[str]]:
        lower = zones.of_name(self.served, owner).lower
        uppers = [owner, *(f"*.{each}" for each in list(names_above(owner))[1:])]
        return next((lower[each] for each in uppers if each in lower), {})

    def is_told(self, found: Iterable[Fact]) -> bool:
        """Whether each record that only ours has is in the zone, or in another server's reply."""
        records = {record for each in self.others for record in each.answer}
        return all(
            fact[2:] in records or self.is_in_zone(fact) or self._is_signature(fact)
            for fact in found
            if fact.is_ours
        )

    def has_whole_rrsets(self, found: Iterable[Fact]) -> bool:
        """Whether no record is missing in RRsets that only ours has."""
        rdatas = {(fact.owner, fact.kind, fact.rdata) for fact in found if fact.is_ours}
        return all(
            (owner, kind, each) in rdatas
            for owner, kind, _ in rdatas
            for each in self._zone_types(owner).get(kind, ())
        )

    def _is_signature(self, fact: Fact) -> bool:
        """Whether it is of a type that the zone has there, or says which those are."""
        types = {each.lower() for each in self._zone_types(fact.owner)}
        first, *others = fact.rdata.split()
        if fact.kind == "NSEC":
            return types == set(others) - {"rrsig", "nsec"}
        return fact.kind == "RRSIG" and first in types | {"nsec"}

    def is_in_zone(self, fact: Fact) -> bool:
        """Whether a record is one of a zone's, with its TTL."""
        return fact.ttl == zones.TTL and self.zone_has(fact.owner, fact.kind, fact.rdata)

    @property
    def limit(self) -> int:
        """How long a reply may be."""
        if self.question.stream:
            return 65535
        return min(max(self.question.size or 0, NO_EDNS_LIMIT), SERVERS_LIMIT)

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
        """The names that records of our reply and theirs refer to."""
        return {
            rdata.split()[_TARGETS[kind]]
            for reply in (self.ours, self.theirs)
            for _, kind, _, rdata in getattr(reply, section)
            if kind in _TARGETS
        }


def is_below(name: str, upper: str) -> bool:
    """Whether a name is another or is below it."""
    return name == upper or name.endswith(f".{upper}")


def names_above(name: str) -> Iterator[str]:
    """A name and those above it, up to the first zone's origin."""
    yield name
    if is_below(name, zones.ORIGIN) and name != zones.ORIGIN:
        yield from zones.above(name)
