# SPDX-License-Identifier: GPL-2.0-or-later
"""Random dynamic updates (RFC 2136), for our server and a peer in parallel.

Names and values are few, so that updates often meet existing data: RRsets that gain a record or
become empty, aliases beside other data, delegations, wildcards, the apex with its SOA and NS; and
prerequisites that hold or not. One in ten is malformed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.update

ORIGIN = "example."
#: The zone at the start. Its name servers are outside of it, as BIND refuses to delete their
#: addresses.
ZONE = """\
$TTL 300
@       SOA ns.elsewhere.test. root.elsewhere.test. 1 3600 600 86400 300
        NS  ns.elsewhere.test.
www     A   192.0.2.1
a       TXT "first"
a.b.c   A   192.0.2.2
"""
_NAMES = (
    *("@", "@", "www", "a", "b", "c", "b.c", "a.b.c", "Big.b.c", "*", "*.c", "sub", "x.sub"),
    *(r"\000", r"x\.y", "_tcp.a", "z" * 63),
)
_OUTSIDE = ("elsewhere.test.", "example.test.", ".", "aexample.")
#: All in lower case, as for BIND records in another case are different.
_TARGETS = ("www", "a", "b.c", "ns.elsewhere.test.", "*")
_TTLS = (0, 60, 60, 300, 2**31 - 1)
#: Types of records that an update may bring.
KINDS = (
    *("A", "A", "A", "AAAA", "TXT", "TXT", "MX", "CNAME", "CNAME", "NS", "NS", "DNAME", "SRV"),
    *("PTR", "CAA", "TYPE65280", "SOA"),
)


class Maker:
    """A sequence of updates; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._serial = 1

    def update(self, serial: int) -> dns.update.UpdateMessage:
        """The next one, for a zone with this serial."""
        self._serial = serial
        made = dns.update.UpdateMessage(ORIGIN)
        for _ in range(self._rng.choice((0, 0, 0, 0, 1, 1, 2))):
            self._require(made)
        for _ in range(self._rng.choice((1, 1, 2, 3, 8))):
            self._change(made)
        if self._rng.random() < 0.1:
            self._spoil(made)
        return made

    def _require(self, made: dns.update.UpdateMessage) -> None:
        name, kind = self._in_any_case(), self._kind()
        match self._rng.randrange(5):
            case 0:
                made.present(name)
            case 1:
                made.absent(name)
            case 2:
                made.present(name, kind)
            case 3:
                made.absent(name, kind)
            case _:
                # Each record once: BIND does not detect duplicates.
                for rdata in sorted({self._rdata(kind) for _ in range(self._rng.choice((1, 2)))}):
                    made.present(name, kind, rdata)

    def _change(self, made: dns.update.UpdateMessage) -> None:
        name, kind = self._name(), self._kind()
        roll = self._rng.random()
        # For BIND a name in another case is a change.
        if roll < 0.55:
            made.add(name, self._rng.choice(_TTLS), kind, self._rdata(kind))
        elif roll < 0.75:
            made.delete(name, kind, self._rdata(kind))
        elif roll < 0.9:
            made.delete(self._in_any_case(), kind)
        else:
            made.delete(self._in_any_case())

    def _spoil(self, made: dns.update.UpdateMessage) -> None:
        """Add something that a server must refuse, RFC 2136 sections 3.2.2 and 3.4.1.3."""
        spoilers: tuple[Callable[[], dns.rrset.RRset], ...] = (
            # A name that is not in the zone.
            lambda: _rrset(self._rng.choice(_OUTSIDE), 60, "IN", "A", "192.0.2.9"),
            # A class that is neither the zone's nor has a meaning in updates.
            lambda: _rrset(f"a.{ORIGIN}", 60, "CH", "TXT", "chaos"),
            # A type for queries only.
            lambda: _empty(f"a.{ORIGIN}", "ANY", "AXFR"),
            lambda: _empty(f"a.{ORIGIN}", "ANY", "MAILB"),
            # Deletions with a TTL.
            lambda: _empty(f"a.{ORIGIN}", "ANY", "A", 60),
        )
        # Section 3 checks other prerequisites first; BIND does not always.
        made.prerequisite.clear()
        section = made.update if self._rng.random() < 0.6 else made.prerequisite
        section.insert(self._rng.randrange(len(section) + 1), self._rng.choice(spoilers)())

    def _name(self) -> str:
        return self._rng.choice(_NAMES)

    def _in_any_case(self) -> str:
        name = self._name()
        return name.upper() if self._rng.random() < 0.2 else name

    def _kind(self) -> str:
        return self._rng.choice(KINDS)

    def _rdata(self, kind: str) -> str:
        rng = self._rng
        number = rng.randrange(1, 5)
        match kind:
            case "A":
                return f"192.0.2.{number}"
            case "AAAA":
                return f"2001:db8::{number}"
            case "TXT":
                return rng.choice(('"first"', '"First"', '"two" "strings"', '""'))
            case "MX":
                return f"{number} {rng.choice(_TARGETS)}"
            case "SRV":
                return f"0 {number} 80 {rng.choice(_TARGETS)}"
            case "NS":
                return rng.choice(("ns.elsewhere.test.", "ns2.elsewhere.test.", "NS.x.test."))
            case "CAA":
                return f'0 issue "ca{number}.example.net"'
            case "TYPE65280":
                return rf"\# 2 000{number}"
            case "SOA":
                serial = (self._serial + rng.choice((-1, 0, 1, 2, 5, 2**31 - 1, 2**31 + 1))) % 2**32
                return f"ns.elsewhere.test. root.elsewhere.test. {serial} 3600 600 86400 {number}"
            case _:
                return rng.choice(_TARGETS)


def _rrset(name: str, ttl: int, rdclass: str, kind: str, rdata: str) -> dns.rrset.RRset:
    return dns.rrset.from_text(name, ttl, rdclass, kind, rdata)


def _empty(name: str, rdclass: str, kind: str, ttl: int = 0) -> dns.rrset.RRset:
    """A record without RDATA."""
    made = dns.rrset.RRset(
        dns.name.from_text(name),
        dns.rdataclass.IN,
        dns.rdatatype.from_text(kind),
        deleting=dns.rdataclass.from_text(rdclass),
    )
    made.ttl = ttl
    return made
