# SPDX-License-Identifier: GPL-2.0-or-later
"""What frames pay in the switch of their VM's NIC, without a guest around it.

    look-ups    one look into the flow table, beside a GHashTable for each mask
    actions     a frame's whole way, by what its flow does with it and by its length; ESP's
                core beside libcrypto; and 1, 2 and 4 switches at once, each in a thread of
                its own as in the QEMU of its VM

Frames are TCP over IPv4. Those of 65,226 octets are a guest's large segments: a tunnel
cuts them, and what they cost is that of all their pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vmmnet.testbed import conditions, scratch, tools

from . import commandline, cvsw_core, cvsw_run, report
from .report import Comparison

_PARTS = ("look-ups", "actions")
_GOALS = (
    "Goals: at most 100 ns for a look-up among 1,024 entries in 16 masks; ESP at 16 Gbit/s on "
    "one core, or at 0.9 of libcrypto; as much with four pairs as with one for each core."
)


@dataclass(frozen=True)
class Plan:
    """What the command line asked for."""

    rounds: int
    parts: tuple[str, ...]
    output: Path


@dataclass
class _Found:
    comparisons: list[Comparison] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("cvsw", __doc__, rounds=9, quick="1 round")
    parser.add_argument(
        "--only",
        type=commandline.names(_PARTS, "parts"),
        default=_PARTS,
        metavar="PART,…",
        help=f"only these of {', '.join(_PARTS)}",
    )
    chosen = parser.parse_args(arguments)
    return Plan(1 if chosen.quick else chosen.rounds, chosen.only, chosen.output)


def _look_ups(costs: cvsw_core.Costs) -> Iterator[list[str]]:
    yield ["", "ns (min..max)"]
    for name, title in cvsw_core.TITLES.items():
        yield [title, str(report.spread(list(costs[name])))]


def _measure(plan: Plan) -> _Found:
    found = _Found()
    with scratch.folder() as folder:
        if "look-ups" in plan.parts:
            looked = cvsw_core.measure(cvsw_core.build(Path(folder)), plan.rounds)
            found.comparisons += cvsw_core.comparisons(looked)
            found.tables.append(list(_look_ups(looked)))
        if "actions" in plan.parts:
            costs = cvsw_run.measure(cvsw_run.build(Path(folder)), plan.rounds)
            found.comparisons += cvsw_run.comparisons(costs)
            found.tables.append(list(cvsw_run.rows(costs)))
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure and write it down."""
    plan = parse(arguments)
    tools.require("gcc", "pkg-config")
    found = _measure(plan)
    about = f"{plan.rounds} rounds. {conditions.machine()}"
    for rows in found.tables:
        print(f"{report.plain(rows)}\n")
    print(report.table(found.comparisons))
    compared = report.matrix(found.comparisons, "CVSW")
    parts = [about, *map(report.markdown, found.tables), report.markdown(compared), _GOALS]
    plan.output.mkdir(parents=True, exist_ok=True)
    (plan.output / "cvsw.md").write_text("\n\n".join(parts) + "\n")
    report.write_json(plan.output / "cvsw.json", found.comparisons, {})
    return 0
