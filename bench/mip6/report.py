# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, goals and files of the benchmark of Mobile IPv6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import conditions

from ..base import overhead, report, timeline
from ..base.loads import Load, Metric
from ..base.overhead import Goal
from ..base.report import Comparison, Rounds, Samples, Spread
from . import switch as mip6_switch
from .places import AGAIN, BULK, CASES, GUEST, IP6TNL, LOCAL, MIP6, STAGE, WIRE
from .switch import ACK, AWAY, BACK, HEARD, REPLY, REQUEST, RESUME, SAME, STOP, UPDATE, Switch

_LATENCY = "latency-p50"
_SEND, _RECEIVE = BULK
_MEMORY = Metric("memory", "MiB", False, "Memory of QEMU")
# Columns of both tables; the others are in the JSON.
_SHOWN = {
    f"link-{_SEND}": "TCP send, link of 100 Mbit/s, Mbit/s",
    f"link-{_RECEIVE}": "TCP receive, the same link",
    f"throughput-{_SEND}": "TCP send, no limit, Mbit/s",
    f"qemu-{_SEND}": "QEMU, CPU s/GB",
    f"throughput-{_RECEIVE}": "TCP receive, no limit, Mbit/s",
    f"qemu-{_RECEIVE}": "QEMU, CPU s/GB",
    _LATENCY: "round trip of 1 byte, median, µs",
    "latency-p99": "99th percentile, µs",
}
# For wires: QEMU's own code, without the kernel's work for it.
_OWN = {
    f"own-{_SEND}": "TCP send, CPU s/GB",
    f"own-{_RECEIVE}": "TCP receive, CPU s/GB",
    "own-latency": "a round trip, µs",
}
_TITLES = {
    AWAY: "to the foreign link, with MIP6",
    BACK: "home again, with MIP6",
    SAME: "on one link, without MIP6",
}
_EVENTS = {
    STOP: "the VM stops at the source",
    RESUME: "it resumes at the destination",
    UPDATE: "Binding Update is sent",
    ACK: "Binding Acknowledgement comes",
    REQUEST: "first packet for the VM comes to its port",
    REPLY: "first packet of the VM leaves its port",
    HEARD: "the correspondent hears of it",
}
_GOALS = "What this was to reach, set before it was built, and what it is in this run:"
_KINDS = ("mip6.json", "mip6.md", "mip6-blackout.svg")


@dataclass(frozen=True)
class Results:
    """All results; empty where not measured."""

    seconds: int
    samples: Samples
    loads: Sequence[Load]
    #: MiB of QEMUs without a guest, by case.
    memory: Mapping[str, Rounds]
    switches: Mapping[str, Sequence[Switch]]
    #: Milliseconds to the home agent and back.
    agent_trip: float

    def of(self, place: str, metric: str) -> Rounds:
        """The rounds of a metric."""
        return self.samples.of(place, metric)

    def ratio(self, where: str, metric: str, peer: str) -> Spread | None:
        """Return the ratio to a peer's value, with its interval."""
        return overhead.ratio(self.of(where + MIP6, metric), self.of(where + peer, metric))

    def more(self, where: str, metric: str, peer: str) -> Spread | None:
        """Return the difference to a peer's value."""
        return overhead.difference(self.of(where + MIP6, metric), self.of(where + peer, metric))

    def conditions(self) -> str:
        """Conditions of the run, so that a reader can repeat it."""
        runs = len(self.switches.get(AWAY, ()))
        return (
            f"rounds: {self.samples.rounds} of {self.seconds} s; {runs} migrations of each kind, "
            f"guests of 2 vCPUs under TCG; {self.samples.disturbance()}; {conditions.machine()}"
        )


def times(switches: Sequence[Switch], first: str, last: str) -> list[float]:
    """Return the milliseconds between two events, for switches with both events."""
    found = (switch.between(first, last) for switch in switches)
    return [each for each in found if each is not None]


def median_switch(switches: Sequence[Switch]) -> Switch:
    """Return the switch with the median blackout, or just below."""
    return sorted(switches, key=lambda switch: switch.blackout)[(len(switches) - 1) // 2]


def _place_rows(results: Results, where: str, columns: Mapping[str, str]) -> Iterator[list[str]]:
    """Return a line for each case: each metric, and its ratio to that of a local address."""
    shown = [name for name in columns if report.spread(results.of(where + LOCAL, name))]
    yield ["", *(columns[name] for name in shown)]
    for case, title in CASES[where].items():
        if where + case not in results.samples.values:
            continue
        row = [title]
        for name in shown:
            ours, local = results.of(where + case, name), results.of(where + LOCAL, name)
            value = report.spread(ours)
            cell = report.number(value.median) if value else "-"
            ratio = overhead.ratio(ours, local)
            row.append(cell if case == LOCAL or ratio is None else f"{cell}<br>**{ratio}**")
        yield row


def _memory_rows(results: Results) -> Iterator[list[str]]:
    yield ["", "MiB", "more than without a stage, MiB"]
    base = results.memory[LOCAL]
    for case, values in results.memory.items():
        more = "" if case == LOCAL else overhead.signed(overhead.difference(values, base))
        yield [CASES[WIRE][case], str(report.spread(values)), more]


def _both(values: Sequence[float]) -> str:
    if not values:
        return "-"
    parts = (report.number(mip6_switch.percentile(values, part)) for part in (50, 99))
    return ", ".join(parts)


def _switch_rows(results: Results) -> Iterator[list[str]]:
    yield [
        "migration",
        "blackout, ms: p50, p99",
        "stop to resume",
        "resume to Binding Update",
        "Update to Acknowledgement",
        "Acknowledgement to heard",
        "resume to heard",
        "requests lost: p50, most",
    ]
    steps = ((STOP, RESUME), (RESUME, UPDATE), (UPDATE, ACK), (ACK, HEARD), (RESUME, HEARD))
    for kind, switches in results.switches.items():
        if not switches:
            continue
        lost = [switch.lost for switch in switches]
        yield [
            _TITLES[kind],
            _both([switch.blackout for switch in switches]),
            *(_both(times(switches, *step)) for step in steps),
            f"{report.number(mip6_switch.percentile(lost, 50))}, {max(lost)}",
        ]


def _exact(value: float) -> Spread:
    return Spread(value, value, value)


def _ratio_goals(results: Results, enough: bool) -> Iterator[Goal]:
    for load, text in ((_SEND, "send"), (_RECEIVE, "receive")):
        for prefix, which in (("link", "a link of 100 Mbit/s"), ("throughput", "unlimited link")):
            for peer, name in ((LOCAL, "local"), (IP6TNL, "ip6tnl of the guest")):
                ratio = results.ratio(GUEST, f"{prefix}-{load}", peer)
                short = ratio and Spread(-ratio.median, -ratio.greatest, -ratio.least)
                wanted = "at least 0.97" if peer == LOCAL else "-"
                title = f"TCP {text}, {which}, relative to {name}"
                yield Goal(title, wanted, -0.97, short, str(ratio), enough)


def _trip_goals(results: Results, enough: bool) -> Iterator[Goal]:
    for text, where, metric, peer in (
        ("as measured, above local", GUEST, _LATENCY, LOCAL),
        ("as measured, above ip6tnl of the guest", GUEST, _LATENCY, IP6TNL),
        ("without a guest, as measured, above local", WIRE, _LATENCY, LOCAL),
        ("QEMU's time alone, above an empty stage", WIRE, "qemu-latency", STAGE),
        ("QEMU's own code alone, above an empty stage", WIRE, "own-latency", STAGE),
    ):
        more = results.more(where, metric, peer)
        shown = overhead.signed(more, " µs")
        yield Goal(f"a round trip, {text}", "at most 30 µs more", 30, more, shown, enough)


def _other_goals(results: Results, enough: bool) -> Iterator[Goal]:
    if results.memory:
        more = overhead.difference(results.memory[MIP6], results.memory[LOCAL])
        shown = overhead.signed(more, " MiB")
        yield Goal("memory per VM", "at most 1.5 MiB more", 1.5, more, shown, enough)
    away = results.switches.get(AWAY, ())
    if away:
        bound = 10 + results.agent_trip
        wanted = f"at most 10 ms + {report.number(results.agent_trip)} ms, p99"
        added = mip6_switch.percentile(added_blackouts(away), 99)
        shown = f"{report.number(added)} ms"
        yield Goal("blackout added by Mobile IPv6", wanted, bound, _exact(added), shown)
    moved = [each for kind in (AWAY, BACK) for each in results.switches.get(kind, ())]
    if moved:
        lost = max(each.lost for each in moved)
        yield Goal("requests lost per handover, maximum", "0", 0, _exact(float(lost)), str(lost))


def added_blackouts(switches: Sequence[Switch]) -> list[float]:
    """Return the VM's time from resume to its binding, which MIP6 adds to a blackout."""
    return [max(0.0, each) for each in times(switches, RESUME, ACK)]


def goals(results: Results, enough: bool) -> Iterator[Goal]:
    """Return all goals; ``enough``: whether there were enough rounds for a verdict."""
    for some in (_ratio_goals, _trip_goals, _other_goals):
        yield from some(results, enough)


def _goal_rows(results: Results) -> Iterator[list[str]]:
    yield ["metric", "goal", "measured", ""]
    for goal in goals(results, results.samples.rounds >= overhead.ROUNDS_MIN):
        row = goal.row()
        if row:
            yield [*row[:3], ""] if goal.wanted == "-" else row


def metrics(results: Results) -> dict[str, Metric]:
    """Return the metrics of all places, by name."""
    found = {metric.name: metric for load in results.loads for metric in load.metrics}
    for load in BULK:
        found[f"qemu-{load}"] = Metric(f"qemu-{load}", "CPU s/GB", False, f"QEMU's CPU, {load}")
        found[f"own-{load}"] = Metric(f"own-{load}", "CPU s/GB", False, f"QEMU's code, {load}")
    for which in ("qemu", "own"):
        name = f"{which}-latency"
        found[name] = Metric(name, "us", False, f"CPU a round trip, {which}")
    return found


def comparisons(results: Results) -> Iterator[Comparison]:
    """Compare ours with each peer."""
    for where, cases in CASES.items():
        for peer in cases:
            if peer in (MIP6, AGAIN) or where + peer not in results.samples.values:
                continue
            for name, metric in metrics(results).items():
                ours, theirs = results.of(where + MIP6, name), results.of(where + peer, name)
                yield Comparison(metric, f"{where}{name}-vs-{peer}", peer, ours, theirs)
    for peer in (LOCAL, STAGE):
        if results.memory:
            name = f"memory-vs-{peer}"
            yield Comparison(_MEMORY, name, peer, results.memory[MIP6], results.memory[peer])
    for kind in (AWAY, BACK):
        yield from _blackouts(results, kind)


def _blackouts(results: Results, kind: str) -> Iterator[Comparison]:
    ours, same = ([s.blackout for s in results.switches.get(k, ())] for k in (kind, SAME))
    if not ours:
        return
    metric = Metric("blackout", "ms", False, "Blackout")
    yield Comparison(metric, f"blackout-{kind}-vs-{SAME}", SAME, ours, same)
    worst = [[mip6_switch.percentile(values, 99)] for values in (ours, same)]
    yield Comparison(metric, f"blackout-{kind}-p99-vs-{SAME}", SAME, *worst)


def _parts(results: Results) -> Iterator[tuple[str, list[list[str]]]]:
    """Return the tables with their headings."""
    if report.spread(results.of(GUEST + LOCAL, _LATENCY)):
        yield "Guests", [*_place_rows(results, GUEST, _SHOWN)]
        yield "QEMU without a guest", [*_place_rows(results, WIRE, _SHOWN)]
        yield "QEMU's own code, without the kernel's work", [*_place_rows(results, WIRE, _OWN)]
    if results.memory:
        yield "Memory of a QEMU without a guest", [*_memory_rows(results)]
    if results.switches.get(AWAY):
        yield "Migrations", [*_switch_rows(results)]
    yield f"Goals\n\n{_GOALS}", [*_goal_rows(results)]


def tracks(switches: Mapping[str, Sequence[Switch]]) -> list[timeline.Track]:
    """Return the median run of each kind."""
    ours = frozenset(_EVENTS[name] for name in (UPDATE, ACK))
    found = []
    for kind in (AWAY, SAME):
        run = median_switch(switches[kind])
        since = ((name, run.between(STOP, name)) for name in _EVENTS)
        events = [(_EVENTS[name], when) for name, when in since if when is not None]
        title = f"{_TITLES[kind]}: blackout {report.number(run.blackout)} ms"
        found.append(timeline.Track(title, events, ours))
    return found


def publish(results: Results, output: Path) -> None:
    """Print the tables; write the files."""
    about, parts = results.conditions(), [*_parts(results)]
    print(f"\n{about}")
    for title, rows in parts:
        print(f"\n{title}\n\n{report.plain(rows)}")
    more = {
        "conditions": about,
        "failures": results.samples.failures,
        "samples": results.samples.values,
        "memory": results.memory,
        "agent-round-trip-ms": results.agent_trip,
        "switches": {
            kind: [{"lost": s.lost, "silent": s.silent, **s.marks} for s in switches]
            for kind, switches in results.switches.items()
        },
    }
    report.write_json(output / "mip6.json", [*comparisons(results)], more)
    text = "\n".join(f"### {title}\n\n{report.markdown(rows)}" for title, rows in parts)
    (output / "mip6.md").write_text(f"{about}.\n\n{text}")
    if results.switches.get(AWAY):
        caption = f"The median run of each kind; {conditions.machine()}"
        timeline.write(output / "mip6-blackout.svg", tracks(results.switches), caption)
    print(f"\nwritten: {', '.join(str(output / name) for name in _KINDS)}")
