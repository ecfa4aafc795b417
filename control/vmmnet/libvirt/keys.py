# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of a NIC: QEMU's name of each, and its file.

A key is in a file of the user's, or in a secret of libvirt.  In the latter case the hook
writes it to a file during QEMU's start.  The file's name depends on the VM and the key's
option, not on the secret, so that QEMU's arguments are the same on each host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from . import names
from .model import Interface, options

#: Each VM has a folder here during its start.
FOLDER = Path("/run/vmmnet/libvirt/keys")


@dataclass(frozen=True)
class Key:
    """One key."""

    #: QEMU's option for it.
    option: str
    #: The ID of QEMU's secret, and the name of the hook's file.
    id: str
    #: A file, or the secret of libvirt.
    source: Path | UUID
    #: The user's file has base64.
    is_text: bool

    def file(self, vm: str) -> Path:
        """The file that QEMU reads; ``vm`` is the UUID of the domain."""
        return self.source if isinstance(self.source, Path) else FOLDER / vm / self.id

    def encoding(self) -> dict[str, str]:
        """The file's encoding, as QEMU calls it."""
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
    """The values of an option, each with its own name."""
    if isinstance(value, tuple):
        return [(f"{option}-{number}", each) for number, each in enumerate(value, 1)]
    return [(option, value)]
