# SPDX-License-Identifier: GPL-2.0-or-later
"""Supported versions: on this host, each series of QEMU with each guest kernel.

A cell is ``make run`` to both pages, and all semantic cases.  ``build/matrix.md`` has a line for
each that passed.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from vmmnet.testbed.base import paths, tools
from vmmnet.testbed.base.lock import locked
from vmmnet.testbed.guest import qemu
from vmmnet.testbed.packages import kernel

pytestmark = pytest.mark.long

_SEMANTICS = Path(__file__).with_name("test_semantics.py")
_TABLE = paths.BUILD / "matrix.md"
_PYTEST = ("-m", "pytest", "--import-mode=importlib", "-p", "no:cacheprovider", "-q")


def _qemu(series: str) -> Path:
    """The small QEMU of a series, which is built first if it is not the default one."""
    folder = qemu.folder("lean", series)
    if series != qemu.series()[0]:
        with locked(f"qemu-{series}"):
            tools.run(["make", "-C", paths.ROOT, "lean", f"SERIES={series}"])
    return folder / "qemu-system-x86_64"


def _run(binary: Path, *words: str | Path) -> str:
    """Run Python on a QEMU; returns its output."""
    path = os.pathsep.join(filter(None, (f"{paths.ROOT}/control", os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "VMMNET_QEMU": str(binary), "PYTHONPATH": path}
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=paths.ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert not ended.returncode, ended.stdout[-8000:]
    return ended.stdout


@pytest.fixture(scope="module")
def cells() -> Iterator[list[str]]:
    """A line for each cell that passed; they are written down at the end."""
    lines: list[str] = []
    yield lines
    _TABLE.write_text(
        "| host | QEMU | guest | `make run` | semantic cases |\n|---|---|---|---|---|\n"
        + "".join(lines)
    )


@pytest.mark.parametrize("series", kernel.SERIES)
@pytest.mark.parametrize("of_qemu", qemu.series())
def test_cell(cells: list[str], of_qemu: str, series: str) -> None:
    binary = _qemu(of_qemu)
    (version,) = re.findall(r"version ([0-9.]+)", tools.run([binary, "--version"]))
    assert version.startswith(f"{of_qemu}."), version
    began = time.monotonic()
    told = _run(binary, "-m", "vmmnet.run", "--no-shell", "--kernel", series)
    assert "An IPv6-only page" in told and "An IPv4 server" in told
    seconds = time.monotonic() - began
    cases = _run(binary, *_PYTEST, _SEMANTICS, "-k", f"[{series}-").splitlines()[-1]
    (passed,) = re.findall(r"^(\d+) passed", cases)
    host = platform.freedesktop_os_release()["PRETTY_NAME"]
    cells.append(
        f"| {host} | {version} | {kernel.get(series).release} | {seconds:.0f} s"
        f" | {passed} passed |\n"
    )
