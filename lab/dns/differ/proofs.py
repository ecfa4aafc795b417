# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference some habit of a server with proofs explains; rules.py says why."""

from __future__ import annotations

import dns.dnssec
import dns.name

from . import zones
from .differences import Difference, Fact, is_below, names_above

Facts = frozenset[Fact] | set[Fact]
_NOTHING: Facts = frozenset()


def wildcard_asked(difference: Difference) -> Facts:
    """One NSEC3 record more, if the name, or what it is an alias of, is a wildcard itself."""
    if not difference.ends[-1].startswith("*."):
        return _NOTHING
    found = difference.only("authority", is_ours=False)
    return found if _is_one_proof(found, "NSEC3") else _NOTHING


def knot_wildcard_asked(difference: Difference) -> Facts:
    """Less of the proof, if a name that is not there begins with "*" and a wildcard fits."""
    if not any(_is_made(difference, each) for each in difference.ends):
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
        for each in names_above(difference.ends[-1])
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
    if not has_dname or (found and not _is_one_proof(found, "NSEC")):
        return _NOTHING
    for end in difference.ends:
        is_encloser = _is_one_proof(other, "NSEC") and _is_of_encloser(other, end)
        # Ours may be there for another name, too.
        is_ours = not found or _covers(found, end)
        if is_ours and (is_encloser or (found and not other)):
            return found | other
    return _NOTHING


def _is_of_encloser(found: Facts, end: str) -> bool:
    """Whether the NSEC record among them is of a name above, or before one without types."""
    (nsec,) = (fact for fact in found if fact.kind == "NSEC")
    after = nsec.rdata.split()[0]
    before_empty = (
        is_below(after, each) and after != each and not is_below(nsec.owner, each)
        for each in names_above(end)
    )
    return is_below(end, nsec.owner) or any(before_empty)


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
    return found if is_answer and is_below(difference.ends[-1], nsec.owner[2:]) else _NOTHING


def nsd_before_wildcard(difference: Difference) -> Facts:
    """Another NSEC record, where a name that sorts before a wildcard has names below it."""
    ours = difference.only("authority", is_ours=True)
    theirs = difference.only("authority", is_ours=False)
    if not _is_one_proof(theirs, "NSEC") or (ours and not _is_one_proof(ours, "NSEC")):
        return _NOTHING
    (nsec,) = (fact for fact in theirs if fact.kind == "NSEC")
    after = nsec.rdata.split()[0]
    passed = {
        f".{upper}"
        for upper in (rf"\000.{each}" for each in names_above(difference.ends[-1]))
        if after.endswith(f".{upper}") and not nsec.owner.endswith(f".{upper}")
    }
    lasts = {owner for owner, kind, *_ in difference.ours.authority if kind == "NSEC"}
    found = {fact.owner for fact in ours} or lasts
    is_right = any(each.endswith(upper) for each in found for upper in passed)
    return ours | theirs if is_right else _NOTHING


def empty_wildcard(difference: Difference) -> Facts:
    """The proof that a wildcard has no types because it is only above other names."""
    found = {
        fact
        for fact in difference.only("authority", is_ours=True)
        if fact.kind == "NSEC" or fact.rdata.startswith("nsec ")
    }
    if difference.ours.rcode != "NOERROR" or len({fact.owner for fact in found}) != 1:
        return _NOTHING
    wildcards = {f"*.{each}" for each in names_above(difference.ends[-1])}
    nexts = {fact.rdata.split()[0] for fact in found if fact.kind == "NSEC"}
    empty = {
        wildcard
        for wildcard in wildcards
        for after in nexts
        if is_below(after, wildcard) and wildcard not in difference.zone.lower
    }
    return found if empty else _NOTHING


def bind_no_empty_wildcard(difference: Difference) -> Facts:
    """NXDOMAIN below a name whose wildcard is there, but only above other names."""
    lower = difference.zone.lower
    wildcards = {f"*.{each}" for each in names_above(difference.ends[-1])} - set(lower)
    is_empty = any(each.endswith(f".{wildcard}") for wildcard in wildcards for each in lower)
    is_it = (difference.ours.rcode, difference.theirs.rcode) == ("NOERROR", "NXDOMAIN")
    return {Fact("rcode")} if is_it and is_empty else _NOTHING


def bind_nsec_at_cut(difference: Difference) -> Facts:
    """All, if theirs is the NSEC record of the delegation that ours refers to."""
    answers = {(each[0], each[1]) for each in difference.theirs.answer} - {
        (difference.name, "RRSIG")
    }
    if difference.question.kind != "NSEC" or difference.name != difference.cut:
        return _NOTHING
    return difference.facts if answers == {(difference.name, "NSEC")} else _NOTHING


def nsd_optout_empty(difference: Difference) -> Facts:
    """Other or less NSEC3 records, at or below a name that opt-out leaves without one."""
    is_there = any(_is_left_out(difference, each) for each in names_above(difference.ends[-1]))
    found = {fact for fact in difference.facts if fact.part == "authority"}
    is_proof = all(fact.kind == "NSEC3" or fact.rdata.startswith("nsec3 ") for fact in found)
    return found if is_there and is_proof else _NOTHING


def knot_optout_empty(difference: Difference) -> Facts:
    """All, if theirs has no AA and no record, below a name that opt-out leaves without NSEC3."""
    theirs, ours = difference.theirs, difference.ours
    is_there = any(_is_left_out(difference, each) for each in names_above(difference.ends[-1]))
    has_nothing = "AA" not in theirs.flags and not theirs.authority and not theirs.additional
    is_same = theirs.rcode == ours.rcode == "NXDOMAIN" and theirs.answer == ours.answer
    return difference.facts if is_there and has_nothing and is_same else _NOTHING


def _is_left_out(difference: Difference, name: str) -> bool:
    """Whether a zone that opts out has at a name nothing, and below it delegations only."""
    lower = difference.zone.lower
    below = [each for each in lower if each.endswith(f".{name}")]
    is_optout = any(
        kind == "NSEC3" and rdata.startswith("1 1 ")
        for _, kind, _, rdata in difference.ours.authority
    )
    return (
        is_optout
        and name not in lower
        and bool(below)
        and all(difference.zone.is_below_cut(each) and "DS" not in lower[each] for each in below)
    )
