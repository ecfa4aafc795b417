# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput that a VM keeps while another VM attacks the switch.

The attacker has rules of its own, as every tenant of a cloud may have: frames from one address,
from one port, or to one port may leave, all others are dropped. It sends 8,192 frames that differ
from the allowed values by one bit in each field (Csikor et al., "Tuple Space Explosion", CoNEXT
2019). A cache of flows needs a mask for each combination of bits, and searches all masks for each
frame. With CVSW these rules are in the attacker's own NIC.

The attacker and its QEMU have one processor. Open vSwitch and the victim share the other one, in
both cases and also without an attack.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.cvsw.bed import GUEST, WIRE, flow, output

from ..base import overhead, report
from ..base.loads import Metric
from ..base.overhead import Goal
from ..base.report import Comparison, Spread, number, turned
from .places import CVSW, KINDS, OVS, Places
from .rules import NULL, UPLINK, switch_flows
from .spent import Run, seconds
from .station import Station
from .traffic import Talk, together

#: Frames of 64 octets a second: 5 Mbit/s.
RATE = 10_000
_OCTETS = 1400
#: Seconds until the switch has seen each frame twice.
_WARM_UP = 2.0
#: Seconds that the attack lasts longer than the measurement.
_MARGIN = 0.5
_IPV4, _UDP = 0x0800, 17
#: The allowed values, as in generator.c.
_ADDRESS, _PORT = "10.0.0.1", 4660
NAMES = {CVSW: "CVSW", OVS: "Open vSwitch"}


@dataclass
class Kept:
    """Values of each round: the victim's runs, times of the attacker's VM and the switch."""

    quiet: list[Run] = field(default_factory=list)
    attacked: list[Run] = field(default_factory=list)
    #: Parts of a processor that the attacker's QEMU used under attack.
    attacker: list[float] = field(default_factory=list)

    @property
    def parts(self) -> list[float]:
        """Part of its throughput that the victim has kept."""
        both = zip(self.quiet, self.attacked, strict=True)
        return [after.gbit / before.gbit for before, after in both]


def _threads(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        yield from (int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())


@contextlib.contextmanager
def _placed(pids: Iterable[int], processor: int) -> Iterator[None]:
    """Keep processes to a processor."""
    usual = {thread: os.sched_getaffinity(thread) for thread in _threads(pids)}
    try:
        for thread in usual:
            os.sched_setaffinity(thread, {processor})
        yield
    finally:
        for thread, where in usual.items():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, where)


def _of(station: Station) -> list[int]:
    return [station.pid, station.generator_pid]


def nic_rules() -> list[bytes]:
    """Return the attacker's rules, for its NIC."""
    allow = output(WIRE)
    return [
        flow(allow, priority=13, in_port=GUEST, dl_type=_IPV4, nw_proto=_UDP, tp_dst=_PORT),
        flow(allow, priority=12, in_port=GUEST, dl_type=_IPV4, nw_proto=_UDP, tp_src=_PORT),
        flow(allow, priority=11, in_port=GUEST, dl_type=_IPV4, nw_src=_ADDRESS),
        flow(priority=10, in_port=GUEST),
    ]


def port_rules(tap: str) -> str:
    """Return the same rules, for Open vSwitch."""
    lines = (
        f"priority=13,in_port={tap},udp,tp_dst={_PORT},actions=output:{UPLINK}",
        f"priority=12,in_port={tap},udp,tp_src={_PORT},actions=output:{UPLINK}",
        f"priority=11,in_port={tap},ip,nw_src={_ADDRESS},actions=output:{UPLINK}",
        f"priority=10,in_port={tap},actions=drop",
    )
    return "\n".join(lines) + "\n"


def _prepare(places: Places, attackers: dict[str, Talk]) -> None:
    places.set(NULL)
    for controller, _, me, _ in places.controllers:
        if me == attackers[CVSW].sender.end:
            for each in nic_rules():
                controller.set(each)
    flows = switch_flows(NULL, places.pairs(OVS), places.pairs(CVSW), 0)
    places.bed.hosts[0].switch.program(flows + port_rules(attackers[OVS].sender.end.tap.name))


def _round(places: Places, victim: Talk, attacker: Talk, duration: float, kept: Kept) -> None:
    for host in places.bed.hosts:
        host.switch.forget()
    kept.quiet.append(together(places.bed, [victim], _OCTETS, duration))
    if not kept.quiet[-1].octets:
        raise RuntimeError(f"{victim.sender.end.tap.name}: no frame of the victim's arrives")
    whole = _WARM_UP + duration + _MARGIN
    attacker.sender.ask("attack", RATE, whole)
    # The victim sends during the attack.
    together(places.bed, [victim], _OCTETS, _WARM_UP)
    before = seconds(attacker.sender.pid)
    kept.attacked.append(together(places.bed, [victim], _OCTETS, duration))
    kept.attacker.append((seconds(attacker.sender.pid) - before) / duration)
    attacker.sender.answer()


def measure(places: Places, rounds: int, duration: float) -> dict[str, Kept]:
    """Measure an attack on both kinds in each round."""
    victims = {kind: places.talks[kind][0] for kind in KINDS}
    attackers = {kind: places.talks[kind][1] for kind in KINDS}
    kept = {kind: Kept() for kind in KINDS}
    _prepare(places, attackers)
    with contextlib.ExitStack() as stack:
        processors = sorted(os.sched_getaffinity(0))
        theirs = [pid for talk in attackers.values() for pid in _of(talk.sender)]
        shared = [host.switch.pid for host in places.bed.hosts]
        for talk in victims.values():
            shared += _of(talk.sender) + _of(talk.receiver)
        stack.enter_context(_placed(theirs, processors[0]))
        stack.enter_context(_placed(shared, processors[-1]))
        for index in range(rounds):
            for kind in turned(KINDS, index):
                _round(places, victims[kind], attackers[kind], duration, kept[kind])
            print(f"  victim, round {index + 1}", flush=True)
    return kept


def rows(kept: dict[str, Kept]) -> Iterator[list[str]]:
    """Return a line for each kind."""
    yield [
        "the attacker's rules are in",
        "victim without attack, Gbit/s",
        "under attack",
        "kept",
        "switch, ns a frame of the victim: without attack",
        "under attack",
        "attacker's QEMU, of a processor",
    ]
    for kind, each in kept.items():
        cells: list[Spread | None] = [
            report.spread([run.gbit for run in each.quiet]),
            report.spread([run.gbit for run in each.attacked]),
            overhead.interval(each.parts),
            report.spread([run.shared_ns for run in each.quiet]),
            report.spread([run.shared_ns for run in each.attacked]),
        ]
        used = report.spread(each.attacker)
        shown = ["-" if cell is None else str(cell) for cell in cells]
        where = "its NIC (CVSW)" if kind == CVSW else "Open vSwitch"
        yield [where, *shown, number(used.median) if used else "-"]


def comparisons(kept: dict[str, Kept]) -> Iterator[Comparison]:
    """Return the parts that victims have kept."""
    metric = Metric("victim-kept", "part", True, "What a victim keeps")
    yield Comparison(metric, "victim-kept-vs-ovs", OVS, kept[CVSW].parts, kept[OVS].parts)


def goals(kept: dict[str, Kept]) -> Iterator[Goal]:
    """Return the goals for the victim's part."""
    for kind, wanted in ((CVSW, "at least 0.95"), (OVS, "-")):
        value, parts = overhead.interval(kept[kind].parts), kept[kind].parts
        text = f"victim's throughput under attack relative to before, {NAMES[kind]}"
        low, enough = overhead.at_least(value), len(parts) >= overhead.ROUNDS_MIN
        yield Goal(text, wanted, -0.95, low, str(value), enough)
