# SPDX-License-Identifier: GPL-2.0-or-later
"""A host for vmmnet-dnsd, and a host for clients that send messages of tests."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dns.message
import dns.query

from ..base import scratch, tools, wait
from ..base.net import Namespace, Network
from .dnsd import PORT, USER, Dnsd
from .room import compile_zone

SERVER, CLIENT, OTHER = "192.0.2.1", "192.0.2.2", "192.0.2.3"
SERVER6, CLIENT6 = "2001:db8::1", "2001:db8::2"

ZONE = """\
$TTL 300
@       SOA ns root {serial} 3600 600 86400 300
        NS  ns
ns      A   192.0.2.1
www     A   192.0.2.80
        AAAA 2001:db8::80
serial  TXT "{serial}"
""" + "".join(f'big TXT "{number:04d}{"x" * 200}"\n' for number in range(20))


@dataclass
class World:
    """A server's host, a client's, and a folder with an image."""

    server: Namespace
    client: Namespace
    folder: Path

    def image(self, serial: int = 1, name: str = "example") -> Path:
        """Make or replace the image of a zone."""
        return compile_zone(name, ZONE.format(serial=serial), self.folder / f"{name}.vzi")

    def dnsd(self, zone: Mapping[str, Any] | None = None, **sections: Mapping[str, Any]) -> Dnsd:
        """Return a server of the zone "example"."""
        image = self.folder / "example.vzi"
        zones = [{"name": "example", "image": str(image), **(zone or {})}]
        return Dnsd(self.server, self.folder, {"zones": zones, **sections})

    def udp(self, message: dns.message.Message, server: str = SERVER) -> dns.message.Message:
        """Send a query over UDP; return the reply."""
        with self.client.entered():
            return dns.query.udp(message, server, timeout=wait.PATIENCE)

    def link_local(self, there: str, here: str) -> str:
        """Make a link from the client's ``client7`` to the server's ``eth7``, with these addresses.

        Returns the server's address, for a client.
        """
        words = ["type", "veth", "peer", "name", "eth7", "netns", self.server.netns]
        self.client.ip("link", "add", "client7", *words)
        self.client.ip("address", "add", f"{there}/64", "dev", "client7", "nodad")
        self.server.ip("address", "add", f"{here}/64", "dev", "eth7", "nodad")
        self.client.ip("link", "set", "client7", "up")
        self.server.ip("link", "set", "eth7", "up")
        index = self.client.run(["cat", "/sys/class/net/client7/ifindex"]).stdout.strip()
        return f"{here}%{index}"

    def connect(self, server: str = SERVER, source: str | None = None) -> socket.socket:
        """Open a TCP connection."""
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with self.client.entered():
            made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(wait.PATIENCE)
        if source:
            made.bind((source, 0))
        made.connect((server, PORT))
        return made


@contextlib.contextmanager
def made(network: Network) -> Iterator[World]:
    """Make the hosts and the first image."""
    server, client = network.namespace("server"), network.namespace("client")
    bridge = server.bridge()
    bridge.add_address(f"{SERVER}/24")
    bridge.add_address("192.0.2.11/24")
    bridge.add_address(f"{SERVER6}/64")
    bridge.add_address("2001:db8::11/64")
    network.connect(client, bridge, [f"{CLIENT}/24", f"{OTHER}/24", f"{CLIENT6}/64"])
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        world = World(server, client, folder)
        world.image()
        yield world


@contextlib.contextmanager
def with_own_zones(network: Network, secret: str) -> Iterator[World]:
    """The same with a folder of zones that the server may change; a key's secret is there, too."""
    with made(network) as hosts:
        hosts.folder = hosts.folder / "zones"
        hosts.folder.mkdir()
        hosts.image()
        (hosts.folder / "secret").write_text(f"{secret}\n")
        tools.run(["chown", "-R", USER, hosts.folder])
        yield hosts


def query(name: str = "www.example", kind: str = "A", **more: Any) -> dns.message.QueryMessage:
    """A question."""
    return dns.message.make_query(name, kind, **more)


def framed(message: dns.message.Message) -> bytes:
    """Return the message with TCP's length prefix."""
    wire = message.to_wire()
    return struct.pack("!H", len(wire)) + wire


def read(connection: socket.socket) -> dns.message.Message:
    """Read the next reply of a connection."""
    stream = b""
    while len(stream) < 2 or len(stream) < 2 + int.from_bytes(stream[:2], "big"):
        wanted = 2 - len(stream) if len(stream) < 2 else 2 + int.from_bytes(stream[:2], "big")
        data = connection.recv(wanted - len(stream) if len(stream) >= 2 else wanted)
        if not data:
            raise EOFError
        stream += data
    return dns.message.from_wire(stream[2:])


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server closes the connection, within our patience."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
