# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF and in QEMU come to the same verdicts, for the same reasons."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab.hosts import ebpf

FRAMES = 1_000_000


@pytest.mark.parametrize("seed", [1, 20101])
def test_the_data_paths_agree(seed: int, tmp_path: Path) -> None:
    """A million random frames, on some hundred tables that change between them."""
    command = [ebpf.agree(), ebpf.compiled(), str(FRAMES // 2), str(seed)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"TMPDIR": str(tmp_path)}, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
