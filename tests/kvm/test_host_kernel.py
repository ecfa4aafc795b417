# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF on parts of the kernel that not every host has: vhost-net, openvswitch.

Elsewhere test_hostvlan_taps.py writes what a vhost-net would, and Open vSwitch has its datapath in
user space.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.cvsw.openvswitch import Switch
from lab.guest.guest import Guest
from lab.hosts import bridged
from lab.hosts.bridged import Bed
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs

VM_MAC, FORGED_MAC = "52:54:00:00:00:01", "52:54:00:00:00:09"
VM, FRIEND, STRANGER = "192.0.2.1", "192.0.2.2", "192.0.2.3"
_FRAMES = 20
PING = ["ping", "-n", "-c1", "-W1"]


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


def _status(host: Bed, name: str) -> twin.Attachment:
    with host.space.entered():
        (found,) = twin.status(name, host.table)
    return found


def test_vhost_net_is_governed(host: Bed, network: Network) -> None:
    """Its frames, which QEMU does not see, pass to the tenant alone and with the NIC's address."""
    tap = host.space.tap("tap0", host.bridge)
    friend, stranger = (
        network.connect(network.namespace(name), host.bridge, [f"{address}/24"])
        for name, address in (("friend", FRIEND), ("stranger", STRANGER))
    )
    for end, mac, lnid in (
        (tap, VM_MAC, 1),
        (friend.b, friend.a.mac, 1),
        (stranger.b, stranger.a.mac, 2),
    ):
        host.put(macs.parse(mac), lnid)
        with host.space.entered():
            twin.attach(end.name, macs.parse(mac), host.table)
    with Guest(
        netns=host.space,
        devices=[f"virtio-net-pci,netdev=net0,mac={VM_MAC}"],
        arguments=["-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=on"],
        ipv6=False,
    ) as vm:
        vm.run("modprobe virtio_net")
        vm.wait_for("ip link show dev eth0")
        vm.run(f"ip address add {VM}/24 dev eth0 && ip link set dev eth0 up")
        vm.wait_for(f"ping -n -c1 -W5 {FRIEND}")
        friend.a.namespace.run(["ping", "-n", "-c1", f"-W{wait.PATIENCE:.0f}", VM])
        assert vm.run([*PING, STRANGER], check=False).rc
        assert stranger.a.namespace.run([*PING, VM], check=False).returncode
        assert _status(host, tap.name).receive["other-tenant"]
        vm.run(f"ip link set dev eth0 address {FORGED_MAC}")
        assert vm.run([*PING, FRIEND], check=False).rc
        assert _status(host, tap.name).send["spoofed"]


def test_datapath_of_the_kernel(host: Bed) -> None:
    """Under Open vSwitch's own datapath, tenants hear their own alone."""
    with Switch.running(host.space, datapath="system") as switch:
        ports = [host.veth(name, bridged=False) for name in "abc"]
        for port, lnid in zip(ports, (1, 2, 1), strict=True):
            host.put(port.mac, lnid)
            host.attach(port)
            switch.set("add-port", "sw", port.end.name)
        a, b, c = ports
        # One by one: frames overtake each other until the datapath has been told of the flow.
        for number in range(_FRAMES):
            a.say(text := str(number))
            assert c.hears(text) == [text]
        host.refuses(b, "other-tenant", _FRAMES)
        a.say("spoofed", source=macs.parse(FORGED_MAC))
        a.say("end")
        assert c.hears("end") == ["end"]
        assert host.status(a).send["spoofed"] == 1
