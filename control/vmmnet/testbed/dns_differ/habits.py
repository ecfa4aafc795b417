# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference some habit of a server explains; rules.py says why."""

from __future__ import annotations

from collections.abc import Callable

from . import zones
from .differences import NO_EDNS_LIMIT, Difference, Fact, is_below
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
    """Whether ours has nothing, or all but glue that has no room."""
    ours = difference.ours
    if whole.size <= difference.limit:
        return False
    if not ours.authority:
        return not ours.answer and not ours.additional
    glue = {each for each in whole.additional if is_below(each[0], difference.cut)}
    left = glue - ours.additional
    is_full = all(_has_no_room(difference, owner, kind, ours) for owner, kind, *_ in left)
    is_rest = ours.answer == whole.answer and ours.authority == whole.authority
    return is_rest and bool(left) and is_full


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


def knot_no_room(difference: Difference) -> Facts:
    """Addresses that are no glue, behind an alias, that theirs has no room for."""
    if not difference.is_referral or len(difference.ends) == 1:
        return _NOTHING
    targets = difference.targets("authority")
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if fact.owner in targets
        and not difference.is_glue(fact.owner)
        and _has_no_room(difference, fact.owner, _address_type(fact), difference.theirs)
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
    return found if len(owners) == 1 and owners <= set(difference.ends) else _NOTHING


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
        return difference.facts if right and names & set(difference.ends) else _NOTHING

    return explained


def bind_circle(difference: Difference) -> Facts:
    """SERVFAIL with the same aliases as ours, if they go round."""
    theirs, ours = difference.theirs, difference.ours
    last = difference.ends[-1]
    is_circle = any(
        owner == last and kind == "CNAME" and rdata in difference.ends
        for owner, kind, _, rdata in ours.answer
    )
    is_right = (ours.rcode, theirs.rcode) == ("NOERROR", "SERVFAIL")
    return {Fact("rcode")} if is_circle and is_right and ours.answer == theirs.answer else _NOTHING


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
