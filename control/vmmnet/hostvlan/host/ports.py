# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of this host's VMs, from their QEMUs by QMP (net/hostvlan/hostvlan.json)."""

from __future__ import annotations

import glob
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from vmmnet.qmp import Qmp, QmpError
from vmmnet.values import mac

from ..bpf import nic
from . import domains

#: The pattern of QMP sockets without --qmp.
DEFAULT = "/run/vmmnet/*.qmp"
#: The environment variable with other patterns, separated by colons.
VARIABLE = "VMMNET_QMP"

# Seconds.  A QEMU answers at once, unless another program uses its socket.
_PATIENCE = 3.0

#: The two directions of a port, seen from the guest.
DIRECTIONS = ("send", "receive")
PASSED = "passed"


class PortsError(Exception):
    """A QEMU does not list its ports; the message names its socket and says why."""


@dataclass(frozen=True, slots=True)
class Port:
    """A netdev of type hostvlan, as its QEMU describes it."""

    #: The VM's name, or its socket's; empty: the port is an interface with eBPF.
    vm: str
    id: str
    #: None: the port has no MAC, and nothing passes.
    mac: int | None
    table: Path
    #: The generation of the table in force; None: there is none.
    generation: int | None
    #: Why the table at the path is not in force; empty: it is in force.
    error: str
    lnids: tuple[int, ...]
    #: The interface of the host behind the port; empty: unknown.
    interface: str = ""
    #: Frames by direction and verdict ("passed" or the reason of a drop).
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: With eBPF, how many hooks lack our program, or have another program before it.
    hooks_missing: int = 0
    hooks_preceded: int = 0

    @property
    def name(self) -> str:
        """The name for people: ``vm/id``, or the interface."""
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
    """A connection to a QEMU."""

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
        """Its ports, now; raises PortsError."""
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
        """Close the socket, so that other programs can use it."""
        self._qmp.close()


def sockets(patterns: Sequence[str] | None) -> list[Path]:
    """The sockets for paths and patterns; without any, those of the default pattern.

    A path without a pattern is returned even if there is no such file.
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
    """Connections to the QEMUs of some patterns; a lost one is opened again.

    Without a pattern also to those of this host's libvirt.
    """

    def __init__(self, patterns: Sequence[str] | None) -> None:
        self._patterns = patterns
        self._open: dict[Path, Monitor] = {}
        self._domains = None if patterns else domains.Domains()
        #: NICs of libvirt's domains, by the host's interface, when ports() was called last.
        self.nics: Mapping[str, domains.Nic] = {}

    def ports(self) -> tuple[list[Port], list[str]]:
        """All ports sorted by VM and name, and sentences about QEMUs that do not answer."""
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
        if self._domains is not None:
            seen = self._domains.look()
            self.nics = seen.nics
            faults += seen.faults
            # A domain may have a socket for us as well.
            known = {port.vm for port in ports}
            ports += [
                _port(name, each)
                for name, answers in seen.ports.items()
                if name not in known
                for each in answers
            ]
        return sorted(ports, key=lambda port: (port.vm, port.id)), faults

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for monitor in self._open.values():
            monitor.close()
        self._open.clear()
        if self._domains is not None:
            self._domains.close()


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
            hooks_missing=sum(hook.present is False for hook in each.hooks),
            hooks_preceded=sum(hook.first is False for hook in each.hooks),
        )
        for each in found
        # The next change removes the state of an interface that is gone.
        if each.here and nic.name_of(each.ifindex) is not None
    ]
