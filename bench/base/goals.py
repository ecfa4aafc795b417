# SPDX-License-Identifier: GPL-2.0-or-later
"""Goals of virtio-vmrpc, set before it was built, beside the measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .report import Spread, number

#: Ratio of a metric to a peer's; None: one of them was not measured.
Ratio = Callable[[str, str], Spread | None]

_SHORT = {
    "throughput-send-1MiB": "send 1 MiB",
    "throughput-receive-1MiB": "receive 1 MiB",
    "throughput-send-128KiB": "send 128 KiB",
    "throughput-receive-128KiB": "receive 128 KiB",
    "throughput-udp-1400B": "UDP",
    "cpu-send-1MiB": "send 1 MiB",
    "cpu-receive-1MiB": "receive 1 MiB",
    "cpu-send-128KiB": "send 128 KiB",
    "cpu-receive-128KiB": "receive 128 KiB",
    "latency-p50": "p50",
    "connections-sequential": "one after another",
    "connections-16-threads": "16 threads",
}
_LARGE = ("throughput-send-1MiB", "throughput-receive-1MiB")
_SMALL = ("throughput-send-128KiB", "throughput-receive-128KiB")
_CPU = ("cpu-send-1MiB", "cpu-receive-1MiB", "cpu-send-128KiB", "cpu-receive-128KiB")
_CONNECTIONS = ("connections-sequential", "connections-16-threads")


@dataclass(frozen=True)
class Goal:
    """A bound, lower or upper, for the ratio of each given metric to a peer's."""

    text: str
    bound: float
    peer: str
    metrics: tuple[str, ...]
    at_most: bool = False

    def row(self, ratio: Ratio) -> list[str] | None:
        """Return the ratios and whether the medians meet the goal; None: not measured."""
        found = [(_SHORT[name], ratio(name, self.peer)) for name in self.metrics]
        known = [(name, value) for name, value in found if value]
        if not known:
            return None
        missed = [name for name, value in known if not self._is_met(value.median)]
        met = f"not met by {', '.join(missed)}" if missed else "met"
        measured = ", ".join(f"{name} {value}" for name, value in known)
        return [
            self.text,
            f"{'at most' if self.at_most else 'at least'} {self.bound:g}",
            measured,
            met,
        ]

    def _is_met(self, ratio: float) -> bool:
        # Compare rounded as printed, so that 1.30 is not above 1.3.
        shown = float(number(ratio))
        return shown <= self.bound if self.at_most else shown >= self.bound


_GOALS = (
    Goal("1 MiB writes, relative to native", 0.80, "native", _LARGE),
    Goal("128 KiB writes, relative to virtio-net", 5, "virtio-net", _SMALL),
    Goal("128 KiB writes, relative to native", 0.40, "native", _SMALL),
    Goal("throughput, relative to passt", 4, "passt", (*_LARGE, *_SMALL, "throughput-udp-1400B")),
    Goal("round trip, relative to virtio-net", 0.6, "virtio-net", ("latency-p50",), at_most=True),
    Goal("connections per second, relative to virtio-net", 3, "virtio-net", _CONNECTIONS),
    Goal("connections per second, relative to passt", 3, "passt", _CONNECTIONS),
    Goal("CPU per GB, relative to native", 1.3, "native", _CPU, at_most=True),
    Goal("throughput, relative to AF_INET6", 1.02, "vmrpc-inet6", _LARGE + _SMALL, at_most=True),
    Goal("CPU per GB, relative to AF_INET6", 0.98, "vmrpc-inet6", _CPU),
    Goal("throughput, relative to a container", 1.05, "vmrpc-container", _LARGE, at_most=True),
    Goal("CPU per GB, translation on vs off", 1.02, "vmrpc-untranslated", _CPU, at_most=True),
)


def rows(ratio: Ratio) -> Iterator[list[str]]:
    """Return the goals with measured values."""
    yield ["metric", "goal", "measured", ""]
    for goal in _GOALS:
        row = goal.row(ratio)
        if row:
            yield row
