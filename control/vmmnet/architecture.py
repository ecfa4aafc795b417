# SPDX-License-Identifier: GPL-2.0-or-later
"""The architectures of hosts, by the names that others have for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    ``name`` is Debian's, ``qemu`` QEMU's and libvirt's, ``machine`` libvirt's for a VM with PCI
    Express, ``console`` that VM's serial console in Linux.
    """

    name: str
    qemu: str
    machine: str
    console: str

    @property
    def emulator(self) -> Path:
        """The emulator of the package vmmnet-qemu on such a host."""
        return Path(f"/usr/bin/qemu-system-{self.qemu}-vmmnet")


AMD64 = Architecture("amd64", "x86_64", "q35", "ttyS0")
ARM64 = Architecture("arm64", "aarch64", "virt", "ttyAMA0")
#: This host's.
HOST = ARM64 if os.uname().machine in ("aarch64", "arm64") else AMD64
