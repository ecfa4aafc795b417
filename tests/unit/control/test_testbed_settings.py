# SPDX-License-Identifier: GPL-2.0-or-later
"""What the environment sets for all guests and waits of the test bed, and for scripts in guests."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import pytest
from lab.base import paths, tools

_FOLDERS = f"{paths.PYTHONPATH}:{paths.ROOT / 'tests' / 'guest'}"
_PRINT = """
from lab.base import parallel, wait
from lab.guest.guest import GuestConfig
from semantics import harness, peer, run, stress
print(GuestConfig().accel, wait.PATIENCE, GuestConfig().boot_timeout, parallel.WORKERS)
print(wait.INNER, run.LIMIT, harness.PATIENCE, peer.PATIENCE, stress._STALL)
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, f"tcg,thread=multi 180.0 180.0 {os.cpu_count()}\n60.0 180.0 60.0 90.0 60.0\n"),
        (
            {"VMMNET_ACCEL": "kvm", "VMMNET_PATIENCE": "5", "VMMNET_WORKERS": "1"},
            "kvm 900.0 900.0 1\n300.0 900.0 300.0 450.0 300.0\n",
        ),
    ],
)
def test_environment_reaches_guests_and_waits(settings: Mapping[str, str], said: str) -> None:
    nothing = dict.fromkeys(("VMMNET_ACCEL", "VMMNET_PATIENCE", "VMMNET_WORKERS"), "")
    environment = {"PYTHONPATH": _FOLDERS, **nothing, **settings}
    assert tools.run([sys.executable, "-c", _PRINT], env=environment) == said
