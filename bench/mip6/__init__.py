# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost for a VM away from home: Mobile IPv6 in QEMU beside a local address and ip6tnl.

Guests, and QEMUs without a guest, on a foreign link exchange traffic with a correspondent
(mip6_places.py).  Links carry frames of 1500 octets.

    local         an address of the foreign link: the limit, by a shorter way
    local-again   the same again: the noise of this run
    stage         as local, behind an empty stage, without a guest
    mip6          -netdev mip6, through the home agent
    ip6tnl        the kernel's own tunnel, through the same home agent

A round measures each load on each of them, each round beginning with another one: TCP both ways,
over a link of 100 Mbit/s as in the paper and without a limit, and round trips on one processor.
Guests, QEMU, the home agent and all routers share the processors; under TCG guests are the
bottleneck.

Then VMs migrate (mip6_switch.py): away from home and back with MIP6, and between two hosts
of one link without.  The timeline of the median run goes to mip6-blackout.svg.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as File

from lab.base import net, scratch, tools
from lab.mip6.mobility import World

from ..base import commandline, loads, measure
from ..base.loads import LOADS, Load
from ..base.report import Samples, turned
from . import places as mip6_places
from . import report as mip6_report
from . import switch as mip6_switch
from .places import AGAIN, BULK, CASES, WIRE, Place
from .switch import Switch

_PARTS = ("tunnel", "switch")
_WARM_UP = 1


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    seconds: int
    runs: int
    parts: tuple[str, ...]
    output: File


@dataclass
class _Tunnel:
    """Results of machines that do not move."""

    samples: Samples
    loads: list[Load] = field(default_factory=list)
    memory: dict[str, list[float | None]] = field(default_factory=dict)


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser(
        *("mip6", __doc__),
        rounds=6,
        quick="1 round of 2 s, 2 migrations of each kind",
        kinds="json, .md and -blackout.svg",
    )
    parser.add_argument("--runs", type=int, default=20, help="migrations of each kind (20)")
    commandline.add_only(parser, _PARTS, "part")
    options = parser.parse_args(arguments)
    return Plan(
        rounds=1 if options.quick else options.rounds,
        seconds=2 if options.quick else 4,
        runs=2 if options.quick else options.runs,
        parts=options.only,
        output=options.output,
    )


def _loads(world: World) -> list[Load]:
    bulk = [LOADS[name] for name in BULK]
    return [*(mip6_places.on_link(world, load) for load in bulk), *bulk, LOADS[loads.LATENCY]]


def _tunnel(plan: Plan, world: World, places: dict[str, Place]) -> _Tunnel:
    found = _Tunnel(Samples(plan.rounds), _loads(world))
    for place in places.values():
        with contextlib.suppress(RuntimeError, OSError):
            place.measure(LOADS[BULK[0]], _WARM_UP)
    for index in range(plan.rounds):
        for load in found.loads:
            for name in turned([*places], index):
                once = functools.partial(places[name].measure, load, plan.seconds)
                found.samples.record(index, name, load, once)
        for case in CASES[WIRE]:
            if WIRE + case in places and case != AGAIN:
                pid = places[WIRE + case].pid
                found.memory.setdefault(case, []).append(measure.resident(pid))
    return found


def _run(plan: Plan, folder: File) -> bool:
    """Measure everything and publish; return whether all went well."""
    tunnel, trip = _Tunnel(Samples(plan.rounds)), 0.0
    switches: dict[str, list[Switch]] = {}
    if "tunnel" in plan.parts:
        with mip6_places.opened(loads.build_pingpong(folder), folder) as (world, places):
            tunnel = _tunnel(plan, world, places)
    if "switch" in plan.parts:
        switches, trip = mip6_switch.measure(plan.runs)
    results = mip6_report.Results(
        *(plan.seconds, tunnel.samples, tunnel.loads, tunnel.memory, switches, trip)
    )
    mip6_report.publish(results, plan.output)
    return not tunnel.samples.failures


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("gcc", "ip", "iperf3", "radvd", "tc", "tcpdump")
    net.reap_stale()
    with scratch.folder() as folder:
        return 0 if _run(plan, File(folder)) else 1
