# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the package ``vmmnet`` available to the tests beside this file."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "control"))

from lab.base import commandline, paths, tools
from lab.base.lock import locked
from lab.guest import fixtures
from vmmnet.confine import judge


@pytest.fixture(scope="session", autouse=True)
def untouched_machine() -> Iterator[None]:
    """Check that the tests leave nothing on this machine."""
    with fixtures.nothing_installed():
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory, as tables are synced with each change, thousands of times here."""
    with tempfile.TemporaryDirectory(prefix="vmmnet-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path for a table, the default of commands without --table."""
    path = tmp_path / "lnid.table"
    monkeypatch.setenv("VMMNET_TABLE", str(path))
    monkeypatch.setenv("VMMNET_QMP", str(tmp_path / "*.qmp"))
    return path


@pytest.fixture
def hostvlan(table: Path) -> commandline.Command:
    """Run ``vmmnet hostvlan`` with these words."""
    return lambda *words: commandline.run("hostvlan", *words)


@pytest.fixture(scope="session")
def policy_judge() -> Path:
    """The program that has the device's verdicts, with sanitizers."""
    folder, name = paths.BUILD / "unit", "hw/vmrpc/policy-judge"
    with locked("unit"):
        tools.run(["make", "-C", paths.ROOT, "build/unit/build.ninja"])
        tools.run(["ninja", "-C", folder, name])
    return folder / name


@pytest.fixture
def judged(policy_judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``vmmnet policy`` find it."""
    monkeypatch.setattr(judge, "PLACES", (policy_judge,))
