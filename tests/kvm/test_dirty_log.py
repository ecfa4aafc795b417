# SPDX-License-Identifier: GPL-2.0-or-later
"""What a device writes during a migration arrives, though no vCPU has touched it.

A page that a vCPU writes is in KVM's dirty log, or ring, by the processor; a page that QEMU writes
for a device only because QEMU says so.  The guest leaves datagrams in its socket's buffers, whose
pages virtio-net has filled and which only the device wrote, until it is at the target.
"""

from __future__ import annotations

import hashlib
import random
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.guest import qemu
from lab.guest.guest import Guest
from lab.guest.migration import Move
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

MAC = "52:54:00:00:00:01"
VM, PEER = "192.0.2.1", "192.0.2.2"
#: Fewer than the NIC's ring has buffers: none waits in the QEMU that the guest leaves.
PORT, SIZE, COUNT = 6000, 1400, 200
#: Does not read until it is told to; meanwhile it writes memory, so that the migration goes on.
HOLDER = f"""
import hashlib, socket, sys, threading
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
held.bind(("", {PORT}))
held.settimeout(0)
ends = threading.Event()
def write():
    area = bytearray(24 << 20)
    while True:
        for at in range(0, len(area), 4096):
            area[at] = (area[at] + 1) % 256
        if ends.wait(0.01):
            break
writer = threading.Thread(target=write)
writer.start()
print("ready", flush=True)
sys.stdin.readline()
ends.set()
total = hashlib.sha256()
count = 0
try:
    while True:
        total.update(held.recv({SIZE}))
        count += 1
except BlockingIOError:
    print(count, total.hexdigest(), flush=True)
"""


@dataclass(frozen=True)
class Place:
    """QEMU's arguments for a netdev on a tap, and how many frames it has let in."""

    arguments: Callable[[str, Path], tuple[str, ...]]
    device: str
    passed: Callable[[Guest], int]


def _tap(tap: str, _: Path) -> tuple[str, ...]:
    return ("-netdev", f"tap,id=net0,ifname={tap},script=no,downscript=no,vhost=off")


def _hostvlan(tap: str, table: Path) -> tuple[str, ...]:
    return (*_tap(tap, table), "-netdev", f"hostvlan,id=hv0,netdev=net0,table={table}")


def _hostvlan_passed(guest: Guest) -> int:
    (port,) = guest.qmp("query-hostvlan", id="hv0")
    return int(port["receive"]["passed"])


PLACES: Mapping[str, Place] = {
    "hostvlan": Place(_hostvlan, f"virtio-net-pci,netdev=hv0,mac={MAC}", _hostvlan_passed),
}


@pytest.fixture(params=("log", "ring"))
def accel(request: pytest.FixtureRequest) -> str:
    """KVM's two ways to tell which pages were written."""
    return qemu.accelerator() + (",dirty-ring-size=4096" if request.param == "ring" else "")


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield PLACES[request.param]


def _syncs(guest: Guest) -> int:
    """How often the migration has asked which pages were written."""
    ram: dict[str, Any] = guest.qmp("query-migrate").get("ram", {})
    return int(ram.get("dirty-sync-count", 0))


def _has_passed(place: Place, guest: Guest, frames: int) -> bool:
    return place.passed(guest) >= frames


def test_datagrams_of_a_migration_are_whole(
    accel: str, place: Place, network: Network, tmp_path: Path
) -> None:
    host = network.namespace("host")
    bridge = host.bridge()
    for tap in ("tap0", "tap1"):
        host.tap(tap, bridge)
    peer = network.connect(network.namespace("peer"), bridge, [f"{PEER}/24"]).a
    table = tmp_path / "lnid.table"
    with Table.change(table) as change:
        change.replace(Entry.of(macs.parse(mac), [7]) for mac in (MAC, peer.mac))
    randomly = random.Random(7)
    datagrams = [randomly.randbytes(SIZE) for _ in range(COUNT)]
    with Guest(
        netns=host,
        memory="192M",
        devices=[place.device],
        arguments=place.arguments("tap0", table),
        accel=accel,
        ipv6=False,
    ) as vm:
        vm.run("modprobe virtio_net")
        vm.wait_for("ip link show dev eth0")
        vm.run(f"ip address add {VM}/24 dev eth0 && ip link set dev eth0 up")
        vm.wait_for(f"ping -n -c1 -W5 {PEER}")
        holder = vm.spawn(["python3", "-c", HOLDER])
        holder.wait_output("ready")
        vm.qmp("migrate-set-parameters", downtime_limit=1)
        with Move(vm, arguments=place.arguments("tap1", table), name="moved") as move:
            move.begin()
            # All of its memory has been sent once.
            wait.until(lambda: _syncs(vm) >= 3, "later rounds of the migration")
            before = place.passed(vm)
            with peer.namespace.entered(), socket.socket(type=socket.SOCK_DGRAM) as sender:
                sender.connect((VM, PORT))
                for number, datagram in enumerate(datagrams, 1):
                    sender.send(datagram)
                    if number % 50 == 0:
                        arrived = before + number
                        wait.until(partial(_has_passed, place, vm, arrived), "datagrams")
            vm.qmp("migrate-set-parameters", downtime_limit=5000)
            move.complete()
            holder.write(b"read\n")
            said = holder.wait(check=True).stdout.split()[-2:]
    assert said == [str(COUNT), hashlib.sha256(b"".join(datagrams)).hexdigest()]
