# SPDX-License-Identifier: GPL-2.0-or-later
"""Contents that random zones lack: chains, sizes at a limit, depths, rare types.

Each has first labels of its own, and so does not meet the rest of the zone but by a record that
refers to it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from .zones import CHILD, ORIGIN, OTHER, RENAMED, Zone

#: Names in wire form, RFC 1035 section 2.3.4.
NAME_MAX = 255
_ORIGIN_SIZE = len(ORIGIN) + 1
#: Lengths of chains: servers follow 16 or 20 of them.
_CHAINS = (2, 5, 9, 10, 11, 12, 15, 16, 17, 18, 20, 21, 24)
_SIZES = (512, 1232, 4096)
#: A signature by ECDSAP256SHA256 with a pointer as owner, RFC 4034 section 3.1.
SIGNATURE = 12 + 18 + _ORIGIN_SIZE + 64
_OPT = 11


def add_all(rng: random.Random, zone: Zone, longest: int) -> None:
    """All of them, with names of so many octets."""
    for each in (_chains, _circles, _renamings, _sizes, _rare, _many_servers):
        each(rng, zone)
    _depths(zone, longest)
    _hide(rng, zone)


def _end(rng: random.Random, zone: Zone) -> str:
    """The possible ends of a chain."""
    return rng.choice(
        (
            *(f"ns.{ORIGIN}", f"none.{ORIGIN}", f"text.rare.{ORIGIN}", "www.elsewhere.test."),
            *(f"www.{OTHER}", f"none.{OTHER}", f"www.{CHILD}", CHILD, f"www.{RENAMED}"),
            *rng.sample(list(zone.names), 4),
        )
    )


def _chains(rng: random.Random, zone: Zone) -> None:
    """Aliases of aliases, by CNAME, by DNAME, and by both in turn."""
    for length in rng.sample(_CHAINS, 3):
        for number in range(length):
            here, after = (f"c{n}.chain{length}.{ORIGIN}" for n in (number, number + 1))
            zone.names[here] = {"CNAME": [after if number + 1 < length else _end(rng, zone)]}
    for length in rng.sample(_CHAINS, 2):
        for number in range(length):
            here, after = (f"d{n}.chain{length}.{ORIGIN}" for n in (number, number + 1))
            is_last = number + 1 == length
            zone.names[here] = {"DNAME": [_end(rng, zone) if is_last else after]}
    for number in range(6):
        zone.names[f"m{number}.turns.{ORIGIN}"] = {"CNAME": [f"x.n{number}.turns.{ORIGIN}"]}
        after = _end(rng, zone) if number == 5 else f"y.turns.{ORIGIN}"
        zone.names[f"n{number}.turns.{ORIGIN}"] = {"DNAME": [after]}
        zone.names[f"x.y.turns.{ORIGIN}"] = {"CNAME": [f"m{rng.randrange(6)}.turns.{ORIGIN}"]}


def _circles(rng: random.Random, zone: Zone) -> None:
    """Aliases that come back, to the first or to one in the middle, and that grow."""
    for length in (1, 2, rng.choice((5, 15, 16, 17))):
        back = rng.randrange(length)
        for number in range(length):
            after = number + 1 if number + 1 < length else back
            zone.names[f"c{number}.circle{length}.{ORIGIN}"] = {
                "CNAME": [f"c{after}.circle{length}.{ORIGIN}"]
            }
            zone.names[f"d{number}.circle{length}.{ORIGIN}"] = {
                "DNAME": [f"d{after}.circle{length}.{ORIGIN}"]
            }
    # Below itself; the first step is one label more, the last is too long.
    for label in ("g", "h" * 20, "i" * 63):
        zone.names[f"{label[0]}.grow.{ORIGIN}"] = {"DNAME": [f"{label}.{label[0]}.grow.{ORIGIN}"]}
    # A circle that grows by an alias of each kind.
    zone.names[f"j.grow.{ORIGIN}"] = {"CNAME": [f"j.k.grow.{ORIGIN}"]}
    zone.names[f"k.grow.{ORIGIN}"] = {"DNAME": [f"{'k' * rng.choice((1, 40))}.k.grow.{ORIGIN}"]}
    # No alias of itself alone.
    zone.names[f"*.star.{ORIGIN}"] = {"CNAME": [rng.choice((f"a.star.{ORIGIN}", f"*.{ORIGIN}"))]}


def _renamings(rng: random.Random, zone: Zone) -> None:
    """DNAME into other zones, to the root, to names so long that little has room before them."""
    targets = (
        *(OTHER, f"d.{OTHER}", CHILD, RENAMED, f"c.{RENAMED}", ".", "test.", ORIGIN),
        *(f"rare.{ORIGIN}", f"star.{ORIGIN}", f"x.g.grow.{ORIGIN}"),
    )
    for number, target in enumerate(targets):
        zone.names[f"r{number}.renamed.{ORIGIN}"] = {"DNAME": [target]}
    for number in range(4):
        # The target's length: what is before it is then at most 63 octets.
        name = _long_name(NAME_MAX - rng.choice((2, 3, 10, 40, 63)), chr(ord("p") + number))
        zone.names[f"l{number}.renamed.{ORIGIN}"] = {"DNAME": [name]}
        upper = name.split(".", 1)[1]
        if rng.random() < 0.5 and upper.count(".") > 3:
            zone.names.setdefault(upper, {"TXT": ['"upper"']})


def _long_name(size: int, letter: str) -> str:
    """A name of so many octets in wire form, whose last label is one letter."""
    left = size - _ORIGIN_SIZE - 2
    parts = []
    while left:
        length = min(64, left)
        # No label is empty.
        length -= length == left - 1
        parts.append(letter * (length - 1))
        left -= length
    return ".".join([*parts, letter, ORIGIN])


def _text(size: int) -> str:
    """TXT whose RDATA has so many octets."""
    parts = []
    while size > 0:
        length = min(255, size - 1)
        length -= length == size - 2
        parts.append('"' + "t" * length + '"')
        size -= 1 + length
    return " ".join(parts)


def _sizes(rng: random.Random, zone: Zone) -> None:
    """Answers that just fit into a message, with and without OPT and signatures, or do not."""
    number = 0
    for limit in _SIZES:
        for tail in (0, _OPT, _OPT + SIGNATURE):
            for spare in rng.sample(range(-2, 4), 2):
                name = f"s{number}.size.{ORIGIN}"
                used = 12 + len(name) + 1 + 4 + 12 + tail
                zone.names[name] = {"TXT": [_text(limit - used - spare)]}
                number += 1
    for count in (rng.randrange(25, 32), rng.randrange(65, 80)):
        zone.names[f"a{count}.size.{ORIGIN}"] = {
            "A": [f"192.0.2.{each}" for each in range(1, count)]
        }
        zone.names[f"m{count}.size.{ORIGIN}"] = {
            "MX": [f"{each} ns.{ORIGIN}" for each in range(count)],
            "NAPTR": [f'{each} 1 "s" "x" "" ns.{ORIGIN}' for each in range(count // 4)],
        }


def _many_servers(rng: random.Random, zone: Zone) -> None:
    """Delegations whose servers do not all fit."""
    for number in range(4):
        cut = f"s{number}.many.{ORIGIN}"
        count = rng.choice((4, 8, 11, 13))
        servers = [f"{'s' * rng.choice((1, 9))}{each}.{cut}" for each in range(count)]
        if number & 1:
            servers[count // 2 :] = [f"ns{each}.hosts.many.{ORIGIN}" for each in range(count // 2)]
        zone.names[cut] = {"NS": servers}
        if rng.random() < 0.5:
            zone.names[cut]["DS"] = [f"{number} 13 2 {'AB' * 32}"]
        for each, server in enumerate(servers):
            zone.names[server] = {
                "A": [f"192.0.2.{1 + each}"],
                "AAAA": [f"2001:db8::{1 + each:x}"],
            }


def _depths(zone: Zone, longest: int) -> None:
    """Names as deep and as long as may be, and wildcards that fit nothing but a short label."""
    deepest = (longest - _ORIGIN_SIZE) // 2
    zone.names[".".join(["v"] * deepest) + f".{ORIGIN}"] = {"A": ["192.0.2.1"], "TXT": ['"deep"']}
    zone.names[_long_name(longest, "w")] = {"A": ["192.0.2.2"], "MX": [f"1 ns.{ORIGIN}"]}
    zone.names[f"*.{_long_name(longest - 2, 'y')}"] = {"TXT": ['"no room"']}
    zone.names[f"*.{_long_name(longest - 20, 'u')}"] = {"CNAME": [f"x.r0.renamed.{ORIGIN}"]}
    # Only names without types, one below the other.
    zone.names[f"e.e.e.e.e.e.empty.{ORIGIN}"] = {"TXT": ['"below"']}
    zone.names[f"*.f.f.empty.{ORIGIN}"] = {"TXT": ['"wild"']}
    zone.names[f"f.*.f.empty.{ORIGIN}"] = {"TXT": ['"below a wildcard"']}


def _rare(rng: random.Random, zone: Zone) -> None:
    """Types that few programs know, or none."""
    host = f"ns.{ORIGIN}"
    records = {
        "text": {"TXT": ['"a" "b"', '""', r'"\000\255\"\\"'], "SPF": ['"v=spf1 -all"']},
        "web": {"HTTPS": ["1 . alpn=h2 ipv4hint=192.0.2.1 port=8443", f"2 {host}"]},
        "svc": {"SVCB": [f"0 {host}"], "A": ["192.0.2.7"]},
        "mail": {"TLSA": ["3 1 1 " + "ab" * 32], "SMIMEA": ["3 1 1 " + "cd" * 32]},
        "ca": {"CAA": ['0 issue "ca.example.net"', '128 iodef "mailto:x@example.net"']},
        "host": {"HINFO": ['"PDP-11" "UNIX"'], "LOC": ["52 22 23.000 N 4 53 32.000 E -2.00m"]},
        "key": {"SSHFP": ["4 2 " + "ef" * 32], "OPENPGPKEY": ["AQIDBA=="]},
        "naptr": {"NAPTR": [f'1 2 "S" "SIP+D2U" "" {host}'], "URI": ['1 2 "https://x.test/"']},
        "old": {"AFSDB": [f"1 {host}"], "RP": [f"{host} text.rare.{ORIGIN}"]},
        "eui": {"EUI48": ["00-00-5e-00-53-2a"], "EUI64": ["00-00-5e-ef-10-00-00-2a"]},
        "cert": {"CERT": ["1 2 13 AQIDBA=="], "KX": [f"1 {host}"]},
        "new": {"TYPE65280": [r"\# 0", r"\# 3 010203"], "TYPE731": [r"\# 6 abcdef 012345"]},
        "big": {"TYPE65281": [rf"\# 600 {'ab' * 600}"], "TYPE65534": [r"\# 1 00"]},
    }
    for label, types in records.items():
        zone.names[f"{label}.rare.{ORIGIN}"] = dict(types)
    zone.names[f"*.wild.rare.{ORIGIN}"] = dict(rng.choice(list(records.values())))


def _hide(rng: random.Random, zone: Zone) -> None:
    """Names below delegations, which are none of the zone's: wildcards, aliases, more cuts."""
    cuts = [each for each, types in zone.names.items() if "NS" in types and each != zone.origin]
    for cut in cuts:
        for name, types in _hidden(cut):
            if rng.random() < 0.2 and len(name) < 200:
                zone.names.setdefault(name, types)


def _hidden(cut: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    yield f"*.{cut}", {"TXT": ['"below a cut"'], "A": ["192.0.2.66"]}
    yield f"c.{cut}", {"CNAME": [f"ns.{ORIGIN}"]}
    yield f"sub.{cut}", {"NS": [f"ns.sub.{cut}"]}
    yield f"ns.sub.{cut}", {"A": ["192.0.2.67"]}
