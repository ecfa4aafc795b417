# SPDX-License-Identifier: GPL-2.0-or-later
"""Time that the handoff of an address adds to a libvirt migration, and the hook to a start.

Two hosts with libvirt of the system and vmmnet-hostd, and a VM without a system, which
migrates from one to the other:

    plain      a domain without <vmmnet:net>: downtime from QEMU's stop to QEMU's start
    handoff    <vmmnet:sockets> with an address6: downtime until the other host has the address, too
    given      part from QEMU's stop until the source has given the address back
    taken      part from QEMU's start until the destination has the address
    added      sum of both parts

The times come from QEMU's traces. The hook runs as libvirt runs it, for a domain without vmmnet,
beside /bin/cat.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.base import conditions, net, paths, tools, wait
from lab.guest import domain, qemu
from lab.libvirt import moves as libvirt_moves
from lab.libvirt.libvirtd import Host
from lab.libvirt.moves import NAME, World
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand

from .base import commandline, report

_PLAIN, _HANDOFF = _KINDS = ("plain", "handoff")
_ADDED = "added"
_LOG = f"/var/log/libvirt/qemu/{NAME}.log"
_TRACES = ("vm_state_notify", "vmmnet_handoff_state")
_STOPPED = r"vm_state_notify running 0 .*\(finish-migrate\)"
_GIVEN = "vmmnet_handoff_state vmmnet-handoff: yielded"
_BEGAN = "vm_state_notify running 1 "
_TAKEN = "vmmnet_handoff_state vmmnet-handoff: held"
_FOREIGN = "<domain type='kvm'><name>web</name><uuid>{}</uuid><metadata/>{}</domain>"
_DEVICES = "<disk type='file'/>" * 200
_GOALS = {_ADDED: 20.0, "hook": 50.0}
_GOAL = "Goals: at most 20 ms added to the time of a plain migration, 50 ms for the hook (p99)."


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    calls: int
    output: Path


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("libvirt", __doc__, rounds=15, quick="2 rounds, 100 calls")
    parser.add_argument("--calls", type=int, default=1000, metavar="N", help="calls of the hook")
    given = parser.parse_args(arguments)
    rounds, calls = (2, 100) if given.quick else (given.rounds, given.calls)
    return Plan(rounds, calls, given.output)


def _domain(kind: str) -> etree._Element:
    """Return the VM of the test bed, with traces."""
    made = etree.fromstring(libvirt_moves.DOMAIN)
    domain.child(made.find("devices"), "emulator", str(qemu.binary()))
    if kind == _PLAIN:
        made.remove(made.find("metadata"))
        line = domain.child(made, f"{{{made.nsmap['qemu']}}}commandline")
    else:
        made = expand.expand(made)
        line = made.find("{*}commandline")
    for word in (each for name in _TRACES for each in ("-trace", name)):
        domain.child(line, f"{{{made.nsmap['qemu']}}}arg", value=word)
    return made


def _moment(host: Host, begin: int, pattern: str) -> float:
    """Wait for a new line in a host's QEMU log; return its time in seconds."""

    def found() -> list[str]:
        text = host.path(_LOG).read_bytes()[begin:].decode(errors="replace")
        return re.findall(rf"^\d+@(\d+\.\d+):{pattern}", text, re.MULTILINE)

    return float(wait.until(found, f"a trace of {host.name}")[0])


def _migrate(world: World, kind: str) -> dict[str, float]:
    """Return the milliseconds of a VM's downtime, and those of the handoff."""
    hosts = (world.one, world.two)
    one, two = (each.path(_LOG).stat().st_size if each.path(_LOG).exists() else 0 for each in hosts)
    world.create(_domain(kind))
    try:
        with world.two.way() as way:
            world.one.virsh("migrate", "--live", *way, NAME, world.two.uri())
        stopped, began = _moment(world.one, one, _STOPPED), _moment(world.two, two, _BEGAN)
        if kind == _PLAIN:
            return {_PLAIN: 1000 * (began - stopped)}
        given, taken = _moment(world.one, one, _GIVEN), _moment(world.two, two, _TAKEN)
    finally:
        for each in hosts:
            if NAME in each.virsh("list", "--name").split():
                each.virsh("destroy", NAME)
    return {
        _HANDOFF: 1000 * (taken - stopped),
        "given": 1000 * (given - stopped),
        "taken": 1000 * (taken - began),
        _ADDED: 1000 * (given - stopped + taken - began),
    }


def _calls(command: Sequence[str | Path], xml: str, count: int) -> list[float]:
    """Return the milliseconds of each call of a program that reads a domain."""
    spent = []
    for _ in range(count):
        begin = time.monotonic()
        subprocess.run(command, input=xml.encode(), check=True, stdout=subprocess.DEVNULL)
        spent.append(1000 * (time.monotonic() - begin))
    return spent


def _hook(count: int) -> dict[str, list[float]]:
    xml = _FOREIGN.format("00000000-0000-4000-9000-00000000000b", f"<devices>{_DEVICES}</devices>")
    script = paths.ROOT / "control/libvirt/vmmnet"
    words: list[str | Path] = [script, "web", "prepare", "begin", "-"]
    return {"hook": _calls(words, xml, count), "cat": _calls(["/bin/cat"], xml, count)}


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[-1]


def _publish(plan: Plan, still: dict[str, list[float]], hook: dict[str, list[float]]) -> None:
    rows = [["", "unit", "median (min..max)"]]
    rows += [[kind, "ms", str(report.spread(values))] for kind, values in still.items()]
    rows += [["hook, foreign domain, p99", "ms", report.number(_p99(hook["hook"]))]]
    rows += [["/bin/cat, p99", "ms", report.number(_p99(hook["cat"]))]]
    about = f"{plan.rounds} migrations of each kind, {plan.calls} calls. {conditions.machine()}"
    print(f"\n{about}\n\n{report.plain(rows)}\n\n{_GOAL}")
    ours = {_ADDED: statistics.median(still[_ADDED]), "hook": _p99(hook["hook"])}
    metrics: list[dict[str, Any]] = [
        {
            "name": name,
            "unit": "ms",
            "ours": round(ours[name], 3),
            "peer": goal,
            "peer_name": "goal",
            "ratio": round(ours[name] / goal, 3),
        }
        for name, goal in _GOALS.items()
    ]
    plan.output.mkdir(parents=True, exist_ok=True)
    result = {"conditions": about, "metrics": metrics, "samples": still}
    (plan.output / "libvirt.json").write_text(json.dumps(result, indent=1) + "\n")
    text = f"{about}\n\n{report.markdown(rows)}\n\n{_GOAL}\n"
    (plan.output / "libvirt.md").write_text(text)


def main(arguments: Sequence[str]) -> int:
    """Measure and write the results."""
    plan = parse(arguments)
    tools.require("libvirtd", "virsh")
    net.reap_stale()
    hook = _hook(plan.calls)
    still: dict[str, list[float]] = {name: [] for name in (*_KINDS, "given", "taken", _ADDED)}
    with libvirt_moves.world() as world:
        for number in range(plan.rounds):
            for kind in report.turned(_KINDS, number):
                for name, value in _migrate(world, kind).items():
                    still[name].append(value)
                    print(f"  round {number + 1}, {name}: {report.number(value)} ms")
    _publish(plan, still, hook)
    return 0
