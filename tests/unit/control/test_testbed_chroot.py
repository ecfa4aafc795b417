# SPDX-License-Identifier: GPL-2.0-or-later
"""Systems that packages are installed in."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from lab.base import paths, tools
from lab.packages import chroot


def test_a_system_that_is_there_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is made at a time, which takes mmdebstrap minutes."""

    def run(words: list[str]) -> None:
        (folder,) = (each for each in words if each.endswith(".new"))
        Path(folder, "usr/sbin").mkdir(parents=True)

    monkeypatch.setattr(paths, "BUILD", tmp_path)
    monkeypatch.setattr(tools, "run", run)
    made = chroot.base(["tzdata"], [], "trixie")
    assert (made / "usr/sbin/policy-rc.d").exists()
    monkeypatch.setattr(chroot, "locked", Mock(side_effect=AssertionError("it waits")))
    assert chroot.base(["tzdata"], [], "trixie") == made
