# SPDX-License-Identifier: GPL-2.0-or-later
"""Zones made at random, with all that makes answers hard.

Names are few and short, so that questions at random meet them: delegations with glue and
without, below wildcards and beside them, aliases that end, go round, or lead away, empty
non-terminals. A zone is right, as the servers would not load it otherwise.
"""

from __future__ import annotations

import random
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ORIGIN = "differ.test."
_LABELS = ("a", "b", "c", "d", "Big", "a-b", "*", r"x\.y", r"\000", "_tcp", "z" * 63)
_WEIGHTS = (9, 9, 6, 4, 3, 2, 5, 1, 1, 2, 1)
_DEPTHS = (1, 2, 3, 4, 7)
_OUTSIDE = ("www.elsewhere.test.", "ns.elsewhere.test.", "elsewhere.test.")


@dataclass
class Zone:
    """Owner names with the types and RDATA that they have."""

    names: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))

    @cached_property
    def lower(self) -> dict[str, dict[str, list[str]]]:
        """The names in lower case, of a zone that is made."""
        return {owner.lower(): types for owner, types in self.names.items()}

    def is_below_cut(self, name: str) -> bool:
        """Whether a name in lower case is at a delegation or below it."""
        uppers = (name, *above(name))
        return any("NS" in self.lower.get(each, {}) for each in uppers if each != ORIGIN)

    def lines(self) -> Iterator[str]:
        """A master file."""
        yield "$TTL 300"
        soa = self.names[ORIGIN]["SOA"]
        yield f"{ORIGIN} SOA {soa[0]}"
        for owner, types in self.names.items():
            for kind, rdata in types.items():
                if kind != "SOA":
                    yield from (f"{owner} {kind} {each}" for each in rdata)


def labels(name: str) -> list[str]:
    """The labels of a name in text, in which a dot may be escaped."""
    found, label, escaped = [], "", False
    for letter in name:
        if letter == "." and not escaped:
            found.append(label)
            label = ""
        else:
            label += letter
        escaped = letter == "\\" and not escaped
    return [*found, label] if label else found


def above(name: str) -> Iterator[str]:
    """The names above one, up to the origin."""
    parts = labels(name)
    for number in range(1, len(parts) - 1):
        yield ".".join(parts[number:]) + "."


def some_name(rng: random.Random) -> str:
    """A name below the origin."""
    depth = rng.choices(_DEPTHS, (8, 6, 3, 1, 0.2))[0]
    return ".".join([*rng.choices(_LABELS, _WEIGHTS, k=depth), ORIGIN])


class _Maker:
    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
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
        return self.zone

    def target(self) -> str:
        """A name for a record to refer to."""
        roll = self.rng.random()
        if roll < 0.15:
            return self.rng.choice(_OUTSIDE)
        if roll < 0.6 and self.zone.names:
            return self.rng.choice(list(self.zone.names))
        return self.rng.choice(self.targets)

    def add(self, name: str) -> None:
        """One more owner name, if it is possible where it is."""
        names = self.zone.names
        if name in names or self.is_hidden(name) or len(name) > 200:
            return
        roll = self.rng.random()
        if roll < 0.15:
            names[name] = {"CNAME": [self.target()]}
        elif roll < 0.2 and not self.has_below(name) and "*" not in labels(name):
            names[name] = {"DNAME": [self.target()]} | self.some("TXT", "A")
        elif roll < 0.35 and not self.has_below(name) and "*" not in labels(name):
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
                server = self.rng.choice(_OUTSIDE)
            else:
                server = f"ns.{ORIGIN}"
            servers.add(server)
        self.zone.names[name] = {"NS": sorted(servers)}
        if self.rng.random() < 0.4:
            digest = "".join(self.rng.choices("0123456789ABCDEF", k=64))
            self.zone.names[name]["DS"] = [f"{self.rng.randrange(65536)} 13 2 {digest}"]

    def is_hidden(self, name: str) -> bool:
        """Whether a delegation or a DNAME is above a name."""
        for upper in above(name):
            types = self.zone.names.get(upper, {})
            if "DNAME" in types or ("NS" in types and upper != ORIGIN):
                return True
        return False

    def has_below(self, name: str) -> bool:
        return any(each.endswith(f".{name}") for each in self.zone.names)


def make(rng: random.Random, size: int) -> Zone:
    """A zone of about so many names."""
    return _Maker(rng, size).make()


def sign(folder: Path, source: Path, kind: str) -> Path:
    """Sign a zone: ``nsec``, ``nsec3`` or ``optout``; returns the file."""

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr}")
        return done.stdout

    algorithm = ("-a", "ECDSAP256SHA256")
    key = run("dnssec-keygen", "-q", *algorithm, "-f", "KSK", ORIGIN).strip()
    zone_key = run("dnssec-keygen", "-q", *algorithm, ORIGIN).strip()
    signed = source.with_suffix(f".{kind}")
    denial = {"nsec": (), "nsec3": ("-3", "ab12"), "optout": ("-3", "-", "-A")}[kind]
    with_keys = folder / "with-keys.zone"
    keys = "".join((folder / f"{each}.key").read_text() for each in (key, zone_key))
    with_keys.write_text(source.read_text() + keys)
    # Until 2040, so that a zone that was made for a report is one for long.
    times = ("-s", "20250101000000", "-e", "20400101000000")
    run(
        *("dnssec-signzone", "-q", "-P", "-O", "full", *times, *denial),
        *("-o", ORIGIN, "-k", key, "-f", signed, with_keys, zone_key),
    )
    return signed
