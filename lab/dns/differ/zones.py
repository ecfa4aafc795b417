# SPDX-License-Identifier: GPL-2.0-or-later
"""A zone: its names with their types, as text, and signed."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import dns.rdata

from ...base import tools

ORIGIN = "differ.test."
#: Of all records but the proofs.
TTL = 300
#: Other zones of the same servers: a delegation of the first one, one beside it, and one that
#: is all an alias of the first.
CHILD, OTHER, RENAMED = f"child.{ORIGIN}", "second.test.", "renamed.test."


@dataclass
class Zone:
    """Owner names with the types and RDATA that they have."""

    names: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    origin: str = ORIGIN

    @cached_property
    def lower(self) -> dict[str, dict[str, list[str]]]:
        """The names and RDATA in lower case, as replies have them, of a zone that is made."""
        return {
            owner.lower(): {
                kind: [_canonical(kind, each) for each in rdata] for kind, rdata in types.items()
            }
            for owner, types in self.names.items()
        }

    def is_below_cut(self, name: str) -> bool:
        """Whether a name in lower case is at a delegation or below it."""
        uppers = (name, *above(name))
        return any("NS" in self.lower.get(each, {}) for each in uppers if each != self.origin)

    def is_hidden(self, name: str) -> bool:
        """Whether a delegation or a DNAME is above a name."""
        return any(
            "DNAME" in types or ("NS" in types and upper != self.origin)
            for upper in above(name)
            if (types := self.names.get(upper))
        )

    def has_below(self, name: str) -> bool:
        """Whether there are names below a name."""
        return any(each.endswith(f".{name}") for each in self.names)

    def lines(self) -> Iterator[str]:
        """A master file."""
        yield f"$TTL {TTL}"
        soa = self.names[self.origin]["SOA"]
        yield f"{self.origin} SOA {soa[0]}"
        for owner, types in self.names.items():
            for kind, rdata in types.items():
                if kind != "SOA":
                    yield from (f"{owner} {kind} {each}" for each in rdata)


def _canonical(kind: str, rdata: str) -> str:
    return str(dns.rdata.from_text("IN", kind, rdata).to_text()).lower()


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


def of_name(all_zones: Sequence[Zone], name: str) -> Zone:
    """The zone that a name in lower case is in; the first one, if it is in none."""
    fits = [each for each in all_zones if f".{name}".endswith(f".{each.origin}")]
    return max(fits, key=lambda each: len(each.origin), default=all_zones[0])


def sign(folder: Path, source: Path, kind: str) -> Path:
    """Sign a zone: ``nsec``, ``nsec3`` or ``optout``; returns the file."""

    def run(*command: str | Path) -> str:
        words = [tools.find(str(command[0])), *command[1:]]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
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
