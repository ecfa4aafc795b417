# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a case on a switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from . import lacks
from .cases import Case, Flood, Seen
from .osken import OsKen

PASSED, FAILED, CANNOT = "passed", "failed", "cannot"


class Switch(Protocol):
    """A switch between the tester's ports."""

    #: The tester's port numbers -> its own.
    ports: Mapping[int, int]

    def clear(self, osken: OsKen) -> None:
        """Delete all flows, and use this version of OpenFlow."""

    def set(self, message: bytes) -> str:
        """Execute a message; return the name of the error, or nothing."""

    def send(self, frame: bytes) -> Seen:
        """Send a frame from the tester's port 1."""

    def flood(self, flood: Flood) -> str:
        """Measure a flood; return the fault, or nothing."""


@dataclass(frozen=True)
class Verdict:
    """Result of a case, and its reason."""

    how: str
    why: str = ""


def on_switch(case: Case, switch: Switch) -> Verdict:
    """Set a case's flows, send its frames, and check the output."""
    switch.clear(case.osken)
    for message in case.messages(ports=switch.ports):
        error = switch.set(message)
        if error:
            return Verdict(FAILED, error)
    flood = case.flood()
    faults = [switch.flood(flood)] if flood else []
    faults += [step.fault(switch.send(step.ingress)) for step in case.steps()]
    fault = next(filter(None, faults), "")
    return Verdict(FAILED if fault else PASSED, fault)


def on_nic(case: Case, nic: Switch) -> Verdict:
    """Run a case on a NIC, which has to refuse unsupported cases."""
    needs = lacks.of(case)
    verdict = on_switch(case, nic)
    if not needs:
        return verdict
    if any(verdict.why in lack.errors for lack in needs):
        return Verdict(CANNOT, needs[0].name)
    words = ", ".join(lack.name for lack in needs)
    return Verdict(FAILED, f"it needs {words}, and that is not refused: {verdict}")


def error_name(osken: OsKen, message: bytes) -> str:
    """The specification's name for the code of an OFPT_ERROR."""
    error = osken.parse(message)
    families = {1: "OFPBRC_", 2: "OFPBAC_", 3: "OFPFMFC_"}
    if osken.version != 1:
        families |= {3: "OFPBIC_", 4: "OFPBMC_", 5: "OFPFMFC_", 6: "OFPGMFC_", 12: "OFPMMFC_"}
    family = families.get(error.type, "")
    numbers: dict[str, Any] = vars(osken.ofproto)
    for name, value in numbers.items():
        if family and name.startswith(family) and value == error.code:
            return name
    return f"type {error.type}, code {error.code}"
