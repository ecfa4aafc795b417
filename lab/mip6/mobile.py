# SPDX-License-Identifier: GPL-2.0-or-later
"""A mobile node in a few lines, and the small network that it moves in.

    correspondent 2001:db8:9000::c
          |
        router ---- foreign link 2001:db8:3000::/64: mobile node
          |
    home link 2001:db8:2000::/64: agent, neighbour

The mobile node is a packet socket; the kernel has none of its addresses and sends nothing. So the
test decides about each packet.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

from ..base import process, scratch, wait
from ..base.net import Interface, Link, Namespace, Network
from ..base.rough import SMOOTH, Rough
from . import agentfile
from .mobility import (
    AGENT_ADDRESS,
    CORE_PREFIX,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    HOME_PREFIX,
    agent_binary,
)

CARE_OF = (f"{FOREIGN_PREFIX}::b", f"{FOREIGN_PREFIX}::c")
NEIGHBOUR_ADDRESS = f"{HOME_PREFIX}::20"

IP6, ICMP6, ROUTING, DESTINATION, MOBILITY = 41, 58, 43, 60, 135
BINDING_UPDATE, BINDING_ACK, BINDING_ERROR = 5, 6, 7
ACKNOWLEDGE, HOME = 0x8000, 0x4000
ECHO, ECHO_REPLY = 128, 129
_ETH_IP6 = 0x86DD


def _packed(address: str) -> bytes:
    return IPv6Address(address).packed


def checksum(source: str, destination: str, protocol: int, payload: bytes) -> int:
    """The Internet checksum with IPv6's pseudo header."""
    data = _packed(source) + _packed(destination) + struct.pack(">II", len(payload), protocol)
    data += payload + b"\0" * (len(payload) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip6(source: str, destination: str, protocol: int, payload: bytes, hops: int = 64) -> bytes:
    """An IPv6 packet."""
    head = struct.pack(">IHBB", 6 << 28, len(payload), protocol, hops)
    return head + _packed(source) + _packed(destination) + payload


def icmp6(
    source: str, destination: str, kind: int, body: bytes, hops: int = 64, code: int = 0
) -> bytes:
    """An ICMPv6 packet; ``body`` follows the checksum."""
    message = struct.pack(">BBH", kind, code, 0) + body
    sealed = checksum(source, destination, ICMP6, message)
    message = struct.pack(">BBH", kind, code, sealed) + body
    return ip6(source, destination, ICMP6, message, hops)


_DATA = b"vmmnet-ha test"


def echo(
    source: str, destination: str, number: int, kind: int = ECHO, data: bytes = _DATA
) -> bytes:
    """An echo request or reply."""
    return icmp6(source, destination, kind, struct.pack(">HH", 7, number) + data)


def mobility_header(
    source: str, destination: str, kind: int, body: bytes, proto: int = 59
) -> bytes:
    """A mobility header; ``body`` follows the checksum."""
    body += b"\0" * (-(len(body) + 6) % 8)
    head = struct.pack(">BBBB", proto, (len(body) + 6) // 8 - 1, kind, 0)
    sealed = checksum(source, destination, MOBILITY, head + b"\0\0" + body)
    return head + struct.pack(">H", sealed) + body


def mobility_message(
    care_of: str, home: str, kind: int, body: bytes, agent: str = AGENT_ADDRESS, proto: int = 59
) -> bytes:
    """A mobility header of a node that is away; ``body`` follows the checksum."""
    message = mobility_header(home, agent, kind, body, proto)
    # A PadN before the Home Address option, which stands at 8n + 6.
    options = struct.pack(">BBBBBBBB", MOBILITY, 2, 1, 2, 0, 0, 0xC9, 16) + _packed(home)
    return ip6(care_of, agent, DESTINATION, options + message)


def binding_update(
    care_of: str,
    sequence: int,
    lifetime: int,
    home: str = HOME_ADDRESS,
    flags: int = ACKNOWLEDGE | HOME,
    alternate: str = "",
) -> bytes:
    """A Binding Update with an Alternate Care-of Address; ``lifetime`` in seconds."""
    body = struct.pack(">HHH", sequence, flags, lifetime // 4)
    # Two Pad1s: the Alternate Care-of Address option stands at 8n + 6.
    body += bytes((0, 0, 3, 16)) + _packed(alternate or care_of)
    return mobility_message(care_of, home, BINDING_UPDATE, body)


def behind(packet: bytes, kind: int, header: bytes) -> bytes:
    """``packet`` with an extension header more; its "next header" is set here."""
    payload = packet[6:7] + header[1:] + packet[40:]
    return packet[:4] + struct.pack(">HB", len(payload), kind) + packet[7:40] + payload


@dataclass(frozen=True)
class Ack:
    """A Binding Acknowledgement."""

    home: str
    status: int
    sequence: int
    lifetime: int
    options: bytes


@dataclass(frozen=True)
class Packet:
    """A packet that was received."""

    source: str
    destination: str
    protocol: int
    payload: bytes

    @property
    def inner(self) -> Packet:
        """The inner packet of an IPv6 tunnel."""
        assert self.protocol == IP6
        return parse(self.payload)

    @property
    def ack(self) -> Ack | None:
        """The Binding Acknowledgement in it, if it has one with a type 2 routing header."""
        if self.protocol != ROUTING or self.payload[2] != 2:
            return None
        home, message = str(IPv6Address(self.payload[8:24])), self.payload[24:]
        if self.payload[0] != MOBILITY or message[2] != BINDING_ACK:
            return None
        status, _, sequence, lifetime = struct.unpack(">BBHH", message[6:12])
        return Ack(home, status, sequence, 4 * lifetime, message[12:])


def parse(data: bytes) -> Packet:
    """Read an IPv6 packet."""
    length, protocol = struct.unpack(">HB", data[4:7])
    source, destination = (str(IPv6Address(data[at : at + 16])) for at in (8, 24))
    return Packet(source, destination, protocol, data[40 : 40 + length])


class Node:
    """A packet socket on a link; it sends to one neighbour."""

    def __init__(self, interface: Interface, to_mac: str) -> None:
        with interface.namespace.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.bind((interface.name, _ETH_IP6))
        self._head = bytes.fromhex((to_mac + interface.mac).replace(":", "")) + b"\x86\xdd"

    def close(self) -> None:
        """Leave the link."""
        self._socket.close()

    def send(self, packet: bytes) -> None:
        """Send a packet."""
        self._socket.send(self._head + packet)

    def receive(self, wanted: Callable[[Packet], bool], patience: float = wait.PATIENCE) -> Packet:
        """Wait for a packet from others; unwanted packets are skipped."""
        self._socket.settimeout(patience)
        while True:
            data, origin = self._socket.recvfrom(65536)
            if origin[2] != socket.PACKET_OUTGOING:
                packet = parse(data[14:])
                if wanted(packet):
                    return packet

    def ack(self, sequence: int | None = None) -> Ack:
        """Wait for a Binding Acknowledgement."""

        def wanted(packet: Packet) -> bool:
            ack = packet.ack
            return ack is not None and sequence in (None, ack.sequence)

        found = self.receive(wanted).ack
        assert found is not None
        return found

    def register(
        self,
        sequence: int,
        lifetime: int = 60,
        care_of: str = CARE_OF[0],
        home: str = HOME_ADDRESS,
    ) -> Ack:
        """Send a Binding Update and wait for its answer; a lifetime of 0 ends the binding."""
        self.send(binding_update(care_of, sequence, lifetime, home))
        return self.ack(sequence)


@dataclass
class Field:
    """The network; ``mobile`` is on the foreign link, at its first end."""

    router: Namespace
    agent_host: Namespace
    agent_interface: Interface
    neighbour: Namespace
    neighbour_interface: Interface
    correspondent: Namespace
    foreign: Link
    mobile: Node
    folder: Path

    def configure(self, *lines: str) -> Path:
        """Write the agent's configuration."""
        file = self.folder / "ha.conf"
        ours = (f"interface {self.agent_interface.name}", f"address {AGENT_ADDRESS}/64")
        file.write_text(agentfile.text((*ours, *lines)))
        return file

    @contextlib.contextmanager
    def agent(self, *lines: str, under: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
        """Run vmmnet-ha with these lines of configuration; it must end well or be killed.

        ``under`` are words of a command that executes the agent.
        """
        config, log = self.configure(*lines), self.folder / "ha.log"
        log.write_bytes(b"")
        with log.open("ab") as out:
            child = process.start(
                [*under, agent_binary(), config],
                netns=self.agent_host.netns,
                stdout=out,
                stderr=out,
            )
        try:

            def ready() -> bool:
                if child.poll() is not None:
                    raise RuntimeError(f"ended: {log.read_text()}")
                return "ready" in log.read_text()

            wait.until(ready, "a home agent")
            yield child
        finally:
            code = process.stop(child)
        if code not in (0, -signal.SIGKILL):
            raise RuntimeError(f"ended with {code}: {log.read_text()}")


@contextlib.contextmanager
def field(rough: Rough = SMOOTH, *, bridged: bool = False) -> Iterator[Field]:
    """Build the network; the agent's interface may be a bridge with the link as a port."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network(rough))
        folder = Path(stack.enter_context(scratch.folder()))
        names: Sequence[str] = ("router", "agent", "neighbour", "correspondent", "mobile")
        router, agent, neighbour, correspondent, mobile = map(network.namespace, names)
        for space in (router, agent):
            space.sysctl({"net.ipv6.conf.all.forwarding": 1})
        home = router.bridge("home")
        home.add_address(f"{HOME_PREFIX}::ffff/64")
        own = [f"{HOME_PREFIX}::2/64"]
        if bridged:
            interface = agent.bridge()
            network.connect(interface, home)
            interface.add_address(*own)
        else:
            interface = network.connect(agent, home, own).a
        links = [
            network.connect(neighbour, home, [f"{NEIGHBOUR_ADDRESS}/64"]),
            network.connect(mobile, router, (), [f"{FOREIGN_PREFIX}::ffff/64"]),
            network.connect(
                correspondent,
                router,
                [f"{CORRESPONDENT_ADDRESS}/64"],
                [f"{CORE_PREFIX}::ffff/64"],
            ),
        ]
        for space in (agent, neighbour):
            space.route("::/0", f"{HOME_PREFIX}::ffff")
        correspondent.route("::/0", f"{CORE_PREFIX}::ffff")
        foreign = links[1]
        for address in CARE_OF:
            router.ip(
                *("neigh", "add", address, "lladdr", foreign.a.mac, "dev", foreign.b.name),
                *("nud", "permanent"),
            )
        node = Node(foreign.a, foreign.b.mac)
        stack.callback(node.close)
        ends = (neighbour, links[0].a, correspondent, foreign, node, folder)
        yield Field(router, agent, interface, *ends)
