# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference some habit of a server explains; rules.py says why."""

from __future__ import annotations

from collections.abc import Callable

import dns.dnssec
import dns.name

from . import zones
from .differences import NO_EDNS_LIMIT, Difference, Fact, is_below, names_above
from .replies import Records, Reply

Facts = frozenset[Fact] | set[Fact]
_NOTHING: Facts = frozenset()
_ADDRESSES = ("A", "AAAA")
#: A signature by ECDSAP256SHA256 with a pointer as owner, RFC 4034 section 3.1.
_SIGNATURE = 12 + 18 + len(zones.ORIGIN) + 1 + 64


# --- size ---------------------------------------------------------------------------------------


def truncated(difference: Difference) -> Facts:
    """All, if ours is right to have TC or none; the contents are compared over TCP then."""
    whole, ours = difference.whole, difference.ours
    if whole is None or ours.rcode != whole.rcode:
        return _NOTHING
    is_right = _tc_is_due if "TC" in ours.flags else _is_whole
    return difference.facts if is_right(difference, whole) else _NOTHING


def _tc_is_due(difference: Difference, whole: Reply) -> bool:
    ours = difference.ours
    if whole.size <= difference.limit or ours.answer:
        return False
    if not ours.authority:
        return not ours.additional
    glue = {each for each in whole.additional if is_below(each[0], difference.cut)}
    return ours.authority == whole.authority and bool(glue - ours.additional)


def _is_whole(difference: Difference, whole: Reply) -> bool:
    ours = difference.ours
    if difference.question.kind in ("ANY", "RRSIG"):
        return bool(ours.answer) == bool(whole.answer) and ours.answer <= whole.answer
    glue = {each for each in whole.additional if difference.is_glue(each[0])}
    return (
        ours.answer == whole.answer
        and ours.authority == whole.authority
        and glue <= ours.additional
    )


def _address_type(fact: Fact) -> str:
    return fact.rdata.split()[0].upper() if fact.kind == "RRSIG" else fact.kind


def _has_no_room(difference: Difference, owner: str, kind: str, reply: Reply) -> bool:
    """Whether an RRset of addresses, which the zone has, would make a reply too long."""
    count = len(difference.zone.lower.get(owner, {}).get(kind, ()))
    if not count or kind not in _ADDRESSES or difference.question.stream:
        return False
    need = (16 if kind == "A" else 28) * count
    if difference.is_signed and not difference.zone.is_below_cut(owner):
        need += _SIGNATURE
    return reply.size + need > difference.limit


def no_room(difference: Difference) -> Facts:
    """Addresses that are no glue, and would have made ours too long."""
    return {
        fact
        for fact in difference.only("additional", is_ours=False)
        if not difference.is_glue(fact.owner)
        and _has_no_room(difference, fact.owner, _address_type(fact), difference.ours)
    }


def knot_signatures(difference: Difference) -> Facts:
    """Signatures of addresses that both have, if theirs has no room for them."""
    if difference.question.stream:
        return _NOTHING
    there = _rrsets(difference.theirs.additional)
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if fact.kind == "RRSIG"
        and (fact.owner, _address_type(fact)) in there
        and difference.theirs.size + _SIGNATURE > difference.limit
    }


def bind_no_room(difference: Difference) -> Facts:
    """Glue that ours has room for and theirs has not."""
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if difference.is_glue(fact.owner)
        and _has_no_room(difference, fact.owner, fact.kind, difference.theirs)
    }


def nsd_stops(difference: Difference) -> Facts:
    """Addresses that ours has room for, if theirs lacks an RRset that it has no room for."""
    targets = difference.targets("authority") | difference.targets("answer")
    there = _rrsets(difference.theirs.additional)
    is_due = any(
        (owner, kind) not in there and _has_no_room(difference, owner, kind, difference.theirs)
        for owner in targets
        for kind in _ADDRESSES
    )
    found = difference.only("additional", is_ours=True)
    return {fact for fact in found if fact.owner in targets} if is_due else _NOTHING


# --- additional ---------------------------------------------------------------------------------


def bind_beside(difference: Difference) -> Facts:
    """Addresses of servers of a delegation that are not below it."""
    if not difference.is_referral:
        return _NOTHING
    targets = difference.targets("authority")
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if fact.kind in (*_ADDRESSES, "RRSIG")
        and fact.owner in targets
        and not is_below(fact.owner, difference.cut)
    }


def bind_small(difference: Difference) -> Facts:
    """Addresses of servers asked for, where EDNS says 512 octets."""
    question = difference.question
    if question.kind != "NS" or question.stream or question.size != NO_EDNS_LIMIT:
        return _NOTHING
    targets = difference.targets("answer")
    found = difference.only("additional", is_ours=True)
    return {fact for fact in found if fact.owner in targets and not difference.theirs.additional}


def knot_addresses(difference: Difference) -> Facts:
    """Addresses of names in an answer to MX, SRV or ANY."""
    if "AA" not in difference.theirs.flags:
        return _NOTHING
    targets = difference.targets("answer")
    return {
        fact
        for fact in difference.only("additional", is_ours=False)
        if fact.kind in (*_ADDRESSES, "RRSIG")
        and fact.owner in targets
        and difference.question.kind in ("MX", "SRV", "ANY")
    }


# --- types --------------------------------------------------------------------------------------


def _rrsets(records: Records) -> set[tuple[str, str]]:
    return {(owner, kind) for owner, kind, *_ in records if kind != "RRSIG"}


def _own(difference: Difference) -> Facts:
    """What differs in the answer section, if all of it is of the name asked or of an alias."""
    found = {fact for fact in difference.facts if fact.part == "answer"}
    owners = {fact.owner for fact in found}
    return found if len(owners) == 1 and owners <= set(_ends(difference)) else _NOTHING


def _kinds_at(reply: Reply, owners: set[str]) -> set[str]:
    """The types of the RRsets of such names in an answer section."""
    return {kind for owner, kind in _rrsets(reply.answer) if owner in owners}


def any_all(difference: Difference) -> Facts:
    """Theirs has all RRsets, ours is one of them."""
    if difference.question.kind != "ANY" or difference.question.stream:
        return _NOTHING
    found = _own(difference)
    kinds = _kinds_at(difference.ours, {fact.owner for fact in found})
    return found if len(kinds) == 1 and not difference.only("answer", is_ours=True) else _NOTHING


def any_one(difference: Difference) -> Facts:
    """Theirs is one RRset, over TCP, too, where ours has all."""
    found = _own(difference)
    owners = {fact.owner for fact in found}
    if difference.question.kind != "ANY" or len(_kinds_at(difference.theirs, owners)) != 1:
        return _NOTHING
    if difference.question.stream:
        return _NOTHING if difference.only("answer", is_ours=False) else found
    return found if len(_kinds_at(difference.ours, owners)) == 1 else _NOTHING


def rrsig_all(difference: Difference) -> Facts:
    """Over UDP, signatures of RRsets other than the one of ours."""
    if difference.question.kind != "RRSIG" or difference.question.stream:
        return _NOTHING
    if not difference.ours.answer or difference.only("answer", is_ours=True):
        return _NOTHING
    return _own(difference)


def rrsig_one(difference: Difference) -> Facts:
    """Over TCP, signatures of RRsets other than the one of theirs."""
    if difference.question.kind != "RRSIG" or not difference.question.stream:
        return _NOTHING
    if not difference.theirs.answer or difference.only("answer", is_ours=False):
        return _NOTHING
    return _own(difference)


def soa_ttl(difference: Difference) -> Facts:
    """SOA and its signature, if asked for and not there, with TTL 0."""
    if difference.question.kind != "SOA":
        return _NOTHING
    found = {
        fact
        for fact in difference.facts
        if fact.part == "authority" and fact.owner == zones.ORIGIN and fact.ttl in (0, 60)
    }
    ours = {(fact.kind, fact.rdata) for fact in found if fact.is_ours and fact.ttl == 60}
    theirs = {(fact.kind, fact.rdata) for fact in found if not fact.is_ours and fact.ttl == 0}
    return {fact for fact in found if (fact.kind, fact.rdata) in ours & theirs}


# --- aliases ------------------------------------------------------------------------------------


def _ends(difference: Difference) -> list[str]:
    """The names that aliases lead to from the name asked, which is the first."""
    aliases = {
        owner: rdata
        for reply in (difference.ours, difference.theirs)
        for owner, kind, _, rdata in reply.answer
        if kind == "CNAME"
    }
    names = [difference.name]
    while names[-1] in aliases and aliases[names[-1]] not in names:
        names.append(aliases[names[-1]])
    return names


def at_cname(kind: str) -> Callable[[Difference], Facts]:
    """All, if a type is asked at a CNAME, which one follows and the other does not."""

    def explained(difference: Difference) -> Facts:
        if difference.question.kind != kind or difference.ours.edns != difference.theirs.edns:
            return _NOTHING
        shorter, longer = difference.theirs, difference.ours
        if kind in ("RRSIG", "NSEC"):
            shorter, longer = longer, shorter
        names = {owner for owner, each, *_ in longer.answer - shorter.answer if each == "CNAME"}
        has_soa = any(each == "SOA" for _, each, *_ in shorter.authority)
        right = shorter.rcode == "NOERROR" and "AA" in shorter.flags and has_soa
        return difference.facts if right and names & set(_ends(difference)) else _NOTHING

    return explained


def any_at_dname(difference: Difference) -> Facts:
    """All, if theirs is DNAME and CNAME only, which ours has, too, and goes on."""
    theirs, ours = difference.theirs, difference.ours
    answer = ours.answer if difference.whole is None else difference.whole.answer
    rrsets = _rrsets(theirs.answer)
    if difference.question.kind != "ANY" or {kind for _, kind in rrsets} != {"CNAME", "DNAME"}:
        return _NOTHING
    is_first = (difference.name, "CNAME") in rrsets and len(rrsets) == 2
    is_right = theirs.rcode == "NOERROR" and not theirs.authority and theirs.answer <= answer
    return difference.facts if is_first and is_right else _NOTHING


# --- proofs -------------------------------------------------------------------------------------


def wildcard_asked(difference: Difference) -> Facts:
    """One NSEC3 record more, if the name, or what it is an alias of, is a wildcard itself."""
    if not _ends(difference)[-1].startswith("*."):
        return _NOTHING
    found = difference.only("authority", is_ours=False)
    return found if _is_one_proof(found, "NSEC3") else _NOTHING


def knot_wildcard_asked(difference: Difference) -> Facts:
    """Less of the proof, if a name that is not there begins with "*" and a wildcard fits."""
    if not any(_is_made(difference, each) for each in _ends(difference)):
        return _NOTHING
    found = difference.only("authority", is_ours=True)
    kinds = {fact.kind for fact in found}
    is_proof = kinds == {"NSEC3", "RRSIG"} and len({fact.owner for fact in found}) <= 2
    is_right = is_proof or _is_one_proof(found, "NSEC")
    return found if is_right and difference.ours.rcode == difference.theirs.rcode else _NOTHING


def _is_made(difference: Difference, name: str) -> bool:
    """Whether a name begins with "*", is not in the zone, and is made from a wildcard."""
    lower = difference.zone.lower
    fits = any(f"*.{each}" in lower for each in list(names_above(name))[1:])
    return name.startswith("*.") and name not in lower and fits


def nsd_encloser(difference: Difference) -> Facts:
    """One NSEC3 record less, of the closest encloser, for a type that a wildcard has not."""
    found = difference.only("authority", is_ours=True)
    if not _is_one_proof(found, "NSEC3") or difference.ours.rcode != "NOERROR":
        return _NOTHING
    (nsec3,) = (fact for fact in found if fact.kind == "NSEC3")
    _, _, iterations, salt, *_ = nsec3.rdata.split()
    enclosers = {
        f"{dns.dnssec.nsec3_hash(each, salt.strip('-'), int(iterations), 1)}.{zones.ORIGIN}".lower()
        for each in names_above(_ends(difference)[-1])
        if f"*.{each}" in difference.zone.lower
    }
    return found if nsec3.owner in enclosers else _NOTHING


def _is_one_proof(found: Facts, kind: str) -> bool:
    """Whether they are one record of a proof with its signature."""
    return len({fact.owner for fact in found}) == 1 and {fact.kind for fact in found} == {
        kind,
        "RRSIG",
    }


def nsd_dname(difference: Difference) -> Facts:
    """Not the NSEC record before the name that a DNAME leads to, but none or its encloser's."""
    found = difference.only("authority", is_ours=True)
    other = difference.only("authority", is_ours=False)
    has_dname = any(kind == "DNAME" for _, kind, *_ in difference.ours.answer)
    if not _is_one_proof(found, "NSEC") or not has_dname:
        return _NOTHING
    end = _ends(difference)[-1]
    is_encloser = _is_one_proof(other, "NSEC") and all(is_below(end, each.owner) for each in other)
    return found | other if _covers(found, end) and (is_encloser or not other) else _NOTHING


def _covers(found: Facts, end: str) -> bool:
    """Whether the NSEC record among them proves that a name is not there."""
    (nsec,) = (fact for fact in found if fact.kind == "NSEC")
    name, after = dns.name.from_text(end), dns.name.from_text(nsec.rdata.split()[0])
    is_last = after == dns.name.from_text(zones.ORIGIN)
    return bool(dns.name.from_text(nsec.owner) < name and (is_last or name < after))


def knot_nsec_of_wildcard(difference: Difference) -> Facts:
    """The NSEC record of a wildcard, which is the answer, too, with the name asked."""
    found = difference.only("authority", is_ours=True)
    if difference.question.kind != "NSEC" or not _is_one_proof(found, "NSEC"):
        return _NOTHING
    (nsec,) = (fact for fact in found if fact.kind == "NSEC")
    answers = {(kind, rdata) for _, kind, _, rdata in difference.theirs.answer}
    is_answer = nsec.owner.startswith("*.") and ("NSEC", nsec.rdata) in answers
    return found if is_answer and is_below(_ends(difference)[-1], nsec.owner[2:]) else _NOTHING


def nsd_before_wildcard(difference: Difference) -> Facts:
    """Another NSEC record, where names before a wildcard are below a name without types."""
    ours = difference.only("authority", is_ours=True)
    theirs = difference.only("authority", is_ours=False)
    if not _is_one_proof(theirs, "NSEC") or (ours and not _is_one_proof(ours, "NSEC")):
        return _NOTHING
    (nsec,) = (fact for fact in theirs if fact.kind == "NSEC")
    empty = rf"\000.{nsec.owner}"
    is_passed = empty not in difference.zone.lower and is_below(nsec.rdata.split()[0], empty)
    lasts = {owner for owner, kind, *_ in difference.ours.authority if kind == "NSEC"}
    is_right = any(is_below(each, empty) for each in {fact.owner for fact in ours} or lasts)
    return ours | theirs if is_passed and is_right else _NOTHING


def empty_wildcard(difference: Difference) -> Facts:
    """The proof that a wildcard has no types because it is only above other names."""
    found = {
        fact
        for fact in difference.only("authority", is_ours=True)
        if fact.kind == "NSEC" or fact.rdata.startswith("nsec ")
    }
    if difference.ours.rcode != "NOERROR" or len({fact.owner for fact in found}) != 1:
        return _NOTHING
    wildcards = {f"*.{each}" for each in names_above(_ends(difference)[-1])}
    nexts = {fact.rdata.split()[0] for fact in found if fact.kind == "NSEC"}
    empty = {
        wildcard
        for wildcard in wildcards
        for after in nexts
        if is_below(after, wildcard) and wildcard not in difference.zone.lower
    }
    return found if empty else _NOTHING


def bind_nsec_at_cut(difference: Difference) -> Facts:
    """All, if theirs is the NSEC record of the delegation that ours refers to."""
    answers = {(each[0], each[1]) for each in difference.theirs.answer} - {
        (difference.name, "RRSIG")
    }
    if difference.question.kind != "NSEC" or difference.name != difference.cut:
        return _NOTHING
    return difference.facts if answers == {(difference.name, "NSEC")} else _NOTHING
