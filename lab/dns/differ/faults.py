# SPDX-License-Identifier: GPL-2.0-or-later
"""Artificial faults in our replies: rules that explain them could hide real ones."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

from .replies import SECTIONS, Records, Reply

Fault = Callable[[random.Random, Reply], Reply]
Record = tuple[str, str, int, str]
#: Approximate size of a record in a reply.
_SIZES, _OTHER_SIZE = {"A": 16, "AAAA": 28, "RRSIG": 107}, 40


def _changed(
    rng: random.Random, reply: Reply, change: Callable[[set[Record], Record], None]
) -> Reply:
    """The reply with a change of one record in any section."""
    sections = [each for each in SECTIONS if getattr(reply, each)]
    if not sections:
        return reply
    section = rng.choice(sections)
    records = set(getattr(reply, section))
    change(records, rng.choice(sorted(records)))
    return _with(reply, section, frozenset(records))


def _size(records: Records) -> int:
    return sum(_SIZES.get(kind, _OTHER_SIZE) for _, kind, *_ in records)


def _with(reply: Reply, section: str, records: Records) -> Reply:
    size = reply.size + _size(records) - _size(getattr(reply, section))
    changes: dict[str, Any] = {section: records, "size": size}
    return dataclasses.replace(reply, **changes)


def _replaced(new: Callable[[Record], Record]) -> Fault:
    def fault(rng: random.Random, reply: Reply) -> Reply:
        def change(records: set[Record], one: Record) -> None:
            records.discard(one)
            records.add(new(one))

        return _changed(rng, reply, change)

    return fault


def _record_less(rng: random.Random, reply: Reply) -> Reply:
    return _changed(rng, reply, lambda records, one: records.discard(one))


def _record_more(rng: random.Random, reply: Reply) -> Reply:
    kind = rng.choice(("A", "NS", "TXT", "NSEC", "CNAME"))
    more = ("stranger.differ.test.", kind, 300, "x.test.")
    section = rng.choice(SECTIONS)
    return _with(reply, section, getattr(reply, section) | {more})


def _section_less(rng: random.Random, reply: Reply) -> Reply:
    return _with(reply, rng.choice(SECTIONS), frozenset())


def _other_rcode(rng: random.Random, reply: Reply) -> Reply:
    codes = {"NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED"} - {reply.rcode}
    return dataclasses.replace(reply, rcode=rng.choice(sorted(codes)))


def _other_flag(flag: str) -> Fault:
    def fault(rng: random.Random, reply: Reply) -> Reply:
        del rng
        kept = tuple(each for each in reply.flags if each != flag)
        return dataclasses.replace(reply, flags=kept if flag in reply.flags else (*kept, flag))

    return fault


def _nothing(rng: random.Random, reply: Reply) -> Reply:
    del rng
    for section in SECTIONS:
        reply = _with(reply, section, frozenset())
    return reply


#: The faults, named as in the report.
FAULTS: dict[str, Fault] = {
    "a record is missing": _record_less,
    "a record too much": _record_more,
    "a section is missing": _section_less,
    "nothing in it": _nothing,
    "another RDATA": _replaced(lambda one: (*one[:3], f"{one[3]}0")),
    "another TTL": _replaced(lambda one: (one[0], one[1], one[2] + 1, one[3])),
    "another owner": _replaced(lambda one: (f"x{one[0]}", *one[1:])),
    "another type": _replaced(lambda one: (one[0], "TYPE9", *one[2:])),
    "another RCODE": _other_rcode,
    "another AA": _other_flag("AA"),
    "another TC": _other_flag("TC"),
}


def spoil(rng: random.Random, reply: Reply) -> tuple[str, Reply] | None:
    """A fault and the reply with it; None: the reply did not change."""
    name = rng.choice(list(FAULTS))
    spoilt = FAULTS[name](rng, reply)
    return (name, spoilt) if spoilt.differs(reply) else None
