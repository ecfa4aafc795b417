# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of frames for the VM's QEMU, by the NIC's actions.

A generator replaces the guest (station.py). It sends as many frames as QEMU takes, to a tap that
nobody reads. So the cost is that of virtio-net, its switch, and the kernel's tap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.base.net import Namespace, Network
from lab.cvsw.bed import Controller

from ..base import overhead, report
from ..base.loads import Metric
from ..base.overhead import Goal
from ..base.report import Comparison, turned
from . import rules, spent
from .rules import NULL
from .station import End, Station

LENGTHS = (64, 512, 1400)
PLAIN, AGAIN = "virtio-net", "again"
TITLES = {
    PLAIN: "virtio-net",
    AGAIN: "the same, again",
    **{case: f"CVSW: {title}" for case, title in rules.TITLES.items()},
}
_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
_SECONDS = 0.4


@dataclass
class Costs:
    """Values of each round, by case and octets of a frame."""

    #: Nanoseconds of QEMU for a frame.
    ns: dict[tuple[str, int], list[float | None]] = field(default_factory=dict)
    #: Thousands of frames a second.
    rate: dict[tuple[str, int], list[float | None]] = field(default_factory=dict)


@contextlib.contextmanager
def _stations(program: Path, folder: Path, space: Namespace) -> Iterator[dict[bool, Station]]:
    """Start one VM with a switch in its NIC and one without; neither has a peer."""
    with contextlib.ExitStack() as stack:
        made = {}
        for is_cvsw in (True, False):
            number = 2 * is_cvsw + 2
            tap = space.tap(f"tap{number}")
            end, other = (End(tap, f"52:54:00:00:00:0{number + i}", number + i) for i in (0, 1))
            made[is_cvsw] = stack.enter_context(
                Station.running(program, folder, end, other, is_cvsw=is_cvsw)
            )
        yield made


def _once(station: Station, octets: int, folder: Path) -> tuple[float, float]:
    before = spent.seconds(station.pid)
    station.ask("send", octets, _SECONDS, 0, folder / "counted")
    sent = station.answer()
    if not sent.frames:
        raise RuntimeError(f"{station.end.tap.name}: QEMU has taken no frame")
    took = spent.seconds(station.pid) - before
    return took * 1e9 / sent.frames, sent.frames / sent.seconds / 1e3


def measure(program: Path, folder: Path, rounds: int) -> Costs:
    """Run all cases in each round, each round beginning with another case."""
    costs = Costs()
    with Network() as network, contextlib.ExitStack() as stack:
        space = network.namespace("host")
        space.sysctl(_QUIET)
        stations = stack.enter_context(_stations(program, folder, space))
        switch = stations[True].end
        other = End(switch.tap, "52:54:00:00:00:ff", 99)
        controller = stack.enter_context(contextlib.closing(Controller(switch.tap, switch.mac)))
        controller.hello()
        controller.meet()
        rules.set_keys(controller, switch, other)
        for index in range(rounds):
            for case in turned([*TITLES], index):
                if case in rules.TITLES:
                    rules.set_nic(controller, case, switch, other, 1)
                station = stations[case in rules.TITLES]
                for octets in LENGTHS:
                    found = _once(station, octets, folder)
                    for values, value in zip((costs.ns, costs.rate), found, strict=True):
                        values.setdefault((case, octets), []).append(value)
            print(f"  device, round {index + 1}", flush=True)
    return costs


def rows(costs: Costs) -> Iterator[list[str]]:
    """Return a line for each case: QEMU's nanoseconds a frame, and frames a second."""
    yield ["what a NIC does", *(f"{octets:,} octets" for octets in LENGTHS)]
    for case, title in TITLES.items():
        row = [title]
        for octets in LENGTHS:
            ns, rate = (report.spread(of[case, octets]) for of in (costs.ns, costs.rate))
            assert ns
            assert rate
            row.append(f"{ns} ns<br>{report.number(rate.median)} k/s")
        yield row


def comparisons(costs: Costs) -> Iterator[Comparison]:
    """Compare each case of CVSW with virtio-net."""
    for case in rules.TITLES:
        for octets in LENGTHS:
            title = f"QEMU, {octets} octets, {rules.TITLES[case]}"
            metric = Metric(f"device-{case}-{octets}", "ns", False, title)
            ours, peer = costs.ns[case, octets], costs.ns[PLAIN, octets]
            yield Comparison(metric, f"device-{case}-{octets}-vs-{PLAIN}", PLAIN, ours, peer)


def goals(costs: Costs) -> Iterator[Goal]:
    """Compare null processing with virtio-net."""
    for octets in LENGTHS:
        ours, plain = costs.rate[NULL, octets], costs.rate[PLAIN, octets]
        ratio, enough = overhead.ratio(ours, plain), len(ours) >= overhead.ROUNDS_MIN
        text = f"frames per second without flows, {octets} octets, relative to virtio-net, no wire"
        yield Goal(text, "at least 0.99", -0.99, overhead.at_least(ratio), str(ratio), enough)
