# SPDX-License-Identifier: GPL-2.0-or-later
"""A zone like the root, signed by BIND as the root is, and queries like those to a root server.

1,500 delegations, with four servers below each and DS; keys of RSA, 2,048 bits, NSEC.
Of the questions, 40 % are for names that do not exist, the others for names below a
delegation; 70 % ask for signatures.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.base import tools

from . import bed

ORIGIN = "."
DELEGATIONS = 1500
_SERVERS = 4
_MISSING, _DNSSEC = 0.4, 0.7
_QUESTIONS = 100_000
_TYPES = (1, 28, 1, 2)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _label(chance: random.Random, least: int, most: int) -> str:
    return "".join(chance.choices(_LETTERS, k=chance.randint(least, most)))


def names(chance: random.Random, count: int = DELEGATIONS) -> list[str]:
    """Return distinct top-level names."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[_label(chance, 2, 10)] = None
    return list(found)


def lines(delegations: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Return the master file, without keys and signatures."""
    yield "$TTL 172800"
    yield ". 86400 SOA a.root-servers. nstld.root-servers. 1 1800 900 604800 86400"
    for number, letter in enumerate("abcdefghijklm"):
        yield f". 518400 NS {letter}.root-servers."
        yield f"{letter}.root-servers. 518400 A 192.0.2.{number + 1}"
        yield f"{letter}.root-servers. 518400 AAAA 2001:db8::{number + 1:x}"
    for number, name in enumerate(delegations):
        for server in range(_SERVERS):
            host = f"{_LETTERS[server]}.nic.{name}."
            yield f"{name}. NS {host}"
            yield f"{host} A 192.0.{number % 256}.{server + 1}"
            yield f"{host} AAAA 2001:db8:{number:x}::{server + 1}"
        digest = chance.randbytes(32).hex()
        yield f"{name}. 86400 DS {chance.randrange(65536)} 8 2 {digest}"


def questions(
    delegations: Sequence[str], chance: random.Random, count: int = _QUESTIONS
) -> Iterator[bytes]:
    """Return random queries with the shares above."""
    taken = set(delegations)
    for _ in range(count):
        if chance.random() < _MISSING:
            name = next(
                each for each in iter(lambda: _label(chance, 6, 15), "") if each not in taken
            )
        else:
            name = chance.choice(delegations)
        below = f"{_label(chance, 3, 12)}.{name}" if chance.random() < 0.9 else name
        dnssec = chance.random() < _DNSSEC
        yield bed.question(f"{below}.", chance.choice(_TYPES), dnssec=dnssec)


def make(folder: Path) -> tuple[Path, Path]:
    """Write the signed zone, and the questions as dnsperf reads them (-B)."""
    chance = random.Random(1)
    delegations = names(chance)
    zone, asked = folder / "root", folder / "questions"
    keygen: list[str | Path] = ["dnssec-keygen", "-q", "-K", folder, "-a", "RSASHA256"]
    keys = [
        tools.run([*keygen, *flags, ORIGIN]).strip()
        for flags in (("-b", "2048", "-f", "KSK"), ("-b", "2048"))
    ]
    public = [(folder / f"{key}.key").read_text() for key in keys]
    zone.write_text("\n".join([*lines(delegations, chance), *public]))
    sign: list[str | Path] = [
        "dnssec-signzone",
        "-P",
        "-o",
        ORIGIN,
        "-K",
        folder,
        "-d",
        folder,
        "-k",
        keys[0],
    ]
    signed = folder / "root.signed"
    tools.run([*sign, "-f", signed, zone, keys[1]], cwd=folder)
    messages = questions(delegations, chance)
    asked.write_bytes(b"".join(len(each).to_bytes(2) + each for each in messages))
    return signed, asked
