# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the test bed and its fixtures available to the tests beside this file."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "control"))

from lab.guest.fixtures import clean_machine, pytest_configure, pytest_runtest_makereport
from lab.packages import debian, debs

__all__ = ["clean_machine", "pytest_configure", "pytest_runtest_makereport"]


@pytest.fixture(scope="session")
def release() -> str:
    """The release of Debian; a module may name others."""
    return debian.SUITE


@pytest.fixture(scope="session")
def packages(release: str) -> dict[str, Path]:
    """What make deb makes of the sources for a release, by name."""
    return debs.build(release)
