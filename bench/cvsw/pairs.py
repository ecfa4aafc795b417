# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of VMs without guests, between two hosts: the paper's experiments, where VMs cost nothing.

In one case the NICs of the VMs process the frames, and Open vSwitch passes them on; in the other
case Open vSwitch processes them, for VMs with virtio-net. Both exist at once, and are measured in
turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..base import overhead, report
from ..base.loads import Metric
from ..base.overhead import Goal
from ..base.report import Comparison, Rounds, Spread, number, turned
from .places import CVSW, KINDS, OVS, PAIRS, Places
from .rules import AES, NULL, TITLES
from .spent import Run
from .traffic import together

#: Octets of frames; the longest fits into both kinds of tunnel.
LENGTHS = (64, 512, 1400)
COUNTS = (1, 2, PAIRS)
NAMES = {
    CVSW: "CVSW",
    OVS: "Open vSwitch (encrypted: and wireguard-go)",
}
#: A point of the measurement: actions, octets of a frame, pairs at once.
Point = tuple[str, int, int]
POINTS: tuple[Point, ...] = tuple(
    (case, octets, count)
    for case in TITLES
    for octets in LENGTHS
    for count in (COUNTS if case == AES else (1,))
)
_FAST, _FAIR = "Gbit/s", "fairness"


@dataclass
class Found:
    """All runs, one for each round, by point and kind."""

    rounds: int
    runs: dict[tuple[Point, str], list[Run | None]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def of(self, point: Point, kind: str, what: Callable[[Run], float]) -> Rounds:
        """A value of each round."""
        return [
            what(run) if run else None for run in self.runs.get((point, kind), [None] * self.rounds)
        ]


def measure(places: Places, rounds: int, seconds: float) -> Found:
    """Measure each point in each round, both kinds one after the other."""
    found = Found(rounds)
    for index in range(rounds):
        for case in TITLES:
            places.set(case)
            for point in POINTS:
                if point[0] == case:
                    for kind in turned(KINDS, index):
                        _once(found, places, index, point, kind, seconds)
        print(f"  pairs, round {index + 1}", flush=True)
    return found


def _once(
    found: Found, places: Places, index: int, point: Point, kind: str, seconds: float
) -> None:
    _, octets, count = point
    runs = found.runs.setdefault((point, kind), [None] * found.rounds)
    run = together(places.bed, places.talks[kind][:count], octets, seconds)
    if any(run.frames):
        runs[index] = run
    else:
        text = f"round {index + 1}, {kind}, {point}: frames of pairs {run.frames}"
        found.failures.append(text)
        print(f"  FAILED: {text}", flush=True)


# --- report ------------------------------------------------------------------------------


def rows(found: Found) -> Iterator[list[str]]:
    """Return a line for each point: both kinds, and the ratio of their throughput."""
    yield [
        "what is done, octets of a frame, pairs",
        "",
        "Gbit/s",
        "k frames/s",
        "fairness",
        "CPU ns a frame",
        "Gbit/s per busy core",
        "of that: shared, ns",
        "a VM, ns",
        "Gbit/s, a core for each",
    ]
    columns: Sequence[Callable[[Run], float]] = (
        lambda run: run.gbit,
        lambda run: run.rate,
        lambda run: run.fairness,
        lambda run: run.frame_ns,
        lambda run: run.core,
        lambda run: run.shared_ns,
        lambda run: run.vm_ns,
        lambda run: run.many_cores,
    )
    for point in POINTS:
        case, octets, count = point
        for kind in KINDS:
            name = f"{TITLES[case]}, {octets:,}, {count}" if kind == KINDS[0] else ""
            values = (report.spread(found.of(point, kind, each)) for each in columns)
            shown = [number(value.median) if value else "-" for value in values]
            ratio = "" if kind == OVS else _bold(_ratio(found, point, lambda run: run.gbit))
            yield [name, "CVSW" if kind == CVSW else "OVS", shown[0] + ratio, *shown[1:]]


def _bold(value: Spread | None) -> str:
    return f"<br>**{value}**" if value else ""


def _ratio(found: Found, point: Point, what: Callable[[Run], float]) -> Spread | None:
    return overhead.ratio(found.of(point, CVSW, what), found.of(point, OVS, what))


_METRICS: dict[str, tuple[str, bool, Callable[[Run], float]]] = {
    "throughput": ("Gbit/s", True, lambda run: run.gbit),
    "fairness": ("Jain", True, lambda run: run.fairness),
    "frame": ("ns", False, lambda run: run.frame_ns),
    "core": ("Gbit/s a core", True, lambda run: run.core),
    "shared": ("ns", False, lambda run: run.shared_ns),
    "many-cores": ("Gbit/s", True, lambda run: run.many_cores),
}


def comparisons(found: Found) -> Iterator[Comparison]:
    """Compare CVSW with Open vSwitch by each metric."""
    for point in POINTS:
        case, octets, count = point
        for name, (unit, is_more_better, what) in _METRICS.items():
            title = f"{TITLES[case]}, {octets} octets, {count} pairs"
            full = f"pairs-{case}-{octets}-{count}-{name}"
            metric = Metric(full, unit, is_more_better, title)
            both = (found.of(point, kind, what) for kind in KINDS)
            yield Comparison(metric, f"{full}-vs-ovs", OVS, *both)


def _growth(found: Found, kind: str, what: Callable[[Run], float]) -> Spread | None:
    """Return a value with all pairs as a part of that with one pair; longest frames, encrypted."""
    all_pairs, one = (found.of((AES, LENGTHS[-1], count), kind, what) for count in (PAIRS, 1))
    return overhead.ratio(all_pairs, one)


def goals(found: Found) -> Iterator[Goal]:
    """Return the issue's goals that this part measures."""
    longest, enough = LENGTHS[-1], found.rounds >= overhead.ROUNDS_MIN
    text = f"VXLAN encrypted, {PAIRS} pairs, total relative to Open vSwitch:"
    values: list[tuple[str, float, Spread | None]] = [
        (f"{text} {octets} octets", 3, _ratio(found, (AES, octets, PAIRS), lambda run: run.gbit))
        for octets in LENGTHS
    ]
    estimated = _ratio(found, (AES, longest, PAIRS), lambda run: run.many_cores)
    values += [
        (f"{text} {longest} octets, estimated for one core each", 0, estimated),
        (
            f"CVSW, Gbit/s per busy core: {PAIRS} pairs relative to 1",
            1,
            _growth(found, CVSW, lambda run: run.core),
        ),
        (
            f"CVSW, total: {PAIRS} pairs relative to 1",
            1,
            _growth(found, CVSW, lambda run: run.gbit),
        ),
        (
            f"Open vSwitch, total: {PAIRS} pairs relative to 1",
            0,
            _growth(found, OVS, lambda run: run.gbit),
        ),
        (
            f"null processing, {longest} octets, relative to virtio-net, through Open vSwitch",
            0.99,
            _ratio(found, (NULL, longest, 1), lambda run: run.gbit),
        ),
    ]
    for name, bound, value in values:
        wanted = f"at least {bound:g}" if bound else "-"
        yield Goal(name, wanted, -bound, overhead.at_least(value), str(value), enough)
