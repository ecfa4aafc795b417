# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics of a host's ports for Prometheus: frames passed, and dropped by reason.

The number of time series does not depend on the traffic of VMs: a port keeps its labels,
each direction has fixed reasons, and the number of ports is limited.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vmmnet.metrics import Metric
from vmmnet.values import mac

from . import ports
from .ports import Monitor, Port, PortsError

#: The largest number of ports with metrics of their own; the others are only counted.
PORTS_MAX = 256
# Reasons to drop a frame that a port sends, and one that it would receive.
REASONS = {
    "send": (
        "spoofed",
        "forged-address",
        "malformed",
        "no-table",
        "no-port",
        "damaged",
        "l2-control",
        "multicast-query",
        "ra-guard",
        "dhcp-guard",
    ),
    "receive": ("unknown-source", "other-tenant", "malformed", "no-table", "no-port", "damaged"),
}
# How many QEMUs are asked at the same time, and for how many seconds one that has not
# answered is not asked again: another program that uses its socket does so for long.
_AT_ONCE, _ALONE = 16, 60.0


class PortNumbers:
    """Reads the counters of a host's ports; not for several threads at once."""

    def __init__(self, patterns: Sequence[str] | None) -> None:
        """``patterns``: QMP sockets, as of ``ports.sockets()``."""
        self._patterns = patterns
        self._silent: dict[Path, float] = {}

    def read(self) -> list[Metric]:
        """The metrics of all ports, now."""
        paths = ports.sockets(self._patterns)
        self._silent = {path: since for path, since in self._silent.items() if path in paths}
        now = time.monotonic()
        asked = [p for p in paths if now - self._silent.get(p, -_ALONE) >= _ALONE]
        found: list[Port] = []
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for path, answer in zip(asked, pool.map(_ask, asked), strict=True):
                if answer is None:
                    self._silent[path] = now
                else:
                    self._silent.pop(path, None)
                    found += answer
        try:
            found += ports.attached()
            unread = 0
        except PortsError:
            unread = 1
        found.sort(key=lambda port: port.name)
        return [
            *(each for port in found[:PORTS_MAX] for each in _of_port(port)),
            Metric(
                "hooks_missing",
                "Hooks of interfaces with eBPF that have no program.",
                sum(port.hooks_missing for port in found),
            ),
            Metric(
                "hooks_preceded",
                "Hooks of interfaces with eBPF where a program of others runs first.",
                sum(port.hooks_preceded for port in found),
            ),
            Metric("ports_left_out", "Ports beyond those told of.", max(0, len(found) - PORTS_MAX)),
            Metric(
                "ports_unread", "QEMUs, and eBPF, that do not answer.", len(self._silent) + unread
            ),
        ]


def _ask(path: Path) -> list[Port] | None:
    """The ports of a QEMU; closes the socket for other programs.  None: no answer."""
    try:
        monitor = Monitor(path)
    except PortsError:
        return None
    try:
        return monitor.ports()
    except PortsError:
        return None
    finally:
        monitor.close()


def _of_port(port: Port) -> Iterator[Metric]:
    spelled = "" if port.mac is None else mac.text(port.mac)
    for direction, reasons in REASONS.items():
        counts = port.counters.get(direction, {})
        labels = {"port": port.name, "mac": spelled, "direction": direction}
        passed = counts.get(ports.PASSED, 0)
        yield Metric("port_passed_total", "Frames that passed a port.", passed, labels)
        for reason in reasons:
            dropped = counts.get(reason, 0)
            why = {**labels, "reason": reason}
            yield Metric("port_drops_total", "Frames that a port has dropped.", dropped, why)
