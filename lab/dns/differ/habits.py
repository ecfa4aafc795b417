# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference some habit of a server explains; rules.py says why."""

from __future__ import annotations

from collections.abc import Callable

from . import aliases
from .differences import NO_EDNS_LIMIT, Difference, Fact, is_below
from .replies import Records, Reply
from .shapes import SIGNATURE

Facts = frozenset[Fact] | set[Fact]
_NOTHING: Facts = frozenset()
_ADDRESSES = ("A", "AAAA")
#: Of a record with a pointer as owner.
_SIZES = {"A": 16, "AAAA": 28}
#: SOA, with pointers where there may be.
_SOA = 12 + 2 + 8 + 20
#: NSD adds addresses up to this, with OPT.
_NSD_ENOUGH = 1232 + 11


# --- size ---------------------------------------------------------------------------------------


def truncated(difference: Difference) -> Facts:
    """All, if ours is right to have TC or none; the contents are compared over TCP then."""
    whole, ours = difference.whole, difference.ours
    if whole is None:
        return _NOTHING
    # An empty reply has not come to the chain's end.
    is_begun = ours.rcode == "NOERROR" and "TC" in ours.flags and not ours.answer
    is_same = ours.rcode == whole.rcode or is_begun
    is_rest = (ours.edns, ours.question) == (whole.edns, whole.question)
    if not is_same or not is_rest or set(ours.flags) - {"TC"} != set(whole.flags) - {"TC"}:
        return _NOTHING
    is_right = _tc_is_due if "TC" in ours.flags else _is_whole
    return difference.facts if is_right(difference, whole) else _NOTHING


def _tc_is_due(difference: Difference, whole: Reply) -> bool:
    """Whether ours has nothing, as that has no room, or all but glue that has none."""
    ours = difference.ours
    if whole.size <= difference.limit:
        return False
    if not ours.authority:
        addresses = sum(_SIZES.get(kind, SIGNATURE) for _, kind, *_ in whole.additional)
        is_empty = not ours.answer and not ours.additional
        return is_empty and whole.size - addresses > difference.limit
    glue = {each for each in whole.additional if is_below(each[0], difference.cut)}
    left = glue - ours.additional
    is_full = all(_has_no_room(difference, owner, kind, ours) for owner, kind, *_ in left)
    is_rest = ours.answer == whole.answer and ours.authority == whole.authority
    return is_rest and bool(left) and is_full and ours.additional <= whole.additional


def _is_whole(difference: Difference, whole: Reply) -> bool:
    ours = difference.ours
    if not ours.additional <= whole.additional:
        return False
    if difference.question.kind in ("ANY", "RRSIG"):
        is_some = bool(ours.answer) == bool(whole.answer) and ours.answer <= whole.answer
        return is_some and ours.authority == whole.authority
    glue = {each for each in whole.additional if difference.is_glue(each[0])}
    is_rest = ours.answer == whole.answer and ours.authority == whole.authority
    return is_rest and glue <= ours.additional


def _address_type(fact: Fact) -> str:
    return fact.rdata.split()[0].upper() if fact.kind == "RRSIG" else fact.kind


def _has_no_room(
    difference: Difference, owner: str, kind: str, reply: Reply, limit: int | None = None
) -> bool:
    """Whether an RRset of addresses, which the zone has, would make a reply too long."""
    count = len(difference.zone.lower.get(owner, {}).get(kind, ()))
    if not count or kind not in _ADDRESSES or difference.question.stream:
        return False
    need = _SIZES[kind] * count
    if difference.is_signed and not difference.zone.is_below_cut(owner):
        need += SIGNATURE
    return reply.size + need > min(difference.limit, limit or difference.limit)


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
        and difference.theirs.size + SIGNATURE > difference.limit
    }


def bind_no_room(difference: Difference) -> Facts:
    """Glue, or addresses of servers asked for, that ours has room for and theirs has not."""
    asked = difference.targets("answer") if difference.question.kind == "NS" else set()
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if (difference.is_glue(fact.owner) or fact.owner in asked)
        and _has_no_room(difference, fact.owner, _address_type(fact), difference.theirs)
    }


def knot_no_room(difference: Difference) -> Facts:
    """Addresses that are no glue, that theirs has no room for."""
    if not difference.is_referral:
        return _NOTHING
    targets = difference.targets("authority")
    return {
        fact
        for fact in difference.only("additional", is_ours=True)
        if fact.owner in targets
        and not difference.is_glue(fact.owner)
        and _has_no_room(difference, fact.owner, _address_type(fact), difference.theirs)
    }


def knot_soa(difference: Difference) -> Facts:
    """SOA, behind an alias, that theirs has no room for."""
    need = _SOA + (SIGNATURE if difference.is_signed else 0)
    if len(difference.ends) == 1 or difference.theirs.size + need <= difference.limit:
        return _NOTHING
    return {
        fact
        for fact in difference.only("authority", is_ours=True)
        if fact.owner == difference.zone.origin and "SOA" in (fact.kind, fact.rdata[:3].upper())
    }


def nsd_stops(difference: Difference) -> Facts:
    """Addresses that ours has room for, if theirs lacks an RRset that it has no room for."""
    targets = difference.targets("authority") | difference.targets("answer")
    there = _rrsets(difference.theirs.additional)
    is_due = any(
        (owner, kind) not in there
        and _has_no_room(difference, owner, kind, difference.theirs, _NSD_ENOUGH)
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
        if (fact.kind == "RRSIG" or difference.is_in_zone(fact))
        and _address_type(fact) in _ADDRESSES
        and fact.owner in targets
        and not is_below(fact.owner, difference.cut)
    }


def bind_small(difference: Difference) -> Facts:
    """Addresses of servers asked for, where EDNS says 512 octets."""
    question = difference.question
    if question.kind != "NS" or question.stream or difference.limit != NO_EDNS_LIMIT:
        return _NOTHING
    targets = difference.targets("answer")
    found = difference.only("additional", is_ours=True)
    return {fact for fact in found if fact.owner in targets and not difference.theirs.additional}


def knot_addresses(difference: Difference) -> Facts:
    """Addresses of names in an answer to MX, SRV, SVCB, HTTPS or ANY."""
    if "AA" not in difference.theirs.flags:
        return _NOTHING
    targets = difference.targets("answer")
    return {
        fact
        for fact in difference.only("additional", is_ours=False)
        if fact.kind in (*_ADDRESSES, "RRSIG")
        and fact.owner in targets
        and difference.question.kind in ("MX", "SRV", "SVCB", "HTTPS", "ANY")
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
    # Knot's may be the signatures.
    if difference.question.kind != "ANY" or len(_kinds_at(difference.theirs, owners)) > 1:
        return _NOTHING
    if not difference.theirs.answer:
        return _NOTHING
    if difference.question.stream:
        is_all = not difference.only("answer", is_ours=False)
        is_right = is_all and difference.is_told(found) and difference.has_whole_rrsets(found)
        return found if is_right else _NOTHING
    is_one = len(_kinds_at(difference.ours, owners)) == 1
    is_right = is_one and difference.is_told(found) and difference.has_whole_rrsets(found)
    return found if is_right else _NOTHING


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
    found = _own(difference)
    if not difference.theirs.answer or difference.only("answer", is_ours=False):
        return _NOTHING
    return found if difference.is_told(found) else _NOTHING


def soa_ttl(difference: Difference) -> Facts:
    """SOA and its signature, if asked for and not there, with TTL 0."""
    if difference.question.kind != "SOA":
        return _NOTHING
    found = {
        fact
        for fact in difference.facts
        if fact.part == "authority" and fact.owner == difference.zone.origin and fact.ttl in (0, 60)
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
    more = {fact for fact in difference.only("answer", is_ours=True) if fact.kind != "CNAME"}
    is_right = is_right and difference.is_told(more) and aliases.is_chain(difference)
    return difference.facts if is_first and is_right else _NOTHING
