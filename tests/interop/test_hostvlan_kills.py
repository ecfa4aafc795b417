# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten thousand changes of HostVLAN's tables, while everybody is killed who makes them.

Four hosts and twenty VMs, whose ports are in eBPF.  Three hosts follow an
etcd, one has a table of its own.  Agents, etcd, writers and commands are
killed at random, and no frame may go a wrong way meanwhile.  What happened is
written to build/hostvlan/kills.md.  VMMNET_SEED repeats the dice of a run, not
its timing.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab.base import conditions, paths, tools
from lab.base.net import Network
from lab.hosts import ebpf
from vmmnet.values import mac as macs

sys.path.insert(0, str(Path(__file__).parent))

from kills import policy
from kills.bed import Bed, bed
from kills.killer import Commands, Killer, Mover

CHANGES = 10_000
KILLS = {"agent": 20, "etcd": 5, "writer of etcd": 10, "command": 20}
MOVES = 10
# Of agents, etcd and writers: while VMs move, and when they have.
KILLS_MOVING, KILLS_SETTLED = 5, 3
# Of a window in which VMs that move are judged too.
FRAMES = 450
# On a machine that has much else to do.
SECONDS = 1800
REPORT = paths.BUILD / "hostvlan" / "kills.md"


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    tools.require("etcd", "etcdctl")
    ebpf.compiled()


def test_nothing_passes_wrongly_whoever_is_killed(network: Network, tmp_path: Path) -> None:
    seed = int(os.environ.get("VMMNET_SEED") or random.SystemRandom().getrandbits(32))
    print(f"VMMNET_SEED={seed}")
    dice = random.Random(seed)
    first = policy.first(dice)
    began = time.monotonic()
    with bed(network, tmp_path) as made:
        traffic = made.begin(first)
        mover = Mover(made, dice.getrandbits(32), first)
        commands = Commands(made, dice.getrandbits(32), first)
        killer = Killer(made, dice.getrandbits(32))
        workers = (mover, commands, killer)
        with commands, killer:
            for moves in itertools.count(1):
                killer.grant(KILLS_MOVING)
                now = mover.move()
                killer.grant(KILLS_SETTLED)
                traffic.window(FRAMES, now)
                commands.look()
                killer.look()
                kills = sum((each.kills for each in workers), Counter[str]())
                changes = sum(each.changes for each in workers)
                if moves >= MOVES and changes >= CHANGES and kills >= Counter(KILLS):
                    break
                assert time.monotonic() < began + SECONDS, f"{changes} changes, {kills}"
        commands.finish()
        expect_whole(made, commands.table | mover.now)
        judged = traffic.window(FRAMES, mover.now)
    kills = sum((each.kills for each in workers), Counter[str]())
    changes = sum(each.changes for each in workers)
    report(seed, time.monotonic() - began, changes, moves, kills, judged)


def expect_whole(made: Bed, alone: policy.Policy) -> None:
    """Every table is whole and says what it shall, and eBPF has the same."""
    with made.store() as store:
        truth = {entry.mac: frozenset(entry.lnids) for entry in store.entries()}
        assert list(store.problems()) == []
    for name in policy.FOLLOWING:
        made.until(name, policy.mirrored(name, truth))
    assert made.alone.lnids() == {mac: lnids for mac, lnids in alone.items() if lnids}
    for host in made.hosts.values():
        host.check()
    for vm in policy.STEADY:
        assert vm.tenant in truth[vm.mac], macs.text(vm.mac)


def report(
    seed: int,
    seconds: float,
    changes: int,
    moves: int,
    kills: Counter[str],
    judged: dict[str, Any],
) -> None:
    """Write down what happened."""
    rows = [
        *((f"killed: {kind}", f"{number:,}") for kind, number in sorted(kills.items())),
        ("changes of a MAC address", f"{changes:,}"),
        ("times that VMs moved to other tenants", f"{moves:,}"),
        ("frames sent", f"{judged['sent']:,}"),
        ("deliveries judged, made or not", f"{judged['judged']:,}"),
        ("wrong deliveries", f"{judged['wrong']:,}"),
        ("tables and copies in eBPF that are not as they should be", "0"),
    ]
    text = f"{conditions.machine()}; seed {seed}, {seconds:.0f} s\n\n| | |\n|---|--:|\n"
    text += "".join(f"| {what} | {number} |\n" for what, number in rows)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(text)
    print(text)
