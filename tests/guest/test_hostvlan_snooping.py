# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest behind -netdev hostvlan, on a Linux bridge that snoops MLD and is its own querier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.base import wait
from lab.base.net import Network
from lab.guest.guest import Guest
from lab.hosts import snooping
from lab.hosts.snooping import PAST_EXPIRY, groups, mld_queries, routers
from lab.packages import kernel
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

MAC = "52:54:00:00:00:01"
VM, FRIEND = "2001:db8::1", "2001:db8::2"
SOLICITED = "ff02::1:ff00:1"
# An MLD query to all nodes; nobody checks its checksum before its port does.
QUERY = (
    "333300000001" + MAC.replace(":", "") + "86dd"
    "6000000000200001" + "fe80" + "00" * 13 + "01" + "ff02" + "00" * 13 + "01"
    "3a00050200000100" + "82000000" + "00" * 20
)  # fmt: skip
SEND = f"""\
import glob, socket
name = glob.glob("/sys/bus/pci/devices/0000:00:10.0/virtio*/net/*")[0].rpartition("/")[2]
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind((name, 0))
    wire.send(bytes.fromhex("{QUERY}"))
"""


def test_nd_and_queries(network: Network, tmp_path: Path) -> None:
    """The guest hears the bridge and is found for good; its own queries stay with it."""
    host = network.namespace("host")
    bridge = snooping.bridge(host, querier=True)
    tap = host.tap("tap0", bridge)
    friend = network.connect(network.namespace("friend"), bridge, [f"{FRIEND}/64"]).a
    table = tmp_path / "lnid.table"
    with Table.change(table) as change:
        change.replace(Entry.of(macs.parse(mac), [7]) for mac in (MAC, friend.mac))
    netdevs = [
        *("-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off"),
        *("-netdev", f"hostvlan,id=hv0,netdev=net0,table={table},check-sender=on"),
    ]
    nic = f"virtio-net-pci,netdev=hv0,mac={MAC},addr=0x10,romfile="
    with Guest(
        netns=host, kernel=kernel.MAIN, memory="256M", smp=1, devices=[nic], arguments=netdevs
    ) as vm:
        vm.run("modprobe virtio_net")
        where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
        name = vm.wait_for(f"ls {where}").stdout.strip()
        vm.run(f"ip link set {name} up && ip address add {VM}/64 dev {name} nodad")

        def heard() -> int:
            return mld_queries(vm.run(["cat", "/proc/net/snmp6"]).stdout)

        end = heard() + PAST_EXPIRY
        wait.until(lambda: heard() >= end, "the bridge's queries reach the guest")
        # A report that comes late takes it away, until the next one.
        wait.until(lambda: SOLICITED in groups(bridge, tap), "the guest's group")
        friend.namespace.ip("neigh", "flush", "dev", friend.name)
        friend.namespace.run(["ping", "-6", "-c1", f"-w{wait.PATIENCE / 2:.0f}", VM])
        vm.run(["python3", "-c", SEND])

        def port() -> dict[str, Any]:
            (found,) = vm.qmp("query-hostvlan", id="hv0")
            return dict(found)

        wait.until(lambda: port()["send"]["multicast-query"] == 1, "the query is refused")
        assert port()["interface"] == "tap0"
        assert not routers(bridge)
