# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hook claims of a host for a VM, and the note by which it gives that back.

The note, /run/vmmnet/libvirt/UUID, is written before the first claim: whatever happens
afterwards, ``undo`` knows all there can be.  Each step may be done again.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import hostd

RUN = Path("/run/vmmnet")
#: Where libvirt has the numbers of QEMUs.
PIDS = Path("/run/libvirt/qemu")
# libvirt begins a VM within moments of the hook's rewriting it, or not at all.
_ARRIVAL = 300.0


@dataclass(frozen=True, slots=True)
class Note:
    """What a VM has of this host; None and False: nothing of the kind."""

    name: str
    #: The file with its MACs in the folder of ports.
    ports: str | None = None
    #: vmmnet-hostd knows it.
    handed: bool = False
    #: When it was announced, by CLOCK_MONOTONIC; None: it was not, or is here.
    arriving: float | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one VM, with the places where they stand."""

    uuid: str
    name: str
    run: Path = RUN
    pids: Path = PIDS

    @property
    def note(self) -> Path:
        """The file with the note."""
        return self.run / "libvirt" / self.uuid

    @property
    def pid_file(self) -> Path:
        """Where libvirt will write the number of its QEMU."""
        return self.pids / f"{self.name}.pid"

    @property
    def ports(self) -> Path:
        """The file with its MACs; vmmnet.hostvlan.hostports tells the form."""
        # Names with a dot first are not read there.
        fits = re.fullmatch(r"[^./][^/]*", self.name)
        return self.run / "ports" / (self.name if fits else self.uuid)

    @property
    def socket(self) -> Path:
        """That of vmmnet-hostd."""
        return self.run / hostd.SOCKET.name

    def read(self) -> Note | None:
        """The note; None: nothing is claimed."""
        try:
            return Note(**json.loads(self.note.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            # Nobody but this writes it.  What it can have said is known.
            return Note(self.name, str(self.ports), handed=True)

    def announce(self) -> None:
        """Note that the VM is about to come from another host, or from a file.

        If it is here already, libvirt will refuse it, and what is here has its claims.
        """
        note = self.read() or Note(self.name)
        self._write(replace(note, arriving=time.monotonic()))

    def is_arriving(self) -> bool:
        """Whether it was announced, so that its addresses may come later than it."""
        note = self.read()
        began = note.arriving if note else None
        return began is not None and 0 <= time.monotonic() - began < _ARRIVAL

    def claim(
        self, macs: Sequence[str], addresses: Sequence[tuple[str, str]], *, handoff: bool
    ) -> Iterator[str]:
        """Claim ports and, for ``handoff``, addresses with interfaces; yields what was done.

        Raises OSError and HostdError; what was claimed before stays until ``undo``.
        """
        note = Note(self.name, str(self.ports) if macs else None, handoff)
        self._write(note)
        if note.ports:
            _replace(Path(note.ports), "".join(f"{mac}\n" for mac in macs))
            yield f"{note.ports} has {' '.join(macs)}"
        if handoff:
            hostd.register(self.uuid, self.pid_file, addresses, self.socket)
            told = " ".join(f"{address} on {device}" for address, device in addresses)
            yield f"vmmnet-hostd knows {told}"

    def undo(self) -> Iterator[str]:
        """Give everything back; yields what was done, and what could not be."""
        note = self.read()
        if note is None:
            return
        kept = replace(note, arriving=None)
        if note.ports:
            Path(note.ports).unlink(missing_ok=True)
            yield f"{note.ports} is removed"
        if note.handed:
            try:
                hostd.forget(self.uuid, self.socket)
                yield "vmmnet-hostd has forgotten it"
            except hostd.HostdError as error:
                # Without its process it has no use of what it may have.
                yield f"vmmnet-hostd cannot be told: {error}"
        self.note.unlink(missing_ok=True)
        if kept == Note(note.name):
            yield "it did not begin here"

    def _write(self, note: Note) -> None:
        _replace(self.note, json.dumps(asdict(note)) + "\n")


def _replace(path: Path, text: str) -> None:
    """Write a file that is seen whole, or as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.rename(path)
