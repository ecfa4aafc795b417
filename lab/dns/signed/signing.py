# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys and signed zones, made by BIND's tools or by ldns, as records."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import dns.dnssec
import dns.name
import dns.rdata
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from ...base import tools, wait

Maker = Literal["bind", "ldns"]
MAKERS: tuple[Maker, ...] = ("bind", "ldns")

HEAD = "$TTL 300\n@ SOA ns.vm.example. h 1 3600 900 86400 60\n@ NS ns.vm.example.\n"
_ALGORITHMS = {"RSASHA256": 8, "ECDSAP256SHA256": 13, "ED25519": 15}
_DAY = 86400


@dataclass(frozen=True)
class Record:
    """One line of a master file."""

    owner: str
    ttl: str
    kind: str
    rdata: str

    @property
    def covered(self) -> str:
        """The type that a signature covers; empty for other records."""
        return self.rdata.split()[0] if self.kind == "RRSIG" else ""

    @property
    def tag(self) -> int:
        """The tag of the key that has made a signature."""
        return int(self.rdata.split()[6])

    def __str__(self) -> str:
        return f"{self.owner} {self.ttl} IN {self.kind} {self.rdata}"


@dataclass(frozen=True)
class Key:
    """A key in files of a folder; all zones that ask for it share it."""

    maker: Maker
    algorithm: str
    is_ksk: bool
    #: Keys with different numbers are different.
    number: int = 0


#: Iterations of NSEC3 in zones that BIND 9.20 signs.
MOST_BY_BIND = 50


@dataclass(frozen=True)
class Style:
    """Parameters of a zone's signatures."""

    nsec3: bool = False
    salt: str = "-"
    iterations: int = 0
    optout: bool = False
    #: In days from now.
    begin: int = -1
    end: int = 3650


def run(folder: Path, *words: str | Path) -> str:
    """Run a tool; return its output, or raise with its errors."""
    command = [tools.find(str(words[0])), *words[1:]]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=wait.PATIENCE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stdout}{done.stderr}")
    return done.stdout


class Workshop:
    """A folder in which keys are made once, and zones are signed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Key, tuple[str, str]] = {}

    def rdata(self, key: Key) -> str:
        """The RDATA of the key's DNSKEY record."""
        return self._files(key)[1]

    def tag(self, key: Key) -> int:
        """The key's tag."""
        return dns.dnssec.key_id(_dnskey(self.rdata(key)))

    def ds(self, zone: str, key: Key) -> str:
        """The RDATA of its DS record for a zone."""
        made = dns.dnssec.make_ds(dns.name.from_text(zone), _dnskey(self.rdata(key)), "SHA256")
        return str(made)

    def private(self, zone: str, key: Key) -> Path:
        """The file with its private part."""
        return self._folder / f"{self._for(zone, key)}.private"

    def sign(self, zone: str, body: str, keys: Sequence[Key], style: Style) -> list[Record]:
        """The zone with the DNSKEY records of these keys, signed by all of them."""
        if not keys:
            return self._plain(zone, body)
        by_bind = keys[0].maker == "bind" and style.iterations <= MOST_BY_BIND
        text = (
            self._by_bind(zone, body, keys, style)
            if by_bind
            else self._by_ldns(zone, body, keys, style)
        )
        return _records(text)

    def _plain(self, zone: str, body: str) -> list[Record]:
        file = self._source(zone, body)
        words = ("named-compilezone", "-q", "-i", "none", "-s", "full", "-o", "-", zone, file)
        return _records(run(self._folder, *words))

    def _source(self, zone: str, body: str) -> Path:
        file = self._folder / f"{zone}.zone"
        file.write_text(f"$ORIGIN {zone}.\n{HEAD}{body}")
        return file

    def _by_bind(self, zone: str, body: str, keys: Sequence[Key], style: Style) -> str:
        file, signed = self._source(zone, body), self._folder / f"{zone}.signed"
        names = [self._for(zone, key) for key in keys]
        with file.open("a") as out:
            out.writelines((self._folder / f"{name}.key").read_text() for name in names)
        denial = ["-3", style.salt, "-H", str(style.iterations)] if style.nsec3 else []
        denial += ["-A"] if style.optout else []
        # Without the tool's own check, as some zones have to be invalid.
        words = [
            "dnssec-signzone",
            "-q",
            "-P",
            "-O",
            "full",
            "-o",
            zone,
            *denial,
            "-f",
            str(signed),
        ]
        words += ["-s", _moment(style.begin), "-e", _moment(style.end)]
        for name, key in zip(names, keys, strict=True):
            words += ["-k", name] if key.is_ksk else []
        zone_keys = [name for name, key in zip(names, keys, strict=True) if not key.is_ksk]
        run(self._folder, *words, file, *zone_keys)
        return signed.read_text()

    def _by_ldns(self, zone: str, body: str, keys: Sequence[Key], style: Style) -> str:
        file, signed = self._source(zone, body), self._folder / f"{zone}.signed"
        salt = [] if style.salt == "-" else ["-s", style.salt]
        denial = ["-n", "-t", str(style.iterations), *salt] if style.nsec3 else []
        denial += ["-p"] if style.optout else []
        # With -A the keys of the zone sign the DNSKEY records, too.
        words = ["ldns-signzone", "-A", *denial, "-o", f"{zone}.", "-f", str(signed)]
        words += ["-i", _moment(style.begin), "-e", _moment(style.end), str(file)]
        run(self._folder, *words, *(self._for(zone, key) for key in keys))
        return signed.read_text()

    def _files(self, key: Key) -> tuple[str, str]:
        """Make a key once; return the name of its files and its RDATA."""
        if key not in self._made:
            zone, flag = "keys.example", ["-f", "KSK"] if key.maker == "bind" else ["-k"]
            size = ["-b", "2048"] if key.algorithm == "RSASHA256" else []
            tool = ["dnssec-keygen", "-q"] if key.maker == "bind" else ["ldns-keygen"]
            words = [*tool, "-a", key.algorithm, *size, *(flag if key.is_ksk else []), zone]
            name = run(self._folder, *words).strip()
            line = (self._folder / f"{name}.key").read_text().split("DNSKEY", 1)[1]
            self._made[key] = (name, " ".join(line.split(";")[0].split()))
        return self._made[key]

    def _for(self, zone: str, key: Key) -> str:
        """Put the key into files for a zone; returns their name."""
        made, rdata = self._files(key)
        name = f"K{zone}.+{_ALGORITHMS[key.algorithm]:03}+{self.tag(key):05}"
        (self._folder / f"{name}.key").write_text(f"{zone}. 300 IN DNSKEY {rdata}\n")
        shutil.copy(self._folder / f"{made}.private", self._folder / f"{name}.private")
        return name


def _dnskey(rdata: str) -> DNSKEY:
    made = dns.rdata.from_text("IN", "DNSKEY", rdata)
    assert isinstance(made, DNSKEY)
    return made


def _moment(days: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() + days * _DAY))


def _records(text: str) -> list[Record]:
    """Return the records of a master file with one record a line."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith((";", "$")):
            owner, ttl, _, kind, rdata = line.split(None, 4)
            found.append(Record(owner.lower(), ttl, kind, rdata.split(" ;{")[0].strip()))
    return found
