# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's metrics for Prometheus, over HTTP."""

from __future__ import annotations

import http.server
import socket
import socketserver
import threading
from collections.abc import Callable
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST

# The timeout of a client's request, in seconds.
_PATIENCE = 10


class Server:
    """Answers GET /metrics on an address, in a thread of its own."""

    def __init__(self, address: tuple[str, int], read: Callable[[], str]) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = _PATIENCE

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                data = read().encode() if found else b"the numbers are at /metrics\n"
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
