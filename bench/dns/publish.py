# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, goals and files of the benchmark of DNS."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import conditions
from lab.dns import products as dns_peers

from ..base import report
from ..base.loads import Metric
from ..base.report import Comparison, Spread
from . import bed, changing, client, figures, guest, server, start

_READY_S, _RESIDENT, _SCALING, _DELAY_MS, _QUEUE_US = 0.05, 100, 1.9, 50, 1.5
_UPDATES, _READERS = 10_000, 1.1
_RECORDS = 8_500_000
#: Of a query's processor time, of each peer's.
_QUERY = 0.75
#: Debian's packages of the servers, and of libraries, which have other names in other suites.
_SERVERS = ("bind9", "knot", "nsd", "unbound")
_LIBRARIES = ("libc-ares2", "libcares2", "libunbound8", "libc6")

#: The title of the table of servers.
SERVER = "Server: a root-like zone, CPU of the server"

Table = list[list[str]]


@dataclass
class Found:
    """All results; None: not measured."""

    rounds: int
    start: start.Found | None = None
    server: server.Found | None = None
    updates: changing.Found | None = None
    client: client.Found | None = None
    guest: guest.Found | None = None
    #: Part of the machine that other work used, 0 to 1.
    others: float = 0.0

    #: Parts that ended with an error.
    failed: list[str] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """Parts that failed."""
        parts = (self.start, self.server, self.updates, self.client)
        return self.failed + [text for part in parts if part for text in part.failures]


@dataclass(frozen=True)
class Goal:
    """A goal; ``most``: the bound is an upper one."""

    text: str
    bound: float
    value: Spread | None
    unit: str
    most: bool = True

    def row(self) -> list[str] | None:
        """Return a line of the table; None: not measured."""
        if self.value is None:
            return None
        reached = self.value.median
        met = reached <= self.bound if self.most else reached >= self.bound
        wanted = f"at {'most' if self.most else 'least'} {report.number(self.bound)} {self.unit}"
        return [self.text, wanted.strip(), str(self.value), "met" if met else "not met"]


def _of(values: bed.Values, kind: str, metric: str) -> Spread | None:
    return report.spread(values.get((kind, metric), []))


def _start_goals(found: start.Found) -> Iterator[Goal]:
    ready, compiled = (
        _of(found.values, dns_peers.OURS, m.name) for m in (start.READY, start.COMPILE)
    )
    bind = _of(found.values, dns_peers.BIND, start.COMPILE.name)
    records = f"{found.records:,} records"
    if found.records < _RECORDS:
        records += f", not {_RECORDS:,}"
    yield Goal(f"start to the first right answer, {records}", _READY_S, ready, "s")
    if bind:
        yield Goal("compile, against BIND's load of the text", bind.median, compiled, "s")
    resident = _of(found.values, dns_peers.OURS, start.RESIDENT.name)
    yield Goal("resident memory per record, all queried", _RESIDENT, resident, "B")


def _server_goals(found: server.Found) -> Iterator[Goal]:
    for peer in (dns_peers.NSD, dns_peers.KNOT):
        known = ((kind, server.cost_name(("udp", 1))) for kind in (dns_peers.OURS, peer))
        rounds = zip(*(found.values.get(each, []) for each in known), strict=False)
        ratios = [ours / theirs for ours, theirs in rounds if ours and theirs]
        text = f"server CPU per UDP query, of {peer}'s"
        yield Goal(text, _QUERY, report.spread(ratios), "")
    twice = _of(found.values, dns_peers.OURS, server.SCALING)
    yield Goal("rate with two cores vs one", _SCALING, twice, "x", most=False)


def _update_goals(found: changing.Found) -> Iterator[Goal]:
    rate, ratio = (
        _of(found.values, dns_peers.OURS, m.name) for m in (changing.UPDATES, changing.RATIO)
    )
    yield Goal("durable updates per second", _UPDATES, rate, "1/s", most=False)
    yield Goal("99th percentile of answers, with updates vs without", _READERS, ratio, "x")


def _goals(found: Found) -> Iterator[Goal]:
    if found.start:
        yield from _start_goals(found.start)
    if found.server:
        yield from _server_goals(found.server)
    if found.updates:
        yield from _update_goals(found.updates)
    if found.client:
        fine = _of(found.client.values, client.OURS, client.FINE)
        if fine:
            dropped = _of(found.client.values, client.OURS, "drop")
            bound = fine.median + _DELAY_MS
            yield Goal("first address, AAAA dropped, A + 50 ms", bound, dropped, "ms")
    if found.guest:
        answer = report.spread(found.guest.answers[guest.ZONE])
        yield Goal("answer on the guest's queue, from an image", _QUEUE_US, answer, "us")


def _matrix(values: bed.Values, metrics: Sequence[Metric], kinds: Sequence[str]) -> Table:
    rows = [["", *kinds]]
    for metric in metrics:
        cells = [_of(values, kind, metric.name) for kind in kinds]
        if any(cells):
            shown = [str(cell) if cell else "-" for cell in cells]
            rows.append([f"{metric.title}, {metric.unit}", *shown])
    return rows


def _rates(found: server.Found, name: str, kind: str, threads: int, how: str) -> str:
    """Thousands of answers a second, measured or estimated."""
    estimated = how == "estimated"
    known = (found.values if estimated else found.rates).get((kind, name), [])
    rates = [1e3 * threads / each if estimated else each / 1e3 for each in known if each]
    return str(report.spread(rates) or "-")


def _server_tables(found: server.Found) -> Iterator[tuple[str, Table]]:
    yield SERVER, _matrix(found.values, server.METRICS, server.kinds(found))
    rows = [["thousand answers per second", *server.kinds(found)]]
    for transport, threads in server.POINTS:
        name = server.cost_name((transport, threads))
        for how in ("measured", "estimated"):
            cells = [_rates(found, name, kind, threads, how) for kind in server.kinds(found)]
            rows.append([f"{transport.upper()}, threads: {threads}, {how}", *cells])
    yield "Server: rates; estimated is threads / CPU per query", rows
    rows = [["UDP, two cores vs one, and estimates for more", *server.kinds(found)]]
    for threads in (2, *server.BEYOND):
        cells = []
        for kind in server.kinds(found):
            twice = _of(found.values, kind, server.SCALING)
            speed = twice.median if threads == 2 and twice else None
            if twice and threads > 2:
                speed = server.beyond(twice.median, threads)
            cells.append(report.number(speed) if speed else "-")
        rows.append([f"{threads} cores, {'measured' if threads == 2 else 'estimated'}", *cells])
    cells = [str(report.spread(server.by_cost(found, kind)) or "-") for kind in server.kinds(found)]
    rows.insert(2, ["2 cores, 2 x CPU a query with one / with two", *cells])
    yield "Server: scaling; with n cores n / (1 + (n - 1) (2 / x - 1)), x measured with two", rows


def tables(found: Found) -> Iterator[tuple[str, Table]]:
    """Return all tables, with their titles."""
    if found.start:
        title = f"Start: {found.start.records:,} records in .NET's shape"
        yield title, _matrix(found.start.values, start.METRICS, start.KINDS)
    if found.server:
        yield from _server_tables(found.server)
    if found.updates:
        title = "Updates: a zone of 100,000 names, one thread for queries"
        yield title, _matrix(found.updates.values, changing.METRICS, changing.KINDS)
    if found.client:
        yield "Client: servers that are broken", _client_table(found.client)
    if found.guest:
        yield (
            "Guest: CPU in QEMU's code for an answer on the guest's queue",
            _guest_table(found.guest),
        )
    rows = [row for goal in _goals(found) if (row := goal.row())]
    if rows:
        yield "Goals", [["metric", "goal", "measured", ""], *rows]


def _client_table(found: client.Found) -> Table:
    rows = [["response to AAAA; ms to the first address", *client.KINDS]]
    for fault, what in client.FAULTS.items():
        cells = []
        for kind in client.KINDS:
            none = (kind, fault) in found.without
            cells.append(f"{_of(found.values, kind, fault)}{' none' if none else ''}")
        rows.append([what, *cells])
    return rows


def _guest_table(found: guest.Found) -> Table:
    rows = [["", "us (min..max)"]]
    for name, values in found.answers.items():
        rows.append([guest.TITLES[name], str(report.spread(values))])
    return rows


def comparisons(found: Found) -> Iterator[Comparison]:
    """Compare ours with each peer, for the JSON."""
    if found.start:
        yield from bed.comparisons(found.start.values, start.METRICS, "start", dns_peers.OURS)
    if found.server:
        yield from bed.comparisons(found.server.values, server.METRICS, "server", dns_peers.OURS)
    if found.updates:
        values = found.updates.values
        yield from bed.comparisons(values, changing.METRICS, "updates", dns_peers.OURS)
    if found.client:
        yield from bed.comparisons(found.client.values, client.METRICS, "client", client.OURS)
    if found.guest:
        metric = Metric("guest-zone", "us", False, guest.TITLES[guest.ZONE])
        ours = found.guest.answers[guest.ZONE]
        yield Comparison(metric, "guest-zone-vs-goal", "goal", ours, [_QUEUE_US] * len(ours))


def _samples(found: Found) -> Iterator[tuple[str, Sequence[float | None]]]:
    for part in ("start", "server", "updates", "client"):
        made = getattr(found, part)
        for (kind, name), rounds in (made.values if made else {}).items():
            yield f"{part}-{name}-{kind}", rounds
    for (kind, name), rates in (found.server.rates if found.server else {}).items():
        yield f"server-{name}-{kind}-rate", rates
    for name, answers in (found.guest.answers if found.guest else {}).items():
        yield f"guest-{name}", answers


def _machine(found: Found) -> str:
    packages = [*(_SERVERS if found.start or found.server or found.updates else ())]
    packages += _LIBRARIES if found.client else ()
    has_own = found.server and {*server.kinds(found.server)} & {*server.OWN}
    return conditions.machine(*packages, own=_SERVERS if has_own else ())


def publish(found: Found, output: Path, name: str = "dns") -> None:
    """Print the tables; write the files, whose names begin so."""
    others = report.background(found.others)
    about = f"rounds: {found.rounds}; {others}; {_machine(found)}"
    made = list(tables(found))
    print(f"\n{about}")
    for title, rows in made:
        print(f"\n{title}\n\n{report.plain(rows)}")
    more = {"conditions": about, "failures": found.failures, "samples": dict(_samples(found))}
    report.write_json(output / f"{name}.json", list(comparisons(found)), more)
    text = "\n".join(f"### {title}\n\n{report.markdown(rows)}" for title, rows in made)
    (output / f"{name}.md").write_text(f"{about}.\n\n{text}")
    written = [f"{name}.json", f"{name}.md"]
    if found.server and figures.lines(found.server)[1:]:
        written.append(f"{name}-threads.svg")
        figures.scaling(output / written[-1], figures.lines(found.server), about)
    if found.start:
        written.append(f"{name}-start.svg")
        figures.starting(output / written[-1], found.start, f"Median and range of {about}")
    print(f"\nwritten: {', '.join(str(output / each) for each in written)}")
    for failure in found.failures:
        print(f"failed: {failure}", file=sys.stderr)
