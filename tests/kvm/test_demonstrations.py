# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstrations with guests on the bed's accelerator."""

from __future__ import annotations

import sys

import pytest
from lab.base import paths, tools
from lab.guest import qemu


@pytest.mark.parametrize("module", ["run", "run_migration", "run_cvsw"])
def test_demonstration_reaches_its_end(module: str) -> None:
    """It has checked the pages and answers that it shows."""
    environment = {"PYTHONPATH": paths.PYTHONPATH}
    options = ["--no-shell", "--accel", qemu.accelerator()] if module == "run" else []
    words = [sys.executable, "-m", f"lab.{module}", *options]
    assert "All of it took" in tools.run(words, env=environment)
