# SPDX-License-Identifier: GPL-2.0-or-later
"""A zone made at random, with all that makes answers hard.

Names are few and short, so that questions at random meet them: delegations with glue and
without, below wildcards and beside them, aliases that end, go round, or lead away, empty
non-terminals. A zone is right, as the servers would not load it otherwise.
"""

from __future__ import annotations

import random

from . import shapes
from .zones import CHILD, ORIGIN, OTHER, Zone, labels

_LABELS = ("a", "b", "c", "d", "Big", "a-b", "*", r"x\.y", r"\000", "_tcp", "z" * 63)
_WEIGHTS = (9, 9, 6, 4, 3, 2, 5, 1, 1, 2, 1)
_DEPTHS = (1, 2, 3, 4, 7)
#: Outside of the zone; some are in others of the same server.
OUTSIDE = (
    *("www.elsewhere.test.", "ns.elsewhere.test.", "elsewhere.test."),
    *(f"www.{OTHER}", f"none.{OTHER}", f"www.{CHILD}"),
)


def some_name(rng: random.Random) -> str:
    """A name below the origin."""
    depth = rng.choices(_DEPTHS, (8, 6, 3, 1, 0.2))[0]
    return ".".join([*rng.choices(_LABELS, _WEIGHTS, k=depth), ORIGIN])


class _Maker:
    def __init__(self, rng: random.Random, size: int, longest: int) -> None:
        self.rng = rng
        self.longest = longest
        self.zone = Zone()
        self.targets = [some_name(rng) for _ in range(size // 4 + 1)]
        self.size = size

    def make(self) -> Zone:
        names = self.zone.names
        names[ORIGIN] = {
            "SOA": [f"ns.{ORIGIN} admin.{ORIGIN} 1 3600 600 86400 60"],
            "NS": [f"ns.{ORIGIN}", "ns.elsewhere.test."],
            "MX": [f"10 {self.target()}"],
        }
        names[f"ns.{ORIGIN}"] = {"A": ["192.0.2.53"], "AAAA": ["2001:db8::53"]}
        for _ in range(self.size):
            self.add(some_name(self.rng))
        shapes.add_all(self.rng, self.zone, self.longest)
        return self.zone

    def target(self) -> str:
        """A name for a record to refer to."""
        roll = self.rng.random()
        if roll < 0.15:
            return self.rng.choice(OUTSIDE)
        if roll < 0.6 and self.zone.names:
            return self.rng.choice(list(self.zone.names))
        return self.rng.choice(self.targets)

    def add(self, name: str) -> None:
        """One more owner name, if it is possible where it is."""
        names = self.zone.names
        if name in names or self.zone.is_hidden(name) or len(name) > 200:
            return
        roll = self.rng.random()
        if roll < 0.15:
            names[name] = {"CNAME": [self.target()]}
        elif roll < 0.2 and not self.zone.has_below(name) and "*" not in labels(name):
            names[name] = {"DNAME": [self.target()]} | self.some("TXT", "A")
        elif roll < 0.35 and not self.zone.has_below(name) and "*" not in labels(name):
            self.delegate(name)
        else:
            kinds = ("A", "AAAA", "TXT", "MX", "SRV", "PTR")
            found = self.some(*kinds)
            names[name] = found or {"A": [self.address4()]}

    def some(self, *kinds: str) -> dict[str, list[str]]:
        """Records of some of these types."""
        return {
            kind: sorted({self.rdata(kind) for _ in range(self.rng.choice((1, 1, 2, 3)))})
            for kind in kinds
            if self.rng.random() < 0.35
        }

    def rdata(self, kind: str) -> str:
        """The RDATA of a record."""
        match kind:
            case "A":
                return self.address4()
            case "AAAA":
                return f"2001:db8::{self.rng.randrange(1, 65536):x}"
            case "TXT":
                return f'"{"t" * self.rng.choice((1, 20, 200))}" "{self.rng.randrange(99)}"'
            case "MX":
                return f"{self.rng.randrange(3)} {self.target()}"
            case "SRV":
                return f"0 {self.rng.randrange(3)} 80 {self.target()}"
            case _:
                return self.target()

    def address4(self) -> str:
        return f"192.0.2.{self.rng.randrange(1, 255)}"

    def delegate(self, name: str) -> None:
        """A cut, with glue below it, beside it, or none."""
        servers = set()
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            roll = self.rng.random()
            if roll < 0.6:
                server = f"{self.rng.choice('ab')}.{name}"
                self.zone.names[server] = self.some("A", "AAAA") or {"A": [self.address4()]}
            elif roll < 0.8:
                server = self.rng.choice(OUTSIDE)
            else:
                server = f"ns.{ORIGIN}"
            servers.add(server)
        self.zone.names[name] = {"NS": sorted(servers)}
        if self.rng.random() < 0.4:
            digest = "".join(self.rng.choices("0123456789ABCDEF", k=64))
            self.zone.names[name]["DS"] = [f"{self.rng.randrange(65536)} 13 2 {digest}"]


def make(rng: random.Random, size: int, longest: int = shapes.NAME_MAX) -> Zone:
    """A zone of about so many names, and those of ``shapes``, up to so many octets."""
    return _Maker(rng, size, longest).make()
