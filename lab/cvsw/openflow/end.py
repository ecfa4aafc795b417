# SPDX-License-Identifier: GPL-2.0-or-later
"""One end of a wire: raw frames, on the host or as a program in a guest.

    python3 end.py INTERFACE

Each line of the input is a frame to send, each line of the output a received frame, in hex. The
first line is "ready".
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import socket
import struct
import sys

_ETH_P_ALL = 3
# Constants of packet(7) that Python lacks.
_SOL_PACKET = 263
_ADD_MEMBERSHIP, _PROMISCUOUS = 1, 1
_AUXDATA = struct.Struct("=IIIHHHH")
_PACKET_AUXDATA = 8
_TAG_IS_THERE, _TAG_HAS_TYPE = 1 << 4, 1 << 6
_SIOCETHTOOL, _ETHTOOL_SGRO = 0x8946, 0x2C
_VLAN = 0x8100
#: Control frames between a NIC and its controller are not for the tester.
_CONTROL = b"\x88\xb5"


def _whole(frame: bytes, control: list[tuple[int, int, bytes]]) -> bytes:
    """Restore the frame of the wire: Linux stores the outermost tag apart from it."""
    for level, kind, data in control:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, *_, tag, protocol = _AUXDATA.unpack(data[: _AUXDATA.size])
            if status & _TAG_IS_THERE:
                named = protocol if status & _TAG_HAS_TYPE else _VLAN
                return frame[:12] + struct.pack("!HH", named, tag) + frame[12:]
    return frame


def _keep_order(sock: socket.socket, interface: str) -> None:
    """Switch off receive offload, with which Linux delays TCP and changes the order of frames."""
    off = array.array("I", [_ETHTOOL_SGRO, 0])
    request = struct.pack("16sP16x", interface.encode(), off.buffer_info()[0])
    fcntl.ioctl(sock, _SIOCETHTOOL, request)


class End:
    """A packet socket on an interface, promiscuous."""

    def __init__(self, interface: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        _keep_order(self._socket, interface)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.bind((interface, _ETH_P_ALL))
        index = socket.if_nametoindex(interface)
        everything = struct.pack("iHH8s", index, _PROMISCUOUS, 0, b"")
        self._socket.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, everything)

    def fileno(self) -> int:
        """The descriptor that becomes readable when a frame has come."""
        return self._socket.fileno()

    def close(self) -> None:
        """Leave the wire."""
        self._socket.close()

    def say(self, frame: bytes) -> None:
        """Send a frame."""
        self._socket.send(frame)

    def hear(self, patience: float | None = 0.0) -> bytes | None:
        """Return a frame, waiting at most ``patience`` seconds; None if there is none."""
        if not select.select([self._socket], [], [], patience)[0]:
            return None
        frame, control, _, address = self._socket.recvmsg(1 << 16, 256)
        if address[2] == socket.PACKET_OUTGOING or frame[12:14] == _CONTROL:
            return None
        return _whole(frame, control)


def main() -> None:
    """Send and receive until the input ends."""
    end, rest = End(sys.argv[1]), b""
    orders = sys.stdin.fileno()
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([orders, end], [], [])
        frame = end.hear()
        if frame is not None:
            print(frame.hex(), flush=True)
        if orders in ready:
            data = os.read(orders, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                end.say(bytes.fromhex(line.decode()))


if __name__ == "__main__":
    main()
