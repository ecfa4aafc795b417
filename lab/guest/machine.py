# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest needs beside the name of its machine type.

A test names devices as on a machine with PCI.  Where there is none, ``virtio-blk-pci,...`` becomes
``virtio-blk-device,...``, so the same cases run on each machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import architecture
from .qemu import TCG

#: QEMU's -machine of the guests of the test bed.
DEFAULT = architecture.guests().machine
MICROVM = "microvm"
#: Machine types that a guest may have.
TYPES = (DEFAULT, MICROVM) if architecture.guests() == architecture.AMD64 else (DEFAULT,)
# With microvm's ACPI Linux does not set the PIC up, whose timer is a divide error then.
_NO_PIC = ("-machine", "pic=off")
# Options of a PCI device alone.
_PCI_OPTION = re.compile(r",(?:romfile|vectors|bus|addr|rombar)=[^,]*")


def chosen() -> str:
    """QEMU's -machine of every guest: ``$VMMNET_MACHINE``, else the architecture's."""
    return os.environ.get("VMMNET_MACHINE") or DEFAULT


def has_pci(machine: str | None = None) -> bool:
    """Whether devices of a guest are on PCI; ``$VMMNET_TRANSPORT=mmio`` takes virt's other bus."""
    machine = machine or chosen()
    return machine.split(",")[0] != MICROVM and os.environ.get("VMMNET_TRANSPORT") != "mmio"


@dataclass(frozen=True)
class Machine:
    """A machine type.  ``arguments`` are QEMU's, ``append`` the kernel's."""

    pci: bool = True
    arguments: tuple[str, ...] = ()
    append: tuple[str, ...] = ()

    def on(self, device: str) -> str:
        """The ``-device`` of this machine that has the same use."""
        if self.pci or not re.match(r"virtio-[\w-]+-pci\b", device):
            return device
        return _PCI_OPTION.sub("", re.sub(r"-pci\b", "-device", device, count=1))

    def adapt(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Replace each ``-device`` of a command line of QEMU."""
        before = ["", *command]
        return [
            self.on(str(word)) if option == "-device" else word
            for option, word in zip(before, command, strict=False)
        ]


def of(machine: str, accel: str) -> Machine:
    """Return what the value of -machine needs, with options or without, on an accelerator."""
    if has_pci(machine):
        return Machine()
    is_microvm = machine.split(",")[0] == MICROVM
    return Machine(
        pci=False,
        # The guest's module speaks virtio 1, as all devices that came later than it.
        arguments=("-global", "virtio-mmio.force-legacy=false", *(_NO_PIC if is_microvm else ())),
        append=(f"tsc_early_khz={_tsc_khz()}", "tsc=reliable")
        if is_microvm and accel == TCG
        else (),
    )


def _tsc_khz() -> int:
    """Ticks of a guest's TSC under TCG, which are the host's.

    Linux has nothing to count them with on a microvm, which has neither PIT nor PM timer: it hangs
    at its boot.  With their number it still compares the TSC with timer interrupts, of which a busy
    host loses some, and then keeps time by these: a clock that goes too slowly, in steps of 4 ms.
    """
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^cpu MHz\s*: ([\d.]+)$", text, re.M)
    return round(float(found[1]) * 1000) if found else 2_000_000
