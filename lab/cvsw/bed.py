# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller on the wire of one NIC, without a virtual switch between them.

Its OpenFlow messages are written by hand, as tests of the NIC need few of them.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from vmmnet.cvsw.wire.message import ETHERTYPE, Ack, Registration, Type
from vmmnet.cvsw.wire.session import Answer, Command, Session
from vmmnet.qmp import Qmp

from ..base import scratch, wait
from ..base.net import Interface
from ..guest import qemu

OURS = bytes.fromhex("02fffffffffe")
KEY = b"A key of a test, which is as long as keys have to be."
GUEST, WIRE, NORMAL, ANY = 1, 2, 0xFFFA, 0xFFFF
CONTROLLER = 0xFFFD
SEND_FLOW_REM = 1
VXLAN = 4789
_ADD, _DELETE = 0, 3
_EXPERIMENTER = 0x00525400
# OpenFlow 1.0's wildcards.
_W_ALL = 0x3FFFFF
_W_IN_PORT, _W_DL_TYPE, _W_NW_PROTO = 1 << 0, 1 << 4, 1 << 5
_W_TP_SRC, _W_TP_DST, _W_NW_SRC = 1 << 6, 1 << 7, 0x3F << 8


def mac_octets(text: str) -> bytes:
    """A MAC address as it is on the wire."""
    return bytes.fromhex(text.replace(":", ""))


def output(port: int) -> bytes:
    """OFPAT_OUTPUT."""
    return struct.pack(">HHHH", 0, 8, port, 0xFFFF)


def _own(subtype: int, rest: bytes) -> bytes:
    return struct.pack(">HHIH", 0xFFFF, 10 + len(rest), _EXPERIMENTER, subtype) + rest


def encap(vni: int, local: tuple[str, str], remote: tuple[str, str]) -> bytes:
    """TUNNEL_ENCAP; both ends are a MAC and an IP address."""
    addresses = [ip_address(address) for _, address in (local, remote)]
    head = struct.pack(">BBBBHI", addresses[0].version, 0, 0, 0, VXLAN, vni)
    macs = b"".join(mac_octets(mac) for mac, _ in (local, remote))
    return _own(1, head + macs + b"".join(address.packed for address in addresses))


DECAP = _own(2, bytes(6))


def encrypt(sa: int) -> bytes:
    """ENCRYPT."""
    return _own(3, struct.pack(">HI", 0, sa))


def decrypt(sa: int) -> bytes:
    """DECRYPT."""
    return _own(4, struct.pack(">HI", 0, sa))


def flow(
    *actions: bytes,
    in_port: int | None = None,
    dl_type: int | None = None,
    nw_proto: int | None = None,
    nw_src: str | None = None,
    tp_src: int | None = None,
    tp_dst: int | None = None,
    priority: int = 1,
    cookie: int = 0,
    idle: int = 0,
    flags: int = 0,
    delete: bool = False,
) -> bytes:
    """OFPT_FLOW_MOD of OpenFlow 1.0."""
    given = (
        (_W_IN_PORT, in_port),
        (_W_DL_TYPE, dl_type),
        (_W_NW_PROTO, nw_proto),
        (_W_NW_SRC, nw_src),
        (_W_TP_SRC, tp_src),
        (_W_TP_DST, tp_dst),
    )
    wildcards = _W_ALL & ~sum(bits for bits, value in given if value is not None)
    source = int(ip_address(nw_src or "0.0.0.0"))
    match = struct.pack(">IH6s6sHBxHBBxxIIHH", wildcards, in_port or 0, b"", b"", 0, 0,
                        dl_type or 0, 0, nw_proto or 0, source, 0, tp_src or 0,
                        tp_dst or 0)  # fmt: skip
    command = _DELETE if delete else _ADD
    body = struct.pack(">QHHHHIHH", cookie, command, idle, 0, priority, 0xFFFFFFFF, ANY, flags)
    rest = match + body + b"".join(actions)
    return struct.pack(">BBHI", 1, 14, 8 + len(rest), 0) + rest


class Controller:
    """The controller of the NIC behind an interface."""

    def __init__(self, interface: Interface, mac: str, key: bytes = KEY) -> None:
        with interface.namespace.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            self._socket.bind((interface.name, ETHERTYPE))
        self.registrations: list[Registration] = []
        self.events: list[bytes] = []
        self._sealed = 0
        self.session = Session(
            mac_octets(mac),
            key,
            OURS,
            self._send,
            self.registrations.append,
            event=self.events.append,
        )

    def _send(self, frame: bytes) -> None:
        self._socket.send(frame)

    def close(self) -> None:
        """Leave the wire."""
        self._socket.close()

    def hello(self) -> None:
        """Ask the NIC to register."""
        self.session.hello(time.monotonic())

    def await_some(self, some: Sized, what: str) -> None:
        """Handle what comes until there is something."""

        def is_there() -> bool:
            self.pump(0.1)
            return bool(some)

        wait.until(is_there, what)

    def pump(self, patience: float = 0.0) -> None:
        """Handle received frames, and repeat messages that are due."""
        if select.select([self._socket], [], [], patience)[0]:
            frame, address = self._socket.recvfrom(2000)
            if address[2] != socket.PACKET_OUTGOING:
                self.session.input(frame, time.monotonic())
        self.session.tick(time.monotonic())

    def meet(self) -> Registration:
        """Wait until the NIC has accepted us as its controller."""
        self.await_some(self.registrations, "the NIC registers")
        return self.registrations[-1]

    def order(self, kind: Type, payload: bytes) -> Answer:
        """Send a command and wait for its answer."""
        answers: list[Answer] = []
        self.session.command(Command(kind, payload, answers.append), time.monotonic())
        self.await_some(answers, f"an answer to {kind.name}")
        return answers[0]

    def set(self, *flows: bytes) -> None:
        """Set flows, one after the other; each must be accepted."""
        answer = self.order(Type.SET_ENTRY, b"".join(flows))
        assert isinstance(answer, Ack), str(answer)
        assert answer.done == len(flows)

    def set_sa(self, number: int, spi: int, key: bytes, *, outbound: bool) -> None:
        """Set an association of aes-gcm-128, with extended numbers."""
        iv = struct.pack(">IQ", number, self._sealed)
        self._sealed += 1
        direction, window = (1, 0) if outbound else (2, 128)
        fields = (number, spi, direction, 1, window, b"aes-gcm-128", iv, len(key) + 16, 0)
        head = struct.pack(">IIBBH24s12sHH", *fields)
        sealed = AESGCM(self.session.secret_key).encrypt(iv, key, head)
        answer = self.order(Type.SET_SA, head + sealed)
        assert isinstance(answer, Ack), str(answer)

    def clear(self) -> None:
        """Delete all flows."""
        answer = self.order(Type.DELETE_ENTRY, flow(delete=True))
        assert isinstance(answer, Ack), str(answer)


def packets(nic: Mapping[str, Any], cookie: int) -> int:
    """The packet count of a flow in an answer of query-cvsw with flows."""
    (line,) = (line for line in nic["flows"] if f"cookie={cookie:#x}," in line)
    found = re.search(r"n_packets=(\d+)", line)
    assert found
    return int(found[1])


def options(tap: Interface, mac: str, *words: str) -> tuple[str, ...]:
    """QEMU's options for a NIC ``nic0`` on a tap, with more properties."""
    nic = ",".join(("virtio-net-cvsw-pci,id=nic0,netdev=net0,control-secret=key", *words))
    return (
        *("-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"),
        *("-object", f"secret,id=key,data={KEY.decode().replace(',', ',,')}"),
        *("-device", f"{nic},mac={mac},addr=0x10,romfile="),
    )


@dataclass(frozen=True)
class Machine:
    """A QEMU with a NIC and without a guest: its CPU does not run."""

    monitor: Qmp
    process: qemu.QemuProcess

    @classmethod
    @contextlib.contextmanager
    def running(
        cls,
        tap: Interface,
        mac: str,
        *words: str,
        machine: str = "q35",
        arguments: Sequence[str] = (),
        incoming: bool = False,
    ) -> Iterator[Machine]:
        """Start it; there is no receiver, so frames without a flow are dropped.

        ``words`` are more properties of the NIC, ``arguments`` more of QEMU's.
        """
        with scratch.folder() as name, contextlib.ExitStack() as stack:
            folder = Path(name)
            command: list[str | Path] = [
                qemu.binary(),
                *(*qemu.firmware_options(), "-machine", f"{machine},accel=qtest"),
                *("-m", "64M", "-display", "none", "-nodefaults", "-no-user-config"),
                *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
                *options(tap, mac, "miss=drop", *words),
                *arguments,
                *(("-incoming", "defer") if incoming else ()),
            ]
            process = qemu.QemuProcess(
                command, netns=tap.namespace.netns, stderr=folder / "qemu.log"
            )
            stack.callback(process.stop)
            monitor = Qmp(process.connect(folder / "qmp"))
            stack.callback(monitor.close)
            yield cls(monitor, process)

    def info(self, **arguments: object) -> dict[str, Any]:
        """The reply of query-cvsw."""
        (nic,) = self.monitor.execute("query-cvsw", arguments)
        return dict(nic)

    def dropped(self, side: Literal["guest", "wire"], reason: str) -> int:
        """The number of frames from a side that were dropped for a reason."""
        listed = self.info()[f"dropped-from-{side}"]
        return sum(each["count"] for each in listed if each["reason"] == reason)

    def announce(self) -> None:
        """Let QEMU announce the guest's location once, as after a migration."""
        self.monitor.command("announce-self", initial=1, max=1, rounds=1, step=1)
