# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-zone beside BIND: the same verdicts, the same records, signed zones as they are."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.dns import zones

ORIGIN = "example."
ZONES = 120

LABELS = ["a", "b", "c", "A", "ns", "mail", "sub", "*", "x-y", "_tcp", "und_er", "1", "d\\.e", "@"]
TARGETS = [
    *("ns", "mail", "a.b", "sub", "ns.sub", "out.test.", "@", "und_er", "nothing", "al", "b.dn"),
    *("192.0.2.1", "NS", "mail.example."),
]
TEXTS = ['"v=spf1 -all"', '"a" "b"', "plain", '"semi;colon"', '"q\\"uote"', "\\200\\032x"]


class Dice:
    """Master files at random, with all that is wrong now and then."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        """An owner; outside of the zone at times."""
        depth = self.random.choices([0, 1, 2, 3], [1, 8, 4, 1])[0]
        labels = [self.random.choice(LABELS[:-1]) for _ in range(depth)]
        if not labels:
            return "@"
        tail = self.random.choices(["", ".example.", ".other."], [12, 2, 1])[0]
        return ".".join(labels) + tail

    def target(self) -> str:
        """A name to refer to."""
        return self.random.choice([*TARGETS, self.name()])

    def rdata(self) -> str:
        """Type and RDATA."""
        pick = self.random.random
        number = self.random.randrange
        kinds: dict[str, Callable[[], str]] = {
            "A": lambda: f"192.0.2.{number(4)}",
            "AAAA": lambda: f"2001:db8::{number(4):x}",
            "NS": self.target,
            "MX": lambda: f"{number(3)} {self.target()}",
            "TXT": lambda: self.random.choice(TEXTS),
            "SRV": lambda: f"0 {number(3)} 443 {self.target()}",
            "PTR": self.target,
            "CAA": lambda: f'0 issue "ca{number(3)}.test"',
            "DS": lambda: f"{number(9)} 8 2 {number(256):02x}" + "00" * 31,
            "TYPE65400": lambda: f"\\# 2 {number(65536):04x}",
            "HTTPS": lambda: f"1 {self.target()} alpn=h{number(2) + 2} port=443",
        }
        if pick() < 0.06:
            return f"{self.random.choice(['CNAME', 'DNAME'])} {self.target()}"
        if pick() < 0.01:
            return "SOA ns root 1 2 3 4 5"
        kind = self.random.choice(list(kinds))
        return f"{kind} {kinds[kind]()}"

    def ttl(self) -> str:
        """None mostly."""
        return self.random.choices(["", "60 ", "1h ", "60 IN "], [8, 1, 1, 1])[0]

    def text(self) -> str:
        """A master file."""
        lines = ["$TTL 300", "@ SOA ns hostmaster 1 2 3 4 5", "@ NS ns", "ns A 192.0.2.1"]
        for _ in range(self.random.randrange(1, 14)):
            owner = self.name()
            lines.append(f"{owner} {self.ttl()}{self.rdata()}")
            while self.random.random() < 0.4:
                lines.append(f" {self.ttl()}{self.rdata()}")
        if self.random.random() < 0.1:
            lines.append("$ORIGIN deep.example.")
            lines.append(f"{self.name()} {self.rdata()}")
        return "\n".join(lines) + "\n"


def bind(source: Path, canonical: Path) -> subprocess.CompletedProcess[str]:
    """Load a master file with BIND, which prints the zone in its own way."""
    words: list[str | Path] = [tools.find("named-checkzone"), "-i", "local"]
    words += ["-o", canonical, ORIGIN, source]
    return subprocess.run(words, capture_output=True, text=True, timeout=wait.PATIENCE, check=False)


def takes_glue_for_apex(
    peer: subprocess.CompletedProcess[str], ours: subprocess.CompletedProcess[str]
) -> bool:
    """BIND looks for DS at the apex by the owner before, if this one may be its glue."""
    errors = [line for line in ours.stderr.splitlines() if ": error: " in line]
    if "DS record at top of zone" in peer.stdout:
        return not errors
    return (
        peer.returncode == 0
        and bool(errors)
        and all("example. DS: it is at the zone's origin" in line for line in errors)
    )


def has_ds_without_delegation(peer: subprocess.CompletedProcess[str]) -> bool:
    """BIND refuses it since 9.20, and 'vmmnet-zone check' warns."""
    return "DS not at delegation point" in peer.stdout


def same_but_for_case(differences: str) -> bool:
    """Of records that differ in letters' case BIND may keep another one."""
    lines = [line.lower() for line in differences.splitlines()]
    old, new = (sorted(line[2:] for line in lines if line[0] == sign) for sign in "-+")
    return old == new


def test_random_zones(tmp_path: Path) -> None:
    """The verdict is BIND's, and so are the records; what differs is shown with its seed."""
    source, image = tmp_path / "ours.zone", tmp_path / "ours.vzi"
    theirs, again = tmp_path / "theirs.zone", tmp_path / "theirs.vzi"
    loaded = refused = 0
    for seed in range(ZONES):
        source.write_text(Dice(seed).text())
        peer = bind(source, theirs)
        ours = zones.zone("compile", ORIGIN, source, "-o", image)
        shown = (
            f"seed {seed}\n{source.read_text()}\nBIND: {peer.stdout}{peer.stderr}\n{ours.stderr}"
        )
        if takes_glue_for_apex(peer, ours) or has_ds_without_delegation(peer):
            continue
        if "DS not at delegation point" in peer.stdout:
            # BIND 9.20 refuses what ours warns of.
            assert "it is no delegation" in ours.stderr or ours.returncode, shown
            refused += 1
            continue
        assert (ours.returncode == 0) == (peer.returncode == 0), shown
        if peer.returncode:
            refused += 1
            continue
        loaded += 1
        assert zones.zone("compile", ORIGIN, theirs, "-o", again).returncode == 0, shown
        differ = zones.zone("diff", image, again)
        assert same_but_for_case(differ.stdout), f"{shown}\n{differ.stdout}"
    print(f"{loaded} zones loaded by both, {refused} refused by both")
    assert loaded > ZONES // 4
    assert refused > ZONES // 10


SIGNED = """\
$TTL 300
@ SOA ns hostmaster 1 2 3 4 5
@ NS ns
ns A 192.0.2.1
*.wild TXT "any"
sub NS ns.sub
ns.sub A 192.0.2.2
a.b.c AAAA 2001:db8::1
mail MX 0 ns
"""


@pytest.mark.parametrize("denial", ["nsec", "nsec3", "opt-out"])
def test_signed_zone_is_taken_as_it_is(denial: str, tmp_path: Path) -> None:
    """Keys, signatures and denials by BIND's signer come out as they went in."""
    source = tmp_path / "plain.zone"
    source.write_text(SIGNED)
    make: list[str | Path] = [
        "dnssec-keygen",
        "-K",
        tmp_path,
        "-a",
        "ECDSAP256SHA256",
        "-n",
        "ZONE",
    ]
    tools.run([*make, "-f", "KSK", ORIGIN])
    tools.run([*make, ORIGIN])
    options: list[str] = {"nsec": [], "nsec3": ["-3", "aabb"], "opt-out": ["-3", "-", "-A"]}[denial]
    signed = tmp_path / "signed.zone"
    words: list[str | Path] = [
        "dnssec-signzone",
        "-S",
        "-K",
        tmp_path,
        "-d",
        tmp_path,
        "-o",
        ORIGIN,
        "-f",
        signed,
    ]
    tools.run([*words, *options, source])
    image = tmp_path / "signed.vzi"
    done = zones.zone("compile", ORIGIN, signed, "-o", image)
    assert (done.returncode, done.stderr) == (0, "")
    done = zones.zone("check", image)
    assert done.returncode == 0, done.stderr
    printed, canonical = tmp_path / "printed.zone", tmp_path / "canonical.zone"
    printed.write_text(zones.zone("print", image).stdout)
    files = ((printed, canonical), (signed, tmp_path / "bind.zone"))
    texts = [out.read_text() for path, out in files if bind(path, out).returncode == 0]
    assert len(texts) == 2
    assert texts[0] == texts[1]
