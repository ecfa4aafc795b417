# SPDX-License-Identifier: GPL-2.0-or-later
"""The recording of a command as an SVG."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lab import recording
from lab.recording import Line


def test_pauses_are_short_and_ticks_are_gone() -> None:
    lines = [Line(1, "compiling"), Line(60, "[1] Boot"), Line(70, "    10 s, 3 MiB in build/")]
    shown = list(recording.shortened([*lines, Line(71, "x" * 200)]))
    assert [line.at for line in shown] == [2, 4]
    assert shown[0].text == "[1] Boot"
    assert len(shown[1].text) == 98


def test_a_command_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run.svg"
    assert recording.main([str(output), sys.executable, "-c", "print('[1] <a>')"]) == 0
    assert ">[1] &lt;a&gt;</text>" in output.read_text()
    assert "1 lines in" in capsys.readouterr().out
    assert recording.main([]) == 2
