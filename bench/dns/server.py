# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's figure 1: what a query costs a server like the root's, and what threads add.

dnsperf asks as fast as it can, on the same machine. So rates say as much about dnsperf as
about a server, and processor time is what counts: user and system time of all threads of
the server, the kernel's work for it included, for each query that was answered. On
loopback the kernel's work to receive a datagram is done in the time of who has sent it,
for all servers alike.

The rate that a core gives is a second divided by that time. What two cores give against
one is reckoned in the same way: twice the time of a query with one thread, divided by
that with two, which has all that threads cost each other.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vmmnet.testbed import dns_peers, wait
from vmmnet.testbed.dns_peers import BIND, KNOT, NSD, OURS, Setup
from vmmnet.testbed.net import Namespace, Network

from .. import report
from ..cvsw import spent
from ..loads import Metric
from . import bed, root

ECHO = "echo"
KINDS = (OURS, NSD, KNOT, BIND, ECHO)
THREADS = (1, 2)
TRANSPORTS = ("udp", "tcp")
_PORT = 5300
#: With 16 connections dnsperf 2.10 waits, again and again, for one of them and its delayed
#: acknowledgement: 23 queries a second.
_CLIENTS = {"udp": ("-c", "16", "-q", "200"), "tcp": ("-c", "4", "-q", "100")}
_WARM_UP = 1
#: Fewer answers than these are a connection that did not come about, not a cost.
_ANSWERED_MIN = 500
#: Seconds for one reply.
_ANSWER_EACH = 0.2
_SOA = 6
#: RCODEs of the questions that are asked.
_ANSWERS = ("NOERROR", "NXDOMAIN")

#: One transport and a number of threads.
Point = tuple[str, int]
POINTS: tuple[Point, ...] = tuple(
    (transport, threads) for transport in TRANSPORTS for threads in THREADS
)


def cost_name(point: Point) -> str:
    """The metric of a point."""
    return f"cpu-{point[0]}-{point[1]}"


def _metrics() -> Iterator[Metric]:
    for transport, threads in POINTS:
        plural = f"{threads} thread{'s' if threads > 1 else ''}"
        title = f"CPU a query, {transport.upper()}, {plural}"
        yield Metric(cost_name((transport, threads)), "us", False, title)
    for transport in TRANSPORTS:
        title = f"Two cores against one, {transport.upper()}, reckoned"
        yield Metric(f"scaling-{transport}", "x", True, title)


METRICS = tuple(_metrics())


@dataclass
class Found:
    """What was measured; rates, which are also dnsperf's, beside the costs."""

    values: bed.Values = field(default_factory=dict)
    rates: bed.Values = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """What dnsperf says."""

    completed: int
    lost: int
    rate: float


def read(text: str) -> Run:
    """Take the numbers out of dnsperf's report."""
    found = [
        re.search(rf"^\s+{name}:\s+([\d.]+)", text, re.MULTILINE)
        for name in ("Queries completed", "Queries lost", "Queries per second")
    ]
    completed, lost, rate = (float(each[1]) if each else 0.0 for each in found)
    if completed < _ANSWERED_MIN:
        raise RuntimeError(f"dnsperf: {completed:.0f} answers tell nothing\n{text[-2000:]}")
    codes = re.search(r"^\s+Response codes:\s+(.*)$", text, re.MULTILINE)
    for code in codes[1].split(", ") if codes else ["none"]:
        if code.split()[0] not in _ANSWERS:
            raise RuntimeError(f"dnsperf: no answers of a root server: {code}")
    return Run(int(completed), int(lost), rate)


def scaling(one: report.Rounds, two: report.Rounds) -> list[float | None]:
    """What two cores give against one, of the time of a query with one thread and with two."""
    return [2 * a / b if a and b else None for a, b in zip(one, two, strict=True)]


def beyond(twice: float, threads: int) -> float:
    """What so many cores give against one, by what two give.

    What the second thread has added to the time of a query, each further one adds again.
    """
    added = max(0.0, 2 / twice - 1)
    return threads / (1 + (threads - 1) * added)


@dataclass(frozen=True)
class _Bed:
    space: Namespace
    folder: Path
    zone: Path
    asked: Path
    echo: Path

    @contextlib.contextmanager
    def serving(self, kind: str, threads: int) -> Iterator[int]:
        """A server and its pid."""
        setup = Setup(self.folder, root.ORIGIN, self.zone, _PORT, threads, image=self.image())
        command: Sequence[str | Path] = [self.echo, str(_PORT), str(threads)]
        if kind != ECHO:
            command = dns_peers.command(kind, setup)
        log = self.folder / f"{kind}.log"
        with (
            log.open("ab") as out,
            self.space.started(command, stdout=out, stderr=out) as child,
        ):
            wait.listening(child.pid, _PORT, "udp" if kind == ECHO else "tcp")
            if kind != ECHO:
                wait.until(self.is_ready, f"{kind} has its zone")
            self.ask("udp", _WARM_UP)
            yield child.pid

    def is_ready(self) -> bool:
        """Whether there is an answer: some listen before they have read the zone."""
        with self.space.entered():
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with asking:
            asking.settimeout(_ANSWER_EACH)
            asking.connect((dns_peers.ADDRESS, _PORT))
            try:
                asking.send(bed.question(root.ORIGIN, _SOA))
                reply = asking.recv(4096)
            except OSError:
                return False
        return not reply[3] & 0x0F and reply[7] > 0

    def image(self) -> Path | None:
        """Ours, if it is there already."""
        path = self.folder / "ours.image"
        return path if path.exists() else None

    def ask(self, transport: str, seconds: int) -> Run:
        """Ask as fast as one thread can."""
        command = ["dnsperf", "-s", dns_peers.ADDRESS, "-p", str(_PORT), "-m", transport]
        command += ["-B", "-d", str(self.asked), "-T", "1", *_CLIENTS[transport]]
        return read(self.space.run([*command, "-l", str(seconds)]).stdout)


def _measure(bed_: _Bed, found: Found, number: int, kind: str, threads: int, time: int) -> None:
    with bed_.serving(kind, threads) as pid:
        for transport in TRANSPORTS if kind != ECHO else ("udp",):
            meter = spent.Meter({kind: bed.family(pid)})
            run = bed_.ask(transport, time)
            cost = 1e6 * meter.read()[kind] / run.completed
            name = cost_name((transport, threads))
            found.values[kind, name][number] = cost
            found.rates[kind, name][number] = run.rate
            shown = f"{cost:.2f} us a query, {run.rate:.0f} 1/s, {run.lost} lost"
            print(f"  round {number + 1}, {kind}, {threads}, {transport}: {shown}", flush=True)


def measure(rounds: int, seconds: int, folder: Path) -> Found:
    """Each server with one thread and with two, in each round."""
    zone, asked = root.make(folder)
    found = Found()
    for kind in KINDS:
        for point in POINTS:
            if kind != ECHO or point[0] == "udp":
                found.values[kind, cost_name(point)] = [None] * rounds
                found.rates[kind, cost_name(point)] = [None] * rounds
    with Network() as network:
        space = network.namespace("dns")
        bed_ = _Bed(space, folder, zone, asked, bed.build("echo", folder))
        for number in range(rounds):
            for kind in report.turned(KINDS, number):
                for threads in THREADS:
                    try:
                        _measure(bed_, found, number, kind, threads, seconds)
                    except (RuntimeError, OSError) as error:
                        found.failures.append(f"round {number + 1}, {kind}, {threads}: {error}")
    for kind in KINDS:
        for transport in TRANSPORTS:
            one, two = (found.values.get((kind, cost_name((transport, n)))) for n in THREADS)
            if one and two:
                found.values[kind, f"scaling-{transport}"] = scaling(one, two)
    return found
