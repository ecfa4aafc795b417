# SPDX-License-Identifier: GPL-2.0-or-later
"""os-ken's cases for switches on a NIC, from both of its sides, and on Open vSwitch.

Flows are set by FLOW_MODs, a frame comes in, and what leaves is held against the case.  The
tester's port 1 is the side of the NIC from which frames come, its port 2 the other side.
"""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterator

import pytest
from lab.base import paths, tools
from lab.base.net import Network
from lab.cvsw.openflow import card, cases, lacks, trial
from lab.cvsw.openflow.cases import OUT, Case
from lab.cvsw.openflow.nic import SIDES, Nic
from lab.cvsw.openflow.osken import VERSIONS, OsKen
from lab.cvsw.openflow.trial import CANNOT, FAILED, PASSED
from lab.cvsw.openflow.vswitch import OpenVSwitch

CARD = paths.BUILD / "cvsw-scorecard.md"
#: How many cases of a group are in the sample for Open vSwitch; groups and meters take long.
SAMPLE = {
    (1, "match"): 12,
    (1, "action"): 6,
    (4, "match"): 24,
    (4, "action"): 10,
    (4, "action/25_SET_FIELD"): 16,
}
#: What a NIC does and Open vSwitch does not: headers behind IPv6's, and more than two tags.
ALONE = {"match/39_IPV6_EXTHDR", "match/39_IPV6_EXTHDR_Mask", "action/17_PUSH_VLAN_multiple"}
#: What all cases come to on a NIC.
SCORE = {1: {PASSED: 192}, 4: {PASSED: 455, CANNOT: 536}}


@functools.cache
def all_cases() -> tuple[Case, ...]:
    return tuple(case for version in VERSIONS for case in cases.read(OsKen(version)))


@functools.cache
def some_cases() -> tuple[Case, ...]:
    chosen = [
        cases.sample([case for case in all_cases() if (case.version, case.group) == group], number)
        for group, number in SAMPLE.items()
    ]
    return tuple(itertools.chain(*chosen))


@pytest.fixture(params=list(SIDES))
def nic(request: pytest.FixtureRequest) -> Iterator[Nic]:
    """The switch of a NIC; the tester's frames come from that side."""
    with Nic.running(request.param) as made:
        yield made


@pytest.fixture
def open_vswitch(network: Network) -> Iterator[OpenVSwitch]:
    with OpenVSwitch.running(network) as made:
        yield made


def test_nic(nic: Nic) -> None:
    """A NIC does what a case wants, or refuses by its name what it cannot do."""
    verdicts = [(case, trial.on_nic(case, nic)) for case in all_cases()]
    assert not [(case.name, verdict.why) for case, verdict in verdicts if verdict.how == FAILED]
    for version, score in SCORE.items():
        hows = (verdict.how for case, verdict in verdicts if case.version == version)
        assert collections.Counter(hows) == score


def test_open_vswitch(open_vswitch: OpenVSwitch) -> None:
    """What a NIC passes is no invention of ours: Open vSwitch does the same."""
    chosen = [case for case in some_cases() if not lacks.of(case) and case.place not in ALONE]
    verdicts = [(case, trial.on_switch(case, open_vswitch)) for case in chosen]
    assert not [(case.name, verdict.why) for case, verdict in verdicts if verdict.how == FAILED]


@pytest.mark.parametrize("version", VERSIONS, ids=list(VERSIONS.values()))
def test_end_of_a_flow(nic: Nic, version: int) -> None:
    """A flow ends at its time, with a FLOW_REMOVED, and frames have no flow from then on."""
    osken = OsKen(version)
    nic.clear(osken)
    output = osken.of.OFPActionOutput(nic.ports[OUT])
    assert not nic.set(osken.add({}, [output], hard_timeout=2, flags=1))
    frame = bytes(60)
    assert nic.advance(1999) == []
    assert nic.send(frame).out == [(OUT, frame)]
    (removed,) = nic.advance(2000)
    assert osken.parse(removed).reason == osken.ofproto.OFPRR_HARD_TIMEOUT
    seen = nic.send(frame)
    assert (seen.out, seen.tables) == ([], {0: (1, 0)})


@pytest.mark.long
def test_scorecard(open_vswitch: OpenVSwitch) -> None:
    """All cases: what a NIC can do it does, from both sides, and whatever Open vSwitch does."""
    with Nic.running("guest") as guest, Nic.running("wire") as wire:
        scores = [
            card.Score(
                case,
                trial.on_nic(case, guest),
                trial.on_nic(case, wire),
                trial.on_switch(case, open_vswitch),
            )
            for case in all_cases()
        ]
    peer = tools.run(["ovs-vswitchd", "--version"]).splitlines()[0].replace("ovs-vswitchd (", "")
    CARD.write_text(card.written(scores, peer.replace(")", "")))
    assert not [score.cell for score in scores if FAILED in (score.guest.how, score.wire.how)]
    able = [score for score in scores if not lacks.of(score.case)]
    assert {score.case.place for score in able if score.peer.how == FAILED} <= ALONE
