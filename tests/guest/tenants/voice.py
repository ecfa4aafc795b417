# SPDX-License-Identifier: GPL-2.0-or-later
"""The program in a guest that hears all frames on a NIC, and sends what it is told.

    python3 voice.py INTERFACE

A request is a line of JSON, [number, what, argument]; the answer is a line,
the number and JSON.  ``hush`` forgets what was heard; ``say`` sends frames,
each in hex, and ``heard`` returns what came, each frame as [source MAC,
destination MAC, VLAN tags and EtherType, octets with tags, text].  ``await``
answers when each of the texts was heard.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
from typing import Any

ETH_P_ALL = 3
# Constants of packet(7) that Python lacks.
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 1, 1
PACKET_AUXDATA = 8
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
AUXDATA = struct.Struct("=IIIHHHH")
SO_RCVBUFFORCE = 33
# More than all that a test sends while this program has no turn.
ROOM = 16 << 20
TAGS = ("8100", "88a8")
ARP, TEST = "0806", "88b5"


def describe(frame: bytes) -> list[Any]:
    """What is told of a frame."""
    kinds, at = [frame[12:14].hex()], 14
    while kinds[-1] in TAGS:
        kinds[-1] += f":{int.from_bytes(frame[at : at + 2]) & 0xFFF}"
        kinds.append(frame[at + 2 : at + 4].hex())
        at += 4
    text = ""
    if kinds[-1] == TEST:
        text = frame[at:].partition(b"\0")[0].decode(errors="replace")
    elif kinds[-1] == ARP and len(frame) >= at + 28:
        asked = "reply" if frame[at + 7] == 2 else "request"
        text = f"arp {asked} {socket.inet_ntoa(frame[at + 14 : at + 18])}"
    return [frame[6:12].hex(":"), frame[:6].hex(":"), " ".join(kinds), len(frame), text]


def whole(frame: bytes, control: list[tuple[int, int, bytes]]) -> bytes:
    """The frame as it was on the wire: Linux keeps the outermost tag beside it."""
    for level, kind, data in control:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, *_, tag, protocol = AUXDATA.unpack(data[: AUXDATA.size])
            if status & TP_STATUS_VLAN_VALID:
                named = protocol if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                return frame[:12] + struct.pack("!HH", named, tag) + frame[12:]
    return frame


class Voice:
    """A NIC in promiscuous mode."""

    def __init__(self, interface: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._socket.bind((interface, ETH_P_ALL))
        index = socket.if_nametoindex(interface)
        all_of_them = struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b"")
        self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, all_of_them)
        self._socket.setblocking(False)
        self._heard: list[list[Any]] = []
        self._texts: set[str] = set()
        self._awaited: dict[int, set[str]] = {}

    def fileno(self) -> int:
        """What becomes readable when a frame has come."""
        return self._socket.fileno()

    def listen(self) -> None:
        """Take what has come."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, control, _, address = self._socket.recvmsg(1 << 16, 256)
                if address[2] != socket.PACKET_OUTGOING:
                    self._heard.append(describe(whole(frame, control)))
                    self._texts.add(self._heard[-1][-1])

    def _send(self, frame: bytes) -> None:
        # Blocks while the NIC has no room.
        self._socket.setblocking(True)
        self._socket.send(frame)
        self._socket.setblocking(False)

    def obey(self, number: int, what: str, argument: list[str]) -> None:
        """Do what is asked, and answer unless that has to wait."""
        answer: list[list[Any]] = []
        if what == "hush":
            self._heard, self._texts = [], set()
        elif what == "say":
            for frame in argument:
                self._send(bytes.fromhex(frame))
        elif what == "heard":
            answer = self._heard
        else:
            self._awaited[number] = set(argument)
            return
        tell(number, answer)

    def complete(self) -> None:
        """Answer those whose texts are there."""
        done = [number for number, texts in self._awaited.items() if texts <= self._texts]
        for number in done:
            del self._awaited[number]
            tell(number, [])


def tell(number: int, answer: list[list[Any]]) -> None:
    """Write an answer."""
    print(number, json.dumps(answer), flush=True)


def main() -> None:
    """Listen and obey until the input ends."""
    voice = Voice(sys.argv[1])
    print("ready", flush=True)
    orders, rest = sys.stdin.fileno(), b""
    while True:
        ready, _, _ = select.select([orders, voice.fileno()], [], [])
        voice.listen()
        if orders in ready:
            data = os.read(orders, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                voice.obey(*json.loads(line))
        voice.complete()


if __name__ == "__main__":
    main()
