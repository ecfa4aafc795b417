# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of the sources: whether other users reach them, as tests need it."""

from __future__ import annotations

from pathlib import Path

from lab.base import paths, scratch


def test_a_home_that_is_closed_is_named() -> None:
    """As root's, whose mode is 0700: the first step of make check says so."""
    with scratch.folder() as name:
        home = Path(name)
        (home / "vmmnet").mkdir()
        home.chmod(0o700)
        assert paths.closed_folder(home / "vmmnet") == home
        home.chmod(0o711)
        assert paths.closed_folder(home / "vmmnet") is None
