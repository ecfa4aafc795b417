# SPDX-License-Identifier: GPL-2.0-or-later
"""Which facts of a difference some habit with chains of aliases explains; rules.py says why."""

from __future__ import annotations

from collections.abc import Callable

from . import zones
from .differences import Difference, Fact, is_below
from .replies import Reply

Facts = frozenset[Fact] | set[Fact]
_NOTHING: Facts = frozenset()
#: Aliases in a reply of ours: 16 that we follow, and the next one.
MOST = 17
#: An octet 0 in a label.
_ZERO = r"\000"


def _aliases(reply: Reply) -> dict[str, str]:
    """Names with what they are aliases of, in a reply."""
    return {owner: rdata for owner, kind, _, rdata in reply.answer if kind == "CNAME"}


def _chain(difference: Difference, reply: Reply) -> list[str]:
    """The names that a reply leads through."""
    aliases = _aliases(reply)
    names = [difference.name]
    while names[-1] in aliases and aliases[names[-1]] not in names:
        names.append(aliases[names[-1]])
    return names


def _renamers(reply: Reply) -> dict[str, str]:
    return {owner: rdata for owner, kind, _, rdata in reply.answer if kind == "DNAME"}


def _is_renamed(name: str, target: str, renamers: dict[str, str]) -> bool:
    """Whether an alias is what a DNAME makes of a name, if there is one above it."""
    uppers = [each for each in renamers if name.endswith(f".{each}")]
    if not uppers:
        return True
    owner = max(uppers, key=len)
    end = renamers[owner]
    return target == (name.removesuffix(owner) + end).replace("..", ".")


def _is_made(owner: str, kind: str, renamers: dict[str, str]) -> bool:
    """Whether a record is an alias that a DNAME above it makes."""
    return kind == "CNAME" and any(owner.endswith(f".{each}") for each in renamers)


def is_chain(difference: Difference) -> bool:
    """Whether our reply has one chain, each of which is right, and no alias beside it."""
    reply = difference.ours
    aliases, renamers = _aliases(reply), _renamers(reply)
    names = _chain(difference, reply)
    is_one = set(aliases) <= set(names)
    is_used = all(any(is_below(each, owner) for each in names) for owner in renamers)
    is_right = all(_is_renamed(name, target, renamers) for name, target in aliases.items())
    is_zone = all(
        ttl == zones.TTL
        and (_is_made(owner, kind, renamers) or difference.zone_has(owner, kind, rdata))
        for owner, kind, ttl, rdata in reply.answer
        if kind in ("CNAME", "DNAME")
    )
    return is_one and is_used and is_right and is_zone and "AA" in reply.flags


def _is_circle(reply: Reply) -> bool:
    """Whether aliases come back to one of them."""
    aliases = _aliases(reply)
    return bool(aliases) and all(target in aliases for target in aliases.values())


def _is_begin(shorter: Reply, longer: Reply) -> bool:
    """Whether all that one says is in the other, too."""
    return (
        shorter.answer <= longer.answer
        and shorter.authority <= longer.authority
        and shorter.additional <= longer.additional
        and set(shorter.flags) ^ set(longer.flags) <= {"CD"}
        and (shorter.edns, shorter.question) == (longer.edns, longer.question)
    )


def short(limit: int, rcode: str) -> Callable[[Difference], Facts]:
    """All that ours has beyond so many aliases."""

    def explained(difference: Difference) -> Facts:
        ours, theirs = difference.ours, difference.theirs
        is_cut = len(_aliases(theirs)) == limit and theirs.rcode == rcode
        is_right = _is_begin(theirs, ours) and is_chain(difference)
        return difference.facts if is_cut and is_right else _NOTHING

    return explained


def is_open(difference: Difference) -> bool:
    """Whether others could go further than our aliases do, or could say what is there."""
    ours = difference.ours
    last = _chain(difference, ours)[-1]
    is_out = _leads_out(difference) or not is_below(last, difference.zone.origin)
    is_last = len(_aliases(ours)) == MOST or is_out or _is_circle(ours)
    is_cut = "NS" in difference.zone.lower.get(difference.cut, {})
    # NSEC3 is nowhere, and NSD follows no alias for it.
    has_soa = any(kind == "SOA" for _, kind, *_ in ours.authority)
    is_nowhere = difference.question.kind == "NSEC3" and has_soa
    is_end = is_cut or ((is_last or is_nowhere) and not ours.additional)
    is_cut_off = any("TC" in each.flags for each in difference.others)
    is_right_end = ours.rcode == "YXDOMAIN" or (is_end and ours.rcode == "NOERROR")
    return not is_cut_off and not is_right_end


def long(difference: Difference) -> Facts:
    """All that theirs has beyond the aliases that we follow."""
    ours, theirs = difference.ours, difference.theirs
    is_cut = len(_aliases(ours)) == MOST and ours.rcode == "NOERROR"
    is_right = _is_begin(ours, theirs) and is_chain(difference)
    return difference.facts if is_cut and is_right else _NOTHING


def _leads_out(difference: Difference) -> bool:
    """Whether our reply ends with an alias of a name that is in another zone of the server."""
    last = _chain(difference, difference.ours)[-1]
    other = zones.of_name(difference.served, last)
    return is_below(last, other.origin) and other.origin != difference.zone.origin


def other_zone(difference: Difference) -> Facts:
    """All that theirs has beyond an alias that leads into another zone of the server."""
    ours, theirs = difference.ours, difference.theirs
    is_right = _is_begin(ours, theirs) and is_chain(difference)
    is_end = ours.rcode == "NOERROR" and _leads_out(difference)
    return difference.facts if is_right and is_end else _NOTHING


def child_referral(difference: Difference) -> Facts:
    """A delegation behind an alias, to another zone of the server."""
    if not _leads_out(difference) or not _is_begin(difference.ours, difference.theirs):
        return _NOTHING
    cut = (zones.CHILD, "NS")
    if cut not in {(owner, kind) for owner, kind, *_ in difference.theirs.authority}:
        return _NOTHING
    return {
        fact
        for fact in difference.facts
        if fact.part in ("authority", "additional")
        and (is_below(fact.owner, zones.CHILD) or "nsec" in f"{fact.kind} {fact.rdata[:5]}".lower())
    }


def twice(difference: Difference) -> Facts:
    """All beyond the place where a DNAME that theirs has already is needed again."""
    ours, theirs = difference.ours, difference.theirs
    last = _chain(difference, theirs)[-1]
    is_twice = any(last.endswith(f".{owner}") for owner in _renamers(theirs))
    is_right = _is_begin(theirs, ours) and is_chain(difference)
    is_long = len(_aliases(ours)) == MOST or _is_circle(ours)
    is_end = ours.rcode == "YXDOMAIN" or (is_long and ours.rcode == "NOERROR")
    is_bare = not ours.authority and not ours.additional
    is_found = is_twice and is_end and is_bare and is_right and theirs.rcode == "NOERROR"
    return difference.facts if is_found else _NOTHING


def endless(difference: Difference) -> Facts:
    """All beyond the first alias that a DNAME makes whose target is below itself."""
    ours, theirs = difference.ours, difference.theirs
    last = _chain(difference, ours)[-1]
    is_loop = any(
        last.endswith(f".{target}") and target.endswith(f".{owner}")
        for owner, target in _renamers(ours).items()
    )
    is_bare = not ours.authority and not ours.additional and ours.rcode == "NOERROR"
    is_right = is_chain(difference) and _is_begin(ours, theirs)
    return difference.facts if is_loop and is_bare and is_right else _NOTHING


def key_at_cname(difference: Difference) -> Facts:
    """No data where KEY is asked at an alias."""
    ours, theirs = difference.ours, difference.theirs
    is_shorter = theirs.rcode == "NOERROR" and theirs.answer < ours.answer
    is_right = difference.question.kind == "KEY" and "AA" in theirs.flags
    return difference.facts if is_right and is_shorter else _NOTHING


def goes_on(difference: Difference) -> Facts:
    """All that theirs has beyond a DNAME that makes a name too long, of the name it leads to."""
    ours, theirs = difference.ours, difference.theirs
    is_right = ours.rcode == "YXDOMAIN" and _is_begin(ours, theirs)
    return difference.facts if is_right and is_chain(difference) else _NOTHING


def other_zero(difference: Difference) -> Facts:
    """All beyond an alias of a name with an octet 0 if the name asked has none, or without it."""
    ours, theirs = difference.ours, difference.theirs
    last = _chain(difference, theirs)[-1]
    is_other = last != difference.name and (_ZERO in last) != (_ZERO in difference.name)
    is_right = theirs.answer <= ours.answer and is_chain(difference)
    return difference.facts if is_other and is_right else _NOTHING
