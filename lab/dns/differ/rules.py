# SPDX-License-Identifier: GPL-2.0-or-later
"""Differences from other servers that are explained, fact by fact.

A rule says of facts of a difference (records that only one reply has, RCODE, flags) why ours is
right, or that both are. It names the server whose habit it is, and checks all that it says: a
difference with a fact that no rule explains is not explained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..products import BIND, KNOT, NSD
from . import aliases, habits, oddities, proofs
from .differences import Difference, Fact
from .habits import Facts


def _always(difference: Difference) -> bool:
    del difference
    return True


@dataclass(frozen=True)
class Rule:
    """Explains some facts of differences from some servers."""

    name: str
    servers: tuple[str, ...]
    why: str
    explained: Callable[[Difference], Facts]
    #: Whether it does not check our reply enough, so that another server must agree with ours.
    needs_another: Callable[[Difference], bool] = lambda _: False


RULES = (
    Rule(
        "truncated",
        (BIND, NSD, KNOT),
        "what has no room is put in part by them, some without TC, and by us not at all; only a "
        "referral stays, with the aliases before it and the glue that fits (RFC 2181 section 9, "
        "RFC 9471 section 3.1); asked again over TCP, and compared there",
        habits.truncated,
    ),
    Rule(
        "no room for other addresses",
        (BIND, NSD, KNOT),
        "they leave out a signature or choose other addresses, we leave out the whole RRset "
        "(RFC 9471 section 3.2, RFC 4035 section 3.1.1)",
        habits.no_room,
    ),
    Rule(
        "addresses without signatures",
        (KNOT,),
        "Knot leaves out a signature and goes on with the next address; we put an RRset with it "
        "(RFC 4035 section 3.1.1 allows both)",
        habits.knot_signatures,
    ),
    Rule(
        "addresses up to one that has no room",
        (NSD,),
        "NSD puts all A before AAAA and ends with the first RRset that has no room, or would make "
        "the reply longer than 1232 octets; we put glue first, and what fits (RFC 9471 section "
        "3.1)",
        habits.nsd_stops,
    ),
    Rule(
        "addresses that have no room in theirs",
        (BIND,),
        "BIND compresses less and so leaves out glue, without TC, which RFC 9471 section 3.1 "
        "asks for, or chooses others of the servers asked for; those that ours has fit",
        habits.bind_no_room,
    ),
    Rule(
        "other addresses that have no room in theirs",
        (KNOT,),
        "Knot compresses less, above all behind an alias, and so leaves out addresses that are no "
        "glue, which may be missing (RFC 2181 section 9); they fit in ours",
        habits.knot_no_room,
    ),
    Rule(
        "no addresses in small replies",
        (BIND,),
        "BIND leaves out addresses if EDNS says 512 octets; they fit here (RFC 6891 section 6.2.3)",
        habits.bind_small,
    ),
    Rule(
        "addresses beside the cut",
        (BIND,),
        "with minimal-responses, BIND gives only glue below the delegation; we give all that "
        "the zone has of the servers, as NSD and Knot (RFC 1034 section 4.3.2 step 3b)",
        habits.bind_beside,
    ),
    Rule(
        "addresses of MX, SRV, SVCB and HTTPS",
        (KNOT,),
        "Knot always gives them; they are optional (RFC 2782, RFC 974, SHOULD in RFC 9460 section "
        "4.1) and resolvers do not believe them, so a minimal reply has none, as BIND's and NSD's",
        habits.knot_addresses,
    ),
    Rule(
        "ANY has all",
        (BIND,),
        "without minimal-any, BIND gives all RRsets; we give one over UDP (RFC 8482 section 4.1)",
        habits.any_all,
    ),
    Rule(
        "ANY has one",
        (NSD, KNOT),
        "NSD gives SOA or the RRset it has first, Knot one, over TCP, too; we give the RRset of "
        "the lowest type, and over TCP all (RFC 8482 sections 4.1 and 4.4)",
        habits.any_one,
    ),
    Rule(
        "RRSIG has all",
        (BIND, NSD),
        "they give all signatures; we give those of one RRset over UDP, as Knot (RFC 8482 "
        "section 7 allows it for RRSIG, too)",
        habits.rrsig_all,
    ),
    Rule(
        "RRSIG has one",
        (KNOT,),
        "Knot gives those of one RRset over TCP, too; we give all there (RFC 8482 section 4.4)",
        habits.rrsig_one,
    ),
    Rule(
        "TTL of SOA",
        (BIND,),
        "BIND sets it to 0 if SOA was asked for (zero-no-soa-ttl, for RFC 2136 clients that "
        "look for a zone); RFC 2308 section 3 says MINIMUM",
        habits.soa_ttl,
    ),
    Rule(
        "NSEC3 at a CNAME",
        (NSD,),
        "NSD does not follow an alias for NSEC3; RFC 4035 section 2.5 excepts only RRSIG and "
        "NSEC from the rule of RFC 1034 section 3.6.2",
        habits.at_cname("NSEC3"),
        needs_another=_always,
    ),
    Rule(
        "RRSIG at a CNAME",
        (NSD,),
        "NSD follows an unsigned alias for RRSIG; RRSIG is beside a CNAME, so the alias does "
        "not speak for it (RFC 4035 section 2.5)",
        habits.at_cname("RRSIG"),
        needs_another=_always,
    ),
    Rule(
        "NSEC at a CNAME",
        (NSD,),
        "NSD follows an alias for NSEC; NSEC is beside a CNAME, so the alias does "
        "not speak for it (RFC 4035 section 2.5)",
        habits.at_cname("NSEC"),
        needs_another=_always,
    ),
    Rule(
        "aliases that go round",
        (BIND,),
        "BIND adds SERVFAIL to the aliases; we give them, as NSD and Knot, by which the resolver "
        "sees the circle, whose error it is to signal (RFC 1034 sections 4.3.2 and 5.2.2)",
        habits.bind_circle,
    ),
    Rule(
        "ANY below a DNAME",
        (BIND,),
        "BIND takes the CNAME that it makes for the answer to ANY; RFC 6672 section 3.2 goes "
        "on, as NSD and Knot do",
        habits.any_at_dname,
        needs_another=_always,
    ),
    Rule(
        "a wildcard asked by its name",
        (NSD,),
        "NSD proves the closest encloser for a wildcard that is asked for itself; the record "
        "that matches proves enough (RFC 5155 section 7.2.3)",
        proofs.wildcard_asked,
    ),
    Rule(
        "a name that begins with * asked",
        (KNOT,),
        "Knot takes it for the wildcard that fits it and leaves out the proof that the name is "
        "not there (RFC 4035 section 3.1.3.4, RFC 5155 section 7.2.5)",
        proofs.knot_wildcard_asked,
    ),
    Rule(
        "no encloser with a wildcard",
        (NSD,),
        "NSD leaves out the record that matches the closest encloser of a wildcard that has not "
        "the type (RFC 5155 section 7.2.5 wants it)",
        proofs.nsd_encloser,
    ),
    Rule(
        "no name behind a DNAME",
        (NSD,),
        "NSD leaves out the NSEC record that proves that the name a DNAME leads to is not there "
        "(RFC 4035 section 3.1.3.2 wants it)",
        proofs.nsd_dname,
    ),
    Rule(
        "NSEC of a wildcard asked",
        (KNOT,),
        "Knot does not prove that the name is not there if its answer is that NSEC record with "
        "the name asked (RFC 4035 section 3.1.3.3 wants it)",
        proofs.knot_nsec_of_wildcard,
    ),
    Rule(
        "opt-out below a name without types",
        (NSD,),
        "where a name has only delegations that are opted out below it, and so no NSEC3 record, "
        "NSD does not go up to the closest encloser that has one (RFC 5155 section 7.2.1)",
        proofs.nsd_optout_empty,
    ),
    Rule(
        "opt-out below a name without types, no proof",
        (KNOT,),
        "there Knot says that the name is not there, with neither AA, SOA nor proof "
        "(RFC 5155 section 7.2.2, RFC 2308 section 3)",
        proofs.knot_optout_empty,
    ),
    Rule(
        "names that sort before a wildcard",
        (NSD,),
        "NSD takes the record of a name that sorts before *, or the one before it if it has no "
        "types, not of the last name below it, which proves that there is no wildcard (RFC 4035 "
        "section 3.1.3.2)",
        proofs.nsd_before_wildcard,
    ),
    Rule(
        "a wildcard above names only",
        (BIND, KNOT),
        "they leave out the NSEC record that proves that the wildcard exists and has no types "
        "(RFC 4035 section 3.1.3.4)",
        proofs.empty_wildcard,
    ),
    Rule(
        "long chains of aliases",
        (KNOT,),
        "Knot ends after 5 aliases, with NOERROR; we follow 16, as RFC 1034 section 4.3.2 step 3a "
        "says, and the resolver asks for the rest in any case",
        aliases.short(5, "NOERROR"),
        needs_another=aliases.is_open,
    ),
    Rule(
        "longer chains of aliases",
        (BIND,),
        "BIND ends after 12 aliases, with SERVFAIL; the aliases are no failure (RFC 1034 section "
        "4.3.2 step 3a), and we follow 16, with NOERROR",
        aliases.short(12, "SERVFAIL"),
        needs_another=aliases.is_open,
    ),
    Rule(
        "the longest chains of aliases",
        (NSD,),
        "NSD has no limit; we follow 16, to bound the work that a query makes, and the "
        "resolver asks for the rest (RFC 1034 section 5.3.3 step 4c)",
        aliases.long,
    ),
    Rule(
        "a DNAME that is needed twice",
        (NSD,),
        "NSD ends where a DNAME that it has given is needed again, which may be a name that grows "
        "and no circle (RFC 6672 section 3.2 goes on until YXDOMAIN)",
        aliases.twice,
    ),
    Rule(
        "a DNAME that leads below itself",
        (BIND, NSD, KNOT),
        "its names become longer and longer, as a circle that never closes; we end after one, "
        "as NSD mostly does, by which the resolver sees it (RFC 1034 section 5.2.2), and others go "
        "on until a name is too long, with YXDOMAIN, or to their limits of aliases",
        aliases.endless,
    ),
    Rule(
        "aliases into another zone",
        (NSD,),
        "NSD goes on in another zone that it serves; resolvers do not believe that and ask again "
        "(RFC 2181 section 5.4.1), so we end, as BIND",
        aliases.other_zone,
    ),
    Rule(
        "aliases into a child zone",
        (KNOT,),
        "behind an alias Knot gives the delegation of a zone that it serves itself; we end, as "
        "BIND (RFC 1034 section 4.3.2 step 2 is of the name asked)",
        aliases.child_referral,
    ),
    Rule(
        "KEY at a CNAME",
        (BIND,),
        "BIND does not follow an alias for KEY, which RFC 2535 section 2.3.5 let stand beside it; "
        "RFC 4034 has taken its place, and excepts RRSIG and NSEC only (RFC 4035 section 2.5)",
        aliases.key_at_cname,
        needs_another=_always,
    ),
    Rule(
        "on after a name that is too long",
        (KNOT,),
        "where a DNAME makes a name too long, Knot goes on with the DNAME's target and puts what "
        "that has; RFC 6672 section 3.2 step 3c ends there, with YXDOMAIN",
        aliases.goes_on,
        needs_another=_always,
    ),
    Rule(
        "aliases and octets 0",
        (KNOT,),
        "where one of the name asked and an alias's target has an octet 0 in a label and the other "
        "has not, Knot 3.4 does not find the target, and says NXDOMAIN or takes a wildcard; Knot "
        "3.2 finds it (RFC 1034 section 3.1, RFC 2181 section 11: any octets)",
        aliases.other_zero,
        needs_another=_always,
    ),
    Rule(
        "SOA that has no room",
        (KNOT,),
        "Knot compresses less behind an alias and leaves out SOA, without TC; it fits in ours, and "
        "RFC 2308 section 3 has it there",
        habits.knot_soa,
    ),
    Rule(
        "another class",
        (BIND, NSD, KNOT),
        "to a class of which they have no zone, or to ANY, BIND says FORMERR or NOTIMP, NSD leaves "
        "out the question, and both others answer ANY from IN, Knot with AA, which RFC 1035 "
        "section 3.2.5 with RFC 1034 section 4.3.2 does not have; we refuse, as RFC 1035 section "
        "4.1.1 lets a server",
        oddities.other_class,
    ),
    Rule(
        "MAILA and MAILB",
        (NSD, KNOT),
        "they take these for types of data; RFC 6895 section 3.1 calls them QTYPEs, and RFC 1035 "
        "section 3.2.3 obsolete: NOTIMP, as BIND's",
        oddities.mail,
    ),
    Rule(
        "type 0",
        (KNOT,),
        "Knot says NOTIMP; type 0 is of no data (RFC 6895 section 3.1), and RFC 3597 section 2 has "
        "a server handle a type that it does not know as one without structure",
        oddities.bare("NOTIMP", oddities.has_type_0),
        needs_another=_always,
    ),
    Rule(
        "octets behind the message",
        (KNOT,),
        "Knot says FORMERR; we ignore them, as BIND and NSD do: no RFC forbids them",
        oddities.bare("FORMERR", oddities.has_tail),
        needs_another=_always,
    ),
    Rule(
        "two questions",
        (KNOT,),
        "Knot does not answer; RFC 9619 section 4 says FORMERR",
        oddities.bare("none", oddities.has_two),
        needs_another=_always,
    ),
    Rule(
        "no question",
        (NSD,),
        "NSD says NOERROR; without a COOKIE (RFC 7873 section 5.4) such a query asks for nothing: "
        "FORMERR, as BIND's and Knot's",
        oddities.bare("NOERROR", oddities.has_none),
        needs_another=_always,
    ),
    Rule(
        "opcodes that are not implemented",
        (BIND, NSD, KNOT),
        "BIND leaves out the question, Knot OPT and NSD both; OPT answers OPT (RFC 6891 section "
        "6.1.1), and the question tells the client what the reply is to",
        oddities.opcode,
    ),
    Rule(
        "DO beside BADVERS",
        (NSD,),
        "NSD clears DO; RFC 3225 section 3 has it copied",
        oddities.bad_version,
    ),
    Rule(
        "CD",
        (BIND,),
        "BIND copies it; RFC 4035 section 3.1.6 has an authoritative server clear it",
        oddities.checking_disabled,
    ),
    Rule(
        "no wildcard that is empty",
        (BIND,),
        "BIND 9.20 says NXDOMAIN where the wildcard is an empty non-terminal; it is there and "
        "answers with no data (RFC 4592 sections 2.2.2 and 3.3.1), as of NSD, Knot and BIND 9.18",
        proofs.bind_no_empty_wildcard,
        needs_another=_always,
    ),
    Rule(
        "NSEC at a delegation",
        (BIND,),
        "BIND answers from the parent; we refer, as NSD and Knot (RFC 4035 section 3.1.4.1 "
        "excepts only DS)",
        proofs.bind_nsec_at_cut,
        needs_another=_always,
    ),
)


@dataclass(frozen=True)
class Explanation:
    """The rules that explain facts of a difference, and unexplained facts."""

    used: tuple[Rule, ...]
    left: frozenset[Fact]

    @property
    def names(self) -> list[str]:
        """Of the rules."""
        return [rule.name for rule in self.used]

    @property
    def is_whole(self) -> bool:
        """Whether all facts are explained."""
        return not self.left


def explain(difference: Difference) -> Explanation:
    """Apply the rules, each to its server's replies."""
    left = set(difference.facts)
    used = []
    for rule in RULES:
        if difference.server in rule.servers and (found := left & rule.explained(difference)):
            left -= found
            used.append(rule)
    return Explanation(tuple(used), frozenset(left))


def explain_all(found: Sequence[Difference], peers: int) -> list[Explanation]:
    """Of the differences of one reply of ours from those of so many peers."""
    explanations = [explain(each) for each in found]
    needing = [
        any(rule.needs_another(difference) for rule in explanation.used)
        for difference, explanation in zip(found, explanations, strict=True)
    ]
    is_borne_out = len(found) < peers or any(
        each.is_whole and not needs for each, needs in zip(explanations, needing, strict=True)
    )
    return [
        Explanation((), difference.facts) if needs and not is_borne_out else explanation
        for difference, explanation, needs in zip(found, explanations, needing, strict=True)
    ]
