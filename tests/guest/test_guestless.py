# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmark without a guest drives the devices of the small QEMU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import guestless
from bench.guestless import switched

_SOCKETS = ("send-1", "send-65536", "receive-65536", "echo-1", "datagrams-1400", "connect")


@pytest.mark.parametrize(
    ("paths", "loads"), [("vmrpc,native", _SOCKETS), ("virtio-net,hostvlan,cvsw", ("echo-1",))]
)
def test_each_load_has_a_figure(paths: str, loads: tuple[str, ...], tmp_path: Path) -> None:
    words = ["--quick", "--output", str(tmp_path), "--paths", paths, "--only", ",".join(loads)]
    assert guestless.main(words) == 0
    found = json.loads((tmp_path / "guestless.json").read_text())["metrics"]
    ours, *others = paths.split(",")
    pairs = {(load, ours, peer) for load in loads for peer in others}
    if ours == "virtio-net":
        pairs = {(load, kind, ours) for load in loads for kind in others}
    assert {(one["name"], one["peer_name"]) for one in found} == {
        (f"{kind}-{load}-vs-{peer}", peer) for load, kind, peer in pairs
    }
    assert all(one["ours"] > 0 and one["peer"] > 0 for one in found)


def test_switches_have_figures(tmp_path: Path) -> None:
    """Each path begins only when its frames leave as their case says."""
    ours = [f"{switched.CVSW}-{case}" for case in switched.CASES]
    words = ["--quick", "--output", str(tmp_path), "--paths", ",".join(switched.KINDS)]
    assert guestless.main([*words, "--only", "bursts-1400,supers-1400"]) == 0
    found = json.loads((tmp_path / "guestless-switches.json").read_text())["metrics"]
    assert {name for one in found for name in ours if one["name"].startswith(f"{name}-")} == {*ours}
    assert {one["peer_name"] for one in found} == {*switched.KINDS} - {*ours}
    assert all(one["ours"] > 0 and one["peer"] > 0 for one in found)
    assert "Open vSwitch" in (tmp_path / "guestless-switches.md").read_text()


@pytest.mark.parametrize(
    ("frames", "octets", "count"),
    [(64, 64 * 1442, 64), (64, 64 * 1530, 64), (2, 2 * (42 + 32 * 1400), 64)],
)
def test_datagrams_of_frames(frames: int, octets: int, count: int) -> None:
    assert switched.datagrams(frames, octets, 1400) == count
