# SPDX-License-Identifier: GPL-2.0-or-later
"""Differences from other servers that are explained, fact by fact.

A rule says of facts of a difference (records that only one reply has, RCODE, flags) why ours is
right, or that both are. It names the server whose habit it is, and checks all that it says: a
difference with a fact that no rule explains is not explained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..dns_peers import BIND, KNOT, NSD
from . import habits, proofs
from .differences import Difference
from .habits import Facts


@dataclass(frozen=True)
class Rule:
    """Explains some facts of differences from some servers."""

    name: str
    servers: tuple[str, ...]
    why: str
    explained: Callable[[Difference], Facts]


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
        (NSD, KNOT),
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
        "NSD puts all A before AAAA and ends with the first RRset that has no room; we put glue "
        "first, and what fits (RFC 9471 section 3.1)",
        habits.nsd_stops,
    ),
    Rule(
        "glue that has no room in theirs",
        (BIND,),
        "BIND compresses less and so leaves out glue, without TC, which RFC 9471 section 3.1 "
        "asks for; it fits in ours",
        habits.bind_no_room,
    ),
    Rule(
        "other addresses that have no room in theirs",
        (KNOT,),
        "Knot writes the delegation in full once more behind an alias, and so leaves out "
        "addresses that are no glue, which may be missing (RFC 2181 section 9); they fit in ours",
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
        "addresses of MX and SRV",
        (KNOT,),
        "Knot always gives them; they are optional (RFC 2782, RFC 974) and resolvers do not "
        "believe them, so a minimal reply has none, as BIND's and NSD's",
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
    ),
    Rule(
        "RRSIG at a CNAME",
        (NSD,),
        "NSD follows an unsigned alias for RRSIG; RRSIG is beside a CNAME, so the alias does "
        "not speak for it (RFC 4035 section 2.5)",
        habits.at_cname("RRSIG"),
    ),
    Rule(
        "NSEC at a CNAME",
        (NSD,),
        "NSD follows an alias for NSEC; NSEC is beside a CNAME, so the alias does "
        "not speak for it (RFC 4035 section 2.5)",
        habits.at_cname("NSEC"),
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
        "NSEC at a delegation",
        (BIND,),
        "BIND answers from the parent; we refer, as NSD and Knot (RFC 4035 section 3.1.4.1 "
        "excepts only DS)",
        proofs.bind_nsec_at_cut,
    ),
)


def explain(difference: Difference) -> tuple[Rule, ...] | None:
    """The rules that together explain all facts of a difference; None: they do not."""
    left = set(difference.facts)
    used = []
    for rule in RULES:
        if difference.server in rule.servers and (found := left & rule.explained(difference)):
            left -= found
            used.append(rule)
    return None if left else tuple(used)
