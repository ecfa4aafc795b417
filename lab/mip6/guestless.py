# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU with netdevs and no guest: its mobile node does all by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmnet.qmp import Qmp

from ..base import scratch
from ..guest import qemu
from .mobility import World


@dataclass(frozen=True)
class Node:
    """A running QEMU."""

    monitor: Qmp
    pid: int
    log: Path


@contextlib.contextmanager
def node(world: World, arguments: Sequence[str]) -> Iterator[Node]:
    """Run QEMU with these arguments on the foreign network."""
    with scratch.folder() as folder, contextlib.ExitStack() as stack:
        log = Path(folder) / "qemu.log"
        command: list[str | Path] = [
            *(qemu.binary(), "-machine", "none,accel=qtest", "-display", "none", "-nodefaults"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off", *arguments),
        ]
        process = qemu.QemuProcess(command, netns=world.foreign.host.netns, stderr=log)
        stack.callback(process.stop)
        monitor = Qmp(process.connect(Path(folder) / "qmp"))
        stack.callback(monitor.close)
        yield Node(monitor, process.pid, log)
