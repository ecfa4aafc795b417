# SPDX-License-Identifier: GPL-2.0-or-later
"""bench/ derives a migration's events from a capture and answers, and draws them."""

from __future__ import annotations

import json
import struct
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lab.mip6 import mobile
from lab.mip6.mobility import AGENT_ADDRESS, CORRESPONDENT_ADDRESS, HOME_ADDRESS

from bench.base import overhead, timeline
from bench.base.loads import LATENCY, LOADS, Load
from bench.base.report import Samples
from bench.mip6 import places as mip6_places
from bench.mip6 import report as mip6_report
from bench.mip6 import switch as mip6_switch
from bench.mip6.switch import (
    ACK,
    AWAY,
    BACK,
    HEARD,
    REPLY,
    REQUEST,
    RESUME,
    SAME,
    STOP,
    UPDATE,
    Switch,
)

CARE_OF = mobile.CARE_OF[0]
_REMEMBERED = (mip6_places.LOCAL, mip6_places.STAGE, mip6_places.MIP6)


def _tunnelled(inner: bytes, *, outwards: bool) -> bytes:
    ends = (CARE_OF, AGENT_ADDRESS) if outwards else (AGENT_ADDRESS, CARE_OF)
    return mobile.ip6(*ends, mobile.IP6, inner)


def _ack() -> bytes:
    message = struct.pack(">BBBBHBBHHBBBB", 59, 1, 6, 0, 0, 0, 0, 7, 15, 1, 2, 0, 0)
    routing = bytes((mobile.MOBILITY, 2, 2, 1, 0, 0, 0, 0)) + mobile._packed(HOME_ADDRESS)
    return mobile.ip6(AGENT_ADDRESS, CARE_OF, mobile.ROUTING, routing + message)


REQUESTED = mobile.echo(CORRESPONDENT_ADDRESS, HOME_ADDRESS, 1)
REPLIED = mobile.echo(HOME_ADDRESS, CORRESPONDENT_ADDRESS, 1, mobile.ECHO_REPLY)


@pytest.mark.parametrize(
    ("packet", "event"),
    [
        (mobile.binding_update(CARE_OF, 7, 60), UPDATE),
        (_ack(), ACK),
        (_tunnelled(REQUESTED, outwards=False), REQUEST),
        (_tunnelled(REPLIED, outwards=True), REPLY),
        (REQUESTED, REQUEST),
        (REPLIED, REPLY),
        (mobile.icmp6("fe80::1", "ff02::1", 134, bytes(12), 255), None),
        (mobile.ip6(HOME_ADDRESS, CORRESPONDENT_ADDRESS, 6, bytes(20)), None),
    ],
)
def test_packets_of_a_timeline(packet: bytes, event: str | None) -> None:
    assert mip6_switch.what(mobile.parse(packet)) == event


def _pcap(*frames: tuple[float, bytes]) -> bytes:
    found = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for when, packet in frames:
        frame = bytes(12) + b"\x86\xdd" + packet
        micros = round((when - int(when)) * 1e6)
        found += struct.pack("=IIII", int(when), micros, len(frame), len(frame)) + frame
    return found


def test_first_of_each_is_told() -> None:
    """A registration may come before the stop; packets before it are the VM's at its source."""
    capture = _pcap(
        (9.5, mobile.binding_update(CARE_OF, 7, 60)),
        (9.75, _tunnelled(REQUESTED, outwards=False)),
        (10.25, _ack()),
        (10.5, _tunnelled(REQUESTED, outwards=False)),
        (10.625, _tunnelled(REPLIED, outwards=True)),
        (10.75, mobile.binding_update(CARE_OF, 8, 60)),
    )
    found = mip6_switch.marks(capture, 10.0)
    assert found == {UPDATE: 9.5, ACK: 10.25, REQUEST: 10.5, REPLY: 10.625}


def test_a_capture_that_is_cut_has_whole_packets() -> None:
    capture = _pcap((1.5, REPLIED), (2.5, REQUESTED))
    assert [when for when, _ in mip6_switch.packets(capture[:-1])] == [1.5, 2.5]
    assert [when for when, _ in mip6_switch.packets(capture[: -len(REQUESTED) - 20])] == [1.5]


def test_silence_is_around_the_resumption() -> None:
    """A longer gap at another time is not the blackout."""
    assert mip6_switch.silence([1.0, 4.0, 5.0, 6.0], 5.5) == (5.0, 6.0)
    for answers in ([], [1.0], [6.0]):
        with pytest.raises(RuntimeError):
            mip6_switch.silence(answers, 5.5)


@pytest.mark.parametrize(("part", "value"), [(50, 10), (99, 20), (95, 19), (0, 1), (100, 20)])
def test_percentiles_are_values_that_were_measured(part: int, value: int) -> None:
    assert mip6_switch.percentile([*range(20, 0, -1)], part) == value


def _switch(blackout: float, **marks: float) -> Switch:
    return Switch({HEARD: 100.0, **marks}, 100.0 - blackout / 1000, 0)


def test_median_switch() -> None:
    switches = [_switch(each) for each in (30.0, 10.0, 20.0, 40.0)]
    assert mip6_report.median_switch(switches).blackout == pytest.approx(20)


def test_what_mip6_adds_is_the_wait_for_its_binding() -> None:
    early = _switch(10, **{RESUME: 99.99, ACK: 99.98})
    late = _switch(10, **{RESUME: 99.99, ACK: 99.995})
    without = _switch(10, **{RESUME: 99.99})
    assert mip6_report.added_blackouts([early, late, without]) == pytest.approx([0, 5])


def test_costs_are_of_what_was_done() -> None:
    assert 3.0 / mip6_places.gigabytes(2000, 4) == pytest.approx(3)
    assert 2.0 / mip6_places.trips(50, 4) == pytest.approx(25)


def test_differences_are_of_the_same_round() -> None:
    ours, base = [2.0, 5.0, None], [1.0, 4.0, 7.0]
    assert overhead.difference(ours, base) == overhead.Spread(1, 1, 1)
    assert overhead.ratio(ours, base) == overhead.Spread(1.625, 1.25, 2)


def test_timeline_is_in_order_of_time(tmp_path: Path) -> None:
    """An event before the stop has a bar to the left, without a negative width."""
    marks = {STOP: 99.9, UPDATE: 99.89, RESUME: 99.95}
    switches = {AWAY: [_switch(110, **marks)], SAME: [_switch(60, **marks)], BACK: []}
    away, _ = mip6_report.tracks(switches)
    ends = [when for _, _, when in timeline.steps(away)]
    assert ends == pytest.approx([-10, 0, 50, 100])
    file = tmp_path / "timeline.svg"
    timeline.write(file, [away], "a < b")
    drawn = xml.etree.ElementTree.parse(file).getroot()
    widths = [float(each.get("width", "-1")) for each in drawn.iter() if "rect" in each.tag]
    assert len(widths) == len(away.events) and min(widths) > 0


def _results() -> mip6_report.Results:
    """Two rounds in which mip6 has half of what local has, and takes twice as long."""
    samples = Samples(2)
    of_bulk = [LOADS[name] for name in mip6_places.BULK]
    linked = [mip6_places.on_link(None, load) for load in of_bulk]  # type: ignore[arg-type]
    measured = [*linked, *of_bulk, LOADS[LATENCY]]
    for where, cases in mip6_places.CASES.items():
        for case in cases:
            for name in mip6_report.metrics(_empty(samples, measured)):
                ours = case == mip6_places.MIP6
                value = (5.0 if "throughput" in name else 20.0) if ours else 10.0
                samples.of(where + case, name)[:] = [value, value]
    marks = {STOP: 99.9, RESUME: 99.95, UPDATE: 99.951, ACK: 99.96}
    away, same = [_switch(110, **marks)] * 3, [_switch(55)] * 3
    memory = {case: [12.0 if case == mip6_places.MIP6 else 10.0] * 2 for case in _REMEMBERED}
    return mip6_report.Results(
        *(4, samples, measured, memory),
        *({AWAY: away, BACK: away, SAME: same}, 0.5),
    )


def _empty(samples: Samples, measured: list[Load]) -> mip6_report.Results:
    return mip6_report.Results(4, samples, measured, {}, {}, 0.0)


def test_comparisons_for_programs() -> None:
    found = {each.name: each.entry() for each in mip6_report.comparisons(_results())}
    for name, ratio in (
        ("throughput-send-1MiB-vs-local", 0.5),
        ("wire-own-latency-vs-stage", 2),
        ("latency-p99-vs-ip6tnl", 2),
        ("memory-vs-stage", 1.2),
        ("blackout-away-vs-same", 2),
        ("blackout-back-p99-vs-same", 2),
    ):
        entry = found[name]
        assert entry is not None and entry["ratio"] == pytest.approx(ratio), name
        assert entry["peer_name"] == name.rpartition("-vs-")[2]


def test_goals_are_judged_by_what_was_measured() -> None:
    goals = {goal.text: goal for goal in mip6_report.goals(_results(), True)}
    for text, met in (
        ("TCP send, unlimited link, relative to local", False),
        ("TCP send, a link of 100 Mbit/s, relative to local", True),
        ("a round trip, QEMU's own code alone, above an empty stage", True),
        ("memory per VM", False),
        ("blackout added by Mobile IPv6", True),
        ("requests lost per handover, maximum", True),
    ):
        row = goals[text].row()
        assert row is not None and row[-1] == ("met" if met else "not met"), text


@pytest.mark.parametrize("whole", [True, False])
def test_files_are_written(tmp_path: Path, whole: bool) -> None:
    """Also when a part was omitted."""
    results = _results() if whole else _empty(Samples(1), [])
    mip6_report.publish(results, tmp_path)
    assert "metrics" in json.loads((tmp_path / "mip6.json").read_text())
    text = (tmp_path / "mip6.md").read_text()
    assert ("ip6tnl of the guest's kernel" in text) == whole
    assert (tmp_path / "mip6-blackout.svg").exists() == whole
