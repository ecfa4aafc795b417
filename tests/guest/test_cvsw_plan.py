# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest by a file of tenants, beside a station of Linux that knows nothing of CVSW."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from vmmnet.cvsw.plan.flows import flows, mtu
from vmmnet.cvsw.plan.model import Nic, Plan
from vmmnet.cvsw.plan.read import read
from vmmnet.testbed import cvsw, wait
from vmmnet.testbed.cvsw import Controller
from vmmnet.testbed.guest import Guest
from vmmnet.testbed.net import Interface, Namespace, Network

MAC, BEHIND = "52:54:00:00:00:01", "02:00:00:00:00:77"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "198.51.100.1", "198.51.100.2"
VNI = 5002
PLAN = f"""\
underlay: {{mtu: 1500}}
tenants:
  blue:
    vni: {VNI}
    vms:
      vm: {{mac: {MAC}, key: key, tunnel: {VM}}}
    stations:
      host: {{macs: [{BEHIND}], tunnel: {HOST}, tunnel-mac: "%s"}}
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

    def pings(self, address: str, size: int = 56) -> bool:
        """Whether an address answers the guest."""
        words = ["ping", "-c1", "-W1", "-s", str(size), address]
        return self.guest.run(words, check=False).rc == 0


def planned(tap: Interface) -> Plan:
    """The plan of a host behind a tap."""
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "key")
        key.write_bytes(cvsw.KEY)
        key.chmod(0o600)
        path = Path(folder, "plan.yaml")
        path.write_text(PLAN % tap.mac)
        return read(path)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Network() as network:
        host = network.namespace("host")
        tap = host.tap("tap0")
        tap.add_address(f"{HOST}/24")
        words = ["type", "vxlan", "id", str(VNI), "local", HOST, "remote", VM, "dstport", "4789"]
        host.ip("link", "add", "vx0", "address", BEHIND, *words, "dev", tap.name)
        inside = Interface(host, "vx0")
        inside.add_address(f"{INSIDE_HOST}/24")
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
            netns=host, kernel="6.12", memory="256M", smp=1, devices=[nic], arguments=arguments
        ) as guest:
            guest.run("modprobe virtio_net")
            where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
            name = guest.wait_for(f"ls {where}").stdout.strip()
            guest.run(f"ip link set {name} up && ip address add {INSIDE_VM}/24 dev {name}")
            # In the underlay, for an attempt to get out.
            guest.run(f"ip address add {VM}/24 dev {name}")
            made = Bed(guest, name, host, tap, planned(tap))
            with contextlib.closing(Controller(tap, MAC)) as controller:
                controller.hello()
                controller.meet()
                for each in flows(made.plan, made.nic, {}):
                    controller.set(each)
            guest.run(f"ip link set {name} mtu {mtu(made.plan, made.nic)}")
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
