# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of peers that Debian 12 lacks: they run with those of a newer suite only."""

import pytest
from lab.packages import peers


@pytest.fixture(scope="session", autouse=True)
def newer_peers() -> None:
    """Say how to run them."""
    assert peers.chosen(), f"{peers.VARIABLE} names no suite: one of {', '.join(peers.SUITES)}"
