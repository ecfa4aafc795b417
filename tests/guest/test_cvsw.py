# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest whose NIC is a switch: flows that drop, and a tunnel to the host's kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import DECAP, GUEST, WIRE, Controller, encap, flow, output
from lab.guest.guest import Guest
from vmmnet.cvsw.wire.message import Refusal, Type

MAC = "52:54:00:00:00:01"
HOST, VM = "192.0.2.1", "192.0.2.2"
INSIDE_HOST, INSIDE_VM = "198.51.100.1", "198.51.100.2"
VNI = 100
IPV4, UDP = 0x0800, 17


@dataclass
class Bed:
    """A guest on the tap of a host."""

    guest: Guest
    name: str
    host: Namespace
    tap: Interface

    def pings(self, address: str) -> bool:
        """Whether an address answers the guest."""
        return self.guest.run(["ping", "-c1", "-W1", address], check=False).rc == 0


@pytest.fixture(scope="module")
def bed(series: str) -> Iterator[Bed]:
    with Network() as network:
        host = network.namespace("host")
        tap = host.tap("tap0")
        tap.add_address(f"{HOST}/24")
        arguments = [
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-object", f"secret,id=key,data={cvsw.KEY.decode().replace(',', ',,')}"),
        ]
        nic = f"virtio-net-cvsw-pci,netdev=net0,mac={MAC},control-secret=key,addr=0x10,romfile="
        with Guest(
            netns=host, kernel=series, memory="256M", smp=1, devices=[nic], arguments=arguments
        ) as guest:
            guest.run("modprobe virtio_net")
            where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
            name = guest.wait_for(f"ls {where}").stdout.strip()
            guest.run(f"ip link set {name} up && ip address add {VM}/24 dev {name}")
            yield Bed(guest, name, host, tap)


@pytest.fixture
def controller(bed: Bed) -> Iterator[Controller]:
    made = Controller(bed.tap, MAC)
    made.hello()
    with contextlib.closing(made):
        made.meet()
        yield made
        made.clear()


def test_without_flows(bed: Bed, controller: Controller) -> None:
    """It is what virtio-net is."""
    assert controller.registrations[-1].entries == 0
    wait.until(lambda: bed.pings(HOST), "the host answers")


def test_drop(bed: Bed, controller: Controller) -> None:
    """A flow without actions drops; without the flow frames pass again."""
    wait.until(lambda: bed.pings(HOST), "the host answers")
    controller.set(flow(in_port=GUEST, dl_type=IPV4, nw_proto=1))
    assert not bed.pings(HOST)
    controller.clear()
    wait.until(lambda: bed.pings(HOST), "the host answers again")


def test_bad_flow(controller: Controller) -> None:
    """What a NIC cannot do is refused with OpenFlow's own error; those before it stay."""
    answer = controller.order(Type.SET_ENTRY, flow(output(WIRE), priority=7) + flow(output(9)))
    assert isinstance(answer, Refusal)
    assert answer.done == 1
    # OFPET_BAD_ACTION, OFPBAC_BAD_OUT_PORT.
    assert answer.openflow[8:12] == bytes([0, 2, 0, 4])


def test_forged(bed: Bed, controller: Controller) -> None:
    """Another key programs nothing."""
    wait.until(lambda: bed.pings(HOST), "the host answers")
    stranger = Controller(bed.tap, MAC, key=bytes(32))
    with contextlib.closing(stranger):
        stranger.hello()
        wait.until(lambda: stranger.pump(0.1) or stranger.session.refused, "it registers")
        assert not stranger.session.is_open
    assert bed.pings(HOST)


@pytest.fixture
def tunnel(bed: Bed, controller: Controller) -> Iterator[None]:
    """VXLAN between the NIC and the host's kernel; the guest is in it alone."""
    bed.host.ip("neigh", "replace", VM, "lladdr", MAC, "dev", bed.tap.name)
    words = ["type", "vxlan", "id", str(VNI), "remote", VM, "local", HOST]
    bed.host.ip("link", "add", "vx0", *words, "dstport", str(cvsw.VXLAN), "dev", bed.tap.name)
    inside = Interface(bed.host, "vx0")
    inside.add_address(f"{INSIDE_HOST}/24")
    inside.up()
    bed.guest.run(
        f"ip address add {INSIDE_VM}/24 dev {bed.name} && ip link set {bed.name} mtu 1450"
    )
    controller.set(
        flow(encap(VNI, (MAC, VM), (bed.tap.mac, HOST)), output(WIRE), in_port=GUEST),
        flow(DECAP, output(GUEST), in_port=WIRE, dl_type=IPV4, nw_proto=UDP),
    )
    yield
    bed.host.ip("link", "delete", "vx0")
    bed.guest.run(f"ip address del {INSIDE_VM}/24 dev {bed.name}")


def test_vxlan(bed: Bed, tunnel: None) -> None:
    """The host's kernel and the NIC are the two ends; what is outside is not reached."""
    wait.until(lambda: bed.pings(INSIDE_HOST), "the other end answers")
    assert not bed.pings(HOST)
