# SPDX-License-Identifier: GPL-2.0-or-later
"""Supported versions: on this host, each series of QEMU with each guest kernel.

A cell is ``make run`` to both pages, and all semantic cases.  ``build/matrix.md`` has a line for
each that passed when it was run last.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab.base import paths, tools
from lab.base.lock import locked
from lab.guest import qemu
from lab.packages import kernel

pytestmark = pytest.mark.long

_SEMANTICS = Path(__file__).with_name("test_semantics.py")
_TABLE = paths.BUILD / "matrix.md"
_HEAD = "| host | QEMU | guest | `make run` | semantic cases |\n|---|---|---|---|---|\n"
_PYTEST = ("-m", "pytest", "--import-mode=importlib", "-p", "no:cacheprovider", "-q")


def _run(binary: Path, *words: str | Path) -> str:
    """Run Python on a QEMU; returns its output."""
    path = os.pathsep.join(filter(None, (paths.PYTHONPATH, os.environ.get("PYTHONPATH"))))
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


def _tell(cell: str, how: str) -> None:
    """Write how a cell passed, in place of what is there; with nothing to say, that goes."""
    with locked("matrix"):
        lines = _TABLE.read_text().splitlines(keepends=True)[2:] if _TABLE.exists() else []
        lines = [line for line in lines if not line.startswith(cell)]
        _TABLE.write_text(_HEAD + "".join(sorted([*lines, f"{cell}{how}\n"] if how else lines)))


@pytest.mark.parametrize("series", kernel.SERIES)
@pytest.mark.parametrize("of_qemu", qemu.series())
def test_cell(of_qemu: str, series: str) -> None:
    binary = qemu.of_series(of_qemu)
    (version,) = re.findall(r"version ([0-9.]+)", tools.run([binary, "--version"]))
    assert version.startswith(f"{of_qemu}."), version
    host = platform.freedesktop_os_release()["PRETTY_NAME"]
    cell = f"| {host} | {version} | {kernel.get(series).release} |"
    _tell(cell, "")
    began = time.monotonic()
    told = _run(binary, "-m", "lab.run", "--no-shell", "--kernel", series)
    assert "An IPv6-only page" in told and "An IPv4 server" in told
    seconds = time.monotonic() - began
    cases = _run(binary, *_PYTEST, _SEMANTICS, "-k", f"[{series}-").splitlines()[-1]
    (passed,) = re.findall(r"^(\d+) passed", cases)
    _tell(cell, f" {seconds:.0f} s | {passed} passed |")
