# SPDX-License-Identifier: GPL-2.0-or-later
"""Calculations of bench/cvsw from processor time, and its rules."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lab.base.net import Interface, Namespace

from bench.cvsw import pairs, publish, rules, victim
from bench.cvsw.pairs import Found
from bench.cvsw.places import CVSW, OVS, PAIRS
from bench.cvsw.rules import AES, NULL, VLAN, VXLAN, Pair
from bench.cvsw.spent import Run, fairness
from bench.cvsw.station import End
from bench.cvsw.victim import Kept

#: Two pairs: 3,000 frames of 1,000 octets in a second.
RUN = Run(
    frames=(1000, 2000),
    octets=3_000_000,
    lost=0,
    seconds=1.0,
    vms=(0.001, 0.002, 0.001, 0.002),
    switches=(0.02, 0.05),
    crypts=(0.01, 0.01),
    kernel=0.004,
)


def test_fairness() -> None:
    assert fairness([5, 5, 5, 5]) == 1
    assert fairness([8, 0, 0, 0]) == 0.25
    assert fairness([0, 0]) == 0


def test_what_a_run_costs() -> None:
    """The cost includes all processes; the shared part is that of the slower host."""
    assert RUN.gbit == pytest.approx(0.024)
    assert RUN.rate == pytest.approx(3)
    assert RUN.frame_ns == pytest.approx(0.1 * 1e9 / 3000)
    assert RUN.core == pytest.approx(0.24)
    assert RUN.shared_ns == pytest.approx(20_000)


def test_a_core_for_each() -> None:
    """The slowest part limits the rate: first a switch, then the VMs."""
    assert RUN.vm_ns == pytest.approx(0.002 * 1e9 / 1500)
    # 0.05 s of one processor for 24 Mbit.
    assert RUN.many_cores == pytest.approx(0.024 / 0.05)
    slow = replace(RUN, vms=(0.1, 0.2, 0.1, 0.2))
    # 1,500 frames of a pair need 0.2 s: both pairs together carry 15,000 a second.
    assert slow.many_cores == pytest.approx(15_000 * 8000 / 1e9)


def test_nothing_came() -> None:
    """A run without frames has no cost a frame, and no rate."""
    none = replace(RUN, frames=(0, 0), octets=0)
    assert (none.frame_ns, none.core, none.many_cores, none.fairness) == (0, 0, 0, 0)


def _end(number: int) -> End:
    return End(Interface(Namespace("host", "host"), f"t{number}"), f"52:54:00:00:00:{number:02x}",
               number)  # fmt: skip


PAIR, OTHER = Pair(_end(2), _end(3)), Pair(_end(4), _end(5))


def test_open_vswitch_is_told() -> None:
    """It processes frames of its pairs, and passes on all frames."""
    text = rules.switch_flows(VXLAN, [PAIR], [OTHER], 1)
    assert "priority=2,in_port=t3,actions=set_tunnel:5002,output:vx" in text.splitlines()
    assert "priority=2,in_port=vx,tun_id=5002,actions=output:t3" in text.splitlines()
    assert "in_port=t5" not in text
    for mac, port in ((3, "t3"), (2, "wire"), (5, "t5"), (4, "wire")):
        flow = f"priority=1,dl_dst=52:54:00:00:00:{mac:02x},actions=output:{port}"
        assert flow in text.splitlines()
    assert "in_port" not in rules.switch_flows(NULL, [PAIR], [OTHER], 0)
    tagged = rules.switch_flows(VLAN, [PAIR], [], 0).splitlines()
    assert "priority=2,in_port=wire,dl_dst=52:54:00:00:00:02,actions=strip_vlan,output:t2" in tagged


def test_the_attackers_rules() -> None:
    """Three rules allow, each by another field, and the last one drops."""
    told = [struct.unpack_from(">I", each, 8)[0] ^ 0x3FFFFF for each in victim.nic_rules()]
    in_port, dl_type, proto, source, tp_src, tp_dst = 1, 1 << 4, 1 << 5, 0x3F << 8, 1 << 6, 1 << 7
    udp = in_port | dl_type | proto
    assert told == [udp | tp_dst, udp | tp_src, in_port | dl_type | source, in_port]
    *allow, drop = victim.nic_rules()
    assert struct.unpack_from(">I", allow[2], 8 + 28)[0] == 0x0A000001
    assert [struct.unpack_from(">HH", each, 8 + 36) for each in allow[:2]] == [(0, 4660), (4660, 0)]
    assert len(drop) == min(map(len, allow)) - 8
    assert len(victim.port_rules("t4").splitlines()) == len(told)


def _found(ours: float, theirs: float) -> Found:
    found = Found(rounds=6)
    for kind, by in ((CVSW, ours), (OVS, theirs)):
        for point in pairs.POINTS:
            run = replace(RUN, octets=round(RUN.octets * by))
            found.runs[point, kind] = [run] * 6
    return found


@pytest.mark.parametrize(("by", "verdict"), [(3.1, "met"), (2.9, "not met")])
def test_goal_of_pairs(by: float, verdict: str) -> None:
    goals = {goal.text: goal.row() for goal in pairs.goals(_found(by, 1.0))}
    (row,) = (row for text, row in goals.items() if text.endswith("Open vSwitch: 1400 octets"))
    assert row
    assert row[3] == verdict


def test_goal_of_victims() -> None:
    """A victim that loses a tenth misses the goal."""
    slower = replace(RUN, octets=2_700_000)
    kept = {kind: Kept([RUN] * 6, [after] * 6, [0.1] * 6) for kind, after in
            ((CVSW, RUN), (OVS, slower))}  # fmt: skip
    assert kept[OVS].parts == pytest.approx([0.9] * 6)
    ours, theirs = (goal.row() for goal in victim.goals(kept))
    assert ours
    assert ours[3] == "met"
    assert theirs
    assert theirs[3] == "not met"


def test_published(tmp_path: Path) -> None:
    """An incomplete run reports it, and the files have all other results."""
    whole = _found(2.0, 1.0)
    whole.runs[(AES, 1400, PAIRS), OVS][0] = None
    whole.failures.append("one of them")
    found = publish.Found(6, 3, pairs=whole)
    publish.publish(found, tmp_path)
    assert found.failures == ["one of them"]
    text = (tmp_path / "cvsw.md").read_text()
    assert "| VXLAN, encrypted, 1,400, 4 | CVSW |" in text
    assert "not met" in text
    assert (tmp_path / "cvsw.svg").exists()
    assert f'"pairs-{AES}-1400-{PAIRS}-throughput-vs-ovs"' in (tmp_path / "cvsw.json").read_text()
