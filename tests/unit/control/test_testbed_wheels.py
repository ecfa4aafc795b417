# SPDX-License-Identifier: GPL-2.0-or-later
"""Python packages that only tests need."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from lab.packages import wheels


def test_the_wheel_comes_before_what_the_system_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's python3-os-ken has no cases for switches."""
    (tmp_path / "os_ken").mkdir()
    (tmp_path / "os_ken/__init__.py").write_text("")
    wheel = str(wheels.os_ken())
    others = [each for each in sys.path if each != wheel]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *others])
    monkeypatch.delitem(sys.modules, "os_ken", raising=False)
    wheels.use_os_ken()
    found = importlib.util.find_spec("os_ken")
    assert found is not None and str(found.origin).startswith(wheel)
