# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook's claims for a VM, and the note by which it releases them.

The note, /run/vmmnet/libvirt/UUID, is written before the first claim, so that ``undo`` knows
all possible claims.  Each step is idempotent.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import hostd, keyfiles, validator, whole

RUN = Path("/run/vmmnet")
#: libvirt's folder of QEMUs' pid files.
PIDS = Path("/run/libvirt/qemu")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# libvirt starts a VM within moments of the hook's first event, or not at all.
_BEGINNING = 300.0


@dataclass(frozen=True, slots=True)
class Note:
    """The claims of a VM; None and False: none of the kind."""

    name: str
    #: Name of its file of MAC addresses in the folder of ports.
    ports: str | None = None
    #: It is registered at vmmnet-hostd.
    handed: bool = False
    #: A unit validates for it.
    validated: bool = False
    #: It was announced, but has not arrived yet.
    arriving: bool = False
    #: Why it may not be restored; empty: it may.
    refused: str = ""
    #: It has ended, but the claims could not be released.
    owed: bool = False
    #: Time of writing, by CLOCK_MONOTONIC.
    since: float = 0.0

    def is_fresh(self) -> bool:
        """Whether the VM may still start."""
        return 0 <= time.monotonic() - self.since < _BEGINNING


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one VM, with their paths."""

    uuid: str
    name: str
    run: Path = RUN
    pids: Path = PIDS

    @property
    def note(self) -> Path:
        """Path of the note."""
        return self.run / "libvirt" / self.uuid

    @property
    def keys(self) -> Path:
        """Folder of its keys during the start."""
        return self.run / "libvirt/keys" / self.uuid

    @property
    def pid_file(self) -> Path:
        """libvirt's pid file of its QEMU."""
        return self.pids / f"{self.name}.pid"

    @property
    def ports(self) -> Path:
        """The file of its MAC addresses; vmmnet.hostvlan.host.hostports has the format."""
        # The agent ignores names that begin with a dot.
        fits = re.fullmatch(r"[^./][^/]*", self.name)
        return self.run / "ports" / (self.name if fits else self.uuid)

    @property
    def socket(self) -> Path:
        """vmmnet-hostd's socket."""
        return self.run / hostd.SOCKET.name

    def read(self) -> Note | None:
        """The note; None: nothing is claimed."""
        try:
            return Note(**json.loads(self.note.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            # Damaged: assume all possible claims.
            return Note(self.name, str(self.ports), handed=True, validated=True)

    def announce(self, refused: str = "") -> None:
        """Note that the VM will arrive from another host, or from a file, or why it shall not.

        If it is here already, libvirt will refuse it, and the VM here keeps its claims.
        """
        with self._alone():
            note = self.read() or Note(self.name)
            self._write(replace(note, arriving=True, refused=refused))

    def refused(self) -> str:
        """Why the announced VM may not be restored; empty: it may."""
        note = self.read()
        return note.refused if note is not None and note.arriving and note.is_fresh() else ""

    def is_arriving(self) -> bool:
        """Whether it was announced, so that its addresses may arrive after it."""
        note = self.read()
        return note is not None and note.arriving and note.is_fresh()

    def claim(
        self,
        macs: Sequence[str],
        addresses: Sequence[tuple[str, str]],
        *,
        handoff: bool,
        validates: validator.Wanted | None = None,
    ) -> Iterator[str]:
        """Claim ports and, for ``handoff``, addresses with interfaces; yields what was done.

        Raises OSError, HostdError and ValidatorError; what was claimed before stays until ``undo``.
        """
        with self._alone():
            before = self.read()
            if before is not None and before.owed:
                yield from self._undo()
            handed = handoff or (before is not None and before.handed)
            validated = validates is not None or (before is not None and before.validated)
            note = Note(self.name, str(self.ports) if macs else None, handed, validated)
            self._write(note)
            if note.ports:
                whole.write(Path(note.ports), "".join(f"{mac}\n" for mac in macs))
                yield f"{note.ports} has {' '.join(macs)}"
            if handoff:
                told = " ".join(f"{address} on {device}" for address, device in addresses)
                self._register(addresses)
                yield f"vmmnet-hostd knows {told}"
            if validates is not None:
                yield from validator.start(self.run, self.uuid, validates)

    def _register(self, addresses: Sequence[tuple[str, str]]) -> None:
        try:
            hostd.register(self.uuid, self.pid_file, addresses, self.socket)
        except hostd.HostdError as error:
            raise hostd.HostdError(self._with_names(str(error))) from None

    def _with_names(self, text: str) -> str:
        """The text with the names of VMs that vmmnet-hostd knows by their UUIDs."""

        def named(found: re.Match[str]) -> str:
            # A damaged note has no name.
            note = replace(self, uuid=found[0], name="").read()
            return f"{found[0]}, '{note.name}'," if note and note.name else found[0]

        return _UUID.sub(named, text)

    def lay_keys(self, values: Mapping[str, bytes], user: int) -> Iterator[str]:
        """Write keys into files of these names, for QEMU's user ID; yields what was done.

        Raises OSError; what was written before stays until ``drop_keys``.
        """
        keyfiles.put(self.keys, values, user)
        yield f"{self.keys} has {' '.join(values)}"

    def drop_keys(self) -> Iterator[str]:
        """Remove the key files; yields what was done."""
        if keyfiles.drop(self.keys):
            yield f"{self.keys} is removed"

    def undo(self) -> Iterator[str]:
        """Release everything; yields what was done, and what failed.

        ``settle`` releases the rest at the next event of any VM.
        """
        with self._alone():
            yield from self._undo()

    def settle(self) -> Iterator[str]:
        """Release claims of other VMs that have ended, or never started."""
        folder = self.note.parent
        with self._alone():
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                other = replace(self, uuid=path.name)
                note = other.read() if path.is_file() else None
                if note is None or not self._is_left(other, note):
                    continue
                for action in other._undo():
                    yield f"of {note.name}, left behind: {action}"
                if path.exists():
                    # Do not wait for vmmnet-hostd once for each VM.
                    return

    def _is_left(self, other: Claims, note: Note) -> bool:
        if other.uuid == self.uuid:
            return False
        return note.owed or not (note.is_fresh() or replace(other, name=note.name)._runs())

    def _undo(self) -> Iterator[str]:
        yield from self._give_back()
        yield from self.drop_keys()

    def _give_back(self) -> Iterator[str]:
        note = self.read()
        if note is None:
            return
        owed = replace(note, ports=None, handed=False, validated=False, arriving=False, owed=True)
        if note.ports:
            try:
                Path(note.ports).unlink(missing_ok=True)
                yield f"{note.ports} is removed"
            except OSError as error:
                owed = replace(owed, ports=note.ports)
                yield f"{note.ports} cannot be removed: {error.strerror}"
        if note.handed:
            try:
                hostd.forget(self.uuid, self.socket)
                yield "vmmnet-hostd has forgotten it"
            except hostd.HostdError as error:
                owed = replace(owed, handed=True)
                yield f"vmmnet-hostd cannot be told: {error}"
        if note.validated:
            try:
                yield from validator.stop(self.run, self.uuid)
            except (OSError, validator.ValidatorError) as error:
                owed = replace(owed, validated=True)
                yield f"{validator.unit(self.uuid)} cannot be stopped: {error}"
        if owed.ports or owed.handed or owed.validated:
            self._write(owed)
            return
        self.note.unlink(missing_ok=True)
        if not (note.ports or note.handed or note.validated):
            yield "it did not start here"

    def _runs(self) -> bool:
        """Whether the process of its pid file is its QEMU."""
        try:
            pid = int(self.pid_file.read_text())
            # libvirt leaves the pid file of a QEMU that it did not see end; check the UUID.
            return self.uuid.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return False

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other VMs' hooks, which may be releasing this VM's claims."""
        self.run.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.run, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, note: Note) -> None:
        note = replace(note, since=time.monotonic())
        whole.write(self.note, json.dumps(asdict(note)) + "\n")
