# SPDX-License-Identifier: GPL-2.0-or-later
"""Authoritative servers of one zone, on loopback of a namespace, a port each."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import dns as ours
from .. import wait
from ..net import Namespace
from . import zones
from .questions import Question

ADDRESS = "127.0.0.1"
OURS, BIND, NSD, KNOT = NAMES = ("vmmnet-dnsd", "BIND", "NSD", "Knot")
#: For a reply over UDP that may never come; the servers are on this machine.
_PATIENCE = 5.0

_BIND = """\
options {{
    directory "{folder}"; pid-file "bind.pid"; session-keyfile "session.key"; lock-file none;
    listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};
    recursion no; dnssec-validation no; notify no; minimal-responses yes; minimal-any no;
    max-udp-size 4096; edns-udp-size 4096; check-names primary ignore; check-integrity no;
    check-wildcard no; rrset-order {{ order none; }}; tcp-clients 1000; tcp-idle-timeout 1200;
}};
controls {{ }};
zone "{origin}" {{ type primary; file "{zone}"; }};
"""
_NSD = """\
server:
    ip-address: {address}@{port}
    server-count: 1
    database: ""
    username: ""
    zonesdir: "{folder}"
    zonelistfile: "{folder}/nsd.list"
    xfrdfile: "{folder}/nsd.xfr"
    xfrdir: "{folder}"
    pidfile: "{folder}/nsd.pid"
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
    ipv4-edns-size: 4096
    minimal-responses: yes
    tcp-timeout: 1200
remote-control:
    control-enable: no
zone:
    name: "{origin}"
    zonefile: "{zone}"
"""
_KNOT = """\
server:
    listen: {address}@{port}
    rundir: {folder}
    udp-max-payload: 4096
    tcp-idle-timeout: 1200
database:
    storage: {folder}/knot
template:
  - id: default
    storage: {folder}
    zonefile-load: whole
    journal-content: none
    semantic-checks: off
zone:
  - domain: {origin}
    file: {zone}
"""


@dataclass
class Server:
    """One that answers at a port."""

    name: str
    space: Namespace
    port: int
    version: str
    _udp: socket.socket | None = None
    _tcp: socket.socket | None = None
    _rest: bytes = field(default=b"")

    def send(self, question: Question, message: bytes) -> None:
        """Ask."""
        if question.stream:
            self._stream().sendall(len(message).to_bytes(2, "big") + message)
        else:
            self._datagrams().send(message)

    def receive(self, question: Question, ident: bytes) -> bytes | None:
        """The reply; None: there was none."""
        try:
            return self._framed() if question.stream else self._datagram(ident)
        except OSError:
            self.close()
            return None

    def close(self) -> None:
        """Forget the sockets."""
        for each in (self._udp, self._tcp):
            if each is not None:
                each.close()
        self._udp = self._tcp = None
        self._rest = b""

    def _datagrams(self) -> socket.socket:
        if self._udp is None:
            self._udp = self._connected(socket.SOCK_DGRAM)
        return self._udp

    def _stream(self) -> socket.socket:
        if self._tcp is None:
            self._tcp = self._connected(socket.SOCK_STREAM)
        return self._tcp

    def _connected(self, kind: int) -> socket.socket:
        with self.space.entered():
            made = socket.socket(socket.AF_INET, kind)
        made.settimeout(_PATIENCE)
        made.connect((ADDRESS, self.port))
        return made

    def _datagram(self, ident: bytes) -> bytes:
        while True:
            found = self._datagrams().recv(65535)
            if found[:2] == ident:
                return found

    def _framed(self) -> bytes:
        head = self._exactly(2)
        return self._exactly(int.from_bytes(head, "big"))

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = self._stream().recv(65535)
            if not more:
                raise ConnectionError("the server has closed the connection")
            self._rest += more
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


@contextlib.contextmanager
def _bind(folder: Path, zone: Path, port: int) -> Iterator[Sequence[str | Path]]:
    config = folder / "bind.conf"
    config.write_text(_write(_BIND, folder, zone, port))
    yield ["named", "-g", "-n", "1", "-c", config]


@contextlib.contextmanager
def _nsd(folder: Path, zone: Path, port: int) -> Iterator[Sequence[str | Path]]:
    config = folder / "nsd.conf"
    config.write_text(_write(_NSD, folder, zone, port))
    yield ["nsd", "-d", "-c", config]


@contextlib.contextmanager
def _knot(folder: Path, zone: Path, port: int) -> Iterator[Sequence[str | Path]]:
    (folder / "knot").mkdir(exist_ok=True)
    config = folder / "knot.conf"
    config.write_text(_write(_KNOT, folder, zone, port))
    yield ["knotd", "-c", config]


@contextlib.contextmanager
def _ours(folder: Path, zone: Path, port: int) -> Iterator[Sequence[str | Path]]:
    image = folder / "ours.image"
    ours.compile_zone(zones.ORIGIN, zone.read_text(), image)
    config = folder / "ours.conf"
    config.write_text(ours.configuration({zones.ORIGIN: image}, ADDRESS, port))
    yield [ours.program("vmmnet-dnsd"), config]


def _write(text: str, folder: Path, zone: Path, port: int) -> str:
    return text.format(folder=folder, zone=zone, port=port, address=ADDRESS, origin=zones.ORIGIN)


_STARTS: dict[
    str, tuple[Callable[..., contextlib.AbstractContextManager[Sequence[str | Path]]], str]
] = {
    OURS: (_ours, "0.1"),
    BIND: (_bind, "9.18"),
    NSD: (_nsd, "4.6"),
    KNOT: (_knot, "3.2"),
}


@contextlib.contextmanager
def running(
    space: Namespace, folder: Path, zone: Path, names: Sequence[str] = NAMES
) -> Iterator[list[Server]]:
    """The servers, each with the zone."""
    with contextlib.ExitStack() as stack:
        found = []
        for number, name in enumerate(names):
            port = 5301 + number
            start, version = _STARTS[name]
            command = stack.enter_context(start(folder, zone, port))
            log = folder / f"{name}.log"
            out = stack.enter_context(log.open("ab"))
            child = stack.enter_context(space.started(command, stdout=out, stderr=out))
            try:
                wait.listening(child.pid, port)
            except (RuntimeError, TimeoutError) as error:
                text = log.read_text(errors="replace")
                raise RuntimeError(f"{name}: {error}\n{text[-3000:]}") from error
            server = Server(name, space, port, version)
            stack.callback(server.close)
            found.append(server)
        yield found
