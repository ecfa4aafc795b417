# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of a stage that passes everything.

Three equal guests, each on a tap of a host of its own, which is the other end of each connection:

    plain     -netdev tap                    the base of the comparisons
    stage     -netdev tap, -netdev stage     the same behind an empty stage
    control   -netdev tap                    the same as plain

A round measures each load on one guest after the other, each round beginning with another guest. A
guest is stopped while it is not measured, and round trips are on one processor (measure.py). The
difference between control and plain is the noise of this run.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, scratch, tools
from lab.base.net import Network
from lab.guest.guest import Guest

from .base import commandline, loads, paths, report
from .base.loads import LOADS, Load
from .base.paths import Path
from .base.report import Comparison, Samples

_PLAIN, _STAGE, _CONTROL = _PATHS = ("plain", "stage", "control")
_LOADS = ("send-1MiB", "receive-1MiB", "udp", loads.LATENCY)
_GOAL = "Goal: at most 1 % less throughput, and at most 1 % more latency, than without a stage."
_WARM_UP = 1
_HOST, _GUEST = "192.0.2.1", "192.0.2.2"


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    seconds: int
    loads: tuple[Load, ...]
    output: File


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("stage", __doc__, rounds=15, quick="1 round of 1 s a measurement")
    commandline.add_only(parser, _LOADS, "load")
    options = parser.parse_args(arguments)
    return Plan(
        rounds=1 if options.quick else options.rounds,
        seconds=1 if options.quick else 4,
        loads=tuple(LOADS[name] for name in options.only),
        output=options.output,
    )


@contextlib.contextmanager
def _opened(name: str, pingpong: File) -> Iterator[Path]:
    """Boot the guest of one path; its NIC's other end is a tap of its host."""
    with Network() as network:
        host = network.namespace("host")
        host.tap("tap0").add_address(f"{_HOST}/24")
        arguments = ["-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"]
        top = "net0"
        if name == _STAGE:
            top = "st0"
            arguments += ["-netdev", "stage,id=st0,netdev=net0"]
        with Guest(
            name=name,
            netns=host,
            devices=[f"virtio-net-pci,netdev={top}"],
            arguments=arguments,
            files={paths.PINGPONG: pingpong},
        ) as guest:
            guest.run("modprobe virtio_net")
            guest.wait_for("ip link show dev eth0")
            guest.run(f"ip address add {_GUEST}/24 dev eth0")
            guest.run("ip link set dev eth0 up")
            yield Path(name, host, host, _HOST, _HOST, pingpong, guest)


def _measure_once(path: Path, load: Load, seconds: int) -> loads.Values:
    with path.active():
        return loads.measure_small(load, path, seconds)


def _measure(plan: Plan, ready: Sequence[Path]) -> Samples:
    samples = Samples(plan.rounds)
    for load in plan.loads:
        for path in ready:
            with contextlib.suppress(RuntimeError, OSError):
                _measure_once(path, load, _WARM_UP)
    for index in range(plan.rounds):
        for load in plan.loads:
            for path in report.turned(ready, index):
                measure = functools.partial(_measure_once, path, load, plan.seconds)
                samples.record(index, path.name, load, measure)
    return samples


def _compare(plan: Plan, samples: Samples) -> Iterator[Comparison]:
    for ours in (_STAGE, _CONTROL):
        for load in plan.loads:
            for metric in load.metrics:
                yield Comparison(
                    metric,
                    f"{ours}-{metric.name}-vs-{_PLAIN}",
                    _PLAIN,
                    samples.of(ours, metric.name),
                    samples.of(_PLAIN, metric.name),
                )


def _publish(plan: Plan, samples: Samples) -> None:
    comparisons = list(_compare(plan, samples))
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    about = f"{rounds} of {plan.seconds} s, guests of 2 vCPUs under TCG; {conditions.machine()}"
    print(f"\n{about}\n\n{report.table(comparisons)}\n\n{_GOAL}")
    more = {"conditions": about, "failures": samples.failures, "samples": samples.values}
    report.write_json(plan.output / "stage.json", comparisons, more)
    text = f"{about}.\n\n{_GOAL}\n"
    for ours in (_STAGE, _CONTROL):
        found = [one for one in comparisons if one.name.startswith(ours)]
        text += "\n" + report.markdown(report.matrix(found, ours))
    (plan.output / "stage.md").write_text(text)
    print(f"\nwritten: {plan.output / 'stage.json'}, {plan.output / 'stage.md'}")


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("ip", "iperf3", "gcc")
    net.reap_stale()
    with scratch.folder() as folder:
        pingpong = loads.build_pingpong(File(folder))
        with contextlib.ExitStack() as stack:
            ready = []
            for name in _PATHS:
                ready.append(stack.enter_context(_opened(name, pingpong)))
                ready[-1].pause()
            samples = _measure(plan, ready)
            # Publish before the guests end, so that an error there does not lose the numbers.
            _publish(plan, samples)
    return 1 if samples.failures else 0
