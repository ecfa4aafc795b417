# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions made at random about zones, as messages."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rdatatype

from . import mixed, zones
from .shapes import NAME_MAX
from .zones import Zone

_TYPES = (
    *("A", "A", "AAAA", "NS", "SOA", "MX", "TXT", "CNAME", "DNAME", "SRV", "PTR"),
    *("DS", "DS", "DNSKEY", "NSEC", "NSEC3", "NSEC3PARAM", "RRSIG", "ANY", "TYPE65280"),
)
_RARE_TYPES = (
    *("HTTPS", "SVCB", "CAA", "TLSA", "NAPTR", "HINFO", "LOC", "SSHFP", "SPF", "RP", "AFSDB"),
    *("KX", "CERT", "URI", "EUI48", "OPENPGPKEY", "CDS", "CDNSKEY", "CSYNC", "ZONEMD", "NULL"),
    *("TYPE731", "TYPE65281", "TYPE65534", "TYPE0", "TYPE65535", "MAILA", "MAILB", "NSAP", "KEY"),
)
_SIZES = (None, None, 512, 1232, 4096)
_ODD_SIZES = (0, 511, 513, 1231, 1233, 1452, 4095, 4097, 65535)
#: Unusual properties of a question, one at a time.
_ODDITIES = (
    *("flags", "flags", "class", "opcode", "version", "option", "option", "none", "two", "tail"),
)
_FLAGS = (
    *(dns.flags.RD, dns.flags.RD, dns.flags.CD, dns.flags.AD, dns.flags.RD | dns.flags.AD),
    *(dns.flags.AA, dns.flags.TC, dns.flags.RA, 0x40, 0x7F0),
)
_OPTIONS = (
    (3, b""),
    *((65001, b""), (65001, b"x" * 100), (26946, b"\x00" * 4)),
    *((8, b"\0\1\x18\0\xc0\0\2"), (9, b""), (12, b"\0" * 64), (14, b"\0\1"), (15, b"\0\0")),
    *((11, b""), (0, b""), (65535, b"")),
)
_DNSSEC_OK = 0x8000


@dataclass(frozen=True)
class Question:
    """A question, and how it is asked."""

    name: str
    kind: str
    #: Of EDNS; None: without it.
    size: int | None
    dnssec: bool
    stream: bool
    rdclass: str = "IN"
    #: DNS_FLAG_... that are set.
    flags: int = 0
    opcode: int = 0
    version: int = 0
    #: Of EDNS: a code, and data.
    option: tuple[int, bytes] | None = None
    #: How many there are, all the same.
    count: int = 1
    #: Octets behind the message.
    tail: int = 0

    def message(self, ident: int) -> bytes:
        """In wire form."""
        query = dns.message.make_query(
            dns.name.from_text(self.name),
            dns.rdatatype.from_text(self.kind),
            self.rdclass,
            use_edns=False,
        )
        if self.size is not None:
            options: list[dns.edns.Option] = []
            if self.option:
                kind, octets = self.option
                options.append(dns.edns.GenericOption(str(kind), octets))
            flags = _DNSSEC_OK if self.dnssec else 0
            query.use_edns(self.version, flags, self.size, options=options)
        query.id = ident
        query.flags = dns.flags.Flag(self.flags) | dns.opcode.to_flags(dns.opcode.Opcode(0))
        query.question = query.question * self.count
        wire = bytearray(query.to_wire())
        wire[2] |= self.opcode << 3
        return bytes(wire + bytes(self.tail))

    @property
    def is_plain(self) -> bool:
        """Whether it is a usual question, except its size."""
        plain = Question(self.name, self.kind, self.size, self.dnssec, self.stream)
        return self == plain

    def __str__(self) -> str:
        words = [self.name, self.kind]
        words += [] if self.size is None else [f"bufsize={self.size}"]
        words += ["do"] if self.dnssec else []
        words += ["tcp"] if self.stream else []
        plain = {each.name: each.default for each in dataclasses.fields(self)}
        for each in ("rdclass", "flags", "opcode", "version", "option", "count", "tail"):
            value = getattr(self, each)
            words += [] if value == plain[each] else [f"{each}={value}"]
        return " ".join(words)


def _odd_case(rng: random.Random, name: str) -> str:
    # An escape like \000 has no letters.
    return "".join(rng.choice((each.lower(), each.upper())) for each in name)


def _edge(rng: random.Random, base: str, zone: Zone) -> str:
    """A name below another that is as long as may be, or becomes so by DNAME."""
    targets = zone.names.get(base, {}).get("DNAME", [base])
    longer = rng.choice((base, *targets))
    octets = sum(1 + len(label) for label in dns.name.from_text(longer).labels)
    room = NAME_MAX - octets + rng.choice((-1, 0, 0, 1, 2))
    parts = []
    while room > 1:
        length = min(room - 1, rng.choice((1, 63, 63)))
        parts.append("q" * length)
        room -= 1 + length
    return ".".join([*parts, base])


def _name(rng: random.Random, zone: Zone, known: Sequence[str]) -> str:
    roll = rng.random()
    base = rng.choice(known)
    if roll < 0.35:
        name = base
    elif roll < 0.48:
        name = rng.choice([*zones.above(base), zones.ORIGIN])
    elif roll < 0.7:
        name = f"{zones.labels(mixed.some_name(rng))[0]}.{base}"
    elif roll < 0.77:
        name = _edge(rng, base, zone)
    elif roll < 0.95:
        name = mixed.some_name(rng)
    else:
        name = rng.choice((".", "test.", "elsewhere.test.", "www.differ.test.", "differ2.test."))
    return _odd_case(rng, name) if rng.random() < 0.2 else name


def _odd(rng: random.Random, plain: Question) -> Question:
    """The same question with an unusual property."""
    match rng.choice(_ODDITIES):
        case "flags":
            return dataclasses.replace(plain, flags=rng.choice(_FLAGS))
        case "class":
            return dataclasses.replace(plain, rdclass=rng.choice(("CH", "HS", "ANY", "CLASS7")))
        case "opcode":
            return dataclasses.replace(plain, opcode=rng.choice((1, 2)))
        case "version":
            size = plain.size or 1232
            return dataclasses.replace(plain, size=size, version=rng.choice((1, 2, 255)))
        case "option":
            size = plain.size or 1232
            return dataclasses.replace(plain, size=size, option=rng.choice(_OPTIONS))
        case "none":
            return dataclasses.replace(plain, count=0)
        case "two":
            return dataclasses.replace(plain, count=2)
        case _:
            return dataclasses.replace(plain, tail=rng.choice((1, 12)))


def _size(rng: random.Random) -> int | None:
    roll = rng.random()
    if roll < 0.7:
        return rng.choice(_SIZES)
    return rng.choice(_ODD_SIZES) if roll < 0.75 else rng.randrange(512, 1500)


def make(rng: random.Random, all_zones: Sequence[Zone], count: int) -> Iterator[Question]:
    """So many questions; most about the first zone."""
    known = [list(zone.names) for zone in all_zones]
    while count:
        which = rng.randrange(len(all_zones)) if rng.random() < 0.12 else 0
        name = _name(rng, all_zones[which], known[which])
        size = _size(rng)
        kind = rng.choice(_TYPES if rng.random() < 0.85 else _RARE_TYPES)
        try:
            dns.name.from_text(name)
        except dns.exception.DNSException:
            continue
        count -= 1
        dnssec = size is not None and rng.random() < 0.5
        plain = Question(name, kind, size, dnssec, rng.random() < 0.15)
        # Over TCP, one that a server closes the connection for would take others with it.
        is_odd = rng.random() < 0.09 and not plain.stream
        yield _odd(rng, plain) if is_odd else plain
