# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's programs for interfaces, compiled, and the program that compares data paths."""

from __future__ import annotations

from pathlib import Path

from vmmnet.hostvlan.bpf import twin

from ..base import paths, tools
from ..base.lock import locked
from ..packages import programs


@locked("bpf")
def compiled() -> Path:
    """Compile the programs, if needed, to the path where ``twin`` looks for them."""
    tools.run(["make", "-s", "-C", paths.ROOT, "bpf"])
    return twin.OBJECT


def agree() -> Path:
    """Build the program that sends the same frames to both data paths."""
    return programs.built("hostvlan-agree")
