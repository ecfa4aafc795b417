# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's topology: two hosts with Open vSwitch, VMs in tunnels, one controller."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.rough import ROUGH
from lab.cvsw import switched
from lab.cvsw.switched import Bed, Vm

CIPHER = "aes-gcm-256"
MIB = 1 << 20
TRANSFER = 4 * MIB
ETHERNET = 14


@dataclass
class Tenants:
    """Two VMs of one tenant on two hosts, and one of another beside the second."""

    bed: Bed
    red: tuple[Vm, Vm]
    blue: Vm

    def apply(self, cipher: str | None, offloads: str = "") -> None:
        """Have the controller put the first tenant into tunnels of a kind.

        ``offloads`` are those of its second VM.
        """
        ciphers = {"red": cipher} if cipher else {}
        said = {self.red[1].name: offloads} if offloads else {}
        self.bed.apply([*self.red, self.blue], ciphers, said)


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    with switched.bed(ROUGH) as bed:
        one, two = bed.hosts
        red = (bed.vm("red1", "red", 1, one), bed.vm("red2", "red", 2, two))
        blue = bed.vm("blue1", "blue", 3, two)
        bed.start_controller()
        with switched.started([*red, blue]):
            yield Tenants(bed, red, blue)


def answers(asker: Vm, other: Vm, *options: str) -> None:
    """Wait until another VM answers a ping."""
    wait.until(lambda: asker.reaches(other, *options), f"{other.name} answers {asker.name}")


def transfer(sender: Vm, receiver: Vm) -> None:
    """A TCP stream comes as it was sent."""
    job = receiver.guest.spawn("nc -d -l 7000 | sha256sum")
    receiver.guest.wait_for("ss -Htln | grep -q :7000")
    data = bytes(range(256)) * (MIB // 256)
    sender.guest.put(data, "/tmp/piece")
    pieces = " ".join(["/tmp/piece"] * (TRANSFER // MIB))
    sender.guest.run(f"cat {pieces} | nc -N {receiver.address} 7000")
    digest = hashlib.sha256(data * (TRANSFER // MIB)).hexdigest()
    assert job.wait(check=True).stdout.split()[0] == digest


@pytest.mark.parametrize("cipher", [None, CIPHER], ids=["vxlan", "esp"])
def test_tunnel(tenants: Tenants, cipher: str | None, tmp_path: Path) -> None:
    """VMs of one tenant reach each other, and the wire sees nothing but whole tunnel packets."""
    a, b = tenants.red
    tenants.apply(cipher)
    answers(a, b)
    mtu = tenants.bed.controller.nics()[a.name]["mtu"]
    with tenants.bed.capture(tmp_path / "wire.pcap") as file:
        # The largest packet that fits, to the octet.
        answers(a, b, "-M", "do", "-s", str(mtu - 28))
        transfer(a, b)
        transfer(b, a)
    tunnel = "esp" if cipher else f"udp port {switched.VXLAN_PORT}"
    whole = f"{tunnel} and ip[6:2] & 0x3fff = 0"
    assert switched.read(file, f"not ({whole}) and not {switched.CONTROL}") == []
    assert len(switched.read(file, whole)) > 100


def mean_frame(sender: Vm, receiver: Vm) -> float:
    """The octets of a frame that a guest takes, on average, in a transfer to it."""
    names = [f"/sys/class/net/eth0/statistics/rx_{what}" for what in ("bytes", "packets")]
    before = [int(receiver.guest.get(name)) for name in names]
    transfer(sender, receiver)
    octets, packets = (
        int(receiver.guest.get(name)) - old for name, old in zip(names, before, strict=True)
    )
    return octets / packets


def test_offloads(tenants: Tenants) -> None:
    """What a guest may get is said by the file, and what it takes by the guest's ethtool."""
    (a, b), controller = tenants.red, tenants.bed.controller
    tenants.apply(None)
    answers(a, b)
    frame = ETHERNET + controller.nics()[b.name]["mtu"]

    def gets(*, large: bool) -> None:
        wait.until(lambda: (mean_frame(a, b) > frame) == large, f"large segments: {large}")

    def lacks(*offloads: str) -> None:
        wait.until(
            lambda: controller.nics()[b.name]["offloads_lacking"] == list(offloads),
            f"the guest does not take {offloads}",
        )

    gets(large=True)
    tenants.apply(None, "none")
    gets(large=False)
    # That is no matter of the guest's, which would take them.
    assert "rx-gro-hw: on" in b.guest.run("ethtool -k eth0").stdout
    tenants.apply(None, "[csum, tso4]")
    gets(large=True)
    b.guest.run("ethtool -K eth0 rx-gro-hw off")
    tenants.apply(None, "[csum, tso4, tso6]")
    lacks("tso4", "tso6")
    gets(large=False)
    b.guest.run("ethtool -K eth0 rx-gro-hw on")
    tenants.apply(None, "[csum, tso4]")
    lacks()
    gets(large=True)


def test_another_tenant(tenants: Tenants) -> None:
    """A VM of another tenant hears nothing, though it is behind the same virtual switch."""
    (a, b), blue = tenants.red, tenants.blue
    tenants.apply(CIPHER)
    answers(a, b)
    before = blue.frames()
    for one, other in ((a, blue), (b, blue), (blue, a), (blue, b)):
        assert not one.reaches(other)
    answers(a, b)
    assert blue.frames() == before
    # It is there, and hears them as soon as it is one of them.
    moved = [a, b, blue.of("red")]
    tenants.bed.apply(moved, {"red": CIPHER})
    answers(a, blue)


def test_the_controller_starts_again(tenants: Tenants) -> None:
    """VMs go on without it; then they register again, and get new keys and what has changed."""
    (a, b), controller = tenants.red, tenants.bed.controller
    tenants.apply(CIPHER)
    answers(a, b)
    before = controller.outbound(a.name) | controller.outbound(b.name)
    assert len(before) == 2
    controller.kill()
    answers(b, a)
    tenants.bed.start_controller()
    controller.settled()
    for vm in (a, b):
        controller.awaits_new_keys(vm.name, before)
    answers(a, b)
    tenants.apply(None)
    answers(a, b)


def test_a_switch_connects_late(tenants: Tenants) -> None:
    """A NIC that has registered by way of another host is found where it is."""
    (a, b), bed = tenants.red, tenants.bed
    tenants.apply(None)
    bed.controller.kill()
    # Without a controller it passes control frames on to the other host.
    a.host.switch.set("del-controller", "sw")
    bed.controller.start()
    bed.controller.settled()
    assert bed.controller.nics()[a.name]["switch"] == b.host.switch.number()
    bed.connect(a.host)
    bed.controller.has_switches(2)
    tenants.apply(CIPHER)
    assert bed.controller.nics()[a.name]["switch"] == a.host.switch.number()
    answers(a, b)


def test_ports_come_and_go(tenants: Tenants) -> None:
    """A VM's port is made again, and a physical interface joins: its NIC is found each time."""
    (a, b), bed = tenants.red, tenants.bed
    tenants.apply(CIPHER)
    answers(a, b)
    host, tap = a.host, f"tap{a.number}"
    host.switch.set("del-port", "sw", tap)
    wait.until(lambda: bed.controller.nics()[a.name]["state"] == "lost", "it is missed")
    assert f"not reached, and programmed when they are: {a.name} (lost)\n" in (
        bed.controller.command("apply", bed.file)
    )
    host.switch.set("add-port", "sw", tap)
    bed.controller.settled()
    answers(a, b)
    # Open vSwitch's datapath-id follows it.
    before = host.switch.number()
    card = host.space.tap("card")
    host.space.run(["ip", "link", "set", card.name, "address", "00:10:18:00:00:01"])
    host.switch.set("add-port", "sw", card.name)
    number = wait.until(
        lambda: host.switch.number() != before and host.switch.number(), "another ID"
    )
    wait.until(lambda: bed.controller.nics()[a.name]["switch"] == number, "it is found")
    bed.controller.settled()
    answers(a, b)
