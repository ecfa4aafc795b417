# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the test bed and its fixtures available to the tests beside this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "control"))

from lab.guest.fixtures import (
    clean_machine,
    kernel_series,
    network,
    pytest_configure,
    pytest_runtest_makereport,
    series,
)

__all__ = [
    "clean_machine",
    "kernel_series",
    "network",
    "pytest_configure",
    "pytest_runtest_makereport",
    "series",
]
