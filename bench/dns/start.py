# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's figure 2: time from exec() to the first right answer, with a zone of .NET's shape.

The page cache is warm for all, as each file is read once before. Compiling to our image and to
BIND's raw format is measured once. Resident memory counts shared pages once. Ours is measured after
queries for all names, as only used pages of the image are resident; the others have built the whole
zone in memory before their first answer.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import process, tools
from lab.base.net import Namespace, Network
from lab.dns import products as dns_peers
from lab.dns import room as dns_room
from lab.dns.products import BIND, KNOT, NSD, OURS, Setup

from ..base import report
from ..base.loads import Metric
from . import bed

RAW = "BIND raw"
KINDS = (OURS, BIND, RAW, NSD, KNOT)
_ORIGIN = "net."
_PORT = 5300
_NS = 2
#: Seconds that a server may take until its first answer.
_PATIENCE = 600
#: Seconds that queries for all names, some millions, may take.
_ASKING = 3600
_CLIENTS = ("-c", "16", "-T", "1")

READY = Metric("ready", "s", False, "From start to the first right answer")
RESIDENT = Metric("resident", "B", False, "Resident, a record, all names asked")
DISK = Metric("disk", "B", False, "On disk, a record")
COMPILE = Metric("compile", "s", False, "Made from text")
METRICS = (READY, RESIDENT, DISK, COMPILE)


@dataclass
class Found:
    """What was measured."""

    records: int
    values: bed.Values = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Zone:
    """The zone in all its forms, and the time to make each."""

    text: Path
    raw: Path
    image: Path
    #: Queries for all names, as dnsperf reads them.
    names: Path
    #: One of these queries.
    name: str
    seconds: dict[str, float]

    def file(self, kind: str) -> Path:
        """The file that a server reads."""
        return {OURS: self.image, RAW: self.raw}.get(kind, self.text)


def _write(records: int, text: Path) -> None:
    with text.open("wb") as out:
        command: list[str | Path] = [dns_room.program("zonegen"), "--records", str(records)]
        subprocess.run(command, stdout=out, check=True)


def _names(text: Path, names: Path) -> str:
    """Write a question for each owner, in the order of the file; return one of them."""
    last, count, chosen = "", 0, ""
    with text.open() as lines, names.open("w") as out:
        for line in lines:
            owner = line.split(" ", 1)[0]
            if owner == last or owner.startswith(("$", "@")):
                continue
            last = owner
            count += 1
            # The middle is unknown before the end, so take a question far from the beginning.
            if count & (count - 1) == 0:
                chosen = owner
            out.write(f"{owner}.{_ORIGIN} NS\n")
    return f"{chosen}.{_ORIGIN}"


def _timed(command: list[str | Path]) -> float:
    began = time.monotonic()
    tools.run(command)
    return time.monotonic() - began


def _make(records: int, folder: Path) -> _Zone:
    text, raw, image, names = (folder / name for name in ("text", "raw", "net.vzi", "names"))
    _write(records, text)
    name = _names(text, names)
    ours: list[str | Path] = [
        dns_room.program("vmmnet-zone"),
        "compile",
        _ORIGIN,
        text,
        "-o",
        image,
    ]
    peer: list[str | Path] = ["named-compilezone", "-q", "-k", "ignore", "-i", "none", "-F", "raw"]
    seconds = {OURS: _timed(ours), RAW: _timed([*peer, "-o", raw, _ORIGIN, text])}
    return _Zone(text, raw, image, names, name, seconds)


def _setup(kind: str, zone: _Zone, folder: Path) -> tuple[str, Setup]:
    server = BIND if kind == RAW else kind
    file = zone.raw if kind == RAW else zone.text
    return server, Setup(folder, _ORIGIN, file, _PORT, raw=kind == RAW, image=zone.image)


@contextlib.contextmanager
def _started(
    program: Path, space: Namespace, kind: str, zone: _Zone, folder: Path
) -> Iterator[tuple[float, int]]:
    """Start a server; yields the seconds until its answer, and its pid."""
    server, setup = _setup(kind, zone, folder)
    command = list(dns_peers.command(server, setup))
    command[0] = tools.find(str(command[0]))
    query = bed.question(zone.name, _NS, ident=4711).hex()
    log = folder / f"{kind.replace(' ', '-')}.log"
    with log.open("wb") as err:
        child = process.start(
            [program, str(_PORT), query, str(_PATIENCE), *command],
            netns=space.netns,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
        )
    try:
        assert child.stdout is not None and child.stdin is not None
        line = child.stdout.readline().split()
        if len(line) != 2:
            raise RuntimeError(
                f"{kind}: no right answer\n{log.read_text(errors='replace')[-2000:]}"
            )
        yield int(line[0]) / 1e9, int(line[1])
        child.stdin.close()
        child.wait()
    finally:
        process.stop(child)


def _ask_all(space: Namespace, zone: _Zone) -> None:
    command: list[str | Path] = [
        "dnsperf",
        "-s",
        dns_peers.ADDRESS,
        "-p",
        str(_PORT),
        "-d",
        zone.names,
        "-n",
        "1",
    ]
    space.run([*command, *_CLIENTS], timeout=_ASKING)


def _read(path: Path) -> None:
    """Read a file into the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass


@dataclass(frozen=True)
class _Place:
    """Folder, programs and zone for servers."""

    program: Path
    space: Namespace
    zone: _Zone
    folder: Path


def _measure(place: _Place, found: Found, number: int, kind: str) -> None:
    """Start a server once; in the first round, measure its resident memory."""
    zone = place.zone
    _read(zone.file(kind))
    with _started(place.program, place.space, kind, zone, place.folder) as (seconds, pid):
        found.values[kind, READY.name][number] = seconds
        print(f"  round {number + 1}, {kind}: {seconds:.4f} s", flush=True)
        if number == 0:
            if kind == OURS:
                _ask_all(place.space, zone)
            octets = bed.resident(bed.family(pid))
            found.values[kind, RESIDENT.name] = [octets / found.records]


def measure(records: int, rounds: int, folder: Path) -> Found:
    """Start each server once a round; ask for all names in the first round."""
    program = bed.build("start", folder)
    zone = _make(records, folder)
    found = Found(records)
    for kind in KINDS:
        found.values[kind, READY.name] = [None] * rounds
        found.values[kind, DISK.name] = [zone.file(kind).stat().st_size / records]
        if kind in zone.seconds:
            found.values[kind, COMPILE.name] = [zone.seconds[kind]]
    with Network() as network:
        space = network.namespace("dns")
        for number in range(rounds):
            for kind in report.turned(KINDS, number):
                try:
                    _measure(_Place(program, space, zone, folder), found, number, kind)
                except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                    found.failures.append(f"round {number + 1}, {kind}: {error}")
    # The goal compares with the time in which BIND loads the text.
    found.values[BIND, COMPILE.name] = found.values[BIND, READY.name][:1]
    return found
