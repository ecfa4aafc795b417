# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon tells of itself by its control socket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vmmnet import metrics
from vmmnet.metrics import Metric

from . import report, wording

if TYPE_CHECKING:
    from .controller import Controller

_PREFIX = "vmmnet_cvsw_"


class Told:
    """The answers of one controller."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def value(self) -> dict[str, Any]:
        """All NICs, its switches and its fellows."""
        found = report.nics(self._controller.fabric)
        return {
            **found,
            "switches": report.switches(self._controller),
            "sharing": self._controller.keeper.sharing(),
            "states": dict(Counter(nic["state"] for nic in found["nics"])),
        }

    def show(self) -> str:
        """The same as lines."""
        return "".join(f"{line}\n" for line in wording.describe(self.value()))

    def metrics(self) -> str:
        """NICs by state, and sums of what they have counted: bounded, however many there are."""
        return metrics.text(_PREFIX, self._numbers())

    def _numbers(self) -> Iterator[Metric]:
        now = self.value()
        fabric = self._controller.fabric
        for state in wording.STATES:
            number = now["states"].get(state, 0)
            yield Metric("nics", "NICs of the file, by state.", number, {"state": state})
        yield Metric("nics_unknown", "NICs that are in no file.", len(now["unknown"]))
        yield Metric("switches", "Switches that are connected.", len(now["switches"]))
        yield Metric("leads", "Whether it programs NICs.", int(fabric.leads))
        repairs = sum(each["repairs"] for each in now["switches"])
        yield Metric("switch_repairs_total", "Flows of switches set again.", repairs)
        yield Metric("malformed_total", "Control frames that nobody can read.", now["malformed"])
        counted = Counter[str]()
        for nic in now["nics"]:
            counted.update(nic["counters"])
        for name, number in sorted(counted.items()):
            yield Metric(f"{name}_total", f"Sum of the NICs' {name}.", number)
