# SPDX-License-Identifier: GPL-2.0-or-later
"""What KVM does itself beside our devices: interrupts, doorbells, a vIOMMU's mappings, vhost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.base.rough import ROUGH
from lab.guest.guest import Guest
from lab.packages import kernel
from lab.peers.lab import PAGE, Lab, lab
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs


@dataclass(frozen=True)
class Machine:
    """A machine type, with what stands before our device."""

    machine: str = "q35"
    before: tuple[str, ...] = ()
    options: str = ""
    append: str = ""
    kernel: str = kernel.OLDEST


#: With the interrupt controllers in the kernel, KVM routes MSIs by itself; split, QEMU gives it the
#: routes; a vIOMMU remaps interrupts and the device's accesses.
MACHINES = {
    "irqchip": Machine(),
    "split": Machine("q35,kernel-irqchip=split"),
    "iommu": Machine(
        "q35,kernel-irqchip=split",
        ("intel-iommu,intremap=on,caching-mode=off",),
        ",iommu_platform=on",
        "intel_iommu=on",
    ),
    "newest": Machine(kernel=kernel.NEWEST),
}


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab((), ROUGH) as built:
        yield built


@pytest.fixture(scope="module", params=MACHINES)
def guest(request: pytest.FixtureRequest, world: Lab) -> Iterator[Guest]:
    """A guest with packed rings and an IOThread."""
    kind = MACHINES[request.param]
    device = f"{world.device(iothread='io0')},packed=on{kind.options}"
    with world.guest(
        machine=kind.machine,
        devices=[*kind.before, device],
        arguments=["-object", "iothread,id=io0", "-action", "reboot=reset"],
        append=kind.append,
        kernel=kind.kernel,
        ipv6=False,
    ) as running:
        yield running


def _is_served(guest: Guest) -> None:
    """Small and large answers arrive."""
    assert guest.run("curl -sS http://www.test/").stdout == PAGE
    whole = b"".join(number.to_bytes(16, "little") for number in range(1 << 18))
    (found,) = guest.run("curl -sS http://www.test/big.bin | sha256sum").stdout.split()[:1]
    assert found == hashlib.sha256(whole).hexdigest()


def test_guest_is_on_kvm(guest: Guest) -> None:
    assert guest.qmp("query-kvm") == {"enabled": True, "present": True}
    said = guest.qmp("human-monitor-command", **{"command-line": "info kvm"})
    assert said.split("\r\n") == ["kvm support: enabled", ""]


def test_pages(guest: Guest) -> None:
    _is_served(guest)
    guest.check_kernel()


def test_reset(guest: Guest) -> None:
    """What KVM kept of the device, routes and doorbells, is made again."""
    guest.reboot()
    _is_served(guest)


VM, PEER, VHOST_VM, VHOST_PEER = "192.0.2.1", "192.0.2.2", "198.51.100.1", "198.51.100.2"
MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02")


def test_vhost_net_beside_hostvlan(network: Network, tmp_path: Path) -> None:
    """A NIC of the kernel's vhost beside one behind HostVLAN, which does not take vhost's tap."""
    host = network.namespace("host")
    bridges = [host.bridge("ours"), host.bridge("vhosts")]
    for number, bridge in enumerate(bridges):
        host.tap(f"tap{number}", bridge)
    ends = [
        network.connect(network.namespace(name), bridge, [f"{address}/24"]).a
        for name, bridge, address in zip(
            ("peer", "vpeer"), bridges, (PEER, VHOST_PEER), strict=True
        )
    ]
    table = tmp_path / "lnid.table"
    with Table.change(table) as change:
        change.replace(Entry.of(macs.parse(mac), [7]) for mac in (MACS[0], ends[0].mac))
    with Guest(
        netns=host,
        devices=[
            f"virtio-net-pci,netdev=hv0,mac={MACS[0]}",
            f"virtio-net-pci,netdev=net1,mac={MACS[1]}",
        ],
        arguments=[
            *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
            *("-netdev", f"hostvlan,id=hv0,netdev=net0,table={table}"),
            *("-netdev", "tap,id=net1,ifname=tap1,script=no,downscript=no,vhost=on"),
        ],
        ipv6=False,
    ) as vm:
        vm.run("modprobe virtio_net")
        for name, address in (("eth0", VM), ("eth1", VHOST_VM)):
            vm.wait_for(f"ip link show dev {name}")
            vm.run(f"ip address add {address}/24 dev {name} && ip link set dev {name} up")
        for address in (PEER, VHOST_PEER):
            vm.wait_for(f"ping -n -c1 -W5 {address}")
        (port,) = vm.qmp("query-hostvlan", id="hv0")
        assert port["receive"]["passed"]
        refused = vm.qmp(
            "human-monitor-command",
            **{"command-line": f"netdev_add hostvlan,id=hv1,netdev=net1,table={table}"},
        )
        assert "netdev 'net1' is already used" in refused
