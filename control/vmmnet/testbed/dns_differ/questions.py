# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions made at random about a zone, as messages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.name
import dns.rdatatype

from . import zones
from .zones import Zone

_TYPES = (
    *("A", "A", "AAAA", "NS", "SOA", "MX", "TXT", "CNAME", "DNAME", "SRV", "PTR"),
    *("DS", "DS", "DNSKEY", "NSEC", "NSEC3", "NSEC3PARAM", "RRSIG", "ANY", "TYPE65280"),
)
_SIZES = (None, 512, 1232, 4096)


@dataclass(frozen=True)
class Question:
    """A question, and how it is asked."""

    name: str
    kind: str
    size: int | None
    dnssec: bool
    stream: bool

    def message(self, ident: int) -> bytes:
        """In wire form."""
        query = dns.message.make_query(
            dns.name.from_text(self.name),
            dns.rdatatype.from_text(self.kind),
            use_edns=False if self.size is None else 0,
            want_dnssec=self.dnssec,
            payload=self.size,
        )
        query.id = ident
        query.flags &= ~dns.flags.RD
        return bytes(query.to_wire())

    def __str__(self) -> str:
        words = [self.name, self.kind]
        words += [] if self.size is None else [f"bufsize={self.size}"]
        words += ["do"] if self.dnssec else []
        words += ["tcp"] if self.stream else []
        return " ".join(words)


def _odd_case(rng: random.Random, name: str) -> str:
    # An escape like \000 has no letters.
    return "".join(rng.choice((each.lower(), each.upper())) for each in name)


def _name(rng: random.Random, known: Sequence[str]) -> str:
    roll = rng.random()
    base = rng.choice(known)
    if roll < 0.35:
        name = base
    elif roll < 0.5:
        name = rng.choice([*zones.above(base), zones.ORIGIN])
    elif roll < 0.75:
        name = f"{zones.labels(zones.some_name(rng))[0]}.{base}"
    elif roll < 0.95:
        name = zones.some_name(rng)
    else:
        name = rng.choice((".", "test.", "elsewhere.test.", "www.differ.test.", "differ2.test."))
    return _odd_case(rng, name) if rng.random() < 0.2 else name


def make(rng: random.Random, zone: Zone, count: int) -> Iterator[Question]:
    """So many questions."""
    known = list(zone.names)
    while count:
        name = _name(rng, known)
        size = rng.choice(_SIZES)
        kind = rng.choice(_TYPES)
        try:
            dns.name.from_text(name)
        except dns.exception.DNSException:
            continue
        count -= 1
        dnssec = size is not None and rng.random() < 0.5
        yield Question(name, kind, size, dnssec, rng.random() < 0.15)
