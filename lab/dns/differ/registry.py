# SPDX-License-Identifier: GPL-2.0-or-later
"""A zone in the shape of a top level domain: delegations, with two servers each.

As .NET's: four of five names are delegations, one of eight servers is below one and has glue, some
have DS. It is signed with NSEC3 and opt-out.
"""

from __future__ import annotations

import random

from .zones import ORIGIN, Zone

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
_HOSTERS = 12


def _label(rng: random.Random) -> str:
    middle = "".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 2, 4, 8, 13, 30))))
    return rng.choice("abcdefgh") + middle + rng.choice("xyz")


def make(rng: random.Random, size: int) -> Zone:
    """A zone of so many delegations and, for each four, another name."""
    zone = Zone()
    zone.names[ORIGIN] = {
        "SOA": [f"a.nic.{ORIGIN} admin.nic.{ORIGIN} 1 1800 900 604800 60"],
        "NS": [f"{letter}.nic.{ORIGIN}" for letter in "abcdefghijklm"],
    }
    for number, letter in enumerate("abcdefghijklm", 1):
        zone.names[f"{letter}.nic.{ORIGIN}"] = {
            "A": [f"192.0.2.{number}"],
            "AAAA": [f"2001:db8::{number:x}"],
        }
    cuts = sorted({f"{_label(rng)}.{ORIGIN}" for _ in range(size)} - {f"nic.{ORIGIN}"})
    for cut in cuts:
        zone.names[cut] = {"NS": sorted({_server(rng, cut, cuts) for _ in range(2)})}
        if rng.random() < 0.2:
            digest = "".join(rng.choices("0123456789ABCDEF", k=64))
            zone.names[cut]["DS"] = [f"{rng.randrange(65536)} 13 2 {digest}"]
        for server in zone.names[cut]["NS"]:
            if server.endswith(f".{ORIGIN}"):
                zone.names.setdefault(server, _addresses(rng))
    for _ in range(size // 4):
        name = f"{_label(rng)}.{ORIGIN}"
        if name not in zone.names and not zone.has_below(name):
            zone.names[name] = rng.choice(({"A": ["192.0.2.9"]}, {"TXT": ['"reserved"']}))
    return zone


def _server(rng: random.Random, cut: str, cuts: list[str]) -> str:
    """A hoster's, or one below this delegation or another one."""
    if rng.random() < 7 / 8:
        return f"ns{rng.randrange(1, 5)}.hoster{rng.randrange(_HOSTERS)}.example."
    return f"ns{rng.randrange(1, 3)}.{cut if rng.random() < 0.7 else rng.choice(cuts)}"


def _addresses(rng: random.Random) -> dict[str, list[str]]:
    found = {"A": [f"192.0.2.{rng.randrange(1, 255)}"]}
    if rng.random() < 0.3:
        found["AAAA"] = [f"2001:db8::{rng.randrange(1, 65536):x}"]
    return found
