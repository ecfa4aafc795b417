# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the control plane that cannot be written whole: the old ones stay, and nothing else.

A limit of a file's size stands for the end of the disk.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lab.base import paths

_LIMITED = """\
import resource, sys
from pathlib import Path
from vmmnet.cvsw.control import state
from vmmnet.libvirt.host import whole

resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
path = Path(sys.argv[1])
try:
    {}
except (OSError, state.StateError) as error:
    print(error)
"""


@pytest.mark.parametrize(
    "call",
    [
        "whole.write(path, 'x' * 200)",
        "state.write(path, state.State(None, ((bytes(6), bytes(6), 9, True),) * 50))",
    ],
)
def test_the_old_file_stays(tmp_path: Path, call: str) -> None:
    """It is not cut, and no part of the new one is left."""
    path = tmp_path / "file"
    path.write_text("before")
    words = [sys.executable, "-c", _LIMITED.format(call), str(path)]
    said = subprocess.run(
        words, env={"PYTHONPATH": f"{paths.ROOT}/control"}, check=True, capture_output=True
    ).stdout
    assert b"File too large" in said
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
