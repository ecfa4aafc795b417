# SPDX-License-Identifier: GPL-2.0-or-later
"""Dynamic updates: their rate, and their effect on queries.

Updates are signed by TSIG and acknowledged when they are durable.  They come from a client in C,
which has signed them beforehand and keeps 224 outstanding over eight UDP sockets (updates.c). Each
adds a name to a zone of 100,000.

Readers ask 2,000 times a second (reader.c). Measured is the 99th percentile of the time of answers:
without updates, and with 10,000 updates a second or as many as a server takes. The cost of a query,
while dnsperf asks as fast as it can, is the server's processor time minus the time that the same
number of updates takes alone.
"""

from __future__ import annotations

import base64
import contextlib
import random
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import process, tools, wait
from lab.base.net import Namespace, Network
from lab.dns import bind
from lab.dns import products as dns_peers
from lab.dns import room as dns_room
from lab.dns.products import BIND, KNOT, OURS

from ..base import report
from ..base.loads import Metric
from ..cvsw import spent
from . import bed, server

KINDS = (OURS, BIND, KNOT)
_ORIGIN = "example."
_NAMES = 100_000
_QUESTIONS = 50_000
_PORT = 5300
_KEY = "bench."
_SECRET = b"a secret of the benchmark's own."
_READS = 2000
#: Updates a second beside readers; the goal.
PACE = 10_000
#: A server whose maximum is below the pace gets this part of its maximum.
_PART = 0.8
_A = 1
#: Seconds until updates have begun, and until a program has ended.
_BEFORE, _SLACK = 0.5, 30
_LOAD = ("-T", "1", "-c", "16", "-q", "200")

UPDATES = Metric("updates", "1/s", True, "Updates, durable")
COST = Metric("update-cpu", "us", False, "CPU an update")
P99 = Metric("p99", "us", False, "99th percentile of answers, no updates")
P99_BUSY = Metric("p99-updates", "us", False, "99th percentile of answers, with updates")
PACED = Metric("p99-pace", "1/s", True, "updates meanwhile", compared=False)
QUERY = Metric("query-cpu", "us", False, "CPU a query, no updates")
QUERY_BUSY = Metric("query-cpu-updates", "us", False, "CPU a query, with updates")
RATIO = Metric("p99-ratio", "x", False, "99th percentile of answers, with updates / without")
METRICS = (UPDATES, COST, P99, P99_BUSY, RATIO, PACED, QUERY, QUERY_BUSY)

_OURS = """\
server:
  listen: ["{address}@{port}"]
  threads: 1
  user: nobody
  control: {folder}/control.sock
keys:
  - name: {key}
    secret-file: {folder}/secret
zones:
  - name: {origin}
    image: {folder}/zone.vzi
    allow-update: [{key}]
"""
_BIND = """\
key "{key}" {{ algorithm hmac-sha256; secret "{secret}"; }};
options {{
    directory "{folder}"; pid-file "bind.pid"; session-keyfile "session.key"; {lock}
    listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};
    recursion no; dnssec-validation no; notify no; minimal-responses yes; update-quota 1000;
}};
controls {{ }};
zone "{origin}" {{ type primary; file "{folder}/zone"; allow-update {{ key "{key}"; }}; }};
"""
_KNOT = """\
server:
    listen: {address}@{port}
    rundir: {folder}
    udp-workers: 1
    tcp-workers: 1
database:
    storage: {folder}/knot
key:
  - id: {key}
    algorithm: hmac-sha256
    secret: {secret}
acl:
  - id: updates
    key: {key}
    action: update
template:
  - id: default
    storage: {folder}
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: changes
    semantic-checks: off
zone:
  - domain: {origin}
    file: zone
    acl: updates
"""


@dataclass
class Found:
    """What was measured."""

    values: bed.Values = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Updated:
    """Report of updates.c."""

    acknowledged: int
    refused: int
    again: int
    seconds: float
    #: Seconds of time.monotonic(), and the number of acknowledged updates.
    course: tuple[tuple[float, int], ...] = ()

    def between(self, begin: float, end: float) -> int:
        """Return the updates acknowledged between two moments."""
        until = [
            max((count for at, count in self.course if at <= moment), default=0)
            for moment in (begin, end)
        ]
        return until[1] - until[0]

    @property
    def rate(self) -> float:
        """Durable updates a second."""
        return self.acknowledged / self.seconds if self.seconds else 0.0


def read_updates(text: str) -> Updated:
    """Parse the output of updates.c; refused updates make the result invalid."""
    found = re.search(
        r"^acknowledged (\d+) refused (\d+) again (\d+) seconds ([\d.]+)$", text, re.M
    )
    if not found or int(found[2]) or not int(found[1]):
        raise RuntimeError(f"updates: {text[-200:]}")
    course = [
        (int(at) / 1e9, int(count)) for at, count in re.findall(r"^at (\d+) (\d+)$", text, re.M)
    ]
    again, seconds = int(found[3]), float(found[4])
    return Updated(int(found[1]), int(found[2]), again, seconds, tuple(course))


def read_reader(text: str) -> float:
    """99th percentile of the time of answers, in microseconds."""
    found = re.search(r" p99 ([\d.]+) ", text)
    if not found:
        raise RuntimeError(f"reader: {text}")
    return float(found[1])


@dataclass(frozen=True)
class _Bed:
    space: Namespace
    folder: Path
    zone: Path
    asked: Path
    updates: Path
    reader: Path

    @contextlib.contextmanager
    def serving(self, kind: str) -> Iterator[list[int]]:
        """Start a server with the original zone; yields its pids."""
        folder = self.folder / f"changing-{kind}"
        # Rounds must not find each other's journals.
        tools.run(["rm", "-rf", folder])
        folder.mkdir()
        command = self.command(kind, folder)
        log = self.folder / f"changing-{kind}.log"
        with (
            bed.logged(log),
            log.open("wb") as out,
            self.space.started(command, stdout=out, stderr=out) as child,
        ):
            wait.listening(child.pid, _PORT, "tcp")
            wait.until(self.is_ready, f"{kind} has its zone")
            yield bed.family(child.pid)

    def is_ready(self) -> bool:
        """Return whether the server answers all given questions."""
        done = self.space.run([self.reader, str(_PORT), self.asked, "10", "0.2"])
        return " lost 0 " in done.stdout

    def command(self, kind: str, folder: Path) -> Sequence[str | Path]:
        """Write a server's configuration; return the command that runs it."""
        secret = secret_text()
        config = folder / "conf"
        text = {OURS: _OURS, BIND: _BIND, KNOT: _KNOT}[kind]
        config.write_text(
            text.format(
                address=dns_peers.ADDRESS,
                port=_PORT,
                folder=folder,
                key=_KEY.rstrip("."),
                secret=secret,
                origin=_ORIGIN,
                lock=bind.lock() if kind == BIND else "",
            )
        )
        if kind == OURS:
            (folder / "secret").write_text(f"{secret}\n")
            image: list[str | Path] = [dns_room.program("vmmnet-zone"), "compile", _ORIGIN]
            tools.run([*image, self.zone, "-o", folder / "zone.vzi"])
            tools.run(["chown", "-R", "nobody", folder])
            return [dns_room.program("vmmnet-dnsd"), config]
        tools.run(["cp", self.zone, folder / "zone"])
        if kind == BIND:
            return ["named", "-g", "-n", "1", "-c", config]
        (folder / "knot").mkdir()
        return ["knotd", "-c", config]

    def change(self, prefix: str, seconds: float, rate: int) -> subprocess.Popen[bytes]:
        """Start the updates."""
        words = [str(_PORT), _ORIGIN, _KEY, _SECRET.hex(), prefix, str(seconds), str(rate)]
        return process.start([self.updates, *words], netns=self.space.netns, stdout=subprocess.PIPE)

    def read(self, seconds: float) -> float:
        """Return the 99th percentile of the time of answers."""
        words: list[str | Path] = [self.reader, str(_PORT), self.asked, str(_READS), str(seconds)]
        return read_reader(self.space.run(words).stdout)

    def ask(self, seconds: int) -> server.Run:
        """Ask as fast as one thread can."""
        command: list[str | Path] = ["dnsperf", "-s", dns_peers.ADDRESS, "-p", str(_PORT), "-B"]
        command += ["-d", self.asked, *_LOAD, "-l", str(seconds)]
        return server.read(self.space.run(command).stdout)


def secret_text() -> str:
    """The key's secret in the servers' notation."""
    return base64.b64encode(_SECRET).decode()


def _end(child: subprocess.Popen[bytes], seconds: float) -> Updated:
    try:
        out, _ = child.communicate(timeout=seconds + _SLACK)
    finally:
        process.stop(child)
    return read_updates(out.decode().strip())


@dataclass
class _Visit:
    """Measure one server in one round."""

    bed: _Bed
    pids: list[int]
    seconds: int
    values: dict[str, float] = field(default_factory=dict)

    def _cost(self, begin: spent.Meter) -> float:
        return 1e6 * begin.read()[""]

    def _meter(self) -> spent.Meter:
        return spent.Meter({"": self.pids})

    def quiet(self) -> None:
        """Measure queries alone."""
        self.values[P99.name] = self.bed.read(self.seconds)
        meter = self._meter()
        run = self.bed.ask(self.seconds)
        self.values[QUERY.name] = self._cost(meter) / run.completed

    def flat_out(self) -> None:
        """Measure as many updates as the server takes."""
        child = self.bed.change("a", self.seconds, 0)
        self.values[UPDATES.name] = _end(child, self.seconds).rate

    def busy(self) -> None:
        """Measure updates at a fixed rate: alone, with readers, and with the maximum of queries."""
        rate = int(min(PACE, _PART * self.values[UPDATES.name]))
        meter = self._meter()
        alone = _end(self.bed.change("b", self.seconds, rate), self.seconds)
        cost = self._cost(meter) / alone.acknowledged
        child = self.bed.change("c", self.seconds + 2 * _BEFORE, rate)
        time.sleep(_BEFORE)
        self.values[P99_BUSY.name] = self.bed.read(self.seconds)
        self.values[PACED.name] = _end(child, self.seconds).rate
        self.values[COST.name] = cost
        self.values[RATIO.name] = self.values[P99_BUSY.name] / self.values[P99.name]
        self.values[QUERY_BUSY.name] = self._beside(cost, rate)

    def _beside(self, cost: float, rate: int) -> float:
        """Return a query's cost beside updates; an update alone costs ``cost``."""
        child = self.bed.change("d", self.seconds + 2 * _BEFORE, rate)
        time.sleep(_BEFORE)
        meter, began = self._meter(), time.monotonic()
        run = self.bed.ask(self.seconds)
        total, ended = self._cost(meter), time.monotonic()
        updates = _end(child, self.seconds).between(began, ended)
        return (total - cost * updates) / run.completed


def _measure(bed_: _Bed, found: Found, number: int, kind: str, seconds: int) -> None:
    with bed_.serving(kind) as pids:
        visit = _Visit(bed_, pids, seconds)
        visit.quiet()
        visit.flat_out()
        visit.busy()
    for metric in METRICS:
        value = visit.values[metric.name]
        found.values[kind, metric.name][number] = value
        print(f"  round {number + 1}, {kind}, {metric.name}: {report.number(value)} {metric.unit}")


def _make(folder: Path) -> tuple[Path, Path]:
    """Write the zone, and questions as dnsperf reads them (-B)."""
    zone, asked = folder / "changing.zone", folder / "changing.questions"
    chance = random.Random(1)
    with zone.open("w") as out:
        out.write("$TTL 300\n@ SOA ns h 1 3600 900 86400 60\n@ NS ns\nns A 192.0.2.1\n")
        for number in range(_NAMES):
            out.write(f"h{number:06} A 10.{number >> 16}.{number >> 8 & 255}.{number & 255}\n")
    with asked.open("wb") as out:
        for _ in range(_QUESTIONS):
            message = bed.question(f"h{chance.randrange(_NAMES):06}.{_ORIGIN}", _A)
            out.write(len(message).to_bytes(2) + message)
    return zone, asked


def measure(rounds: int, seconds: int, folder: Path) -> Found:
    """Measure each server in each round, with a fresh zone."""
    zone, asked = _make(folder)
    found = Found()
    for kind in KINDS:
        for metric in METRICS:
            found.values[kind, metric.name] = [None] * rounds
    with Network() as network:
        programs = (bed.build(name, folder) for name in ("updates", "reader"))
        bed_ = _Bed(network.namespace("dns"), folder, zone, asked, *programs)
        for number in range(rounds):
            for kind in report.turned(KINDS, number):
                try:
                    _measure(bed_, found, number, kind, seconds)
                except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                    found.failures.append(f"round {number + 1}, {kind}, updates: {error}")
                    print(f"  {found.failures[-1]}", flush=True)
    return found
