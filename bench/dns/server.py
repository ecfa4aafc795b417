# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's figure 1: cost of a query for a server of the root, and the gain by threads.

Over UDP, servers are saturated without a load generator on their processors (drain.py). Measured
are the processor time of an answer (all threads of the server, with the kernel's work for it), the
part of it in the server's own code, and answers a second, with one thread and with two, which take
turns. The gain of the second core is the ratio of both rates.

Over TCP, dnsperf asks as fast as one thread can, on the same machine. So rates depend on dnsperf as
much as on the server: a server with two threads waits for dnsperf.

On loopback the kernel accounts the reception of a datagram to its sender, for all servers alike.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import tools, wait
from lab.base.net import Namespace, Network
from lab.dns import products as dns_peers
from lab.dns import room as dns_room
from lab.dns.products import BIND, KNOT, NSD, OURS, UNBOUND, Setup

from ..base import report
from ..base.loads import Metric
from ..cvsw import spent
from . import bed, root
from .drain import Drained, Server, drain

ECHO = "echo"
KINDS = (OURS, NSD, KNOT, BIND, UNBOUND, ECHO)
#: The same peers of this machine.
OWN = {f"{kind} {tools.OWN_SUITE}": kind for kind in (NSD, KNOT, BIND, UNBOUND)}
THREADS = (1, 2)
#: Numbers of cores with estimated rates.
BEYOND = (4, 8, 16)
TRANSPORTS = ("udp", "tcp")
_PORT = 5300
#: With 16 connections dnsperf 2.10 repeatedly waits for a delayed acknowledgement of one of them:
#: 23 queries a second.
_CLIENTS = ("-c", "4", "-q", "100")
_WARM_UP = 1
#: Fewer answers mean that a connection failed.
_ANSWERED_MIN = 500
#: Seconds for one reply.
_ANSWER_EACH = 0.2
_SOA = 6
#: RCODEs of the answers to our questions.
_ANSWERS = ("NOERROR", "NXDOMAIN")

#: The metric for the gain of two cores over one.
SCALING = "scaling-udp"

#: A transport and a number of threads.
Point = tuple[str, int]
POINTS: tuple[Point, ...] = tuple(
    (transport, threads) for transport in TRANSPORTS for threads in THREADS
)


def cost_name(point: Point) -> str:
    """The metric of a point."""
    return f"cpu-{point[0]}-{point[1]}"


def user_name(threads: int) -> str:
    """The metric of the part in the server's own code, over UDP."""
    return f"user-udp-{threads}"


def _metrics() -> Iterator[Metric]:
    for transport, threads in POINTS:
        plural = f"{threads} thread{'s' if threads > 1 else ''}"
        title = f"CPU a query, {transport.upper()}, {plural}"
        yield Metric(cost_name((transport, threads)), "us", False, title)
        if transport == "udp":
            yield Metric(user_name(threads), "us", False, f"of that, outside the kernel, {plural}")
    yield Metric(SCALING, "x", True, "Two cores against one, UDP, of measured rates")


METRICS = tuple(_metrics())


@dataclass
class Found:
    """Results: answers a second beside the costs."""

    values: bed.Values = field(default_factory=dict)
    rates: bed.Values = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """Report of dnsperf."""

    completed: int
    lost: int
    rate: float


def read(text: str) -> Run:
    """Parse dnsperf's report."""
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
    """Gain of two cores over one, from the rates with one thread and with two."""
    return [b / a if a and b else None for a, b in zip(one, two, strict=True)]


def by_cost(found: Found, kind: str) -> list[float | None]:
    """The same gain from the processor time of a query: the gain if no thread ever waited."""
    one, two = (found.values.get((kind, cost_name(("udp", n))), []) for n in THREADS)
    return [2 * a / b if a and b else None for a, b in zip(one, two, strict=True)]


def beyond(twice: float, threads: int) -> float:
    """Estimate the gain of several cores over one, from that of two.

    Assumes that each further thread adds as much to the time of a query as the second one.
    """
    added = max(0.0, 2 / twice - 1)
    return threads / (1 + (threads - 1) * added)


@dataclass(frozen=True)
class _Bed:
    space: Namespace
    folder: Path
    zone: Path
    #: The zone for our server.
    image: Path
    asked: Path
    echo: Path
    drain: Path

    @contextlib.contextmanager
    def serving(self, kind: str, threads: int) -> Iterator[Server]:
        """A server; its port is unique among servers of its kind."""
        port = _PORT + threads
        folder = self.folder / f"{kind}-{threads}".replace(" ", "-")
        folder.mkdir(exist_ok=True)
        setup = Setup(folder, root.ORIGIN, self.zone, port, threads, image=self.image)
        command: Sequence[str | Path] = [self.echo, str(port), str(threads)]
        if kind != ECHO:
            command = dns_peers.command(OWN.get(kind, kind), setup)
        if kind in OWN:
            command = [tools.find_own(str(command[0])), *command[1:]]
        log = folder / "log"
        with (
            bed.logged(log),
            log.open("wb") as out,
            self.space.started(command, stdout=out, stderr=out) as child,
        ):
            wait.listening(child.pid, port, "udp" if kind == ECHO else "tcp")
            if kind != ECHO:
                wait.until(lambda: self.is_ready(port), f"{kind} has its zone")
            yield Server(port, bed.family(child.pid))

    def is_ready(self, port: int) -> bool:
        """Return whether the server answers: some servers listen before they have read the zone."""
        with self.space.entered():
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with asking:
            asking.settimeout(_ANSWER_EACH)
            asking.connect((dns_peers.ADDRESS, port))
            try:
                asking.send(bed.question(root.ORIGIN, _SOA))
                reply = asking.recv(4096)
            except OSError:
                return False
        return not reply[3] & 0x0F and reply[7] > 0

    def saturate(self, servers: Sequence[Server], seconds: int) -> list[Drained]:
        """Measure the maximum of each server over UDP."""
        return drain(self.space, self.drain, self.asked, servers, seconds)

    def ask(self, port: int, seconds: int) -> Run:
        """Measure over TCP, as fast as one thread of dnsperf can."""
        command = ["dnsperf", "-s", dns_peers.ADDRESS, "-p", str(port), "-m", "tcp"]
        command += ["-B", "-d", str(self.asked), "-T", "1", *_CLIENTS]
        return read(self.space.run([*command, "-l", str(seconds)]).stdout)


@dataclass(frozen=True)
class _Place:
    """Lists for the values of a measurement."""

    found: Found
    number: int
    kind: str
    threads: int

    def put(self, transport: str, cost: float, rate: float) -> None:
        """Add the cost of a query and answers a second."""
        name = cost_name((transport, self.threads))
        self.found.values[self.kind, name][self.number] = cost
        self.found.rates[self.kind, name][self.number] = rate
        shown = f"{cost:.2f} us a query, {rate:.0f} 1/s"
        print(f"  round {self.number + 1}, {self.kind}, {self.threads}, {transport}: {shown}")

    def put_drained(self, drained: Drained) -> None:
        """Add the same values over UDP, and the part of the server's own code."""
        self.put("udp", drained.cost, drained.rate)
        self.found.values[self.kind, user_name(self.threads)][self.number] = drained.user


def _measure(bed_: _Bed, places: Sequence[_Place], seconds: int) -> None:
    """Measure one kind of server with each number of threads."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(bed_.serving(each.kind, each.threads)) for each in places]
        bed_.saturate(servers, _WARM_UP)
        for place, drained in zip(places, bed_.saturate(servers, seconds), strict=True):
            place.put_drained(drained)
        for place, server in zip(places, servers, strict=True):
            if place.kind == ECHO:
                continue
            meter = spent.Meter({place.kind: server.pids})
            run = bed_.ask(server.port, seconds)
            place.put("tcp", 1e6 * meter.read()[place.kind] / run.completed, run.rate)


def kinds(found: Found) -> list[str]:
    """Return those that were measured, or were to be."""
    known = {kind for kind, _ in found.values}
    return [kind for kind in (*KINDS, *OWN) if kind in known]


def _empty(found: Found, rounds: int, wanted: Sequence[str]) -> None:
    for kind in wanted:
        for transport, threads in POINTS:
            if kind != ECHO or transport == "udp":
                name = cost_name((transport, threads))
                found.values[kind, name] = [None] * rounds
                found.rates[kind, name] = [None] * rounds
                if transport == "udp":
                    found.values[kind, user_name(threads)] = [None] * rounds


def _compare(found: Found) -> None:
    for kind in kinds(found):
        one, two = (found.rates[kind, cost_name(("udp", n))] for n in THREADS)
        found.values[kind, SCALING] = scaling(one, two)


def measure(rounds: int, seconds: int, folder: Path, wanted: Sequence[str] = KINDS) -> Found:
    """Measure each server with one thread and with two, in each round."""
    zone, asked = root.make(folder)
    image = folder / "root.vzi"
    tools.run([dns_room.program("vmmnet-zone"), "compile", root.ORIGIN, zone, "-o", image])
    found = Found()
    _empty(found, rounds, wanted)
    with Network() as network:
        programs = (bed.build(name, folder) for name in ("echo", "drain"))
        bed_ = _Bed(network.namespace("dns"), folder, zone, image, asked, *programs)
        for number in range(rounds):
            for kind in report.turned(wanted, number):
                places = [_Place(found, number, kind, threads) for threads in THREADS]
                try:
                    _measure(bed_, places, seconds)
                except (RuntimeError, OSError) as error:
                    found.failures.append(f"round {number + 1}, {kind}: {error}")
                    print(f"  {found.failures[-1]}", flush=True)
    _compare(found)
    return found
