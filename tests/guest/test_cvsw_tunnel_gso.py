# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's large segments in a tunnel that the kernel cuts, and such ones for the guest.

    guest --- NIC --- tap ---+ bridge of the host
    another host --- veth ---+

The other host's kernel is the tunnel's other end. Nobody on the way needs pieces.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output
from lab.guest import qemu
from lab.guest.guest import Guest

MAC = "52:54:00:00:00:01"
OUTSIDE = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}
INSIDE = {4: ("198.51.100.1", "198.51.100.2"), 6: ("fd00::1", "fd00::2")}
PREFIX = {4: 24, 6: 64}
#: The same each time: the guest remembers it.
INSIDE_MAC = "02:00:00:00:00:02"
VNI = 100
ETHERTYPE, UDP = {4: 0x0800, 6: 0x86DD}, 17
MTU = 1430
#: What a transfer carries: many segments, few enough for a guest that is emulated.
OCTETS = 3 << 20


@dataclass
class Bed:
    """A guest on a bridge of its host, and another host's interface there."""

    guest: Guest
    bridge: Interface
    tap: Interface
    far: Interface

    @property
    def host(self) -> Namespace:
        """The guest's."""
        return self.bridge.namespace

    def info(self) -> dict[str, Any]:
        """What query-cvsw says."""
        (nic,) = self.guest.qmp("query-cvsw", flows=True)
        return dict(nic)

    @contextlib.contextmanager
    def server(self, family: int) -> Iterator[socket.socket]:
        """A TCP server at the other end of the tunnel."""
        kind = socket.AF_INET if family == 4 else socket.AF_INET6
        with self.far.namespace.entered():
            made = socket.create_server((INSIDE[family][0], 0), family=kind)
        with made:
            made.settimeout(wait.PATIENCE)
            yield made

    def send(self, family: int) -> None:
        """A transfer of the guest to the host, octet for octet."""
        self.guest.run(f"head -c {OCTETS} /dev/urandom > /tmp/data")
        wanted = self.guest.run("sha256sum < /tmp/data").stdout.split()[0]
        came = hashlib.sha256()
        with self.server(family) as server:
            port = server.getsockname()[1]
            job = self.guest.spawn(f"nc -N {INSIDE[family][0]} {port} < /tmp/data")
            peer, _ = server.accept()
            with peer:
                peer.settimeout(wait.PATIENCE)
                while octets := peer.recv(1 << 16):
                    came.update(octets)
            job.wait(wait.PATIENCE)
        assert came.hexdigest() == wanted

    def receive(self, family: int) -> None:
        """A transfer of the host to the guest."""
        data = os.urandom(OCTETS)
        with self.server(family) as server:
            port = server.getsockname()[1]
            job = self.guest.spawn(f"nc -d {INSIDE[family][0]} {port} | sha256sum")
            peer, _ = server.accept()
            with peer:
                peer.settimeout(wait.PATIENCE)
                peer.sendall(data)
            came = job.wait(wait.PATIENCE).stdout.split()[0]
        assert came == hashlib.sha256(data).hexdigest()

    def decapped(self) -> tuple[int, int]:
        """Frames, and octets of them, that the flow with TUNNEL_DECAP has had."""
        (text,) = (each for each in self.info()["flows"] if "tunnel_decap" in each)
        found = re.search(r"n_packets=(\d+), n_bytes=(\d+)", text)
        assert found, text
        return int(found[1]), int(found[2])

    def longest_mean(self, family: int) -> float:
        """Octets of a frame that the NIC takes from its tap, on average, in a transfer."""
        before = self.decapped()
        self.receive(family)
        frames, octets = (new - old for new, old in zip(self.decapped(), before, strict=True))
        return octets / frames


@contextlib.contextmanager
def running(series: str, *words: str) -> Iterator[Bed]:
    """Start a guest whose NIC has such properties."""
    with Network() as network:
        host = network.namespace("host")
        bridge = host.bridge()
        tap = host.tap("tap0", bridge)
        outside = [f"{address}/{PREFIX[family]}" for family, (address, _) in OUTSIDE.items()]
        far = network.connect(bridge, network.namespace("far"), (), outside).b
        with Guest(
            netns=host,
            kernel=series,
            memory="256M",
            smp=1,
            devices=[],
            arguments=cvsw.options(tap, MAC, *words),
        ) as guest:
            guest.run("modprobe virtio_net")
            guest.wait_for("test -e /sys/class/net/eth0")
            guest.run(f"ip link set eth0 up mtu {MTU}")
            for family, (_, address) in INSIDE.items():
                nodad = " nodad" if family == 6 else ""
                guest.run(f"ip address add {address}/{PREFIX[family]} dev eth0{nodad}")
            yield Bed(guest, bridge, tap, far)


@contextlib.contextmanager
def tunnel(bed: Bed, family: int) -> Iterator[None]:
    """VXLAN between the NIC and the other host's kernel; the guest is in it alone."""
    ours, theirs = OUTSIDE[family]
    space = bed.far.namespace
    space.ip("neigh", "replace", theirs, "lladdr", MAC, "dev", bed.far.name)
    words = ["type", "vxlan", "id", str(VNI), "remote", theirs, "local", ours]
    words += ["dstport", str(cvsw.VXLAN), "dev", bed.far.name]
    space.ip("link", "add", "vx0", "address", INSIDE_MAC, *words)
    inside = Interface(space, "vx0")
    inside.set_mtu(MTU)
    for number, (address, _) in INSIDE.items():
        inside.add_address(f"{address}/{PREFIX[number]}")
    inside.up()
    with contextlib.closing(Controller(bed.bridge, MAC)) as controller:
        controller.hello()
        controller.meet()
        controller.clear()
        controller.set(
            flow(encap(VNI, (MAC, theirs), (bed.far.mac, ours)), output(WIRE), in_port=GUEST),
            flow(DECAP, output(GUEST), in_port=WIRE, dl_type=ETHERTYPE[family], nw_proto=UDP)
            if family == 4
            else flow(DECAP, output(GUEST), in_port=WIRE, dl_type=ETHERTYPE[family]),
        )
    wait.until(lambda: pings(bed), "the other end answers")
    try:
        yield
    finally:
        space.ip("link", "delete", "vx0")


def pings(bed: Bed) -> bool:
    """Whether the tunnel's other end answers."""
    return bed.guest.run(["ping", "-c1", "-W1", INSIDE[4][0]], check=False).rc == 0


@pytest.fixture(scope="module")
def bed(series: str) -> Iterator[Bed]:
    with running(series) as made:
        if not made.info()["tunnel-gso"]:
            pytest.skip("this kernel's taps take no tunnels: it is before 6.17")
        yield made


@pytest.mark.parametrize("outer", [4, 6])
def test_whole(bed: Bed, outer: int) -> None:
    """They leave and come whole, and are what was sent."""
    with tunnel(bed, outer):
        for inner in (4, 6):
            before = bed.info()["tunnel-gso-sent"]
            bed.send(inner)
            assert bed.info()["tunnel-gso-sent"] > before + 10
            assert bed.longest_mean(inner) > 2 * MTU
        assert not bed.info()["dropped-from-guest"]


def test_elsewhere(bed: Bed) -> None:
    """A tap that is on no bridge any more may be a switch's in user space: the NIC cuts."""
    bed.host.ip("link", "set", bed.tap.name, "nomaster")
    wait.until(lambda: not bed.info()["tunnel-gso"], "the NIC sees that the tap is on no bridge")
    bed.host.ip("link", "set", bed.tap.name, "master", bed.bridge.name)
    wait.until(lambda: bed.info()["tunnel-gso"], "and that it is on one again")
    with tunnel(bed, 4):
        bed.send(4)


def test_off(series: str) -> None:
    """With tunnel-gso=off the NIC cuts, and the kernel cuts for it."""
    with running(series, "tunnel-gso=off") as bed, tunnel(bed, 4):
        bed.send(4)
        assert bed.longest_mean(4) < MTU + 100
        info = bed.info()
        assert not info["tunnel-gso"]
        assert info["tunnel-gso-sent"] == 0


def test_on(series: str) -> None:
    """With tunnel-gso=on the user says that whoever has the tap takes them."""
    with running(series, "tunnel-gso=on") as bed, tunnel(bed, 4):
        bed.host.ip("link", "set", bed.tap.name, "nomaster")
        assert bed.info()["tunnel-gso"]
        bed.host.ip("link", "set", bed.tap.name, "master", bed.bridge.name)
        bed.send(4)
        assert bed.info()["tunnel-gso-sent"]


def test_cannot() -> None:
    """Another netdev takes no large segments: tunnel-gso=on is refused, and says so."""
    words: list[str | Path] = [
        *(qemu.binary(), *qemu.firmware_options(), "-machine", "q35,accel=qtest"),
        *("-display", "none", "-nodefaults", "-no-user-config"),
        *("-netdev", "hubport,id=net0,hubid=0", "-object", f"secret,id=key,data={'k' * 32}"),
        *("-device", "virtio-net-cvsw-pci,id=nic0,netdev=net0,control-secret=key,tunnel-gso=on"),
    ]
    with Network() as network:
        done = network.namespace("host").run(words, check=False)
    assert done.returncode == 1
    said = "nic0: tunnel-gso=on: netdev 'net0' does not support large segments in tunnels"
    assert said in done.stderr
