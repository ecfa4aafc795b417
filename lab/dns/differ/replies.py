# SPDX-License-Identifier: GPL-2.0-or-later
"""A reply without what clients ignore: the order of records, the case of owners."""

from __future__ import annotations

from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

_FLAGS = ("AA", "TC", "RD", "RA", "AD", "CD")
#: The bit that has no meaning, RFC 1035 section 4.1.1.
_Z = 0x40
SECTIONS = ("answer", "authority", "additional")

Records = frozenset[tuple[str, str, int, str]]


@dataclass(frozen=True)
class Reply:
    """A server's reply: relevant flags, RCODE, and sets of records."""

    rcode: str
    flags: tuple[str, ...]
    answer: Records
    authority: Records
    additional: Records
    #: Of EDNS, the version and DO; empty: without it.
    edns: str
    #: The question, as it came back.
    question: tuple[str, ...]
    size: int

    def differs(self, other: Reply) -> tuple[str, ...]:
        """The parts that are not the same."""
        parts = ("rcode", "flags", *SECTIONS, "edns", "question")
        return tuple(each for each in parts if getattr(self, each) != getattr(other, each))

    def __str__(self) -> str:
        lines = [f"{self.rcode} {' '.join(self.flags)} {self.size} octets"]
        for name in SECTIONS:
            for owner, kind, ttl, rdata in sorted(getattr(self, name)):
                lines.append(f"  {name:10} {owner} {ttl} {kind} {rdata[:100]}")
        return "\n".join(lines)


def _records(rrsets: list[dns.rrset.RRset]) -> Records:
    found = set()
    for rrset in rrsets:
        owner = rrset.name.canonicalize().to_text()
        for rdata in rrset:
            kind = dns.rdatatype.to_text(rrset.rdtype)
            found.add((owner, kind, rrset.ttl, rdata.to_text().lower()))
    return frozenset(found)


def read(message: bytes | None) -> Reply:
    """A reply from its message; one that is not there, or no message, has its own RCODE."""
    if message is None:
        return _failure("none", 0)
    try:
        found = dns.message.from_wire(message, ignore_trailing=False)
    except dns.exception.DNSException as error:
        return _failure(f"unreadable: {error}", len(message))
    flags = [each for each in _FLAGS if found.flags & dns.flags.Flag[each]]
    flags += ["Z"] if found.flags & _Z else []
    return Reply(
        dns.rcode.to_text(found.rcode()),
        tuple(flags),
        _records(found.answer),
        _records(found.authority),
        _records(found.additional),
        _edns(found),
        tuple(each.to_text() for each in found.question),
        len(message),
    )


def _edns(found: dns.message.Message) -> str:
    if found.edns < 0:
        return ""
    return f"version {found.edns}{' do' if found.ednsflags & dns.flags.DO else ''}"


def _failure(why: str, size: int) -> Reply:
    nothing: Records = frozenset()
    return Reply(why, (), nothing, nothing, nothing, "", (), size)
