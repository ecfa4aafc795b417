# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hook did for a VM of late, as it is kept for ``vmmnet libvirt show``."""

from __future__ import annotations

from pathlib import Path

import pytest
from vmmnet.libvirt.host import history

UUID = "00000000-0000-4000-9000-000000000001"


def test_the_last_events_stay_in_their_order(tmp_path: Path) -> None:
    for number in range(20):
        history.record(tmp_path, UUID, "prepare", [f"claim {number}"], None)
    history.record(tmp_path, UUID, "migrate", [], "no table")
    found = history.read(tmp_path, UUID)
    assert [each.did for each in found[:-1]] == [(f"claim {n}",) for n in range(13, 20)]
    assert (found[-1].event, found[-1].did, found[-1].failed) == ("migrate", (), "no table")
    assert all(each.time.endswith("Z") for each in found)


def test_an_event_with_nothing_to_do_is_none(tmp_path: Path) -> None:
    history.record(tmp_path, UUID, "prepare", [], None)
    assert history.read(tmp_path, UUID) == [] and not list(tmp_path.iterdir())


def test_a_note_is_not_worth_a_failure(tmp_path: Path) -> None:
    (tmp_path / history.FOLDER).write_text("in the way")
    history.record(tmp_path, UUID, "prepare", ["a"], None)
    assert history.read(tmp_path, UUID) == []


def test_lines_that_mean_nothing_are_passed_over(tmp_path: Path) -> None:
    history.record(tmp_path, UUID, "prepare", ["a"], None)
    file = tmp_path / history.FOLDER / UUID
    file.write_text("{\n[]\n" + '{"time": 1}\n' + file.read_text())
    assert [each.did for each in history.read(tmp_path, UUID)] == [("a",)]
    file.write_bytes(b"\xff\n")
    assert history.read(tmp_path, UUID) == []


def test_no_event_is_larger_than_it_may_be(tmp_path: Path) -> None:
    history.record(tmp_path, UUID, "prepare", ["x" * 10000] * 100, "y" * 10000)
    assert (tmp_path / history.FOLDER / UUID).stat().st_size < 1 << 14


def test_vms_of_long_ago_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_VMS", 4)
    for number in range(10):
        history.record(tmp_path, str(number), "prepare", ["a"], None)
    left = {each.name for each in (tmp_path / history.FOLDER).iterdir()}
    assert len(left) == 4 and "9" in left
