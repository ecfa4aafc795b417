# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest by a file of tenants, beside a station of Linux that knows nothing of CVSW."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import Controller
from lab.guest.guest import Guest
from lab.packages import kernel
from vmmnet.cvsw.plan.flows import flows, mtu
from vmmnet.cvsw.plan.model import Nic, Plan
from vmmnet.cvsw.plan.read import read

MAC, BEHIND = "52:54:00:00:00:01", "02:00:00:00:00:77"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "198.51.100.1", "198.51.100.2"
HOST6, VM6 = "2001:db8::1", "2001:db8::2"
INSIDE_HOST6, INSIDE_VM6 = "2001:db8:1::1", "2001:db8:1::2"
VNI, VNI6 = 5002, 5003
PLAN = f"""\
underlay: {{mtu: 1500%(hop)s}}
tenants:
  blue:
    vni: %(vni)s
    vms:
      vm: {{mac: {MAC}, key: key, tunnel: "%(vm)s"}}
"""
STATION = f"""\
    stations:
      host: {{macs: [{BEHIND}], tunnel: "%(host)s", tunnel-mac: "%(mac)s"}}
"""


@dataclass
class Bed:
    """A guest in its tenant, whose other member is the host's kernel."""

    guest: Guest
    name: str
    host: Namespace
    tap: Interface
    plan: Plan

    @property
    def nic(self) -> Nic:
        """The guest's."""
        return next(self.plan.nics())

    def program(self, plan: Plan) -> None:
        """Have the NIC as a plan says, and the guest at its MTU."""
        (nic,) = plan.nics()
        with contextlib.closing(Controller(self.tap, MAC)) as controller:
            controller.hello()
            controller.meet()
            controller.clear()
            for each in flows(plan, nic, {}):
                controller.set(each)
        self.guest.run(f"ip link set {self.name} mtu {mtu(plan, nic)}")

    def pings(self, address: str, size: int = 56) -> bool:
        """Whether an address answers the guest."""
        words = ["ping", "-c1", "-W1", "-s", str(size), address]
        return self.guest.run(words, check=False).rc == 0


def planned(tap: Interface, *, is_ip6: bool = False, is_router: bool = False) -> Plan:
    """The plan of a host behind a tap, which is a station, or a router that is in no tenant."""
    host, vm, vni = (HOST6, VM6, VNI6) if is_ip6 else (HOST, VM, VNI)
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "key")
        key.write_bytes(cvsw.KEY)
        key.chmod(0o600)
        path = Path(folder, "plan.yaml")
        hop = f", next-hop: '{tap.mac}'" if is_router else ""
        text = PLAN if is_router else PLAN + STATION
        path.write_text(text % {"mac": tap.mac, "host": host, "vm": vm, "vni": vni, "hop": hop})
        return read(path)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Network() as network:
        host = network.namespace("host")
        tap = host.tap("tap0")
        tap.add_address(f"{HOST}/24")
        tap.add_address(f"{HOST6}/64")
        for name, vni, ours, theirs, address in (
            ("vx0", VNI, HOST, VM, f"{INSIDE_HOST}/24"),
            ("vx6", VNI6, HOST6, VM6, f"{INSIDE_HOST6}/64"),
        ):
            words = ["type", "vxlan", "id", str(vni), "local", ours, "remote", theirs]
            words += ["dstport", "4789", "dev", tap.name]
            host.ip("link", "add", name, "address", BEHIND, *words)
            inside = Interface(host, name)
            inside.add_address(address)
            inside.up()
        arguments = [
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
        ]
        nic = (
            f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,miss=drop,addr=0x10,"
            "romfile="
        )
        with Guest(
            netns=host, kernel=kernel.MAIN, memory="256M", smp=1, devices=[nic], arguments=arguments
        ) as guest:
            guest.run("modprobe virtio_net")
            where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
            name = guest.wait_for(f"ls {where}").stdout.strip()
            guest.run(f"ip link set {name} up && ip address add {INSIDE_VM}/24 dev {name}")
            # In the underlay, for an attempt to get out.
            guest.run(f"ip address add {VM}/24 dev {name}")
            made = Bed(guest, name, host, tap, planned(tap))
            made.program(made.plan)
            yield made


def test_meets_station(bed: Bed) -> None:
    """The host finds the tunnel's end by ARP, and both speak in the tunnel."""
    wait.until(lambda: bed.pings(INSIDE_HOST), "the station answers in the tunnel")
    (line,) = bed.host.ip("neigh", "show", VM, "dev", bed.tap.name).splitlines()
    assert MAC in line


def test_longest(bed: Bed) -> None:
    """The guest's longest packet gets there and back: outside it is the underlay's."""
    size = mtu(bed.plan, bed.nic) - 28
    wait.until(lambda: bed.pings(INSIDE_HOST, size), "the longest packet is answered")


def test_nothing_else(bed: Bed) -> None:
    """The guest does not get into the underlay, nor by a MAC address that is not its own."""
    wait.until(lambda: bed.pings(INSIDE_HOST), "the station answers in the tunnel")
    assert not bed.pings(HOST)
    stranger = "52:54:00:00:00:09"
    for mac, answers in ((stranger, False), (MAC, True)):
        bed.guest.run(f"ip link set {bed.name} down && ip link set {bed.name} address {mac}")
        bed.guest.run(f"ip link set {bed.name} up")
        if answers:
            wait.until(lambda: bed.pings(INSIDE_HOST), "the station answers again")
        else:
            assert not bed.pings(INSIDE_HOST)
    # The station learns from whom frames come.
    learned = bed.host.run(["bridge", "fdb", "show", "dev", "vx0"]).stdout
    assert MAC in learned
    assert stranger not in learned


@pytest.fixture
def over_ip6(bed: Bed) -> Iterator[Bed]:
    """The same by another plan: its tunnels go over IPv6."""
    bed.program(planned(bed.tap, is_ip6=True))
    # Not before: it goes when the interface is switched off.
    bed.guest.run(f"ip address replace {INSIDE_VM6}/64 dev {bed.name} nodad")
    yield bed
    bed.program(bed.plan)


def test_meets_station_of_ip6(over_ip6: Bed) -> None:
    """The host finds the end by neighbour discovery; in the tunnel, both find each other so."""
    bed = over_ip6
    wait.until(lambda: bed.pings(INSIDE_HOST6), "the station answers in the tunnel")
    (line,) = bed.host.ip("neigh", "show", VM6, "dev", bed.tap.name).splitlines()
    assert MAC in line
    plan = planned(bed.tap, is_ip6=True)
    size = mtu(plan, next(plan.nics())) - 48
    wait.until(lambda: bed.pings(INSIDE_HOST6, size), "the longest packet is answered")


def test_address_is_taken(over_ip6: Bed) -> None:
    """Who wants to have the address of the end learns that somebody has it (RFC 4862)."""
    bed = over_ip6
    tap, own = bed.tap.name, ["dev", bed.tap.name]
    where = f"net.ipv6.conf.{tap}"
    bed.host.sysctl({f"{where}.accept_dad": 1, f"{where}.dad_transmits": 1})
    free = "2001:db8::3"
    for address in (VM6, free):
        bed.host.ip("address", "add", f"{address}/64", *own)
    wait.until(
        lambda: "dadfailed" in bed.host.ip("-6", "address", "show", *own, "to", VM6),
        "the NIC defends its address",
    )
    wait.until(
        lambda: "tentative" not in bed.host.ip("-6", "address", "show", *own, "to", free),
        "nobody has the other one",
    )
    assert "dadfailed" not in bed.host.ip("-6", "address", "show", *own, "to", free)
    for address in (VM6, free):
        bed.host.ip("address", "del", f"{address}/64", *own)
    bed.host.sysctl({f"{where}.accept_dad": 0, f"{where}.dad_transmits": 0})


@pytest.fixture(params=[False, True], ids=["4", "6"])
def end(bed: Bed, request: pytest.FixtureRequest) -> Iterator[str]:
    """The end of the guest's tunnels, in a plan by which it has but a router."""
    is_ip6 = bool(request.param)
    bed.program(planned(bed.tap, is_ip6=is_ip6, is_router=True))
    yield VM6 if is_ip6 else VM
    bed.program(bed.plan)


def test_router_finds_the_end(bed: Bed, end: str) -> None:
    """A router, which has packets of tunnels for the NIC, learns its MAC address from it."""
    bed.host.ip("neigh", "flush", "to", end, "dev", bed.tap.name)

    def found() -> bool:
        # Nobody answers but to the question that goes before.
        bed.host.run(["ping", "-c1", "-W1", end], check=False)
        return f"lladdr {MAC}" in bed.host.ip("neigh", "show", end, "dev", bed.tap.name)

    wait.until(found, "the NIC answers")
