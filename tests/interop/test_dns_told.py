# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged images and wrong master files: what each is told.  All of it is in build/dns-told.md."""

from __future__ import annotations

import contextlib
import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import pytest
from lab.base import conditions, paths, scratch, wait
from lab.base.net import Namespace, Network
from lab.dns import dnsd, zones
from lab.dns.dnsd import Dnsd

REPORT = paths.BUILD / "dns-told.md"
HEAD = """\
$TTL 3600
@ SOA ns hostmaster 7 3600 600 86400 300
@ NS ns
ns A 192.0.2.1
"""
#: Some pages of data, so that a damage can be far from where it is looked for first.
NAMES = 100
ZONE = HEAD + "".join(f'n{number} TXT "{"x" * 200}"\n' for number in range(NAMES))


def _section(data: bytearray, number: int) -> int:
    return zones.section(data, number)[0]


def _flip(data: bytearray, at: int) -> bytes:
    data[at] ^= 1
    return bytes(data)


def _swapped(data: bytearray) -> bytes:
    """HASH and ORDER change places in the table, with checksums that fit."""
    at = zones.SECTIONS + 24 * zones.HASH
    data[at : at + 48] = data[at + 24 : at + 48] + data[at : at + 24]
    return zones.sealed(data)


def _with(data: bytearray, at: int, form: str, value: int) -> bytes:
    """Another number in the header, with a checksum that fits."""
    struct.pack_into(form, data, at, value)
    return zones.sealed(data)


def _big_endian(data: bytearray) -> bytes:
    """As a program of the other byte order would have written the version."""
    return _with(data, 8, ">I", 1)


def _foreign(data: bytearray) -> bytes:
    """An ELF program."""
    return Path("/bin/true").read_bytes()


def _text(data: bytearray) -> bytes:
    """The master file itself."""
    return ZONE.encode()


@dataclass(frozen=True)
class Damage:
    """What is done to an image, and what has to be told: a section with an offset, and why."""

    what: str
    do: Callable[[bytearray], bytes | bytearray]
    where: str
    told: str


DAMAGES = [
    Damage("cut in the header", lambda data: data[:1000], "header, offset 1000", "ends within"),
    Damage("cut behind the header", lambda data: data[:4096], "header, offset 16", "shorter"),
    Damage(
        "cut in the middle of NODES",
        lambda data: data[: _section(data, zones.NODES) + 6000],
        "header, offset 16",
        "shorter than its header says",
    ),
    Damage("the last page is missing", lambda data: data[:-4096], "header, offset 16", "shorter"),
    Damage("4096 octets more", lambda data: data + bytes(4096), "header, offset 16", "longer"),
    Damage("a bit of the header", lambda data: _flip(data, 40), "header, offset 12", "checksum"),
    Damage(
        "a bit of a record",
        lambda data: _flip(data, data.index(b"xxxx") + 9000),
        "NODES",
        "checksum is wrong",
    ),
    Damage(
        "a bit of HASH", lambda data: _flip(data, _section(data, zones.HASH)), "HASH", "checksum"
    ),
    Damage(
        "a bit of SUMS", lambda data: _flip(data, _section(data, zones.SUMS)), "SUMS", "checksum"
    ),
    Damage("two sections swapped", _swapped, "HASH, offset 376", "not within the file"),
    Damage("version 2", lambda data: _with(data, 8, "<I", 2), "header, offset 8", "version"),
    Damage("the other byte order", _big_endian, "header, offset 8", "version"),
    Damage("nothing is left", lambda data: data[:0], "", ""),
    Damage("a program", _foreign, "", "no zone image"),
    Damage("a master file", _text, "", "no zone image"),
]


@dataclass(frozen=True)
class Wrong:
    """A master file, the line of the mistake, and what has to be told: what, and what is right."""

    what: str
    text: str
    line: int
    told: str
    #: Other files, by name.
    more: dict[str, str] = field(default_factory=dict)
    status: int = 1

    @property
    def place(self) -> str:
        """Where the mistake is."""
        file = next(iter(self.more), "example.zone")
        return f"{file}, line {self.line}" if self.line else file

    @property
    def shown(self) -> str:
        """The line; all of it, if none is wrong by itself."""
        text = next(iter(self.more.values()), self.text)
        line = text.splitlines()[self.line - 1] if self.line else text
        return line if len(line) < 80 else f"{line[:60]}..."


WRONG = [
    Wrong("a parenthesis that is not closed", f'{HEAD}a TXT ( "b"\n', 5, "nothing closes this ("),
    Wrong("a parenthesis that was not opened", f'{HEAD}a TXT "b" )\n', 5, "a ) without a ("),
    Wrong("a quote that is not closed", f'{HEAD}a TXT "b\nb A 192.0.2.1\n', 5, 'a " is missing'),
    Wrong("an unknown type", f"{HEAD}a AAAAA 192.0.2.1\n", 5, "AAAAA"),
    Wrong("a TTL that is none", f"{HEAD}a 1x A 192.0.2.1\n", 5, "1x"),
    Wrong("$TTL without a number", f"$TTL soon\n{HEAD}", 1, "soon"),
    Wrong("an address of 5 numbers", f"{HEAD}a A 192.0.2.1.1\n", 5, "192.0.2.1.1"),
    Wrong("a name that is too long", f"{HEAD}{'a' * 64} A 192.0.2.1\n", 5, "63"),
    Wrong("base64 that is none", f"{HEAD}@ DNSKEY 256 3 13 AwEA*Q==\n", 5, "is no base64"),
    Wrong(
        "a name outside of the zone",
        f"{HEAD}www.example.net. A 192.0.2.1\n",
        5,
        "is not in the zone example. and is left out",
        status=0,
    ),
    Wrong("no SOA", "$TTL 1\n@ NS ns\nns A 192.0.2.1\n", 0, "SOA"),
    Wrong("two SOAs", f"{HEAD}@ SOA ns root 8 1 1 1 1\n", 5, "line 2"),
    Wrong("CNAME and other data", f"{HEAD}a CNAME ns\na A 192.0.2.9\n", 5, "line 6"),
    Wrong("$INCLUDE of no file", f"{HEAD}$INCLUDE missing.zone\n", 5, "missing.zone"),
    Wrong(
        "$INCLUDE in a circle",
        f"{HEAD}$INCLUDE one.zone\n",
        1,
        "does one include itself?",
        {"one.zone": "$INCLUDE two.zone\n", "two.zone": "$INCLUDE one.zone\n"},
    ),
    Wrong("$GENERATE without an end", f"{HEAD}$GENERATE 1- a$ A 192.0.2.$\n", 5, "1-"),
    Wrong("$GENERATE beyond an address", f"{HEAD}$GENERATE 250-260 a$ A 192.0.2.$\n", 5, "256"),
    Wrong("an unknown directive", f"{HEAD}$ORIGINS example.\n", 5, "$ORIGIN"),
]


class Report:
    """What is told, for the page."""

    def __init__(self) -> None:
        self._lines = [conditions.machine(), ""]

    def head(self, title: str, text: str) -> None:
        """A section, and what it shows."""
        self._lines += [f"## {title}", "", text, ""]

    def add(self, what: str, told: dict[str, str], folder: Path) -> None:
        """One thing that is wrong, and what each program says; the same is there once."""
        self._lines += [f"**{what}**", ""]
        programs: dict[str, list[str]] = {}
        for program, text in told.items():
            programs.setdefault(text.replace(f"{folder}/", "").strip(), []).append(program)
        for text, names in programs.items():
            indented = (f"      {line}" for line in text.splitlines())
            self._lines += [f"    {', '.join(names)}", *indented, ""]

    def write(self) -> None:
        """Put it where it belongs."""
        REPORT.write_text("\n".join(self._lines))


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    """Written when all tests have had their say."""
    made = Report()
    yield made
    made.write()


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """Where the server runs."""
    with Network() as network:
        yield network.namespace("host")


@dataclass(frozen=True)
class Served:
    """What a server with a damaged image says and does."""

    log: str
    answers: Counter[str]

    @property
    def summary(self) -> str:
        """What became of the queries, in words."""
        return ", ".join(f"{count} {what}" for what, count in self.answers.items())


def _served(host: Namespace, folder: Path, server: Dnsd) -> Served:
    """The server is asked for all names; no answer is a wrong one."""
    answers = Counter[str]()
    with contextlib.suppress(RuntimeError), server, host.entered():
        for number in range(NAMES):
            query = dns.message.make_query(f"n{number}.example", "TXT")
            reply = dns.query.udp(query, "127.0.0.1", timeout=wait.PATIENCE)
            assert reply.rcode() in (dns.rcode.NOERROR, dns.rcode.SERVFAIL)
            right = [f'"{"x" * 200}"']
            assert [str(data) for rrset in reply.answer for data in rrset] in ([], right)
            answers["answered right" if reply.answer else dns.rcode.to_text(reply.rcode())] += 1
    log = "\n".join(line for line in server.log.read_text().splitlines() if "vzi" in line)
    return Served(log, answers)


def test_damaged_images(host: Namespace, report: Report) -> None:
    """Each names the file, the section and the offset, what is wrong there and what helps."""
    report.head(
        "Damaged images",
        "An image of a zone is damaged, or another file is put in its place. What the tool says "
        "that checks it, what the server says, asked to check its configuration or to serve it, "
        f"and what became of {NAMES} queries for names of the zone. No answer is a wrong one.",
    )
    missing = []
    for damage in DAMAGES:
        with scratch.folder() as name:
            folder = Path(name)
            folder.chmod(0o755)
            image = zones.compiled(folder, "example", ZONE)
            image.write_bytes(damage.do(bytearray(image.read_bytes())))
            done = zones.zone("check", image)
            server = Dnsd(host, folder, {"zones": [{"name": "example", "image": str(image)}]})
            checked = dnsd.check(server.file)
            served = _served(host, folder, server)
            told = {
                "vmmnet-zone check": done.stderr,
                "vmmnet-dnsd --check": checked.stderr + checked.stdout,
                "vmmnet-dnsd": served.log,
                f"{NAMES} queries": served.summary,
            }
            report.add(damage.what, told, folder)
            assert done.returncode and checked.returncode == 1
            assert served.answers["SERVFAIL"]
            for text in (done.stderr, checked.stderr, served.log):
                is_told = all(part in text for part in (str(image), damage.where, damage.told))
                if not is_told:
                    missing.append((damage, text))
    assert not missing


def test_a_bit_of_each_page() -> None:
    """Whichever page it is in, both programs that look at all of an image find it."""
    dice = random.Random(31)
    with scratch.folder() as name:
        folder = Path(name)
        image = zones.compiled(folder, "example", ZONE)
        whole = image.read_bytes()
        config = folder / "dnsd.yaml"
        config.write_text(json.dumps({"zones": [{"name": "example", "image": str(image)}]}))
        assert dnsd.check(config).returncode == 0
        pages = len(whole) // zones.PAGE
        assert pages > 8
        for page in range(pages):
            at = zones.PAGE * page + dice.randrange(zones.PAGE)
            damaged = bytearray(whole)
            damaged[at] ^= 1 << dice.randrange(8)
            image.write_bytes(damaged)
            for done in (zones.zone("check", image), dnsd.check(config)):
                print(done.stderr, end="")
                assert done.returncode and str(image) in done.stderr and not done.stdout
                if 0 < page < pages - 1:
                    assert f"offset {zones.PAGE * page}" in done.stderr


def test_wrong_master_files(report: Report) -> None:
    """The file, the line, what is wrong and what would be right."""
    report.head(
        "Wrong master files",
        "A master file has a mistake. What it has in that line, and what is said when it is "
        "compiled: the file, the line, the column where there is one, and what would be right. "
        "No image is made; where there is one already, it stays.",
    )
    missing = []
    for wrong in WRONG:
        with scratch.folder() as name:
            folder = Path(name)
            for other, text in wrong.more.items():
                (folder / other).write_text(text)
            source = folder / "example.zone"
            source.write_text(wrong.text)
            done = zones.zone("compile", "example.", source, "-o", folder / "example.vzi")
            told = {wrong.place: wrong.shown, "vmmnet-zone compile": done.stderr}
            report.add(wrong.what, told, folder)
            assert done.returncode == wrong.status
            assert (folder / "example.vzi").exists() == (wrong.status == 0)
            file = folder / ("one.zone" if wrong.more else "example.zone")
            place = f"{file}:{wrong.line}:" if wrong.line else "example.: error:"
            lines = [line for line in done.stderr.splitlines() if line.startswith(place)]
            if not any(wrong.told in line for line in lines):
                missing.append((wrong.what, wrong.told, done.stderr))
    assert not missing
