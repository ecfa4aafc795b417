# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of a daemon in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True)
class Metric:
    """A sample: its name without the prefix, its help text, its value and its labels."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def text(prefix: str, metrics: Iterable[Metric]) -> str:
    """Metrics in the text format, grouped by name, each with a prefix.

    Metrics with the same name must have the same label names.
    """
    registry = CollectorRegistry()
    registry.register(_Families(prefix, metrics))
    result: bytes = generate_latest(registry)
    return result.decode()


class _Families(Collector):  # type: ignore[misc,unused-ignore]
    """Metrics for prometheus_client: one family for each name."""

    def __init__(self, prefix: str, metrics: Iterable[Metric]) -> None:
        self._prefix, self._metrics = prefix, metrics

    def collect(self) -> Iterable[CounterMetricFamily | GaugeMetricFamily]:
        """The families, in the order of their first metrics."""
        found: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for each in self._metrics:
            labels = sorted(each.labels)
            if each.name not in found:
                # The names of counters end with _total.
                is_counter = each.name.endswith("_total")
                kind = CounterMetricFamily if is_counter else GaugeMetricFamily
                found[each.name] = kind(self._prefix + each.name, each.help, labels=labels)
            found[each.name].add_metric([each.labels[label] for label in labels], each.value)
        return found.values()
