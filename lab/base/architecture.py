# SPDX-License-Identifier: GPL-2.0-or-later
"""The architectures of guests, and of programs that are compiled for another machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """One architecture, by the names that others have for it."""

    #: Debian's.
    name: str
    #: QEMU's, and the first part of the compiler's.
    qemu: str
    #: The value of ARCH in the kernel's build.
    linux: str
    #: QEMU's machine for a guest.
    machine: str
    #: The guest's serial console.
    console: str

    @property
    def triplet(self) -> str:
        """The name of its compiler and folders of libraries, such as aarch64-linux-gnu."""
        return f"{self.qemu}-linux-gnu"

    @property
    def emulator(self) -> str:
        """The file name of the QEMU that has its guests."""
        return f"qemu-system-{self.qemu}"

    @property
    def tail(self) -> str:
        """What names of folders have at their end; nothing for this host's architecture."""
        return "" if self == HOST else f"-{self.name}"


AMD64 = Architecture("amd64", "x86_64", "x86", "q35", "ttyS0")
ARM64 = Architecture("arm64", "aarch64", "arm64", "virt,gic-version=3", "ttyAMA0")
_ALL = {each.name: each for each in (AMD64, ARM64)}
HOST = ARM64 if platform.machine() in ("aarch64", "arm64") else AMD64


def guests() -> Architecture:
    """The guests' architecture: ``$VMMNET_ARCH``, else this host's."""
    return _ALL[os.environ.get("VMMNET_ARCH") or HOST.name]
