# SPDX-License-Identifier: GPL-2.0-or-later
"""The program behind all ports: it sends without end, and judges what arrives where.

    python3 -m kills.traffic INTERFACE...

The interfaces are the ends of the VMs' wires, in the order of ``policy.VMS``.
Each VM in its turn sends a broadcast; one in eight has the MAC address of
another tenant's VM as its source, and nobody may get it.  Steady VMs must
always get what is for them and never anything else.  What moving VMs send and
get is judged in a window only, when the policy is known to be in force.

A request is a line of JSON, {"frames": N, "policy": {MAC: LNIDs}}: a window of
so many frames.  The answer comes when all that was sent so far has arrived or
was refused: {"sent": …, "judged": …, "wrong": […]}.  {"frames": 0} is a window
without frames, for the end.

When has a frame arrived everywhere?  This program is bound to one processor,
and so is the way of what it sends, through all bridges: one queue.  When a
frame that was sent later has come to the end of the longest way, all earlier
ones have been judged at each port.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from dataclasses import dataclass

from .policy import STEADY, VMS, Policy, Vm, may_hear

_PER_SECOND = 300
_SPOOFED = 8
_ETHERTYPE = 0x88B5
_HEAD = struct.Struct("!6s6sH")
# Of whom it is in truth, and its number.
_BODY = struct.Struct("!IQ")
_ETH_P_ALL = 3
# Constants of packet(7) that Python lacks.
_SOL_PACKET, _IGNORE_OUTGOING, _STATISTICS = 263, 23, 6
_SO_RCVBUFFORCE = 33
_ROOM = 32 << 20
# How long the slowest frame may take; longer, and it is lost.
_LOST = 150.0
_TOLD = 20
_ALL = (1 << len(VMS)) - 1


@dataclass(slots=True)
class Frame:
    """A frame that is under way: sets of VMs are bits."""

    sender: Vm
    spoofed: bool
    must: int
    never: int
    heard: int = 0


def _bit(vm: Vm) -> int:
    return 1 << vm.number


def _sets(sender: Vm, policy: Policy) -> tuple[int, int]:
    """Who must get what a VM sends, and who must not, as far as the policy goes."""
    must = never = 0
    for vm in VMS:
        if vm is not sender and sender.mac in policy and vm.mac in policy:
            if may_hear(policy[sender.mac], policy[vm.mac]):
                must |= _bit(vm)
            else:
                never |= _bit(vm)
    return must, never


class Traffic:
    """What is sent, what is under way, what was wrong."""

    def __init__(self, interfaces: list[str]) -> None:
        self._sockets = [_open(name) for name in interfaces]
        self._by_fd = {
            each.fileno(): (each, vm) for each, vm in zip(self._sockets, VMS, strict=True)
        }
        self._steady: Policy = {vm.mac: frozenset({vm.tenant}) for vm in STEADY}
        self._now = {vm: _sets(vm, self._steady) for vm in VMS}
        self._under_way: dict[int, Frame] = {}
        self._sent = self._judged = self._wrong = self._dropped = 0
        self._said: list[str] = []
        # Frames that the window has left; the marks that end the wait for it.
        self._left = 0
        self._asked = False
        self._marks: dict[Vm, int] = {}

    def run(self) -> None:
        """Send, listen and answer until the standard input ends."""
        poll = select.epoll()
        for fd in (0, *self._by_fd):
            poll.register(fd, select.EPOLLIN)
        due = time.monotonic()
        while True:
            for fd, _ in poll.poll(max(0.0, due - time.monotonic())):
                if fd:
                    self._receive(*self._by_fd[fd])
                elif not self._take(sys.stdin.readline()):
                    return
            if time.monotonic() >= due:
                self._send()
                due = max(due + 1 / _PER_SECOND, time.monotonic())
            if self._asked and not self._left and self._is_over():
                self._answer()

    # The window

    def _take(self, line: str) -> bool:
        if not line:
            return False
        request = json.loads(line)
        self._asked, self._left = True, request["frames"]
        policy = self._steady | {
            int(mac): frozenset(lnids) for mac, lnids in request.get("policy", {}).items()
        }
        self._now = {vm: _sets(vm, policy) for vm in VMS}
        if not self._left:
            self._close()
        return True

    def _close(self) -> None:
        self._now = {vm: _sets(vm, self._steady) for vm in VMS}
        # The next frame of each steady VM tells when all before have arrived.
        self._marks = dict.fromkeys(STEADY, 0)
        self._deadline = time.monotonic() + _LOST

    def _is_over(self) -> bool:
        if not all(self._marks.values()):
            return False
        frames = [self._under_way[number] for number in self._marks.values()]
        arrived = all(frame.must & ~frame.heard == 0 for frame in frames)
        return arrived or time.monotonic() > self._deadline

    def _answer(self) -> None:
        last = max(self._marks.values())
        for number in [each for each in self._under_way if each <= last]:
            self._judge(number, self._under_way.pop(number))
        self._dropped += sum(map(_dropped, self._sockets))
        print(
            json.dumps(
                {
                    "sent": self._sent,
                    "judged": self._judged,
                    "wrong": self._wrong,
                    "said": self._said,
                    "dropped": self._dropped,
                }
            ),
            flush=True,
        )
        self._asked = False

    def _judge(self, number: int, frame: Frame) -> None:
        self._judged += (frame.must | frame.never).bit_count()
        for vm in VMS:
            if frame.must & ~frame.heard & _bit(vm):
                self._complain(f"{vm.name} has not got frame {number} of {frame.sender.name}")

    def _complain(self, text: str) -> None:
        self._wrong += 1
        if len(self._said) < _TOLD:
            self._said.append(text)

    # Frames

    def _send(self) -> None:
        number = self._sent
        sender = VMS[number % len(VMS)]
        spoofed = number // len(VMS) % _SPOOFED == _SPOOFED - 1
        source = sender.mac
        must, never = self._now[sender]
        if spoofed:
            others = [vm for vm in STEADY if vm.tenant != sender.tenant and vm is not sender]
            source = others[number % len(others)].mac
            must, never = 0, _ALL & ~_bit(sender)
        elif self._marks.get(sender) == 0:
            self._marks[sender] = number
        self._under_way[number] = Frame(sender, spoofed, must, never)
        head = _HEAD.pack(b"\xff" * 6, source.to_bytes(6), _ETHERTYPE)
        body = _BODY.pack(sender.number, number)
        self._sockets[sender.number].send((head + body).ljust(60, b"\0"))
        self._sent += 1
        if self._left:
            self._left -= 1
            if not self._left:
                self._close()

    def _receive(self, interface: socket.socket, vm: Vm) -> None:
        while True:
            try:
                octets = interface.recv(128)
            except BlockingIOError:
                return
            _, source, kind = _HEAD.unpack_from(octets)
            if kind != _ETHERTYPE:
                continue
            sender, number = _BODY.unpack_from(octets, _HEAD.size)
            frame = self._under_way.get(number)
            said = f"{vm.name} has got frame {number} of {VMS[sender].name}"
            if frame is None:
                self._complain(f"{said} too late")
                continue
            if frame.heard & _bit(vm):
                self._complain(f"{said} twice")
            frame.heard |= _bit(vm)
            if frame.never & _bit(vm):
                as_whom = f", as {source.hex(':')}" if frame.spoofed else ""
                self._complain(f"{said}{as_whom}, which is not for it")


def _open(name: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
    made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _ROOM)
    made.bind((name, _ETH_P_ALL))
    made.setblocking(False)
    return made


def _dropped(interface: socket.socket) -> int:
    """How many frames found no room in a socket since the last time."""
    _, drops = struct.unpack("=II", interface.getsockopt(_SOL_PACKET, _STATISTICS, 8))
    return int(drops)


def main() -> None:
    """Entry point."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(processors)})
    Traffic(sys.argv[1:]).run()


if __name__ == "__main__":
    main()
