# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmark of CVSW beside Open vSwitch: the cost of frames in the switch of a VM's NIC.

look-ups    one look-up in the flow table, beside a GHashTable for each mask
actions     all work of the switch on a frame, without a NIC; ESP's core beside libcrypto; 1, 2 and
            4 switches at once, each in a thread of its own
device      a frame's way through QEMU, from virtio-net's queue to the tap
pairs       1, 2 and 4 pairs of VMs without guests, on two hosts with Open vSwitch: the
            paper's experiments, with the work in NICs and in Open vSwitch
victim      throughput that a VM keeps while another VM attacks the switch
guests      the paper's experiments with guests under TCG, datagrams of 64 to 32,768 octets
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import net, scratch, tools

from ..base import commandline, measure
from . import actions, core, device, machines, pairs, paper, places, publish, station, victim
from .publish import Found

_PARTS = ("look-ups", "actions", "device", "pairs", "victim", "guests")
_NETWORKED = ("device", "pairs", "victim", "guests")


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    guest_rounds: int
    seconds: float
    #: Pairs of guests, at most.
    pairs: int
    parts: tuple[str, ...]
    output: Path


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser(
        *("cvsw", __doc__),
        rounds=6,
        quick="1 round of 0.3 s a measurement, guests: 2 pairs at most",
        kinds="json, .md and .svg",
    )
    parser.add_argument(
        "--guest-rounds", type=int, default=3, metavar="N", help="rounds with guests (default 3)"
    )
    commandline.add_only(parser, _PARTS, "part")
    chosen = parser.parse_args(arguments)
    return Plan(
        rounds=1 if chosen.quick else chosen.rounds,
        guest_rounds=1 if chosen.quick else chosen.guest_rounds,
        seconds=0.3 if chosen.quick else 0.7,
        pairs=2 if chosen.quick else machines.PAIRS,
        parts=chosen.only,
        output=chosen.output,
    )


def _without_guests(plan: Plan, found: Found, folder: Path) -> None:
    """Run the parts that need a generator."""
    program = station.build(folder)
    if "device" in plan.parts:
        found.device = device.measure(program, folder, plan.rounds)
    if not {"pairs", "victim"} & set(plan.parts):
        return
    with places.opened(program, folder) as made:
        if "pairs" in plan.parts:
            found.pairs = pairs.measure(made, plan.rounds, plan.seconds)
        if "victim" in plan.parts:
            found.victim = victim.measure(made, plan.rounds, 2 * plan.seconds)


def _measure(plan: Plan, found: Found, folder: Path, stack: contextlib.ExitStack) -> None:
    if "look-ups" in plan.parts:
        found.look_ups = core.measure(core.build(folder), plan.rounds)
    if "actions" in plan.parts:
        found.actions = actions.measure(actions.build(folder), plan.rounds)
    if {"device", "pairs", "victim"} & set(plan.parts):
        _without_guests(plan, found, folder)
    if "guests" in plan.parts:
        made = stack.enter_context(machines.opened(machines.build(folder), plan.pairs))
        found.guests = paper.measure(made, plan.guest_rounds, plan.seconds)


def main(arguments: Sequence[str]) -> int:
    """Measure and write it down; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("gcc", "pkg-config")
    if set(_NETWORKED) & set(plan.parts):
        tools.require("ip", "ovs-vswitchd", "wireguard-go")
        net.reap_stale()
    found = Found(plan.rounds, plan.guest_rounds)
    with scratch.folder() as folder, contextlib.ExitStack() as stack:
        with measure.cost() as cost:
            _measure(plan, found, Path(folder), stack)
        found.others = cost.others
        # Publish before the guests end, so that an error there does not lose the numbers.
        publish.publish(found, plan.output)
    return 1 if found.failures else 0
