# SPDX-License-Identifier: GPL-2.0-or-later
"""The validators of this host, one for each VM with ``dnssec``: vmmnet-validate@VM."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmnet import controlsocket
from vmmnet.libvirt.host import validator
from vmmnet.libvirt.host.claims import RUN, Claims

#: Folders with something of each VM's name: what runs, and what libvirt's hook or the
#: administrator has written for it.
FOLDERS = [validator.SOCKETS, RUN / validator.FOLDER, Path("/etc/vmmnet/validate")]


@dataclass(frozen=True)
class Validator:
    """The validator of a VM."""

    #: As in the unit's name: for libvirt's VMs it is the UUID.
    vm: str
    told: Mapping[str, Any] = field(default_factory=dict)
    #: Why it does not answer; empty: it does.
    error: str = ""

    def line(self) -> str:
        """It in short."""
        return f"{_named(self.vm)}: {self.error or validator.line(self.told)}"

    def json(self) -> dict[str, Any]:
        """It in types of JSON."""
        return {"error": self.error} if self.error else dict(self.told)


def places() -> dict[str, Path]:
    """Control sockets that are there, or should be, by VM."""
    found: set[str] = set()
    for folder in FOLDERS:
        with contextlib.suppress(OSError):
            found.update(each.name for each in folder.iterdir())
    return {vm: validator.control(vm) for vm in sorted(found)}


def asked(places: Mapping[str, Path]) -> list[Validator]:
    """Ask each of them."""
    return [_asked(vm, place) for vm, place in places.items()]


def _asked(vm: str, place: Path) -> Validator:
    try:
        return Validator(vm, validator.asked(place))
    except controlsocket.NotRunning as error:
        return Validator(vm, error=f"does not run: {error}")
    except (controlsocket.Unanswered, controlsocket.Refused) as error:
        return Validator(vm, error=str(error))


def _named(vm: str) -> str:
    """A VM with its name, if libvirt's hook has noted that."""
    note = None
    with contextlib.suppress(OSError):
        note = Claims(vm, "").read()
    return f"{vm} ({note.name})" if note is not None and note.name else vm
