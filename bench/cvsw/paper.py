# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's experiments with guests: throughput of datagrams of 64 to 32,768 octets.

    table 5     one pair; nothing, IP addresses, a VLAN tag
    table 6     one pair; VXLAN, with the right MTU in the guests, and without
    table 7     one, two and four pairs; VXLAN, encrypted

Guests are stock Debian under TCG; most of the cost is TCG's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..base import overhead, report
from ..base.loads import Metric
from ..base.report import Comparison, Rounds, number, turned
from . import traffic
from .machines import CVSW, GUEST, OVS, PAIRS, Machines
from .rules import AES, IP, NULL, TITLES, VLAN, VXLAN
from .spent import Meter, Run

SIZES = (64, 512, 2048, 4096, 32768)
#: With the MTU of a network without tunnels.
_UNAWARE = "-unaware"
NAMES = {
    CVSW: "CVSW",
    OVS: "Open vSwitch",
    GUEST: "the guest's kernel: vxlan and ESP",
    CVSW + _UNAWARE: "CVSW, guests that send 1500 octets",
    OVS + _UNAWARE: "Open vSwitch, guests that send 1500 octets",
}


@dataclass(frozen=True)
class Table:
    """One of the paper's."""

    title: str
    case: str
    kinds: tuple[str, ...]
    pairs: int = 1


_BOTH = (CVSW, OVS)
TABLES = (
    *(Table(f"{TITLES[case]}", case, _BOTH) for case in (NULL, IP, VLAN)),
    Table("VXLAN", VXLAN, (*_BOTH, CVSW + _UNAWARE, OVS + _UNAWARE)),
    *(
        Table(f"VXLAN, encrypted, pairs: {count}", AES, (*_BOTH, GUEST), count)
        for count in (1, 2, PAIRS)
    ),
)
#: A table's number, the kind, and octets of a datagram.
Point = tuple[int, str, int]


@dataclass
class Found:
    """All runs, one a round."""

    rounds: int
    runs: dict[Point, list[Run | None]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def of(self, point: Point, what: Callable[[Run], float]) -> Rounds:
        """A value of each round."""
        return [what(run) if run else None for run in self.runs.get(point, [None] * self.rounds)]


def _run(machines: Machines, table: Table, kind: str, octets: int, seconds: float) -> Run:
    vms = {}
    for index, pair in enumerate(machines.pairs[: table.pairs]):
        for side, machine in enumerate(pair):
            vms[f"vm{index}-{side}"] = [machine.guest.pid]
    meter = Meter({**machines.bed.groups(), **vms})
    base = kind.removesuffix(_UNAWARE)
    sent = machines.flood(table.case, base, table.pairs, octets, seconds)
    lost, took = sum(each.lost for each in sent), max(each.seconds for each in sent)
    return traffic.run(sent, lost, took, meter.read())


def _prepare(machines: Machines, table: Table, kind: str) -> None:
    base = kind.removesuffix(_UNAWARE)
    machines.set(table.case, base, table.pairs)
    if kind != base:
        machines.unadjusted(base)


def measure(machines: Machines, rounds: int, seconds: float) -> Found:
    """Measure everything in each round, each round beginning with another kind of a table."""
    found = Found(rounds)
    for index in range(rounds):
        for place, table in enumerate(TABLES):
            if table.pairs > len(machines.pairs):
                continue
            for kind in turned(table.kinds, index):
                _prepare(machines, table, kind)
                for octets in SIZES:
                    _record(found, machines, index, (place, kind, octets), seconds)
        print(f"  guests, round {index + 1}", flush=True)
    return found


def _record(found: Found, machines: Machines, index: int, point: Point, seconds: float) -> None:
    place, kind, octets = point
    runs = found.runs.setdefault(point, [None] * found.rounds)
    try:
        runs[index] = _run(machines, TABLES[place], kind, octets, seconds)
    except (RuntimeError, OSError) as error:
        text = f"round {index + 1}, guests, {TABLES[place].title}, {kind}, {octets}: {error}"
        found.failures.append(text)
        print(f"  FAILED: {text}", flush=True)


# --- report ------------------------------------------------------------------------------


def rows(found: Found) -> Iterator[list[str]]:
    """The paper's tables: Mbit/s of all pairs together, by the size of a datagram."""
    yield ["what is done", "by", *(f"{octets:,}" for octets in SIZES), "fairness, least"]
    for place, table in enumerate(TABLES):
        if not any(key[0] == place for key in found.runs):
            continue
        for kind in table.kinds:
            cells, fair = [], []
            for octets in SIZES:
                point = (place, kind, octets)
                value = report.spread(found.of(point, lambda run: run.gbit * 1e3))
                fair += [each for each in found.of(point, lambda run: run.fairness) if each]
                ratio = _ratio(found, point) if kind == CVSW else None
                shown = number(value.median) if value else "-"
                cells.append(shown + (f"<br>**{ratio}**" if ratio else ""))
            least = number(min(fair)) if table.pairs > 1 and fair else ""
            yield [table.title if kind == table.kinds[0] else "", NAMES[kind], *cells, least]


def cost_rows(found: Found) -> Iterator[list[str]]:
    """The same tables for processors: microseconds a datagram, and Mbit/s of one busy processor."""
    yield ["what is done", "by", *(f"{octets:,}" for octets in SIZES)]
    for place, table in enumerate(TABLES):
        for kind in table.kinds if any(key[0] == place for key in found.runs) else ():
            cells = []
            for octets in SIZES:
                point = (place, kind, octets)
                micros = report.spread(found.of(point, lambda run: run.frame_ns / 1e3))
                core = report.spread(found.of(point, lambda run: run.core * 1e3))
                cells.append(
                    f"{number(micros.median)} µs<br>{number(core.median)}"
                    if micros and core and core.median
                    else "-"
                )
            yield [table.title if kind == table.kinds[0] else "", NAMES[kind], *cells]


def _ratio(found: Found, point: Point) -> report.Spread | None:
    """Return the ratios of CVSW to Open vSwitch where both have values."""
    place, kind, octets = point
    ours = found.of((place, kind, octets), lambda run: run.gbit)
    return overhead.ratio(ours, found.of((place, OVS, octets), lambda run: run.gbit))


_METRICS: dict[str, tuple[str, bool, Callable[[Run], float]]] = {
    "throughput": ("Mbit/s", True, lambda run: run.gbit * 1e3),
    "fairness": ("Jain", True, lambda run: run.fairness),
    "datagram": ("ns", False, lambda run: run.frame_ns),
    "core": ("Mbit/s a core", True, lambda run: run.core * 1e3),
}


def comparisons(found: Found) -> Iterator[Comparison]:
    """Compare CVSW with each of the others."""
    for place, table in enumerate(TABLES):
        for peer in table.kinds[1:]:
            for octets in SIZES:
                for name, (unit, is_more_better, what) in _METRICS.items():
                    full = f"guests-{table.case}-{table.pairs}-{octets}-{name}"
                    metric = Metric(full, unit, is_more_better, f"{table.title}, {octets} octets")
                    ours = found.of((place, CVSW, octets), what)
                    theirs = found.of((place, peer, octets), what)
                    yield Comparison(metric, f"{full}-vs-{peer}", peer, ours, theirs)
