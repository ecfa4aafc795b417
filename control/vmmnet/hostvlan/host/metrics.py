# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of the agent for Prometheus, in its text format."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

PREFIX = "vmmnet_hostvlan_"
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
# Seconds that a client has for its request.
_PATIENCE = 10


@dataclass(frozen=True, slots=True)
class Metric:
    """A number: its name without prefix, what it tells, and now; of what, by labels."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Prometheus's name for it: what only grows is called ..._total."""
        return "counter" if self.name.endswith("_total") else "gauge"


def text(metrics: list[Metric]) -> str:
    """The numbers as Prometheus reads them, those of one name together."""
    lines: dict[str, list[str]] = {}
    for metric in metrics:
        name = PREFIX + metric.name
        if metric.name not in lines:
            lines[metric.name] = [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
        lines[metric.name].append(f"{name}{_labels(metric.labels)} {metric.value:.15g}")
    return "".join(f"{line}\n" for group in lines.values() for line in group)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    told = (f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels.items())
    return f"{{{','.join(told)}}}"


def parse_address(spelled: str) -> tuple[str, int]:
    """Read ADDRESS:PORT, an IPv6 address in brackets; raises ValueError."""
    host, colon, port = spelled.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"'{spelled}': an IPv6 address is in brackets, such as [::1]:9108")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"'{spelled}' is not ADDRESS:PORT, such as 127.0.0.1:9108")
    return host, int(port)


class Server:
    """Answers GET /metrics on an address, in a thread of its own."""

    def __init__(self, address: tuple[str, int], read: Callable[[], list[Metric]]) -> None:
        # The command line knows this module too, and shall not wait for that one.
        import http.server

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = _PATIENCE

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = text(read()) if found else "the numbers are at /metrics\n"
                data = body.encode()
                self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing of requests."""

        class Listener(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

            def server_bind(self) -> None:
                # HTTPServer would ask DNS for the name of the address.
                socketserver.TCPServer.server_bind(self)

        self._server = Listener(address, Handler)
        #: Where it listens: with port 0 the system has chosen one.
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
