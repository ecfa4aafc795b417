# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of guests: messages of failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.base import tools
from lab.guest import image
from lab.packages import debian


def test_a_mirror_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mmdebstrap keeps what apt says to itself if it is told to be quiet."""
    away = ["deb http://127.0.0.1:9/debian bookworm main"]
    monkeypatch.setattr(debian, "sources", lambda *_: away)
    with pytest.raises(tools.CommandFailed, match=r"Connection refused|Cannot initiate"):
        image._bootstrap(["tzdata"], tmp_path / "root", "bookworm")
