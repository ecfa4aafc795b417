# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest with four queues, whose driver and kernel come and go: its NIC goes on with its flows."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output
from lab.guest.guest import Guest, Job
from lab.hosts.bridged import PacketWire
from lab.packages import kernel
from lab.peers import servers as peers
from vmmnet.cvsw.wire.message import Ack, Type

MAC = "52:54:00:00:00:01"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "2001:db8:5::1", "2001:db8:5::2"
VNI, IPV4, UDP = 100, 0x0800, 17
QUEUES, ECHO = 4, 7
GUEST_MTU, MTU = 1500, 1400
#: The flows, by their cookies.
INTO, OUT = 0xA, 0xB
#: More than waits for a guest in a queue, less than what a tap holds.
FLOOD = 512
NOBODYS = 0x88B6
#: To all.
FRAME = b"\xff" * 6 + bytes.fromhex("020000000008") + struct.pack(">H", NOBODYS) + bytes(46)

#: Each of 64 sockets speaks from one processor after the other, until it is answered.
TALK = f"""
import os, select, socket
waiting = []
for number in range(64):
    waiting.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
    waiting[-1].connect(("{INSIDE_HOST}", {ECHO}))
while waiting:
    for number, each in enumerate(waiting):
        os.sched_setaffinity(0, {{number % {QUEUES}}})
        each.send(b"x" * 1000)
    while heard := select.select(waiting, [], [], 1)[0]:
        for each in heard:
            assert each.recv(2000) == b"x" * 1000
            waiting.remove(each)
"""

#: A stream of each processor comes back as it was sent.
STREAM = f"""
import os, socket, threading
def stream(processor):
    try:
        os.sched_setaffinity(0, {{processor}})
        with socket.create_connection(("{INSIDE_HOST}", {ECHO})) as peer:
            while True:
                piece = os.urandom(1 << 13)
                peer.sendall(piece)
                assert peer.recv(len(piece), socket.MSG_WAITALL) == piece
                os.write(1, b"%d\\n" % processor)
    finally:
        os._exit(1)
for processor in range({QUEUES}):
    threading.Thread(target=stream, args=[processor]).start()
"""


@dataclass
class Bed:
    """A guest, and its NIC's controller on the host's end of the tap."""

    guest: Guest
    tap: Interface
    controller: Controller

    def info(self) -> dict[str, Any]:
        """What query-cvsw says."""
        (nic,) = self.guest.qmp("query-cvsw", flows=True)
        return dict(nic)

    def program(self) -> None:
        """All of the guest into a tunnel to the host's kernel, and no longer than fits."""
        into = (encap(VNI, (MAC, VM), (self.tap.mac, HOST)), output(WIRE))
        out = (DECAP, output(GUEST))
        self.controller.set(
            flow(*into, in_port=GUEST, cookie=INTO),
            flow(*out, in_port=WIRE, dl_type=IPV4, nw_proto=UDP, cookie=OUT),
        )
        answer = self.controller.order(Type.SET_MTU, struct.pack(">Hxx", MTU))
        assert isinstance(answer, Ack)

    def configure(self) -> None:
        """Give the guest's NIC its address, when there is one."""
        self.guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
        self.guest.run(
            f"ip link set eth0 up && ip address add {INSIDE_VM}/64 dev eth0 nodad"
            f" && ip neigh replace {INSIDE_HOST} lladdr {self.inside.mac} dev eth0"
        )

    @property
    def inside(self) -> Interface:
        """The host's end of the tunnel."""
        return Interface(self.tap.namespace, "vx0")

    def used(self) -> set[str]:
        """The queues that frames go through while 64 sockets speak."""
        before = self._used_by_queue()
        self.guest.run(["python3", "-c", TALK])
        return {name for name, index in self._used_by_queue().items() if index != before[name]}

    def _used_by_queue(self) -> dict[str, int]:
        """The device's counters of what it has taken and given (virtio 1.2 section 2.7.8)."""
        (path,) = (
            each["path"]
            for each in self.guest.qmp("x-query-virtio")
            if each["name"] == "virtio-net"
        )
        return {
            f"{'rt'[number % 2]}x{number // 2}": int(
                self.guest.qmp("x-query-virtio-queue-status", path=path, queue=number)["used-idx"]
            )
            for number in range(2 * QUEUES)
        }

    @contextlib.contextmanager
    def goes_on(self) -> Iterator[None]:
        """All that the controller has said is in force after a block, and it is not asked again."""
        known, before = len(self.controller.registrations), self.info()
        yield
        assert int(self.guest.get("/sys/class/net/eth0/mtu")) == MTU
        self.guest.wait_for(f"ping -n -c1 -W1 {INSIDE_HOST}")
        after = self.info()
        for cookie in (INTO, OUT):
            assert cvsw.packets(after, cookie) > cvsw.packets(before, cookie)
        assert after["session"]["registrations"] == before["session"]["registrations"]
        self.controller.set(flow(in_port=GUEST, dl_type=NOBODYS, cookie=0xC))
        assert len(self.controller.registrations) == known


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Network() as network, contextlib.ExitStack() as stack:
        host = network.namespace("host")
        host.ip("tuntap", "add", "tap0", "mode", "tap", "multi_queue")
        tap = Interface(host, "tap0")
        tap.up()
        tap.add_address(f"{HOST}/24")
        arguments = [
            *("-netdev", f"tap,id=net0,ifname=tap0,queues={QUEUES},script=no,downscript=no"),
            *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
        ]
        nic = (
            f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,mq=on,"
            f"host_mtu={GUEST_MTU},romfile="
        )
        guest = Guest(
            netns=host,
            kernel=kernel.MAIN,
            memory="256M",
            smp=QUEUES,
            devices=[nic],
            arguments=arguments,
        )
        stack.enter_context(guest)
        controller = stack.enter_context(contextlib.closing(Controller(tap, MAC)))
        controller.hello()
        controller.meet()
        made = Bed(guest, tap, controller)
        words = ["type", "vxlan", "id", str(VNI), "remote", VM, "local", HOST]
        host.ip("link", "add", "vx0", *words, "dstport", str(cvsw.VXLAN), "dev", tap.name)
        made.inside.set_mtu(MTU)
        made.inside.up()
        made.inside.add_address(f"{INSIDE_HOST}/64")
        host.ip("neigh", "replace", VM, "lladdr", MAC, "dev", tap.name)
        host.ip("neigh", "replace", INSIDE_VM, "lladdr", MAC, "dev", "vx0")
        made.program()
        made.configure()
        stack.enter_context(peers.echo(host, ECHO))
        yield made


def queues(number: int) -> set[str]:
    """The first so many, both ways."""
    return {f"{way}x{each}" for way in "rt" for each in range(number)}


def streams_go_on(job: Job) -> None:
    """Wait until each stream has come back for another few times."""
    before = job.output().stdout.split()

    def all_have() -> bool:
        assert job.running, job.output().stderr
        now = job.output().stdout.split()
        return all(now.count(str(n)) > before.count(str(n)) + 3 for n in range(QUEUES))

    wait.until(all_have, "all streams go on")


def test_queues(bed: Bed) -> None:
    """What goes through the tunnel uses all queues, both ways, and has the flows of one NIC."""
    before = bed.info()
    assert bed.used() == queues(QUEUES)
    after = bed.info()
    for cookie in (INTO, OUT):
        assert cvsw.packets(after, cookie) >= cvsw.packets(before, cookie) + 64


def test_number_of_queues_changes(bed: Bed) -> None:
    """Under traffic, queues go and come again; no stream breaks, and others use what there is."""
    job = bed.guest.spawn(["python3", "-c", STREAM])
    with bed.goes_on():
        for number in (1, 3):
            bed.guest.run(f"ethtool -L eth0 combined {number}")
            streams_go_on(job)
            assert bed.used() == queues(number)
    job.kill(9)
    assert not [each for each in bed.info()["dropped-from-guest"] if each["reason"] == "queue"]


def test_driver_is_bound_again(bed: Bed) -> None:
    """Between two drivers the controller is heard; the next one has the flows of the first."""
    device = bed.guest.run("basename $(readlink /sys/class/net/eth0/device)").stdout.strip()
    driver = "/sys/bus/virtio/drivers/virtio_net"
    with bed.goes_on():
        bed.guest.run(f"echo {device} > {driver}/unbind")
        # However much comes for nobody.
        with contextlib.closing(PacketWire(bed.tap)) as wire:
            for _ in range(FLOOD):
                wire.send(FRAME)
        bed.controller.set(flow(in_port=GUEST, dl_type=NOBODYS, cookie=0xD))
        assert any("cookie=0xd," in line for line in bed.info()["flows"])
        bed.guest.run(f"echo {device} > {driver}/bind")
        bed.configure()
    assert bed.used() == queues(QUEUES)


def test_guest_starts_again(bed: Bed) -> None:
    """A guest that boots again finds the tunnel as it was."""
    with bed.goes_on():
        bed.guest.reboot()
        bed.configure()
    assert bed.used() == queues(QUEUES)
