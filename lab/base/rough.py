# SPDX-License-Identifier: GPL-2.0-or-later
"""What the networks of the field have beside what a test makes.

with Network(ROUGH) as net: ...
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import socket
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

from vmmnet.hostvlan.bpf import bpf

from . import scratch, tools


@dataclass(frozen=True)
class Rough:
    """The parameters of a network; by default it is as quiet as can be."""

    #: Bridges snoop IGMP and MLD, and ask for listeners.
    snoops: bool = False
    #: Bridges have, as the system has it, the lowest MAC address of their ports.
    system_macs: bool = False
    #: Programs of somebody else are on all interfaces, and end what tcx asks (``observe``).
    observers: bool = False
    #: Bridges are parts of trunks: what they flood comes back in another VLAN (``Trunk``).
    trunks: bool = False
    #: Routers advertise at their start, and then to those who ask.
    slow_adverts: bool = False


SMOOTH = Rough()
ROUGH = Rough(snoops=True, system_macs=True, observers=True, trunks=True, slow_adverts=True)

# Observers.

#: Of the filter: one that nothing of ours has.
_PRIORITY, _HANDLE = 9, 9


def passing(folder: Path) -> Path:
    """Compile programs, ``xdp_`` and ``tc_``, that let everything pass."""
    source, compiled = folder / "pass.c", folder / "pass.o"
    line = '__attribute__((section("{0}"), used)) int {0}_(void *c) {{ return {1}; }}\n'
    source.write_text("".join(line.format(*each) for each in (("xdp", 2), ("tc", 0))))
    tools.run(["clang", "-target", "bpf", "-O2", "-c", source, "-o", compiled])
    return compiled


@functools.cache
def _compiled() -> bytes:
    with scratch.folder() as name:
        return passing(Path(name)).read_bytes()


def _loaded() -> int:
    """The program for tc; the caller closes it.  The kernel takes each one once at a place."""
    with scratch.folder() as name:
        file = Path(name) / "pass.o"
        file.write_bytes(_compiled())
        with bpf.Object(file) as made:
            made.leave_out("xdp_")
            made.load()
            return os.dup(made.program("tc_"))


def tcx(
    ifindex: int, point: int, *, first: bool = False
) -> contextlib.AbstractContextManager[object]:
    """Attach it behind, or before, all others, until the end of a ``with`` block."""
    with bpf.closing(_loaded()) as program:
        return bpf.closing(bpf.link_create_tcx(program, ifindex, point, before=first))


def observe(ifindex: int) -> contextlib.ExitStack:
    """Attach it to tcx and to the qdisc clsact, in both directions, until the stack is closed.

    At tcx it ends the chain: whoever comes later, and behind it, is not asked. The filter stays.
    """
    links = contextlib.ExitStack()
    bpf.clsact_create(ifindex)
    for point in (bpf.INGRESS, bpf.EGRESS):
        with bpf.closing(_loaded()) as program:
            bpf.tc_attach(ifindex, point, program, _PRIORITY, _HANDLE)
        if bpf.tcx_programs(ifindex, point) is not None:
            links.enter_context(tcx(ifindex, point))
    return links


# Trunks.

#: The VLAN in which frames come back.
VLAN = 5
_TAG = struct.pack("!HH", 0x8100, VLAN)
_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA, _TP_STATUS_VLAN_VALID = 263, 8, 1 << 4
# Offsets in a frame, and values there.
_TYPE, _IP4_PROTOCOL, _IP6_NEXT, _ICMP6 = 12, 23, 20, 54
_IGMP, _HOP_BY_HOP, _ROUTER_ADVERTISEMENT = 2, 0, 134
_PREFIX_OPTION = 3


def _swap(frame: bytearray, one: int, other: int) -> None:
    """Exchange two words of 16 bits, which leaves checksums as they are."""
    frame[one : one + 2], frame[other : other + 2] = frame[other : other + 2], frame[one : one + 2]


def _as_of_another_link(frame: bytes) -> bytes | None:
    """A frame that does harm to who takes it for one of the untagged link; None: leave it.

    Reports and queries of groups are for the bridge itself, which does not tell VLANs apart.
    """
    ether_type = frame[_TYPE : _TYPE + 2]
    if ether_type == b"\x08\0":
        return None if frame[_IP4_PROTOCOL] == _IGMP else frame
    if ether_type != b"\x86\xdd":
        return frame
    if frame[_IP6_NEXT] == _HOP_BY_HOP:
        return None
    if frame[_ICMP6] != _ROUTER_ADVERTISEMENT:
        return frame
    # No default router any more, and another prefix.
    other = bytearray(frame)
    _swap(other, _ICMP6 + 6, _ICMP6 + 10)
    at = _ICMP6 + 16
    while at + 32 <= len(other) and other[at + 1]:
        if other[at] == _PREFIX_OPTION:
            _swap(other, at + 16, at + 18)
        at += 8 * other[at + 1]
    return bytes(other)


class Trunk:
    """A port of a bridge from which what it floods comes back in the VLAN of another link."""

    def __init__(self, interface: str, mac: str) -> None:
        """Begin; ``interface`` is the other end, in this thread's network namespace."""
        self._mac = bytes.fromhex(mac.replace(":", ""))
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.bind((interface, _ETH_P_ALL))
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="trunk", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._wake not in select.select([self._socket, self._wake], [], [])[0]:
            # The interface may be down, or a super-frame too long.
            with contextlib.suppress(OSError):
                self._answer()

    def _answer(self) -> None:
        frame, messages, _, origin = self._socket.recvmsg(1 << 16, 64)
        (status,) = struct.unpack_from("I", messages[0][2])
        if origin[2] == socket.PACKET_OUTGOING or status & _TP_STATUS_VLAN_VALID:
            return
        back = _as_of_another_link(frame)
        if back is not None:
            self._socket.send(back[:6] + self._mac + _TAG + back[12:])

    def close(self) -> None:
        """End it."""
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._socket.close()
        os.close(self._wake)
