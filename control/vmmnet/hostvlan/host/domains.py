# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports and interfaces of VMs under this host's libvirt, by libvirt's own monitor.

libvirt alone uses the QMP socket of a VM; it passes a command on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vmmnet import libvirtd
from vmmnet.command.status import Refused

URI = "qemu:///system"
#: The sockets of its daemon, libvirtd or virtqemud.
SOCKETS = (Path("/run/libvirt/libvirt-sock"), Path("/run/libvirt/virtqemud-sock"))
#: The daemon's folder of pid files of its QEMUs.
PIDS = Path("/run/libvirt/qemu")

_ARGUMENT = "{http://libvirt.org/schemas/domain/qemu/1.0}arg"


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC of a running domain."""

    domain: str
    mac: str


@dataclass(frozen=True)
class Seen:
    """What libvirt's running domains have."""

    #: The answers to query-hostvlan, by domain.
    ports: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: Their NICs, by the host's interface.
    nics: dict[str, Nic] = field(default_factory=dict)
    #: Sentences about what could not be asked.
    faults: list[str] = field(default_factory=list)


class Domains:
    """A connection to the system's daemon; one that is lost is opened again."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._daemon: libvirtd.Daemon | None = None

    def look(self) -> Seen:
        """Ask all running domains; a host without libvirt has none."""
        if self._daemon is None and not _is_libvirt_here():
            return Seen()
        try:
            if self._daemon is None:
                self._daemon = self._stack.enter_context(libvirtd.opened(URI))
            names = self._daemon.running_names()
        except Refused as error:
            self.close()
            return Seen(faults=[f"VMs of libvirt are not seen: {error}"])
        seen = Seen()
        for name in names:
            try:
                _look_at(self._daemon, name, seen)
            except Refused as error:
                if name in self._running():
                    seen.faults.append(f"{name}: its ports are not known: {error}")
        return seen

    def _running(self) -> list[str]:
        """The running domains; empty if the daemon has gone, which the next look tells."""
        try:
            return self._daemon.running_names() if self._daemon is not None else []
        except Refused:
            return []

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()
        self._daemon = None


def _is_libvirt_here() -> bool:
    """Whether there is a daemon, or one that has ended has left VMs, which run on."""
    return any(each.exists() for each in SOCKETS) or any(PIDS.glob("*.pid"))


def _look_at(daemon: libvirtd.Daemon, name: str, seen: Seen) -> None:
    domain = ElementTree.fromstring(daemon.running(name))
    seen.nics.update(_nics(domain, name))
    # libvirt marks a domain whose monitor others use; so leave alone those without HostVLAN.
    if any("hostvlan" in each.get("value", "") for each in domain.iter(_ARGUMENT)):
        seen.ports[name] = daemon.monitor(name, "query-hostvlan", {})


def _nics(domain: ElementTree.Element, name: str) -> Iterator[tuple[str, Nic]]:
    for each in domain.iterfind("devices/interface"):
        target, mac = each.find("target"), each.find("mac")
        if target is not None and mac is not None and target.get("dev"):
            yield target.get("dev", ""), Nic(name, mac.get("address", ""))
