# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of this host's VMs, asked of their QEMUs through QMP (net/hostvlan/hostvlan.json)."""

from __future__ import annotations

import glob
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vmmnet.qmp import Qmp, QmpError

from ..bpf import nic
from ..table import mac

#: Where QMP sockets are looked for without --qmp.
DEFAULT = "/run/vmmnet/*.qmp"
#: The variable of the environment with other patterns, separated by colons.
VARIABLE = "VMMNET_QMP"

# A QEMU that is asked answers at once, or its socket is another program's.
_PATIENCE = 3.0

#: The two directions of a port, seen from the guest.
DIRECTIONS = ("send", "receive")
PASSED = "passed"


class PortsError(Exception):
    """A QEMU does not tell of its ports; the message names its socket and says why."""


@dataclass(frozen=True, slots=True)
class Port:
    """A netdev of type hostvlan, as its QEMU describes it."""

    #: The VM's name, or its socket's; empty: it is an interface with eBPF.
    vm: str
    id: str
    #: None: it has none, and nothing passes.
    mac: int | None
    table: Path
    #: Of the table in force; None: none is.
    generation: int | None
    #: Why what is at the path is not in force; empty: it is.
    error: str
    lnids: tuple[int, ...]
    #: The interface of the host behind it; empty: it is none that can be told.
    interface: str = ""
    #: Frames by direction and by what became of them.
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How people tell it from others: ``vm/id``, or the interface."""
        return f"{self.vm}/{self.id}" if self.vm else self.id

    def as_json(self) -> dict[str, Any]:
        """For --json, like QEMU's own answer."""
        return {
            "vm": self.vm or None,
            "id": self.id,
            "mac": None if self.mac is None else mac.text(self.mac),
            "table": str(self.table),
            "generation": self.generation,
            "error": self.error or None,
            "lnids": list(self.lnids),
            "interface": self.interface or None,
            **{direction: dict(counts) for direction, counts in self.counters.items()},
        }


def _port(vm: str, answer: Mapping[str, Any]) -> Port:
    spelled = answer.get("mac")
    return Port(
        vm=vm,
        id=answer["id"],
        mac=mac.parse(spelled) if spelled else None,
        table=Path(answer["table"]),
        generation=answer.get("generation"),
        error=answer.get("error", ""),
        lnids=tuple(answer.get("lnids", ())),
        interface=answer.get("interface", ""),
        counters={each: answer.get(each, {}) for each in DIRECTIONS},
    )


class Monitor:
    """A QEMU, connected."""

    def __init__(self, path: Path) -> None:
        """Raises PortsError."""
        self.path = path
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_PATIENCE)
            connection.connect(str(path))
            self._qmp = Qmp(connection, _PATIENCE)
            self.vm: str = self._qmp.command("query-name", _PATIENCE).get("name", path.stem)
        except TimeoutError:
            connection.close()
            raise PortsError(
                f"{path}: no answer within {_PATIENCE:g} s: another program, such as libvirt,"
                " uses this socket; give QEMU a second one: -qmp unix:…,server=on,wait=off"
            ) from None
        except (OSError, ValueError, QmpError) as error:
            connection.close()
            reason = error.strerror if isinstance(error, OSError) else error
            raise PortsError(f"{path}: {reason}: is it the QMP socket of a QEMU?") from None

    def ports(self) -> list[Port]:
        """Its ports as they are now; raises PortsError."""
        try:
            answers = self._qmp.command("query-hostvlan", _PATIENCE)
            return [_port(self.vm, answer) for answer in answers]
        except QmpError as error:
            if "not been found" in str(error):
                raise PortsError(f"{self.path}: this QEMU has no HostVLAN") from None
            raise PortsError(f"{self.path}: {error}") from None
        except (OSError, ValueError) as error:
            raise PortsError(f"{self.path}: {error}") from None

    def close(self) -> None:
        """Leave the socket to others."""
        self._qmp.close()


def sockets(patterns: Sequence[str] | None) -> list[Path]:
    """The sockets that paths and patterns stand for; without any those of the default.

    A path without a pattern is one whether it is there or not.
    """
    if not patterns:
        patterns = (os.environ.get(VARIABLE) or DEFAULT).split(":")
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        if glob.has_magic(pattern):
            folder = Path(path.anchor)
            found.update(dict.fromkeys(sorted(folder.glob(str(path.relative_to(folder))))))
        else:
            found[path] = None
    return list(found)


class Monitors:
    """The QEMUs behind some patterns: connected once, and again when they come back."""

    def __init__(self, patterns: Sequence[str] | None) -> None:
        self._patterns = patterns
        self._open: dict[Path, Monitor] = {}

    def ports(self) -> tuple[list[Port], list[str]]:
        """All ports by VM and name, and what prevents others from being told of."""
        ports: list[Port] = []
        faults: list[str] = []
        paths = sockets(self._patterns)
        for path in set(self._open).difference(paths):
            self._open.pop(path).close()
        for path in paths:
            try:
                if path not in self._open:
                    self._open[path] = Monitor(path)
                ports += self._open[path].ports()
            except PortsError as error:
                faults.append(str(error))
                if path in self._open:
                    self._open.pop(path).close()
        return sorted(ports, key=lambda port: (port.vm, port.id)), faults

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for monitor in self._open.values():
            monitor.close()
        self._open.clear()


def attached() -> list[Port]:
    """The interfaces of this network namespace with the eBPF twin; raises PortsError."""
    from ..bpf import twin

    try:
        found = twin.status()
    except twin.TwinError as error:
        raise PortsError(str(error)) from None
    return [
        Port(
            vm="",
            id=each.interface,
            mac=each.mac,
            table=each.table,
            generation=each.generation,
            error="",
            lnids=(),
            interface=each.interface,
            counters={"send": each.send, "receive": each.receive},
        )
        for each in found
        # The rest of a port that is gone goes with the next change.
        if each.here and nic.name_of(each.ifindex) is not None
    ]
