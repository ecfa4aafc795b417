# SPDX-License-Identifier: GPL-2.0-or-later
"""A NIC that is a switch moves to another QEMU: its flows and associations go on."""

from __future__ import annotations

import contextlib
import signal
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools, wait
from lab.base.net import Interface, Network
from lab.cvsw import bed as cvsw
from lab.cvsw import switched
from lab.cvsw.bed import (
    DECAP,
    GUEST,
    WIRE,
    Controller,
    Machine,
    encap,
    flow,
    output,
    packets,
)
from lab.cvsw.switched import nonce
from lab.guest import qemu
from lab.guest.guest import Guest
from lab.guest.migration import Move
from lab.hosts.bridged import QUIET, PacketWire
from lab.mip6 import pair
from lab.packages import kernel
from vmmnet.cvsw.wire.message import ETHERTYPE, Ack, Type

MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02")
OUTER = ("192.0.2.1", "192.0.2.2")
INNER = ("198.51.100.1", "198.51.100.2")
INNER6 = ("2001:db8:5::1", "2001:db8:5::2")
SPIS = (0x1001, 0x1002)
KEYS = (bytes(range(20)), bytes(range(20, 40)))
VNI, IPV4, ESP = 100, 0x0800, 50
HOST_MTU = 1500
#: Numbers that a host does not use whose state has been told (state/state.h).
USED_MAX = 65536


@dataclass(frozen=True)
class Vm:
    """One of two VMs, which are joined by VXLAN in ESP."""

    index: int
    controller: Controller

    def program(self) -> None:
        """Everything of the guest into the tunnel, and out of it."""
        self.controller.hello()
        self.controller.meet()
        self.set()

    def set(self) -> None:
        """The same for a NIC that has registered."""
        here, there = self.index, 1 - self.index
        ends = [(MACS[i], OUTER[i]) for i in (here, there)]
        self.controller.set_sa(1, SPIS[here], KEYS[here], outbound=True)
        self.controller.set_sa(2, SPIS[there], KEYS[there], outbound=False)
        into = flow(encap(VNI, *ends), cvsw.encrypt(1), output(WIRE), in_port=GUEST, cookie=0xA)
        out = (cvsw.decrypt(0), DECAP, output(GUEST))
        self.controller.set(
            into, flow(*out, in_port=WIRE, dl_type=IPV4, nw_proto=ESP, cookie=0xB, idle=3600)
        )

    def prepare(self, guest: Guest) -> None:
        """Bring its NIC up."""
        guest.run("modprobe virtio_net")
        guest.wait_for("ip link show eth0")
        address = INNER[self.index]
        guest.run(f"ip link set eth0 mtu 1400 up && ip address add {address}/24 dev eth0")
        guest.run(f"ip address add {INNER6[self.index]}/64 dev eth0 nodad")

    def await_registration(self, known: int) -> None:
        """Wait until it has registered once more than so often."""
        registered = self.controller.registrations
        wait.until(
            lambda: self.controller.pump(0.1) or len(registered) > known, "it registers again"
        )


def guest_on(tap: Interface, index: int) -> Guest:
    """A VM, to be started."""
    return Guest(
        name=f"vm{index}",
        netns=tap.namespace,
        kernel=kernel.MAIN,
        memory="192M",
        smp=1,
        arguments=cvsw.options(tap, MACS[index]),
    )


def info(guest: Guest) -> dict[str, Any]:
    """What query-cvsw says."""
    (nic,) = guest.qmp("query-cvsw", flows=True)
    return dict(nic)


def numbers(nic: dict[str, Any]) -> tuple[int, int]:
    """What is sealed next, and the highest number that was opened."""
    sealing, opening = nic["associations"]
    return sealing["next"], opening["highest"]


@dataclass(frozen=True)
class Bed:
    """A switch with the taps of the VMs, and of the first one's next places."""

    taps: list[Interface]
    there: Interface
    back: Interface
    vms: list[Vm]


@pytest.fixture
def bed() -> Iterator[Bed]:
    with Network() as network, contextlib.ExitStack() as stack:
        host = network.namespace("host")
        host.sysctl(QUIET)
        bridge = host.bridge()
        taps = [host.tap(f"tap{number}", bridge) for number in range(4)]
        made = [stack.enter_context(contextlib.closing(Controller(bridge, mac))) for mac in MACS]
        vms = [Vm(index, controller) for index, controller in enumerate(made)]
        yield Bed(taps[:2], taps[2], taps[3], vms)


@contextlib.contextmanager
def moved(source: Guest, tap: Interface) -> Iterator[Guest]:
    """The first VM, on another tap."""
    there = {"netns": tap.namespace.netns, "name": tap.name}
    with Move(source, arguments=cvsw.options(tap, MACS[0]), **there) as move:
        move.begin()
        yield move.complete()


def goes_on(source: Guest, target: Guest) -> None:
    """The flows and associations of a VM that has moved are in use where it is now."""
    left, here = info(source), info(target)
    # The source seals nothing any more: its numbers are another host's.
    assert numbers(left)[0] == 0
    wait.until(lambda: packets(info(target), 0xB) > packets(here, 0xB) + 10, "answers in ESP")
    after = info(target)
    assert packets(here, 0xA) >= packets(left, 0xA) > 0
    assert numbers(after)[0] > numbers(here)[0] > packets(left, 0xA)
    assert numbers(after)[1] > numbers(left)[1]
    assert "idle_timeout=3600" in after["flows"][1] + after["flows"][0]
    assert not after["esp"]


def test_moves(bed: Bed, tmp_path: Path) -> None:
    """There and back, a transfer goes on in ESP, before any controller has heard of it."""
    first, second = bed.vms
    with pair.running(guest_on(bed.taps[0], 0), guest_on(bed.taps[1], 1)) as (source, peer):
        for vm, guest in ((first, source), (second, peer)):
            vm.prepare(guest)
            vm.program()
        source.wait_for(f"ping -n -c1 -W1 {INNER[1]}")
        known = len(first.controller.registrations)
        wire = bed.taps[1]
        with wire.namespace.capture(wire.name, tmp_path / "wire.pcap") as file:
            ping = source.spawn(["ping", "-n", "-i", "0.1", INNER[1]])
            talk = pair.Talk(peer, source, INNER6[0], pause=0.02)
            with moved(source, bed.there) as target:
                goes_on(source, target)
                talk.goes_on()
                with moved(target, bed.back) as returned:
                    goes_on(target, returned)
                    talk.goes_on()
                    talk.answers()
                    talk.end()
                    # It has registered at once; now the controller hears of it.
                    first.await_registration(known)
                    assert first.controller.registrations[-1].entries == 2
                    first.controller.set(flow(priority=0, cookie=0xC))
                    assert info(returned)["session"]["open"]
                    ping.kill(signal.SIGINT)
                    assert " 0 received" not in ping.wait().stdout
                    assert numbers(info(source))[0] == numbers(info(target))[0] == 0
                    # No number twice: the peer has refused nothing.
                    assert not info(peer)["esp"]
    # Nor does anybody see a nonce twice, or anything but ESP: no announcement either.
    seen = switched.nonces(file)
    assert len(set(seen)) == len(seen) > 1000


@contextlib.contextmanager
def programmed(bed: Bed, *words: str, arguments: Sequence[str] = ()) -> Iterator[Machine]:
    """A machine without a guest, whose NIC has flows and associations."""
    with Machine.running(bed.taps[0], MACS[0], *words, arguments=arguments) as machine:
        bed.vms[0].program()
        yield machine


def migrate(machine: Machine, uri: str, wanted: str) -> None:
    """Have it sent, until that has ended so."""
    machine.monitor.command("migrate", uri=uri)
    wait.until(lambda: machine.monitor.command("query-migrate").get("status") == wanted, wanted)


REFUSED = {
    "flows=1": "nic0: the incoming state of the switch: flows=1 here has no room for 2 flows",
    "masks=1": "nic0: the incoming state of the switch: flow 2: masks=1 here has no room",
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(bed: Bed, tmp_path: Path, words: str) -> None:
    """A host that cannot take a VM says why; where it was it goes on, with new numbers."""
    uri = f"unix:{tmp_path}/stream"
    capability = [{"capability": "return-path", "state": True}]
    with (
        programmed(bed) as source,
        Machine.running(bed.there, MACS[0], words, incoming=True) as target,
    ):
        before = source.info()["associations"][0]["next"]
        for machine in (source, target):
            machine.monitor.command("migrate-set-capabilities", capabilities=capability)
        target.monitor.command("migrate-incoming", uri=uri)
        migrate(source, uri, "failed")
        wait.until(lambda: REFUSED[words] in target.process.errors(), "a reason")
        wait.until(lambda: source.monitor.command("query-status")["running"], "it goes on")
        assert source.info()["associations"][0]["next"] == before + USED_MAX
        # The controller's session goes on, too.
        bed.vms[0].controller.set(flow(priority=0))


#: An octet of the NIC's record, what it becomes, and what is said of that.
DAMAGE = {
    "version": (2, 9, "version is 9, not 1"),
    "mac": (8, 9, "mac=52:54:00:00:00:01 here is not 52:54:00:00:00:09, which the NIC had"),
    "miss": (9, 0, "miss=drop here is not normal, which the NIC had"),
    "flows": (12, 255, "flows=4096 here has no room for 4278190082 flows"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged(bed: Bed, tmp_path: Path, what: str) -> None:
    """A stream that somebody has changed is refused, by the name of device and field."""
    file = tmp_path / "stream"
    with programmed(bed) as source:
        migrate(source, f"file:{file}", "completed")
    stream = bytearray(file.read_bytes())
    head = b"\x00\x18\x01\x00\x01" + cvsw.mac_octets(MACS[0])
    assert stream.count(head) == 1
    offset, value, message = DAMAGE[what]
    stream[stream.index(head) + 2 + offset] = value
    file.write_bytes(stream)
    with Machine.running(bed.there, MACS[0], incoming=True) as target:
        target.monitor.command("migrate-incoming", uri=f"file:{file}")
        wait.until(
            lambda: f"nic0: the incoming state of the switch: {message}" in target.process.errors(),
            "a reason",
        )


def test_cancelled(bed: Bed, tmp_path: Path) -> None:
    """A migration that ends before the state has gone changes nothing."""
    controller = bed.vms[0].controller
    with programmed(bed) as machine:
        before, known = machine.info(), len(controller.registrations)
        stands = [{"capability": "pause-before-switchover", "state": True}]
        machine.monitor.command("migrate-set-capabilities", capabilities=stands)
        migrate(machine, f"file:{tmp_path}/stream", "pre-switchover")
        machine.monitor.execute("migrate_cancel", {})
        wait.until(lambda: machine.monitor.command("query-status")["running"], "it goes on")
        controller.set(flow(priority=0))
        after = machine.info()
        assert after["associations"] == before["associations"]
        assert len(controller.registrations) == known


def frames(wire: PacketWire) -> list[bytes]:
    """What a NIC has sent by now, without what is its controller's."""
    return [frame for frame in wire.heard() if frame[12:14] != struct.pack(">H", ETHERTYPE)]


def announced(machine: Machine, wire: PacketWire) -> bytes:
    """The frame that says where a guest is."""
    machine.announce()
    (frame,) = wait.until(lambda: frames(wire), "an announcement")
    return frame


def test_announced(bed: Bed) -> None:
    """QEMU's announcement goes by the flows, sealed; its outer address is the NIC's."""
    with (
        programmed(bed) as machine,
        contextlib.closing(PacketWire(bed.taps[0])) as wire,
    ):
        frame = announced(machine, wire)
        assert frame[6:12] == cvsw.mac_octets(MACS[0])
        assert nonce(frame)[0] == SPIS[0]
        assert packets(machine.info(flows=True), 0xA) == 1


def hmp(machine: Machine, line: str) -> None:
    """A command for people that has nothing to say."""
    words = {"command-line": line}
    assert machine.monitor.execute("human-monitor-command", words) == ""


def told_mtu(machine: Machine) -> int:
    """The MTU that a driver reads."""
    nic = {"path": "/machine/peripheral/nic0", "property": "host_mtu"}
    return int(machine.monitor.execute("qom-get", nic))


def start_again(machine: Machine, wire: PacketWire, vm: Vm) -> bytes:
    """Go back to a snapshot, and have the controller set the keys; returns an announcement."""
    lost, known = machine.dropped("guest", "no-sa"), len(vm.controller.registrations)
    hmp(machine, "loadvm then")
    nic = machine.info(flows=True)
    assert nic["associations"] == [] and packets(nic, 0xA) == 1
    assert "mtu" not in nic and told_mtu(machine) == HOST_MTU
    machine.announce()
    wait.until(lambda: machine.dropped("guest", "no-sa") > lost, "it is not sealed")
    assert frames(wire) == []
    vm.await_registration(known)
    # Also where a controller sets keys of old, at once.
    vm.set()
    return announced(machine, wire)


def test_snapshot(bed: Bed, tmp_path: Path) -> None:
    """It has the flows and no key, so that it may be started twice: no nonce comes again."""
    disk = tmp_path / "state.qcow2"
    tools.run([qemu.binary().with_name("qemu-img"), "create", "-fqcow2", disk, "64M"])
    drive = ("-drive", f"file={disk},format=qcow2,if=none,id=state")
    with (
        programmed(bed, f"host_mtu={HOST_MTU}", arguments=drive) as machine,
        contextlib.closing(PacketWire(bed.taps[0])) as wire,
    ):
        sent = [announced(machine, wire)]
        hmp(machine, "savevm then")
        # The VM of which it was taken goes on, with the next number.
        sent.append(announced(machine, wire))
        assert machine.info()["associations"][0]["next"] == 3
        answer = bed.vms[0].controller.order(Type.SET_MTU, struct.pack(">Hxx", 1400))
        assert isinstance(answer, Ack)
        assert told_mtu(machine) == 1400
        sent += [start_again(machine, wire, bed.vms[0]) for _ in range(2)]
    assert len({nonce(frame) for frame in sent}) == len(sent) == 4
