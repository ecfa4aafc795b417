# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's metrics for Prometheus, in its text format, over HTTP."""

from __future__ import annotations

import http.server
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

PREFIX = "vmmnet_hostvlan_"
# The timeout of a client's request, in seconds.
_PATIENCE = 10


@dataclass(frozen=True, slots=True)
class Metric:
    """A sample: its name without the prefix, its help text, its value and its labels."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def text(metrics: Iterable[Metric]) -> bytes:
    """Metrics in the text format, grouped by name.

    Metrics with the same name must have the same label names.
    """
    registry = CollectorRegistry()
    registry.register(_Families(metrics))
    result: bytes = generate_latest(registry)
    return result


class _Families(Collector):  # type: ignore[misc,unused-ignore]
    """Metrics for prometheus_client: one family for each name."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[CounterMetricFamily | GaugeMetricFamily]:
        """The families, in the order of their first metrics."""
        found: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for each in self._metrics:
            labels = sorted(each.labels)
            if each.name not in found:
                # The names of counters end with _total.
                is_counter = each.name.endswith("_total")
                kind = CounterMetricFamily if is_counter else GaugeMetricFamily
                found[each.name] = kind(PREFIX + each.name, each.help, labels=labels)
            found[each.name].add_metric([each.labels[label] for label in labels], each.value)
        return found.values()


class Server:
    """Answers GET /metrics on an address, in a thread of its own."""

    def __init__(self, address: tuple[str, int], read: Callable[[], list[Metric]]) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = _PATIENCE

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                data = text(read()) if found else b"the numbers are at /metrics\n"
                self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
                self.send_header("Content-Type", CONTENT_TYPE_LATEST)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Do not log requests."""

        class Listener(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

            def server_bind(self) -> None:
                # HTTPServer would ask DNS for the name of the address.
                socketserver.TCPServer.server_bind(self)

        self._server = Listener(address, Handler)
        #: The TCP port; if 0 was given, the one that the system has chosen.
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
