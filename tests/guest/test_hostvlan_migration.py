# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM moves to another host while it is spoken to: the table there is in force at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

VM_MAC = "52:54:00:00:00:01"
VM, FRIEND, STRANGER = "192.0.2.1", "192.0.2.2", "192.0.2.3"
TENANT, OTHER = 7, 8
PORT = 6000
# An echo of lines, a connection that talks until it is told to end.
SERVER = f"""\
import socket
listening = socket.create_server(("{FRIEND}", {PORT}))
print("ready", flush=True)
connection = listening.accept()[0]
while data := connection.recv(4096):
    connection.sendall(data)
"""
CLIENT = f"""\
import itertools, socket, sys, threading
ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ends.set())).start()
with socket.create_connection(("{FRIEND}", {PORT})) as talk, talk.makefile("rwb") as file:
    for number in itertools.count():
        line = b"%d\\n" % number
        file.write(line)
        file.flush()
        assert file.readline() == line
        if number == 10:
            print("talking", flush=True)
        if ends.wait(0.02):
            break
print("said", number, flush=True)
"""


@dataclass(frozen=True)
class Host:
    """Where a VM can be: a bridge with a tap, and a table."""

    space: Namespace
    bridge: Interface
    table: Path

    @property
    def netdevs(self) -> tuple[str, ...]:
        """Of the VM."""
        tap = "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"
        return ("-netdev", tap, "-netdev", f"hostvlan,id=hv0,netdev=net0,table={self.table}")

    def write(self, *members: tuple[str, int]) -> None:
        """Make the table."""
        with Table.change(self.table) as change:
            change.replace(Entry.of(macs.parse(mac), [lnid]) for mac, lnid in members)


@dataclass(frozen=True)
class World:
    """Two hosts on one wire; a member of the VM's tenant, and one of another, on the first."""

    one: Host
    two: Host
    friend: Interface
    stranger: Interface

    def members(self) -> list[tuple[str, int]]:
        """Of the table."""
        return [(VM_MAC, TENANT), (self.friend.mac, TENANT), (self.stranger.mac, OTHER)]


@pytest.fixture
def world(network: Network, tmp_path: Path) -> Iterator[World]:
    hosts = []
    for name in ("one", "two"):
        space = network.namespace(name)
        bridge = space.bridge()
        space.tap("tap0", bridge)
        (tmp_path / name).mkdir()
        hosts.append(Host(space, bridge, tmp_path / name / "lnid.table"))
    one, two = hosts
    network.connect(one.bridge, two.bridge)
    friend, stranger = (
        network.connect(network.namespace(name), one.bridge, [f"{address}/24"]).a
        for name, address in (("friend", FRIEND), ("stranger", STRANGER))
    )
    yield World(one, two, friend, stranger)


def port(vm: Guest) -> dict[str, Any]:
    """What QEMU says of the VM's port."""
    (info,) = vm.qmp("query-hostvlan", id="hv0")
    return dict(info)


def refuses(vm: Guest, stranger: Interface) -> None:
    """A member of another tenant gets no answer, and that is counted."""
    before = port(vm)["receive"]["other-tenant"]
    ping = ["ping", "-n", "-c1", "-w1", VM]
    assert stranger.namespace.run(ping, check=False).returncode
    wait.until(lambda: port(vm)["receive"]["other-tenant"] > before, "what comes is refused")


def test_a_vm_moves_and_goes_on_talking(world: World, series: str, tmp_path: Path) -> None:
    world.one.write(*world.members())
    world.two.write(*world.members())
    with Guest(
        name="mover",
        netns=world.one.space,
        kernel=series,
        devices=[f"virtio-net-pci,netdev=hv0,mac={VM_MAC}"],
        arguments=world.one.netdevs,
        ipv6=False,
    ) as vm:
        vm.run("modprobe virtio_net")
        vm.wait_for("ip link show dev eth0")
        vm.run(f"ip address add {VM}/24 dev eth0 && ip link set dev eth0 up")
        server = world.friend.namespace.popen(["python3", "-c", SERVER])
        wait.listening(server.pid, PORT)
        talk = vm.spawn(["python3", "-c", CLIENT])
        talk.wait_output("talking")
        refuses(vm, world.stranger)
        with (
            world.friend.namespace.capture(world.friend.name, tmp_path / "rarp", "rarp"),
            migrated(vm, name="moved", netns=world.two.space, arguments=world.two.netdevs) as moved,
        ):
            wait.until(lambda: port(moved)["receive"]["passed"] > 20, "it goes on talking")
            talk.write(b"end\n")
            assert "said" in talk.wait(check=True).stdout
            refuses(moved, world.stranger)
            assert port(moved)["send"]["spoofed"] == 0
            # Taken from the tenant at its new place: that counts now.
            world.two.write((VM_MAC, OTHER), *world.members()[1:])
            wait.until(lambda: port(moved)["lnids"] == [OTHER], "the new table")
            assert moved.run(f"ping -n -c1 -w1 {FRIEND}", check=False).rc
            ping = ["ping", "-n", "-c1", f"-w{wait.PATIENCE:.0f}", VM]
            world.stranger.namespace.run(ping)
    heard = world.friend.namespace.run(["tcpdump", "-nr", str(tmp_path / "rarp")]).stdout
    assert "who-is 52:54:00:00:00:01 tell 52:54:00:00:00:01" in heard.lower()
