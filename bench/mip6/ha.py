# SPDX-License-Identifier: GPL-2.0-or-later
"""Registrations a second of one home agent, and its behaviour with many bindings.

vmmnet-ha and mobile nodes in network namespaces, a router between them. The nodes have
64 Binding Updates out at a time. All bindings are made, each is refreshed once, and the
agent is killed and started again with its state file.

    new         bindings that are made, a second
    refreshed   bindings that are changed, a second
    one core    registrations of both kinds for each second of the agent's processor time
    restart     from the start to the first answer of the agent that has all bindings
    memory      resident, of the agent with all bindings
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

from lab.base import conditions, net
from lab.mip6 import mobile
from lab.mip6.mobility import HOME_PREFIX

from ..base import commandline, measure, report

_WINDOW = 64
_UNITS = {
    "new": "1/s",
    "refreshed": "1/s",
    "one core": "1/s",
    "restart": "ms",
    "memory": "MiB",
}
_GOALS = {"one core": 5000.0}
_GOAL = "Goal: 10,000 bindings on one agent; at least 5,000 registrations a second on one core."


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    bindings: int
    output: Path


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("ha", __doc__, rounds=5, quick="1 round")
    parser.add_argument("--bindings", type=int, default=10000, metavar="N")
    chosen = parser.parse_args(arguments)
    return Plan(1 if chosen.quick else chosen.rounds, chosen.bindings, chosen.output)


def _homes(count: int) -> list[str]:
    first = int(IPv6Address(f"{HOME_PREFIX}::1:0:0"))
    return [str(IPv6Address(first + number)) for number in range(count)]


def _updates(homes: Sequence[str], sequence: int) -> list[bytes]:
    return [mobile.binding_update(mobile.CARE_OF[0], sequence, 600, home) for home in homes]


def _send(node: mobile.Node, updates: Sequence[bytes]) -> float:
    """Send all updates, a window at a time; return the seconds until the last answer."""
    begin = time.monotonic()
    for at in range(0, len(updates), _WINDOW):
        window = updates[at : at + _WINDOW]
        for update in window:
            node.send(update)
        for _ in window:
            status = node.ack().status
            if status:
                raise RuntimeError(f"the agent refuses with status {status}")
    return time.monotonic() - begin


def _round(field: mobile.Field, homes: Sequence[str]) -> Iterator[tuple[str, float]]:
    state = field.folder / "ha.state"
    state.unlink(missing_ok=True)
    lines = [f"state {state}", f"bindings {len(homes)}"]
    new, again, last = (_updates(homes, number) for number in (1, 2, 3))
    with field.agent(*lines) as agent:
        before = measure.seconds(agent.pid)
        made, refreshed = _send(field.mobile, new), _send(field.mobile, again)
        spent = measure.seconds(agent.pid) - before
        yield "new", len(homes) / made
        yield "refreshed", len(homes) / refreshed
        yield "one core", 2 * len(homes) / spent
        yield "memory", measure.resident(agent.pid)
        agent.kill()
        agent.wait()
    begin = time.monotonic()
    with field.agent(*lines):
        _send(field.mobile, last[:1])
        yield "restart", 1000 * (time.monotonic() - begin)


def _measure(plan: Plan) -> dict[str, list[float]]:
    """Return the values of all rounds, by metric."""
    values: dict[str, list[float]] = {name: [] for name in _UNITS}
    homes = _homes(plan.bindings)
    with mobile.field() as field:
        for number in range(plan.rounds):
            for name, value in _round(field, homes):
                values[name].append(value)
                print(f"  round {number + 1}, {name}: {report.number(value)} {_UNITS[name]}")
    return values


def _entry(name: str, unit: str, values: report.Rounds) -> dict[str, object]:
    """Return the JSON of a metric; there is no peer, as no other home agent is maintained."""
    found = report.spread(values)
    goal = _GOALS.get(name)
    return {
        "name": name,
        "unit": unit,
        "ours": found and found.median,
        "peer": goal,
        "peer_name": goal and "goal",
        "ratio": found and goal and round(found.median / goal, 3),
        "runs": len(values),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and write the results."""
    plan = parse(arguments)
    net.reap_stale()
    values = _measure(plan)
    rows = [["", "unit", "median (min..max)"]]
    rows += [[name, _UNITS[name], str(report.spread(values[name]))] for name in _UNITS]
    about = f"{plan.bindings:,} bindings, {plan.rounds} rounds. {conditions.machine()}"
    print(report.plain(rows))
    plan.output.mkdir(parents=True, exist_ok=True)
    metrics = [_entry(name, unit, list(values[name])) for name, unit in _UNITS.items()]
    (plan.output / "ha.json").write_text(json.dumps({"metrics": metrics}, indent=1) + "\n")
    text = f"{about}\n\n{report.markdown(rows)}\n\n{_GOAL}\n"
    (plan.output / "ha.md").write_text(text)
    return 0
