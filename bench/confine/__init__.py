# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of confinement for the thread that executes a guest's call.

core.c runs QEMU's code for what a connection adds under ``tls``, a request under ``http``, an
Initial of QUIC, a budget, and a line of the audit log.  There is no peer: those that check names
take each connection themselves and copy its octets.  Each case is beside the goal that was set
before it was built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import conditions, scratch, tools
from lab.base import paths as tree

from ..base import commandline, report
from ..base.loads import Metric
from ..base.report import Comparison

#: The cases of core.c, with a description and the goal in ns.
CASES = {
    "hello": ("tls: a connection, with a hello of {hello:,} octets", 3000),
    "request": ("http: a request, with a head of {request:,} octets", 1000),
    "initial": ("QUIC: a connection, with an Initial of {initial:,} octets", 25000),
    "budget": ("sent: a call", 20),
    "line": ("audit: a line, for the call", 2000),
    "line-to-file": ("audit: a line, as far as the file", 5000),
}
_SOURCES = (
    "bench/confine/core.c",
    "hw/vmrpc/policy/limits.c",
    "hw/vmrpc/policy/terms.c",
    "tests/fixtures/hello-fixture.c",
    "tests/fixtures/quic-fixture.c",
)
_PATTERNS = ("audit/*.c", "reach/policy*.c", "said/*.c", "via/*.c")

#: Nanoseconds of each round, by case.
Costs = dict[str, list[float]]


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    output: Path


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("confine", __doc__, rounds=21, quick="3 rounds")
    options = parser.parse_args(arguments)
    return Plan(3 if options.quick else options.rounds, options.output)


def build(folder: Path) -> Path:
    """Compile core.c with QEMU's sources and QEMU's optimization."""
    product = folder / "confine-core"
    flags = tools.run(["pkg-config", "--cflags", "--libs", "glib-2.0", "libcrypto"]).split()
    sources = [tree.ROOT / each for each in _SOURCES]
    for pattern in _PATTERNS:
        sources += sorted((tree.ROOT / "hw/vmrpc").glob(pattern))
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-ftrivial-auto-var-init=zero"]
    options += [f"-I{tree.ROOT}", f"-I{tree.ROOT / 'include'}"]
    tools.run(["gcc", *options, "-o", product, *sources, *flags])
    return product


def measure(program: Path, rounds: int) -> tuple[Costs, dict[str, int]]:
    """Run core.c; its costs, and octets of its hello, request and Initial."""
    lines = tools.run([program, str(rounds), program.with_name("audit.jsonl")]).splitlines()
    costs = {each["what"]: each["ns"] for each in map(json.loads, lines)}
    sizes = dict(zip(("hello", "request", "initial"), costs.pop("sizes"), strict=True))
    return costs, sizes


def comparisons(costs: Costs, sizes: dict[str, int]) -> Iterator[Comparison]:
    """Each case beside its goal."""
    for what, (title, goal) in CASES.items():
        metric = Metric(what, "ns", False, title.format(**sizes))
        yield Comparison(metric, f"{what}-vs-goal", "goal", costs[what], [goal] * len(costs[what]))


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    tools.require("gcc", "pkg-config")
    with scratch.folder() as folder:
        found = list(comparisons(*measure(build(Path(folder)), plan.rounds)))
    about = f"{plan.rounds} rounds; {conditions.machine()}"
    print(f"{about}\n\n{report.table(found)}")
    report.write_json(plan.output / "confine.json", found, {"conditions": about})
    page = report.markdown(report.matrix(found, "vmmnet"))
    (plan.output / "confine.md").write_text(f"{about}.\n\n{page}")
    print(f"\nwritten: {plan.output / 'confine.json'}, {plan.output / 'confine.md'}")
    return 0
