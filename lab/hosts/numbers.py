# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that sends numbers by each room all the time, and the peer that hears them."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv6Address

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..base import wait
from ..base.net import Interface, Network
from ..cvsw.bed import GUEST, WIRE, encap, encrypt, flow, output
from ..guest.guest import Guest
from . import all_rooms
from .all_rooms import CVSW_MAC, HOSTVLAN_MAC, MIP6_MAC, PEER_MAC, World

PORT = 7777
PEER_HOME, PEER4 = "2001:db8:2000::99", "198.51.100.9"
TENANT, PEER_TENANT = "2001:db8:7::1", "2001:db8:7::2"
INNER, PEER_INNER = "2001:db8:5::1", "2001:db8:5::2"
OUTER, PEER_OUTER = "192.0.2.1", "192.0.2.2"
#: Where the guest sends a number, fifty times a second, and by which room.
ROOMS = {"vmrpc": PEER4, "mip6": PEER_HOME, "cvsw": PEER_INNER, "hostvlan": PEER_TENANT}
_SEND = f"""
import itertools, socket, sys, time
ends = {{}}
for word in sys.argv[1:]:
    room, address = word.split("=")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    ends[room] = socket.socket(family, socket.SOCK_DGRAM)
    ends[room].connect((address, {PORT}))
for number in itertools.count(1):
    for room, end in ends.items():
        end.send(f"{{room}} {{number}};".encode())
    time.sleep(0.02)
"""
_NUMBER = re.compile(rb"(vmrpc|mip6|cvsw|hostvlan) (\d+);")
_BUFFER = 64 << 20


class Traffic:
    """What the guest's peer receives."""

    def __init__(self, end: Interface) -> None:
        with end.namespace.entered():
            self._plain = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            self._plain.bind(("::", PORT))
            self._sealed = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            for each in (self._plain, self._sealed):
                each.setsockopt(socket.SOL_SOCKET, 33, _BUFFER)  # SO_RCVBUFFORCE
                each.setblocking(False)
            self._sealed.bind((end.name, 0x0800))  # nothing else is IPv4
        self._heard: dict[str, list[int]] = {room: [] for room in ROOMS}
        self._nonces: list[bytes] = []

    def close(self) -> None:
        """Hear no more."""
        self._plain.close()
        self._sealed.close()

    def _open(self, frame: bytes) -> bytes:
        """Decrypt a frame of CVSW's."""
        assert frame[23] == socket.IPPROTO_ESP, frame.hex()
        spi, number = struct.unpack_from(">II", frame, 34)
        assert spi == all_rooms.SPI
        nonce = all_rooms.KEY[16:] + frame[42:50]
        self._nonces.append(nonce)
        sealer, bound = AESGCM(all_rooms.KEY[:16]), struct.pack(">IQ", spi, number)
        return sealer.decrypt(nonce, frame[50:], bound)

    def _hear(self) -> None:
        for end, opened in ((self._plain, bytes), (self._sealed, self._open)):
            with contextlib.suppress(BlockingIOError):
                while octets := end.recv(2000):
                    for room, number in _NUMBER.findall(opened(octets)):
                        self._heard[room.decode()].append(int(number))

    def last(self) -> dict[str, int]:
        """The last number by each room."""
        self._hear()
        return {room: max(numbers, default=0) for room, numbers in self._heard.items()}

    def goes_on(self, count: int = 50) -> None:
        """Wait for so many more numbers by each room."""
        goal = {room: number + count for room, number in self.last().items()}
        try:
            wait.until(
                lambda: all(number >= goal[room] for room, number in self.last().items()),
                f"numbers {goal}",
            )
        except wait.Timeout as error:
            raise wait.Timeout(f"{error}, but {self.last()}") from error

    def check(self) -> None:
        """No number is lost, or comes twice; no number of ESP's is used twice."""
        self._hear()
        for room, numbers in self._heard.items():
            assert sorted(numbers) == list(range(1, max(numbers) + 1)), (room, numbers)
        assert len(set(self._nonces)) == len(self._nonces)


@contextlib.contextmanager
def traffic(network: Network, world: World) -> Iterator[Traffic]:
    """The peer of the guest in a world, and the ways to it."""
    for host in world.hosts:
        host.uplink.namespace.ip(
            *("-6", "route", "add", f"{all_rooms.NAT64}/96", "dev", host.uplink.name)
        )
    mapped = IPv6Address(IPv6Address(all_rooms.NAT64).packed[:12] + socket.inet_aton(PEER4))
    addresses = [f"{PEER_HOME}/64", f"{mapped}/128", "2001:db8:1::99/64", f"{PEER_TENANT}/64"]
    end = network.connect(network.namespace("peer"), world.switch, addresses).a
    end.namespace.ip("link", "set", end.name, "address", PEER_MAC)
    with contextlib.closing(Traffic(end)) as made:
        yield made


def begin(world: World, guest: Guest) -> None:
    """Program the guest's CVSW, give the guest its addresses, and let it send."""
    world.program()
    ends = ((CVSW_MAC, OUTER), (PEER_MAC, PEER_OUTER))
    world.controller.set(flow(encap(100, *ends), encrypt(1), output(WIRE), in_port=GUEST))
    guest.run("modprobe virtio_net")
    for mac, address, peer in (
        (MIP6_MAC, all_rooms.HOME_ADDRESS, ""),
        (CVSW_MAC, INNER, PEER_INNER),
        (HOSTVLAN_MAC, TENANT, PEER_TENANT),
    ):
        found = guest.wait_for(f"grep -l {mac} /sys/class/net/*/address").stdout
        name = found.split("/")[4]
        guest.run(f"ip link set {name} up; ip address add {address}/64 dev {name} nodad")
        if peer:
            guest.run(f"ip neighbour add {peer} lladdr {PEER_MAC} dev {name}")
    words = [f"{room}={address}" for room, address in ROOMS.items()]
    guest.spawn(["python3", "-u", "-c", _SEND, *words])
