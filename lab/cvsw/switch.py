# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual switch of simulated NICs that speaks OpenFlow 1.0 or 1.3 to a controller.

Its messages are written by hand from the specifications, to check the controller's, which come from
os-ken.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from vmmnet.cvsw.wire.message import ETHERTYPE

from ..base import wait
from .nics import SimNic

_HEADER = struct.Struct(">BBHI")
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY = 0, 1, 2, 3
_FEATURES_REQUEST, _FEATURES_REPLY, _PACKET_IN, _PACKET_OUT, _FLOW_MOD = 5, 6, 10, 13, 14
_FLOW_REMOVED, _PORT_STATUS = 11, 12
_STATS_REQUEST, _FLOW, _AGGREGATE = {1: 16, 4: 18}, 1, 2
_SEND_FLOW_REM = 1
_ALL = {1: 0xFFFC, 4: 0xFFFFFFFC}
_CONTROLLER = {1: 0xFFFD, 4: 0xFFFFFFFD}
_NORMAL = {1: 0xFFFA, 4: 0xFFFFFFFA}
_NO_BUFFER = 0xFFFFFFFF
#: Interval of NICs' timers, seconds: shorter than their time-outs.
_TICK_EVERY = 0.01


@dataclass
class _Flow:
    port: int
    most: int
    cookie: int
    match: bytes


class Switch:
    """One switch; its NICs run by pump()."""

    def __init__(self, address: tuple[str, int], version: int, datapath_id: int = 1) -> None:
        self.version, self.datapath_id = version, datapath_id
        self.ports: dict[int, SimNic] = {}
        self._flows: dict[tuple[int | None, int], _Flow] = {}
        #: Flows that others have set.
        self.flows_before = 0
        self.echoes = 0
        self.is_connected = True
        self._tick_at = 0.0
        self._input = b""
        self._socket = socket.create_connection(address, wait.PATIENCE)
        self._send(_HELLO, struct.pack(">HHI", 1, 8, 1 << 4) if version == 4 else b"")

    @property
    def flows(self) -> list[tuple[int | None, int, int]]:
        """The flows that the controller has set: EtherType (None: any), priority, port."""
        return [(*key, flow.port) for key, flow in self._flows.items()]

    def remove_flow(self, ether_type: int | None, priority: int) -> None:
        """Remove one as another controller does, and tell."""
        flow = self._flows.pop((ether_type, priority))
        about = struct.pack(">QHB29x", flow.cookie, priority, 2)
        self._send(_FLOW_REMOVED, flow.match + about if self.version == 1 else about + flow.match)

    def change_flow(self, ether_type: int | None, priority: int, port: int) -> None:
        """Change where one outputs, as another controller does: nobody is told."""
        self._flows[ether_type, priority].port = port

    def close(self) -> None:
        """End the connection."""
        self.is_connected = False
        self._socket.close()

    def attach(self, port: int, nic: SimNic) -> None:
        """Start a NIC at a port."""
        self.plug(port, nic)
        nic.boot(time.monotonic())

    def plug(self, port: int, nic: SimNic) -> None:
        """Connect a running NIC to a port."""
        self.ports[port] = nic
        nic.send = lambda frame: self.packet_in(port, frame)

    def pump(self) -> None:
        """Handle received messages, and run NICs' timers."""
        self._socket.settimeout(0.01)
        try:
            octets = self._socket.recv(1 << 20)
            self._input += octets
            if not octets:
                self.close()
        except TimeoutError:
            pass
        except OSError:
            self.close()
        at = 0
        while len(self._input) >= at + _HEADER.size:
            version, kind, length, xid = _HEADER.unpack_from(self._input, at)
            if len(self._input) < at + length:
                break
            self._take(version, kind, xid, self._input[at + _HEADER.size : at + length])
            at += length
        self._input = self._input[at:]
        now = time.monotonic()
        if self._flows and now >= self._tick_at:
            self._tick_at = now + _TICK_EVERY
            for nic in self.ports.values():
                if self.is_connected:
                    nic.tick(now)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Run until a condition holds."""

        def is_so() -> object:
            self.pump()
            return condition()

        wait.until(is_so, what)

    def echo(self) -> None:
        """Send an echo request to the controller."""
        self._send(_ECHO_REQUEST, b"there?")

    def error(self, kind: int, code: int, xid: int) -> None:
        """Refuse a message."""
        self._send(_ERROR, struct.pack(">HH", kind, code), xid)

    def drop_port(self, port: int) -> SimNic:
        """Remove a port; its NIC runs on."""
        self._port_status(1, port)
        return self.ports.pop(port)

    def add_port(self, port: int, nic: SimNic) -> None:
        """Add a port with a running NIC."""
        self.plug(port, nic)
        self._port_status(0, port)

    def _port_status(self, reason: int, port: int) -> None:
        body = struct.pack(">H46x" if self.version == 1 else ">I60x", port)
        self._send(_PORT_STATUS, struct.pack(">B7x", reason) + body)

    def packet_in(self, port: int, frame: bytes) -> None:
        """Send a frame to the controller."""
        if self.version == 1:
            head = struct.pack(">IHHBx", _NO_BUFFER, len(frame), port, 1)
        else:
            match = struct.pack(">HHHBBI4x", 1, 12, 0x8000, 0, 4, port)
            head = struct.pack(">IHBBQ", _NO_BUFFER, len(frame), 1, 0, 0) + match + b"\0\0"
        self._send(_PACKET_IN, head + frame)

    def _send(self, kind: int, body: bytes, xid: int = 0) -> None:
        head = _HEADER.pack(self.version, kind, _HEADER.size + len(body), xid)
        self.send_octets(head + body)

    def send_octets(self, octets: bytes) -> None:
        """Send octets, which may be no valid message."""
        try:
            self._socket.settimeout(wait.PATIENCE)
            self._socket.sendall(octets)
        except (BrokenPipeError, ConnectionResetError):
            self.close()

    def _take(self, version: int, kind: int, xid: int, body: bytes) -> None:
        if kind == _HELLO:
            return
        assert version == self.version
        if kind == _FEATURES_REQUEST:
            tables = struct.pack(">QIBxxxII", self.datapath_id, 0, 1, 0, 0)
            self._send(_FEATURES_REPLY, tables, xid)
        elif kind == _ECHO_REQUEST:
            self._send(_ECHO_REPLY, body, xid)
        elif kind == _ECHO_REPLY:
            assert body == b"there?"
            self.echoes += 1
        elif kind == _STATS_REQUEST[version]:
            self._send(kind + 1, self._statistics(body), xid)
        elif kind == _FLOW_MOD:
            self._flow(body)
        elif kind == _PACKET_OUT:
            self._put_out(body)

    def _statistics(self, body: bytes) -> bytes:
        kind, flags = struct.unpack_from(">HH", body)
        assert (kind in (_FLOW, _AGGREGATE), flags) == (True, 0)
        head = struct.pack(">HH", kind, 0) + bytes(0 if self.version == 1 else 4)
        if kind == _AGGREGATE:
            total = self.flows_before + len(self._flows)
            return head + struct.pack(">QQIxxxx", 0, 0, total)
        if self.version == 1:
            (ether_type,) = struct.unpack_from(">22xH", body, 4)
            some = {key: flow for key, flow in self._flows.items() if key[0] == ether_type}
        else:
            cookie, mask = struct.unpack_from(">QQ", body, 24)
            some = {k: flow for k, flow in self._flows.items() if flow.cookie & mask == cookie}
        return head + b"".join(self._entry(key[1], flow) for key, flow in some.items())

    def _entry(self, priority: int, flow: _Flow) -> bytes:
        if self.version == 1:
            head = struct.pack(">8xHHH6xQ16x", priority, 0, 0, flow.cookie)
            rest = flow.match + head + struct.pack(">HHHH", 0, 8, flow.port, flow.most)
        else:
            head = struct.pack(">8xHHHH4xQ16x", priority, 0, 0, 0, flow.cookie)
            output = struct.pack(">HH4xHHIH6x", 4, 24, 0, 16, flow.port, flow.most)
            rest = head + flow.match + output
        return struct.pack(">HBx", 4 + len(rest), 0) + rest

    def _flow(self, body: bytes) -> None:
        if self.version == 1:
            wildcards, ether_type = struct.unpack_from(">I18xH", body)
            cookie, _, _, _, priority, buffer, _, flags = struct.unpack_from(">QHHHHIHH", body, 40)
            match = body[:40]
            is_any, actions = bool(wildcards & 1 << 4), body[64:]
            assert wildcards | 1 << 4 == 0x3FFFFF
            kind, _, port, most = struct.unpack(">HHHH", actions)
        else:
            (cookie,) = struct.unpack_from(">Q", body)
            priority, buffer, _, _, flags = struct.unpack_from(">HIIIH", body, 22)
            _, length = struct.unpack_from(">HH", body, 40)
            match = body[40 : 40 + (length + 7) // 8 * 8]
            is_any = length == 4
            (ether_type,) = (0,) if is_any else struct.unpack_from(">H", body, 48)
            assert is_any or body[44:48] == bytes.fromhex("80000a02")
            actions = body[40 + (length + 7) // 8 * 8 :]
            assert struct.unpack_from(">HH", actions) == (4, 24)
            kind, _, port, most = struct.unpack_from(">HHIH", actions, 8)
        assert kind == 0
        assert (buffer, flags) == (_NO_BUFFER, _SEND_FLOW_REM)
        if port == _CONTROLLER[self.version]:
            assert most == 0xFFFF
        key = (None if is_any else ether_type, priority)
        self._flows[key] = _Flow(port, most, cookie, match)

    def _put_out(self, body: bytes) -> None:
        if self.version == 1:
            buffer, in_port, length = struct.unpack_from(">IHH", body)
            start = 8
            kind, size, port, _ = struct.unpack_from(">HHHH", body, start)
            assert in_port == 0xFFFF
        else:
            buffer, in_port, length = struct.unpack_from(">IIH6x", body)
            start = 16
            kind, size, port, _ = struct.unpack_from(">HHIH", body, start)
            assert in_port == 0xFFFFFFFD
        assert buffer == _NO_BUFFER
        assert (kind, length) == (0, size)
        frame = body[start + length :]
        assert frame[12:14] == struct.pack(">H", ETHERTYPE)
        ports = list(self.ports) if port == _ALL[self.version] else [port]
        for nic in [self.ports[each] for each in ports if each in self.ports]:
            nic.input(frame, time.monotonic())


def expected_flows(version: int) -> list[tuple[int | None, int, int]]:
    """The flows that a controller sets in an empty switch."""
    return [(ETHERTYPE, 0xFFFF, _CONTROLLER[version]), (None, 0, _NORMAL[version])]
