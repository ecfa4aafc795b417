# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, goals and files of the HostVLAN benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import conditions

from ..base import chart, overhead, report
from ..base.loads import LOADS, Metric
from ..base.overhead import Goal
from ..base.report import Comparison, Rounds, Samples, Spread
from . import lookup

#: Prefix of a case's name: the place of the measurement.
GUEST, WIRE, PROCESS = "", "wire-", "process-"
_NOTHING = "nothing"
_LATENCY = "latency-p50"
_SEND, _RECEIVE, _WEB = "throughput-send-1MiB", "throughput-receive-1MiB", "web"
# Columns of the table; the rest is in the JSON.
_SHOWN = {
    _LATENCY: "round trip of 1 byte, median, µs",
    _SEND: "TCP send, Mbit/s",
    "cpu-send-1MiB": "CPU s/GB",
    _RECEIVE: "TCP receive, Mbit/s",
    "cpu-receive-1MiB": "CPU s/GB",
    _WEB: "web pages of 1 KB, 1/s",
}
_GOALS = "What this was to reach, set before it was built, and what it is in this run:"
_WRITTEN = ("json", "md", "svg")
_MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """A filter, or none, on a port."""

    name: str
    title: str
    ours: bool = False
    #: Size of the table.
    size: int | None = None


@dataclass(frozen=True)
class Results:
    """All results."""

    seconds: int
    samples: Samples
    #: Cases by place.
    cases: Mapping[str, Sequence[Case]]
    lookups: lookup.Costs
    programs: Mapping[str, Mapping[str, int]]
    #: Octets of a table, by its size in MAC addresses.
    octets: Mapping[int, int]

    def of(self, case: str, metric: str) -> Rounds:
        """The rounds of a metric."""
        return self.samples.of(case, metric)

    def percent(self, case: str, metric: str) -> Spread | None:
        """Difference to no filter, in per cent."""
        return overhead.percent(self.of(case, metric), self.of(_NOTHING, metric))

    def cost(self, where: str, case: str) -> Spread | None:
        """Additional nanoseconds of a frame at a place, compared with no filter."""
        ours, nothing = self.of(where + case, _LATENCY), self.of(where + _NOTHING, _LATENCY)
        return overhead.nanoseconds(ours, nothing)

    def derived(self, where: str, case: str) -> Spread | None:
        """Estimated per cent added to a guest's round trip, from a frame's cost at a place."""
        trip = report.spread(self.of(_NOTHING, _LATENCY))
        cost = self.cost(where, case)
        return cost and trip and overhead.share(cost, trip.median)

    def conditions(self) -> str:
        """Conditions of the run, so that a reader can repeat it."""
        rounds = self.samples.rounds
        count = "1 round" if rounds == 1 else f"{rounds} rounds"
        return (
            f"{count} of {self.seconds} s, a guest of 2 vCPUs under TCG; "
            f"{self.samples.disturbance()}; {conditions.machine()}"
        )


def _metrics() -> Mapping[str, Metric]:
    found = {metric.name: metric for load in LOADS.values() for metric in load.metrics}
    return {**found, _WEB: Metric(_WEB, "1/s", True, "Web pages of 1 KB")}


def _shown(results: Results) -> list[str]:
    return [name for name in _SHOWN if report.spread(results.of(_NOTHING, name))]


def _guest_rows(results: Results) -> Iterator[list[str]]:
    """Return a line for each case: the difference of each metric to no filter."""
    shown = _shown(results)
    more = ["ns a frame"] if _LATENCY in shown else []
    yield ["on the port", *(_SHOWN[name] for name in shown), *more]
    for case in results.cases[GUEST]:
        row = [case.title]
        for name in shown:
            value = report.spread(results.of(case.name, name))
            cell = report.number(value.median) if value else "-"
            if case.name != _NOTHING:
                cell += f"<br>**{overhead.signed(results.percent(case.name, name), ' %')}**"
            row.append(cell)
        if more:
            row.append(_cost(results, GUEST, case))
        yield row


def _cost(results: Results, where: str, case: Case) -> str:
    return "" if case.name == _NOTHING else overhead.signed(results.cost(where, case.name))


def _latency_rows(results: Results, where: str) -> Iterator[list[str]]:
    yield ["on the port", "round trip of 1 byte, median, µs", "more, %", "ns a frame"]
    base = results.of(where + _NOTHING, _LATENCY)
    for case in results.cases[where]:
        measured = results.of(where + case.name, _LATENCY)
        value = report.spread(measured)
        more = overhead.signed(overhead.percent(measured, base))
        yield [
            case.title,
            report.number(value.median) if value else "-",
            "" if case.name == _NOTHING else more,
            _cost(results, where, case),
        ]


def _lookup_rows(results: Results) -> Iterator[list[str]]:
    sizes = sorted({size for _, size in results.lookups})
    yield ["ns", *(f"{size:,}" for size in sizes)]
    for what, title in lookup.TITLES.items():
        yield [title, *(str(report.spread(results.lookups[what, size])) for size in sizes)]
    for program in next(iter(results.programs.values())):
        values = [str(results.programs[str(size)][program]) for size in sizes]
        yield [f"eBPF, {program}, one run", *values]


def _goals(results: Results) -> Iterator[Goal]:
    enough = results.samples.rounds >= overhead.ROUNDS_MIN
    for name, bound, alone in (
        ("qemu-8192", 0.5, WIRE),
        ("ebpf-8192", 0.2, PROCESS),
        ("ebpf-xdp-8192", 0.2, PROCESS),
    ):
        wanted = f"at most {bound:g} % more"
        for text, more in (
            ("as measured", results.percent(name, _LATENCY)),
            ("share spent in HostVLAN, estimated without a guest", results.derived(alone, name)),
        ):
            shown = overhead.signed(more, " %")
            title = f"guest round trip, {name}, {text}"
            yield Goal(title, wanted, bound, more, shown, enough)
    for name in ("qemu-8192", "ebpf-8192", "ebpf-xdp-8192"):
        for metric, text in ((_SEND, "TCP send"), (_RECEIVE, "TCP receive"), (_WEB, "web pages")):
            yield _no_loss(f"{text}, {name}", results.percent(name, metric), enough)
    for size, bound in ((8192, 25), (1 << 20, 100)):
        for what in ("hit", "chained"):
            value = report.spread(results.lookups[what, size])
            text = f"{lookup.TITLES[what]}, {size:,}"
            yield Goal(text, f"at most {bound} ns", bound, value, f"{value} ns")
    size = 1 << 20
    mib = results.octets[size] / _MIB
    exact, shown = Spread(mib, mib, mib), f"{report.number(mib)} MiB"
    yield Goal(f"a table of {size:,} MAC addresses", "at most 32 MiB", 32, exact, shown)


def _no_loss(text: str, more: Spread | None, enough: bool) -> Goal:
    """Return a goal that is missed only if the interval shows a loss."""
    shown = overhead.signed(more, " %")
    loss = more and Spread(-more.greatest, -more.greatest, -more.greatest)
    return Goal(text, "no measurable loss", 0, loss, shown, enough)


def _goal_rows(results: Results) -> Iterator[list[str]]:
    yield ["metric", "goal", "measured", ""]
    for goal in _goals(results):
        row = goal.row()
        if row:
            yield row


def _comparisons(results: Results) -> Iterator[Comparison]:
    """Compare ours with no filter, and with the peers of the same policy."""
    metrics = _metrics()
    for prefix, cases in results.cases.items():
        for case in cases:
            if not case.ours and not case.name.startswith(f"{_NOTHING}-"):
                continue
            for peer in cases:
                if (case.ours and _is_peer(case, peer)) or peer.name == _NOTHING:
                    measured = results.samples.values.get(prefix + case.name, {})
                    for name in measured:
                        yield Comparison(
                            metrics[name],
                            f"{prefix}{case.name}-{name}-vs-{peer.name}",
                            peer.name,
                            results.of(prefix + case.name, name),
                            results.of(prefix + peer.name, name),
                        )
    yield from lookup.comparisons(results.lookups)


def _is_peer(case: Case, peer: Case) -> bool:
    if peer.ours or peer.name.startswith(_NOTHING):
        return False
    return peer.size is None or peer.size == case.size


def _markdown(results: Results) -> str:
    parts = [
        f"{results.conditions()}.\n",
        report.markdown(_guest_rows(results)),
        "### QEMU without a guest\n",
        report.markdown(_latency_rows(results, WIRE)),
        "### Without QEMU\n",
        report.markdown(_latency_rows(results, PROCESS)),
        "### A look-up\n",
        report.markdown(_lookup_rows(results)),
        f"### Goals\n\n{_GOALS}\n",
        report.markdown(_goal_rows(results)),
    ]
    return "\n".join(parts)


def _panels(results: Results) -> Iterator[chart.Panel]:
    """Round trips with and without a guest, pages."""
    for where, name, title in (
        (GUEST, _LATENCY, "Round trip of a guest"),
        (WIRE, _LATENCY, "Round trip through QEMU without a guest"),
        (PROCESS, _LATENCY, "Round trip without QEMU"),
        (GUEST, _SEND, "TCP send"),
        (GUEST, _WEB, "Web pages of 1 KB"),
    ):
        cases = results.cases[where]
        found = [(case, report.spread(results.of(where + case.name, name))) for case in cases]
        bars = [chart.Bar(case.name, value, case.ours) for case, value in found if value]
        metric = _metrics()[name]
        if bars:
            word = "more" if metric.higher_is_better else "less"
            yield chart.Panel(title, f"{metric.unit}, {word} is better", bars)


def publish(results: Results, output: Path) -> None:
    """Print the tables; write the files."""
    about = results.conditions()
    print(f"\n{about}")
    latency = [_latency_rows(results, where) for where in (WIRE, PROCESS)]
    for rows in (_guest_rows(results), *latency, _lookup_rows(results), _goal_rows(results)):
        print(f"\n{report.plain(rows)}")
    more = {
        "conditions": about,
        "failures": results.samples.failures,
        "samples": results.samples.values,
        "lookups": {f"{what}-{size}": ns for (what, size), ns in results.lookups.items()},
        "programs": results.programs,
        "octets": results.octets,
    }
    report.write_json(output / "hostvlan.json", list(_comparisons(results)), more)
    caption = f"Median and range of {about}"
    chart.write(output / "hostvlan.svg", list(_panels(results)), caption)
    (output / "hostvlan.md").write_text(_markdown(results))
    print(f"\nwritten: {', '.join(str(output / f'hostvlan.{kind}') for kind in _WRITTEN)}")
