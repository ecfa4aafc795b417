# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of a NIC: how QEMU calls each, and where it is.

A key is in a file of the user's, or in a secret of libvirt.  In the latter case the hook puts
it into a file for the time in which QEMU starts, whose name depends on the VM and on what the
key is for, and on nothing of the secret: the words for QEMU are the same on each host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from . import names
from .model import Interface, options

#: Below it each VM has a folder for the time of its start.
FOLDER = Path("/run/vmmnet/libvirt/keys")


@dataclass(frozen=True)
class Key:
    """One key."""

    #: The option of QEMU that it is for.
    option: str
    #: The ID of QEMU's secret, and the name of the hook's file.
    id: str
    #: A file, or the secret of libvirt.
    source: Path | UUID
    #: What is in a file of the user's is base64.
    is_text: bool

    def file(self, vm: str) -> Path:
        """What QEMU reads; ``vm`` is the UUID of the domain."""
        return self.source if isinstance(self.source, Path) else FOLDER / vm / self.id

    def encoding(self) -> dict[str, str]:
        """How QEMU reads it."""
        return {"format": "base64"} if self.is_text or isinstance(self.source, UUID) else {}


def of(nic: Interface) -> list[Key]:
    """The keys of a NIC, in the order of its options."""
    result = []
    for part, is_text in ((nic.mip6, True), (nic.cvsw, False)):
        for option, value in options(part).items() if part is not None else ():
            for kind, source in _named(option, value):
                if isinstance(source, Path | UUID):
                    result.append(Key(option, names.id_of(kind, nic.mac), source, is_text))
    return result


def _named(option: str, value: object) -> list[tuple[str, object]]:
    """What an option has, each with a name of its own."""
    if isinstance(value, tuple):
        return [(f"{option}-{number}", each) for number, each in enumerate(value, 1)]
    return [(option, value)]
