# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests for the paper's experiments: stock Debian, two NICs each, one of them with a switch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import paths as tree
from lab.base import tools
from lab.cvsw.bed import Controller
from lab.guest.agent import Job
from lab.guest.guest import Guest
from lab.packages import kernel
from vmmnet.cvsw.wire.message import Ack, Type

from . import bed, rules, station
from .bed import Bed
from .rules import AES, NULL, Pair
from .station import End, Sent

#: The side that does the work: the switch in the NIC, Open vSwitch, or the guest's kernel.
CVSW, OVS, GUEST = "cvsw", "ovs", "guest"
PAIRS = 4
_FLOOD, _PORT = "/usr/lib/vmmnet/flood", 7000
# Open vSwitch in user space does not make checksums that a guest has left to its NIC, nor cut large
# segments (docs/cvsw.md). For equal conditions, offloads are off in all guests.
_OFFLOADS = ("csum=off", "gso=off")
#: Bounds of the datagrams in flight, of all pairs together: octets and number.
_OUT, _MOST = 96 << 10, 64
_SPI, _KEY = 0x2000, "0x" + bytes(range(20)).hex()
_VNI = 7000


def build(folder: Path) -> Path:
    """Compile flood.c; static, for any guest."""
    product = folder / "flood"
    options = ["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror"]
    tools.run(["gcc", *options, "-o", product, tree.ROOT / "bench/cvsw/flood.c"])
    return product


@dataclass(frozen=True)
class Machine:
    """A guest, and the places of its NICs by kind: eth0 and eth1."""

    guest: Guest
    ends: dict[str, End]
    other: dict[str, End]
    controller: Controller
    vni: int

    def address(self, kind: str) -> str:
        """Address of the NIC for which ``kind`` does the work."""
        if kind == GUEST:
            return f"198.51.102.{self.ends[OVS].number}"
        return rules.address(self.ends[kind])

    def set_nic(self, case: str) -> None:
        """Set the actions of the switch in the NIC."""
        rules.set_nic(self.controller, case, self.ends[CVSW], self.other[CVSW], self.vni)
        mtu = rules.MTUS.get(case, bed.WIRE_MTU)
        answer = self.controller.order(Type.SET_MTU, mtu.to_bytes(2) + bytes(2))
        assert isinstance(answer, Ack), str(answer)

    def set_mtu(self, kind: str, mtu: int) -> None:
        """Set the guest's MTU."""
        device = {CVSW: "eth0", OVS: "eth1", GUEST: "vx0"}[kind]
        self.guest.run(f"ip link set {device} mtu {mtu}; ip route flush cache")

    def configure(self) -> None:
        """Give the guest addresses, and static MAC addresses of the other guest (no ARP)."""
        lines = ["modprobe virtio_net", "until ip link show eth1; do :; done"]
        for device, kind in (("eth0", CVSW), ("eth1", OVS)):
            other = self.other[kind]
            lines.append(f"ip link set {device} up")
            lines.append(f"ip address add {self.address(kind)}/24 dev {device}")
            for address in (rules.address(other), rules.alias(other)):
                lines.append(f"ip neigh replace {address} lladdr {other.mac} dev {device}")
        self.guest.run("\n".join(lines))
        self.guest.run("\n".join(self._own_tunnel()))
        self.guest.spawn([_FLOOD, "sink", str(_PORT)])

    def _own_tunnel(self) -> Iterator[str]:
        """Set up VXLAN and ESP of the guest's kernel, over eth1."""
        me, other = (end.number for end in (self.ends[OVS], self.other[OVS]))
        here, there = (f"192.0.3.{number}" for number in (me, other))
        yield "for m in vxlan xfrm_user esp4 gcm; do modprobe $m || exit 1; done"
        yield f"ip address add {here}/24 dev eth1"
        yield f"ip neigh replace {there} lladdr {self.other[OVS].mac} dev eth1"
        ends = f"local {here} remote {there} dstport 4789 dev eth1"
        mac = "address 02:00:00:00:00:{:02x}"
        yield f"ip link add vx0 {mac.format(me)} mtu 1416 type vxlan id {_VNI + self.vni} {ends}"
        yield "ip link set vx0 up"
        yield f"ip address add 198.51.102.{me}/24 dev vx0"
        neighbour = f"198.51.102.{other} {mac.format(other).replace('address', 'lladdr')}"
        yield f"ip neigh replace {neighbour} dev vx0"
        for way, source, target, sender in (("out", here, there, me), ("in", there, here, other)):
            both = f"src {source} dst {target}"
            spi = f"proto esp spi {_SPI + sender} mode transport replay-window 128 flag esn"
            yield f"ip xfrm state add {both} {spi} aead 'rfc4106(gcm(aes))' {_KEY} 128"
            wanted = f"{both} proto 17 dport 4789 tmpl {both} proto esp mode transport"
            yield f"ip xfrm policy add dir {way} {wanted}"

    def flood(self, target: str, octets: int, seconds: float, window: int) -> Job:
        """Start a sender to an address; it waits for its start signal."""
        words = [_FLOOD, "send", target, _PORT, octets, seconds, window]
        return self.guest.spawn([*map(str, words)])


@dataclass
class Machines:
    """Four pairs."""

    bed: Bed
    pairs: list[tuple[Machine, Machine]]

    def _pairs(self, kind: str) -> list[Pair]:
        return [Pair(one.ends[kind], two.ends[kind]) for one, two in self.pairs]

    def set(self, case: str, kind: str, count: int) -> None:
        """Turn on processing for the first pairs, and set the MTU of their guests."""
        served = self._pairs(OVS) if kind == OVS else []
        others = self._pairs(CVSW) + (self._pairs(OVS) if kind != OVS else [])
        self.bed.obey(case if kind == OVS else NULL, served, others)
        crypt = bed.MTU_CRYPT if case == AES else bed.WIRE_MTU
        plain = bed.MTU_PLAIN if case == rules.VXLAN else crypt
        for pair in self.pairs[:count]:
            for machine in pair:
                if kind == CVSW:
                    machine.set_nic(case)
                    machine.set_mtu(CVSW, rules.MTUS.get(case, bed.WIRE_MTU))
                elif kind == OVS:
                    machine.set_mtu(OVS, plain)
                else:
                    machine.set_mtu(OVS, bed.WIRE_MTU)

    def unadjusted(self, kind: str) -> None:
        """Give the guests of the first pair the MTU of a network without tunnels."""
        for machine in self.pairs[0]:
            machine.set_mtu(kind, bed.WIRE_MTU)

    def flood(self, case: str, kind: str, count: int, octets: int, seconds: float) -> list[Sent]:
        """Let the first pairs send at the same time."""
        window = max(1, min(_MOST, _OUT // octets) // count)
        jobs = []
        for one, two in self.pairs[:count]:
            is_other = case == rules.IP and kind != GUEST
            target = rules.alias(two.ends[kind]) if is_other else two.address(kind)
            jobs.append(one.flood(target, octets, seconds, window))
        for job in jobs:
            job.wait_output("ready")
        for job in jobs:
            job.write(b"\n")
        lines = [job.wait(check=True).stdout.splitlines()[-1] for job in jobs]
        return [Sent(**json.loads(line)) for line in lines]


def _machine(
    made: Bed, flood: Path, pairs: dict[str, Pair], side: int, stack: contextlib.ExitStack
) -> Machine:
    """Start a guest of a pair; ``launched`` boots it."""
    both = {kind: pair.both[side] for kind, pair in pairs.items()}
    ends, other = ({kind: two[i] for kind, two in both.items()} for i in (0, 1))
    words = list(station.nic_options(ends[CVSW], *_OFFLOADS, is_cvsw=True))
    plain = station.nic_options(ends[OVS], *_OFFLOADS, is_cvsw=False)
    words += [word.replace("net0", "net1").replace("nic0", "nic1") for word in plain]
    words[-1] = words[-1].replace("addr=0x10", "addr=0x11")
    guest = Guest(
        name=f"vm{ends[OVS].number}",
        netns=made.hosts[side].space,
        kernel=kernel.MAIN,
        ipv6=False,
        memory="192M",
        smp=1,
        arguments=words,
        files={_FLOOD: flood},
    )
    controller = Controller(ends[CVSW].tap, ends[CVSW].mac)
    stack.callback(controller.close)
    return Machine(guest, ends, other, controller, pairs[CVSW].vni)


def _boot(machines: Sequence[Machine], stack: contextlib.ExitStack) -> None:
    """Side by side."""
    for machine in machines:
        stack.push(machine.guest)
        machine.guest.launch()
    for machine in machines:
        machine.guest.boot()
        machine.configure()
        machine.controller.hello()
        machine.controller.meet()
        rules.set_keys(machine.controller, machine.ends[CVSW], machine.other[CVSW])


@contextlib.contextmanager
def opened(flood: Path, count: int) -> Iterator[Machines]:
    """Start ``count`` pairs."""
    with bed.opened() as made, contextlib.ExitStack() as stack:
        pairs = []
        for number in range(1, count + 1):
            places = {kind: made.pair(number, is_cvsw=kind == CVSW) for kind in (CVSW, OVS)}
            pairs.append(
                tuple(_machine(made, flood, places, side, stack) for side in (0, 1)),
            )
        machines = Machines(made, [(pair[0], pair[1]) for pair in pairs])
        machines.bed.obey(NULL, [], [])
        _boot([machine for pair in machines.pairs for machine in pair], stack)
        yield machines
