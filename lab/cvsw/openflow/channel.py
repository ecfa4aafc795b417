# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenFlow to a switch, on a UNIX socket."""

from __future__ import annotations

import itertools
import socket
import struct
from pathlib import Path
from typing import Any

from ...base import wait
from .osken import OsKen

_HELLO, _ECHO_REQUEST, _ECHO_REPLY = 0, 2, 3
#: Messages without a request, and ignored ones.
_FLOW_REMOVED, _PORT_STATUS = 11, 12
_HEAD = struct.Struct("!BBHI")
_WHOLE = 0xFFFF
_TABLE = {1: struct.Struct("!B3x32sIIIQQ"), 4: struct.Struct("!B3xIQQ")}
#: Octets before the tables in the answer.
_BEFORE_TABLES = {1: 12, 4: 16}


class Channel:
    """A connection that speaks one version."""

    def __init__(self, path: Path, osken: OsKen) -> None:
        self._osken, self._of, self._ofproto = osken, osken.of, osken.ofproto
        self._xids = itertools.count(1)
        #: Messages since the list was cleared.
        self.packet_ins: list[Any] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(wait.PATIENCE)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile("rb")
        self._socket.sendall(_HEAD.pack(osken.version, _HELLO, _HEAD.size, 0))
        if self._next()[1] != _HELLO:
            raise RuntimeError(f"{path}: no HELLO")
        # Without this message Open vSwitch sends no PACKET_IN on this kind of connection.
        self.ask(self._octets(self._of.OFPSetConfig(osken.datapath, 0, _WHOLE)))

    @property
    def version(self) -> int:
        """OpenFlow's number of its version."""
        return self._osken.version

    def close(self) -> None:
        """End the connection."""
        self._stream.close()
        self._socket.close()

    def ask(self, message: bytes) -> list[bytes]:
        """Send a message; return its answers after a barrier."""
        xid = self._send(message)
        barrier = self._send(self._octets(self._of.OFPBarrierRequest(self._osken.datapath)))
        answers: list[bytes] = []
        while True:
            answer = self._next()
            _, kind, _, about = _HEAD.unpack_from(answer)
            if about == barrier and kind == self._ofproto.OFPT_BARRIER_REPLY:
                return answers
            if kind == self._ofproto.OFPT_PACKET_IN:
                self.packet_ins.append(self._osken.parse(answer))
            elif kind == _ECHO_REQUEST:
                self._socket.sendall(answer[:1] + bytes([_ECHO_REPLY]) + answer[2:])
            elif about == xid and kind not in (_FLOW_REMOVED, _PORT_STATUS):
                answers.append(answer)

    def tables(self) -> dict[int, tuple[int, int]]:
        """Return, by table, the frames looked up, and the frames with a matching flow."""
        request = self._of.OFPTableStatsRequest(self._osken.datapath, 0)
        counts = {}
        for answer in self.ask(self._octets(request)):
            entries = answer[_BEFORE_TABLES[self.version] :]
            for entry in _TABLE[self.version].iter_unpack(entries):
                counts[entry[0]] = (entry[-2], entry[-1])
        return counts

    def packet_out(self, frame: bytes, port: int) -> None:
        """Let the switch send a frame; returns when it is sent."""
        message = self._of.OFPPacketOut(
            datapath=self._osken.datapath,
            buffer_id=self._ofproto.OFP_NO_BUFFER,
            in_port=self._ofproto.OFPP_CONTROLLER,
            actions=[self._of.OFPActionOutput(port, 0)],
            data=frame,
        )
        if answers := self.ask(self._octets(message)):
            raise RuntimeError(f"PACKET_OUT: {answers[0].hex()}")

    def _octets(self, message: Any) -> bytes:
        return self._osken.octets(message)

    def _send(self, message: bytes) -> int:
        xid = next(self._xids)
        self._socket.sendall(message[:4] + struct.pack("!I", xid) + message[8:])
        return xid

    def _next(self) -> bytes:
        head = self._stream.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise RuntimeError("the switch has ended the connection")
        length = _HEAD.unpack(head)[2]
        return head + self._stream.read(length - _HEAD.size)
