# SPDX-License-Identifier: GPL-2.0-or-later
"""What the environment sets for all guests and waits of the test bed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import pytest
from vmmnet.testbed.base import paths, tools

_PRINT = """
from vmmnet.testbed.base import parallel, wait
from vmmnet.testbed.guest.guest import GuestConfig
print(GuestConfig().accel, wait.PATIENCE, GuestConfig().boot_timeout, parallel.WORKERS)
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, f"tcg,thread=multi 180.0 180.0 {os.cpu_count()}\n"),
        (
            {"VMMNET_ACCEL": "kvm", "VMMNET_PATIENCE": "5", "VMMNET_WORKERS": "1"},
            "kvm 900.0 900.0 1\n",
        ),
    ],
)
def test_environment_reaches_guests_and_waits(settings: Mapping[str, str], said: str) -> None:
    nothing = dict.fromkeys(("VMMNET_ACCEL", "VMMNET_PATIENCE", "VMMNET_WORKERS"), "")
    environment = {"PYTHONPATH": str(paths.ROOT / "control"), **nothing, **settings}
    assert tools.run([sys.executable, "-c", _PRINT], env=environment) == said
