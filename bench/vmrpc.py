# SPDX-License-Identifier: GPL-2.0-or-later
"""VMRPC beside other ways from a guest to an IPv6 network.

Each round measures one load on all paths before the next load, so that compared values are seconds
apart; each round begins with another path. A short run of each load comes first and does not count,
as QEMU translates the guest's code in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, scratch, tools

from .base import chart, commandline, goals, loads, paths, report
from .base.loads import LOADS, METRICS, Load
from .base.paths import OWN_PASST, PATHS, Path
from .base.report import Comparison, Samples

OURS, UNTRANSLATED = "vmrpc", "vmrpc-untranslated"
_WARM_UP = 1

_GOALS = "What this was to reach, set before it was built, and its ratios in this run:"
_WRITTEN = ("json", "md", "svg")

# Metrics of the chart; the table has all.
_CHARTED = (
    "throughput-send-1MiB",
    "throughput-receive-1MiB",
    "throughput-send-128KiB",
    "throughput-receive-128KiB",
    "cpu-send-1MiB",
    "cpu-receive-1MiB",
    "latency-p50",
    "latency-p99",
    "connections-sequential",
    "connections-16-threads",
    "throughput-udp-1400B",
)
# Metrics that show the cost of translation.
_TRANSLATED = tuple(metric.name for metric in METRICS.values() if metric.compared)


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    seconds: int
    paths: tuple[str, ...]
    metrics: tuple[str, ...]
    output: File

    @property
    def loads(self) -> list[Load]:
        """The loads that yield at least one wanted metric."""
        wanted = set(self.metrics)
        return [load for load in LOADS.values() if wanted & {m.name for m in load.metrics}]


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser(
        "vmrpc",
        __doc__,
        rounds=5,
        quick="1 round of 2 s a measurement",
        kinds="json, .md and .svg",
    )
    parser.add_argument(
        "--only",
        type=commandline.names(METRICS, "metrics", prefixes=True),
        default=tuple(METRICS),
        metavar="METRIC,…",
        help="only metrics whose names begin so, such as throughput,latency",
    )
    parser.add_argument(
        "--paths",
        type=commandline.names(PATHS, "paths"),
        default=tuple(path for path in PATHS if path != OWN_PASST),
        metavar="PATH,…",
        help=f"only these of {', '.join(PATHS)}",
    )
    commandline.add_both(parser, "passt")
    options = parser.parse_args(arguments)
    more = (OWN_PASST,) if options.both and OWN_PASST not in options.paths else ()
    return Plan(
        rounds=1 if options.quick else options.rounds,
        seconds=2 if options.quick else 5,
        paths=(*options.paths, *more),
        metrics=options.only,
        output=options.output,
    )


def _measure(path: Path, load: Load, seconds: int) -> loads.Values:
    with path.active():
        return load.measure(path, seconds)


def _warm_up(path: Path, wanted: Sequence[Load]) -> None:
    for load in wanted:
        try:
            _measure(path, load, _WARM_UP)
        except (RuntimeError, OSError) as error:
            # If the error persists, the following rounds report it.
            print(f"  warm-up, {path.name}, {load.name}: {error}", flush=True)


def measure(plan: Plan, ready: Mapping[str, Path]) -> Samples:
    """Run all rounds."""
    samples = Samples(plan.rounds)
    for path in ready.values():
        _warm_up(path, plan.loads)
    for index in range(plan.rounds):
        for load in plan.loads:
            for path in report.turned(list(ready.values()), index):
                samples.record(
                    index, path.name, load, functools.partial(_measure, path, load, plan.seconds)
                )
    return samples


def compare(plan: Plan, samples: Samples) -> Iterator[Comparison]:
    """Compare each metric with each peer, then with and without translation."""
    if OURS not in plan.paths:
        return
    peers = [name for name in plan.paths if name not in (OURS, UNTRANSLATED)]
    pairs = [("", name, peer) for name in plan.metrics for peer in peers]
    if UNTRANSLATED in plan.paths:
        pairs += [
            ("translation-", name, UNTRANSLATED) for name in plan.metrics if name in _TRANSLATED
        ]
    for prefix, name, peer in pairs:
        yield Comparison(
            METRICS[name],
            f"{prefix}{name}-vs-{peer}",
            peer,
            samples.of(OURS, name),
            samples.of(peer, name),
        )


def _alone(plan: Plan, samples: Samples) -> str:
    """Format the values when none of ours was measured."""
    lines = []
    for name in plan.metrics:
        for path in plan.paths:
            found = report.spread(samples.of(path, name))
            lines.append(f"{name:28} {path:20} {found or '-'} {METRICS[name].unit}")
    return "\n".join(lines)


def _conditions(plan: Plan, samples: Samples) -> str:
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    own = ["passt"] if OWN_PASST in plan.paths else []
    return (
        f"{rounds} of {plan.seconds} s, guests of 2 vCPUs under TCG; {samples.disturbance()}; "
        f"{conditions.machine('passt', own=own)}"
    )


def _markdown(comparisons: Sequence[Comparison], about: str) -> str:
    """Return the part of a run for docs/performance.md."""
    peers = [one for one in comparisons if one.peer_name != UNTRANSLATED]
    translated = [one for one in comparisons if one.peer_name == UNTRANSLATED]
    known = {(one.metric.name, one.peer_name): one.ratio for one in comparisons}
    parts = [f"{about}.\n"]
    if peers:
        parts.append(report.markdown(report.matrix(peers, OURS)))
    if translated:
        parts.append("### The price of the translation\n")
        parts.append(report.markdown(report.matrix(translated, "translate=on")))
    measured = list(goals.rows(lambda metric, peer: known.get((metric, peer))))
    if len(measured) > 1:
        parts.append(f"### Goals\n\n{_GOALS}\n")
        parts.append(report.markdown(measured))
    return "\n".join(parts)


def _panels(plan: Plan, samples: Samples) -> Iterator[chart.Panel]:
    for name in _CHARTED:
        found = [(path, report.spread(samples.of(path, name))) for path in plan.paths]
        bars = [chart.Bar(path, value, path == OURS) for path, value in found if value]
        if bars:
            metric = METRICS[name]
            word = "more" if metric.higher_is_better else "less"
            yield chart.Panel(metric.title, f"{metric.unit}, {word} is better", bars)


def publish(plan: Plan, samples: Samples) -> None:
    """Print the table; write the JSON and the chart."""
    comparisons = list(compare(plan, samples))
    about = _conditions(plan, samples)
    print(f"\n{about}\n")
    print(report.table(comparisons) if comparisons else _alone(plan, samples))
    more = {
        "conditions": about,
        "failures": samples.failures,
        "samples": samples.values,
    }
    report.write_json(plan.output / "vmrpc.json", comparisons, more)
    caption = f"Median and range of {about}"
    chart.write(plan.output / "vmrpc.svg", list(_panels(plan, samples)), caption)
    (plan.output / "vmrpc.md").write_text(_markdown(comparisons, about))
    print(f"\nwritten: {', '.join(str(plan.output / f'vmrpc.{kind}') for kind in _WRITTEN)}")
    for failure in samples.failures:
        print(f"failed: {failure}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("ip", "iperf3", "gcc")
    paths.require(plan.paths)
    net.reap_stale()
    with scratch.folder() as folder:
        pingpong = loads.build_pingpong(File(folder))
        with paths.opened(plan.paths, pingpong) as ready:
            samples = measure(plan, ready)
            # Publish before the guests end, so that an error there does not lose the numbers.
            publish(plan, samples)
    return 1 if samples.failures else 0
