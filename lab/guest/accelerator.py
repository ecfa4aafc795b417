# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out whether guests start on this host's KVM.

That /dev/kvm opens proves little: on some hosts, most of them virtual machines, QEMU cannot set up
a vCPU on it, or a stock kernel hangs.  So a kernel boots on it, without a root file system, until
it says that it has none.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import architecture, process
from ..packages import kernel
from . import qemu

_DEVICE = Path("/dev/kvm")
#: Seconds of a boot to that end; KVM takes one or two.
LIMIT = 20.0
_END = "Kernel panic - not syncing: VFS"


@dataclass(frozen=True)
class Choice:
    """QEMU's -accel, and why."""

    accel: str
    reason: str


def choose(series: str) -> Choice:
    """KVM where a guest with this kernel starts on it, else TCG."""
    if architecture.guests() != architecture.HOST:
        return Choice(qemu.TCG, "TCG: the guest's architecture is not this host's")
    if fault := cannot_open(_DEVICE) or cannot_boot(_command(series)):
        return Choice(qemu.TCG, f"TCG: {fault}")
    return Choice("kvm", "KVM: a guest starts on it")


def cannot_open(device: Path) -> str:
    """Why this user cannot open it; empty if it opens."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{device}: {error.strerror}"
    return ""


def cannot_boot(command: Sequence[str | Path], limit: float = LIMIT) -> str:
    """Why a QEMU whose console is its standard output does not boot a kernel; empty if it does."""
    child = process.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return f"{_DEVICE} opens, but no guest starts on it within {limit:g} s"
    finally:
        process.stop(child, grace=1.0)
    text = output.decode(errors="replace")
    if _END in text:
        return ""
    said = (text.strip().splitlines() or ["it said nothing"])[-1]
    return f"{_DEVICE} opens, but no guest starts on it: QEMU ended with {child.returncode}: {said}"


def _command(series: str) -> list[str | Path]:
    guests = architecture.guests()
    return [
        qemu.binary(),
        *(*qemu.firmware_options(), "-machine", guests.machine, "-accel", "kvm"),
        *("-cpu", "max", "-m", "256M", "-nodefaults", "-no-user-config", "-display", "none"),
        *("-no-reboot", "-kernel", kernel.plain_image(kernel.get(series))),
        *("-append", f"console={guests.console} panic=-1", "-serial", "stdio"),
    ]
