# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, goals and files of the benchmark of CVSW."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.base import conditions

from ..base import chart, overhead, report
from ..base.overhead import Goal
from ..base.report import Comparison
from . import actions, core, device, pairs, paper, victim
from .places import CVSW, KINDS
from .rules import AES, TITLES
from .spent import Run

_GOALS = "What this was to reach, set before it was built, and what it is in this run:"
_LOOK_UP_NS, _SEAL_GBIT, _SEAL_PART = 100, 16, 0.9
_KINDS = ("cvsw.json", "cvsw.md", "cvsw.svg")

Table = list[list[str]]


@dataclass
class Found:
    """All results; None: not measured."""

    rounds: int
    guest_rounds: int
    look_ups: core.Costs | None = None
    actions: actions.Costs | None = None
    device: device.Costs | None = None
    pairs: pairs.Found | None = None
    victim: dict[str, victim.Kept] | None = None
    guests: paper.Found | None = None
    #: Part of the machine that other work used, 0 to 1.
    others: float = 0.0

    @property
    def failures(self) -> list[str]:
        """Parts that failed."""
        return [text for part in (self.pairs, self.guests) if part for text in part.failures]


def _look_ups(costs: core.Costs) -> Iterator[list[str]]:
    yield ["", "ns (min..max)"]
    for name, title in core.TITLES.items():
        yield [title, str(report.spread(list(costs[name])))]


def _parts(found: Found) -> Iterator[tuple[str, Table]]:
    """The tables with their headings."""
    if found.guests:
        yield "Guests, Mbit/s that arrive", list(paper.rows(found.guests))
        title = "Guests, processor time of a datagram, and Mbit/s of one processor that is busy"
        yield title, list(paper.cost_rows(found.guests))
    if found.pairs:
        yield "Pairs of VMs without guests", list(pairs.rows(found.pairs))
    if found.victim:
        yield "An attack on the switch", list(victim.rows(found.victim))
    if found.device:
        yield "QEMU without a guest, processor time of a frame", list(device.rows(found.device))
    if found.actions:
        yield "The switch alone", list(actions.rows(found.actions))
    if found.look_ups:
        yield "A look-up", list(_look_ups(found.look_ups))
    goals = list(_goal_rows(found))
    if len(goals) > 1:
        yield f"Goals\n\n{_GOALS}", goals


def _core_goals(found: Found) -> Iterator[Goal]:
    """Results of the switch alone."""
    enough = found.rounds >= overhead.ROUNDS_MIN
    if found.look_ups:
        value = overhead.interval(found.look_ups["any"])
        text = "a lookup among 1,024 entries in 16 masks"
        yield Goal(text, "at most 100 ns", _LOOK_UP_NS, value, f"{value} ns", enough)
    if found.actions:
        seal = found.actions.seal
        value = overhead.interval([ours for ours, _ in seal])
        text = "ESP, AES-128-GCM, 1,400 octets, one core"
        wanted = f"at least {_SEAL_GBIT} Gbit/s, or"
        yield Goal(text, wanted, -_SEAL_GBIT, overhead.at_least(value), f"{value} Gbit/s", enough)
        part = overhead.interval([ours / peer for ours, peer in seal])
        wanted = f"at least {_SEAL_PART}"
        yield Goal(
            f"{text}, relative to libcrypto",
            wanted,
            -_SEAL_PART,
            overhead.at_least(part),
            str(part),
            enough,
        )


def _goals(found: Found) -> Iterator[Goal]:
    if found.device:
        yield from device.goals(found.device)
    if found.pairs:
        yield from pairs.goals(found.pairs)
    if found.victim:
        yield from victim.goals(found.victim)
    yield from _core_goals(found)


def _goal_rows(found: Found) -> Iterator[list[str]]:
    yield ["metric", "goal", "measured", ""]
    for goal in _goals(found):
        row = goal.row()
        if row:
            yield [*row[:3], ""] if goal.wanted == "-" else row


def _comparisons(found: Found) -> Iterator[Comparison]:
    if found.look_ups:
        yield from core.comparisons(found.look_ups)
    if found.actions:
        yield from actions.comparisons(found.actions)
    if found.device:
        yield from device.comparisons(found.device)
    if found.pairs:
        yield from pairs.comparisons(found.pairs)
    if found.victim:
        yield from victim.comparisons(found.victim)
    if found.guests:
        yield from paper.comparisons(found.guests)


def _runs(found: Found) -> Iterator[tuple[str, list[dict[str, Any] | None]]]:
    """All results of pairs, victims and guests, each as a list of rounds."""
    named: dict[str, Sequence[Run | None]] = {}
    if found.pairs:
        for (point, kind), runs in found.pairs.runs.items():
            named["-".join(("pairs", *map(str, point), kind))] = runs
    for kind, kept in (found.victim or {}).items():
        named[f"victim-{kind}-alone"] = kept.quiet
        named[f"victim-{kind}-attacked"] = kept.attacked
    if found.guests:
        for (place, kind, octets), runs in found.guests.runs.items():
            table = paper.TABLES[place]
            named[f"guests-{table.case}-{table.pairs}-{octets}-{kind}"] = runs
    for name, rounds in named.items():
        yield name, [asdict(run) if run else None for run in rounds]


def _pair_panels(found: pairs.Found) -> Iterator[chart.Panel]:
    """The paper's figure 5: all pairs together, encrypted."""
    charts: tuple[tuple[str, str, Callable[[Run], float]], ...] = (
        (
            "VXLAN, encrypted, 1,400 octets",
            "Gbit/s in all, this machine",
            lambda run: run.gbit,
        ),
        (
            "the same, estimated",
            "Gbit/s, a core for each VM and for the switch",
            lambda run: run.many_cores,
        ),
    )
    for title, note, what in charts:
        bars: list[chart.Bar] = []
        for count in pairs.COUNTS:
            for kind in KINDS:
                point = (AES, pairs.LENGTHS[-1], count)
                bars += _bar(kind, str(count), found.of(point, kind, what))
        if bars:
            yield chart.Panel(title, note, bars)


def _bar(kind: str, name: str, values: report.Rounds) -> Iterator[chart.Bar]:
    value = report.spread(values)
    if value:
        yield chart.Bar(f"{'CVSW' if kind == CVSW else 'OVS'}, {name}", value, kind == CVSW)


def _cost_panel(found: pairs.Found) -> Iterator[chart.Panel]:
    bars: list[chart.Bar] = []
    for case in TITLES:
        for kind in KINDS:
            point = (case, pairs.LENGTHS[-1], 1)
            bars += _bar(kind, case, found.of(point, kind, lambda run: run.frame_ns / 1e3))
    if bars:
        yield chart.Panel("From VM to VM, 1,400 octets", "CPU µs a frame, less is better", bars)


def _victim_panel(kept: dict[str, victim.Kept]) -> Iterator[chart.Panel]:
    bars: list[chart.Bar] = []
    for kind, each in kept.items():
        for name, runs in (("alone", each.quiet), ("attacked", each.attacked)):
            bars += _bar(kind, name, [run.gbit for run in runs])
    yield chart.Panel("A victim", "Gbit/s, more is better", bars)


def _panels(found: Found) -> list[chart.Panel]:
    panels: list[chart.Panel] = []
    if found.pairs:
        panels += [*_pair_panels(found.pairs), *_cost_panel(found.pairs)]
    if found.victim:
        panels += _victim_panel(found.victim)
    return panels


def publish(found: Found, output: Path) -> None:
    """Print the tables; write the files."""
    rounds = f"rounds: {found.rounds}, with guests {found.guest_rounds}"
    others, machine = report.background(found.others), conditions.machine("openvswitch-switch")
    about = f"{rounds}; guests of 1 vCPU under TCG; {others}; {machine}"
    parts = list(_parts(found))
    print(f"\n{about}")
    for title, rows in parts:
        print(f"\n{title}\n\n{report.plain(rows)}")
    more = {"conditions": about, "failures": found.failures, "runs": dict(_runs(found))}
    report.write_json(output / "cvsw.json", list(_comparisons(found)), more)
    text = "\n".join(f"### {title}\n\n{report.markdown(rows)}" for title, rows in parts)
    (output / "cvsw.md").write_text(f"{about}.\n\n{text}")
    panels = _panels(found)
    if panels:
        chart.write(output / "cvsw.svg", panels, f"Median and range of {about}")
    print(f"\nwritten: {', '.join(str(output / name) for name in _KINDS)}")
    for failure in found.failures:
        print(f"failed: {failure}", file=sys.stderr)
