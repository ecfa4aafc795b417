# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmark of CVSW's controller with a thousand NICs, with more than a hundred flows each.

The daemon of ``vmmnet cvsw run`` programs simulated NICs behind one simulated switch. The
simulation is a process of its own on the same machine.

    program    empty NICs: from the switch's connection until the last NIC has all flows
    take over  the controller is killed and restarted: until it has read all tables and found that
               nothing has to be changed
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from lab.base import conditions, paths, scratch, wait
from lab.cvsw.nics import SimNic
from lab.cvsw.switch import Switch
from lab.packages import wheels
from vmmnet.cvsw.client import Client
from vmmnet.cvsw.plan.flows import flows
from vmmnet.cvsw.plan.model import Plan
from vmmnet.cvsw.plan.read import read

from ..base import report

#: NICs of a tenant. Each NIC has 122 flows, as broadcast uses a group.
MEMBERS = 40
GOAL = 10.0
_PORT = 16653


def main(arguments: list[str]) -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(prog="bench/run cvsw-control", description=__doc__)
    parser.add_argument("--nics", type=int, default=1000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    given = parser.parse_args(arguments)
    program, take_over = [], []
    with scratch.folder() as name:
        folder = Path(name)
        plan = write(folder, given.nics)
        for _ in range(given.rounds):
            once = measure(folder, plan)
            program.append(once[0])
            take_over.append(once[1])
    count = sum(len(flows(plan, nic, {})) for nic in plan.nics())
    rows = [
        ["what", "seconds", "goal"],
        ["program", str(report.spread(program)), f"{GOAL:g}"],
        ["take over", str(report.spread(take_over)), "-"],
    ]
    title = f"{given.nics:,} NICs, {count:,} flows; {conditions.machine()}"
    output = paths.BUILD / "bench"
    output.mkdir(parents=True, exist_ok=True)
    (output / "cvsw-control.md").write_text(f"{title}\n\n{report.markdown(rows)}\n")
    values = {"nics": given.nics, "flows": count, "program": program, "take-over": take_over}
    (output / "cvsw-control.json").write_text(json.dumps(values) + "\n")
    print(f"{title}\n{report.plain(rows)}")
    return 0


def write(folder: Path, nics: int) -> Plan:
    """Write a file of tenants, and its keys."""
    tenants = {}
    for first in range(0, nics, MEMBERS):
        vms = {}
        for number in range(first + 1, min(first + MEMBERS, nics) + 1):
            key = folder / f"{number}.key"
            key.write_bytes(number.to_bytes(32))
            key.chmod(0o600)
            high, low = divmod(number, 250)
            mac = f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"
            vms[f"vm{number}"] = {"mac": mac, "key": key.name, "tunnel": f"198.18.{high}.{low + 1}"}
        number = first // MEMBERS + 1
        tenants[f"t{number}"] = {"vni": number, "group": f"239.0.0.{number}", "vms": vms}
    file = folder / "tenants.yaml"
    file.write_text(yaml.safe_dump({"underlay": {"mtu": 1500}, "tenants": tenants}))
    return read(file)


def measure(folder: Path, plan: Plan) -> tuple[float, float]:
    """Run one round; return the seconds of both parts."""
    (folder / "state.json").unlink(missing_ok=True)
    nics = [SimNic(about.mac, about.key, lambda _: None) for about in plan.nics()]
    wanted = [len(flows(plan, about, {})) for about in plan.nics()]
    with running(folder, folder / "tenants.yaml"):
        first = connected(nics, lambda: all(map(_has, nics, wanted)))
    before = [nic.commands.copy() for nic in nics]
    with running(folder) as client:
        second = connected(nics, lambda: _is_ready(client))
    for nic, commands in zip(nics, before, strict=True):
        assert not any(kind.name == "SET_ENTRY" for kind in nic.commands - commands)
    return first, second


def connected(nics: list[SimNic], is_done: Callable[[], bool]) -> float:
    """Return the seconds from the connection of the switch of NICs until a condition holds."""
    began = time.monotonic()
    with contextlib.closing(Switch(("127.0.0.1", _PORT), 4)) as switch:
        for port, nic in enumerate(nics, 1):
            switch.plug(port, nic)
        while not is_done():
            switch.pump()
            assert switch.is_connected
        return time.monotonic() - began


def _has(nic: SimNic, wanted: int) -> bool:
    return len(nic.table) == wanted and nic.mtu > 0


_looked_at = 0.0


def _is_ready(client: Client) -> bool:
    """Return whether all NICs are ready; asks every half a second, as requests cost time."""
    global _looked_at
    if time.monotonic() < _looked_at + 0.5:
        return False
    _looked_at = time.monotonic()
    return {nic["state"] for nic in client.ask("GET", "/nics")["nics"]} == {"ready"}


@contextlib.contextmanager
def running(folder: Path, *words: Path) -> Iterator[Client]:
    """Run the daemon; it is killed at the end."""
    socket = folder / "cvsw.sock"
    packages = wheels.os_ken()
    command = [sys.executable, "-m", "vmmnet", "cvsw", "run", "--listen", f"127.0.0.1:{_PORT}"]
    command += [f"--socket={socket}", f"--state={folder / 'state.json'}", *map(str, words)]
    environment = {"PYTHONPATH": f"{paths.PYTHONPATH}:{packages}"}
    child = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait.accepting(socket, lambda: child.poll() is not None)
        yield Client(socket)
    finally:
        child.kill()
        child.wait()
