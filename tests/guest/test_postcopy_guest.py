# SPDX-License-Identifier: GPL-2.0-or-later
"""Post-copy of a guest that sends by VMRPC, Mobile IPv6 and CVSW in ESP all the time.

The other host has the same series of QEMU, or another one.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from lab.base import wait
from lab.base.net import Interface, Network
from lab.cvsw.bed import GUEST, WIRE, encap, encrypt, flow, output
from lab.guest import qemu
from lab.guest.guest import Guest
from lab.guest.migration import Move
from lab.guest.relay import Relay
from lab.hosts import all_rooms
from lab.hosts.all_rooms import CVSW_MAC, LEFT, MIP6_MAC, Host, Vm, World

PORT = 7777
PEER_MAC = "52:54:00:00:00:99"
PEER_HOME, PEER4 = "2001:db8:2000::99", "198.51.100.9"
INNER, PEER_INNER = "2001:db8:5::1", "2001:db8:5::2"
OUTER, PEER_OUTER = "192.0.2.1", "192.0.2.2"
#: Where the guest sends a number, fifty times a second, and by which room.
ROOMS = {"vmrpc": PEER4, "mip6": PEER_HOME, "cvsw": PEER_INNER}
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
_NUMBER = re.compile(rb"(vmrpc|mip6|cvsw) (\d+);")
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


@pytest.fixture
def world(network: Network) -> Iterator[World]:
    with all_rooms.world(network) as built:
        for host in built.hosts:
            host.uplink.namespace.ip(
                *("-6", "route", "add", f"{all_rooms.NAT64}/96", "dev", host.uplink.name)
            )
        yield built


@pytest.fixture
def traffic(network: Network, world: World) -> Iterator[Traffic]:
    mapped = IPv6Address(IPv6Address(all_rooms.NAT64).packed[:12] + socket.inet_aton(PEER4))
    addresses = [f"{PEER_HOME}/64", f"{mapped}/128", "2001:db8:1::99/64"]
    end = network.connect(network.namespace("peer"), world.switch, addresses).a
    with contextlib.closing(Traffic(end)) as made:
        yield made


def vm_of(host: Host, guest: Guest) -> Vm:
    """What has the VM on a host."""
    return Vm(host, guest.process, guest.monitor)


@contextlib.contextmanager
def moving(world: World, source: Guest, host: Host, binary: Path) -> Iterator[tuple[Move, Relay]]:
    """The guest runs, and its memory is on its way to a host."""
    with Move(source, postcopy=True, **world.place(host, binary)) as move:
        path = world.folder / f"relay-{host.folder.name}"
        with Relay(path, move.target.folder / "stream") as relay:
            move.begin(slowly=True, through=f"unix:{path}")
            move.await_memory()
            yield move, relay


def configure(guest: Guest) -> None:
    """Give the guest its addresses, and let it send."""
    guest.run("modprobe virtio_net")
    for mac, address in ((MIP6_MAC, all_rooms.HOME_ADDRESS), (CVSW_MAC, INNER)):
        found = guest.wait_for(f"grep -l {mac} /sys/class/net/*/address").stdout
        name = found.split("/")[4]
        guest.run(f"ip link set {name} up; ip address add {address}/64 dev {name} nodad")
        if mac == CVSW_MAC:
            guest.run(f"ip neighbour add {PEER_INNER} lladdr {PEER_MAC} dev {name}")
    words = [f"{room}={address}" for room, address in ROOMS.items()]
    guest.spawn(["python3", "-u", "-c", _SEND, *words])


@pytest.mark.long
@pytest.mark.parametrize("newer", qemu.series())
def test_nothing_is_lost(world: World, traffic: Traffic, newer: str) -> None:
    """There, where the network is lost once after the switch; and back, which nobody hears of."""
    here, there = world.hosts
    old, new = map(qemu.of_series, (qemu.series()[0], newer))
    settings: dict[str, Any] = {"module": True, "kernel": "6.12", "memory": "128M", "smp": 1}
    settings["machine"] = f"pc-q35-{qemu.series()[0]}"
    with Guest(name="guest", **settings, **world.place(here, old)) as first:
        world.program()
        ends = ((CVSW_MAC, OUTER), (PEER_MAC, PEER_OUTER))
        world.controller.set(flow(encap(100, *ends), encrypt(1), output(WIRE), in_port=GUEST))
        configure(first)
        traffic.goes_on()
        source = vm_of(here, first)
        world.await_owner(source)
        with moving(world, first, there, new) as (move, relay):
            traffic.goes_on()
            move.switch()
            target = vm_of(there, move.target)
            world.await_owner(target)
            traffic.goes_on()
            relay.cut()
            source.await_status("postcopy-paused")
            assert source.owns() == LEFT and not here.has
            again = f"{move.uri}-again"
            wait.until(lambda: all_rooms.recovers(target, again), "a target that knows of the loss")
            source.qmp.command("migrate", uri=again, resume=True)
            move.hurry()
            guest = move.complete()
            traffic.goes_on()
            assert source.owns() == LEFT
            first.kill()  # its socket has the port of the VM's
            with moving(world, guest, here, old) as (back, relay):
                traffic.goes_on()
                back.switch()
                back_at = vm_of(here, back.target)
                world.await_owner(back_at)
                relay.hold_answers()
                back.hurry()
                back_at.await_status("completed")
                relay.cut()
                guest = back.complete(heard=False)
                traffic.goes_on()
                world.await_owner(back_at)
                assert target.owns() == LEFT and not target.runs()
                assert "failed after the VM went on" in target.process.errors()
                guest.run("true")
                traffic.check()
