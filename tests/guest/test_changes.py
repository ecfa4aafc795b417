# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of the host under devices of QEMU: each serves again, and no outage is without a line.

The table is in build/changes-qemu.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.guest.guest import Guest
from lab.hosts import changes
from lab.hosts.changes import Place, Report, Subject
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import CORRESPONDENT_ADDRESS
from lab.packages import kernel
from lab.peers.lab import HOST_ADDRESS, PEER_ADDRESS, VM_ADDRESS, lab
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

pytestmark = pytest.mark.long

MAC = 0x525400001101
#: Outages that nothing tells of. The test bed's interfaces keep their addresses while they are
#: down (keep_addr_on_down), so the VM's address is still the host's; the guest gets errors.
SILENT = {"virtio-vmrpc": {"down, up"}}


def events(guest: Guest) -> list[str]:
    """All that QEMU has told: by QMP's events, and on standard error."""
    guest.qmp("query-version")
    told = [f"{each['event']} {json.dumps(each.get('data'))}" for each in guest.monitor._events]
    return told + guest.stderr_path.read_text().splitlines()


def gets(guest: Guest, command: str) -> bool:
    """Whether a command of the guest succeeds."""
    return guest.run(command, check=False).rc == 0


@contextlib.contextmanager
def vmrpc(folder: Path) -> Iterator[list[Subject]]:
    """Connections from the VM's address, which is on a bridge."""
    with lab() as world:
        bridge, uplink = world.host.bridge(), world.link.a
        world.host.ip("address", "flush", "dev", uplink.name, "scope", "global")
        world.host.ip("link", "set", uplink.name, "master", bridge.name)
        for address in (f"{HOST_ADDRESS}/64", f"{VM_ADDRESS}/128"):
            bridge.add_address(address)
        world.host.ip("-6", "route", "replace", "2001:db8:80::/64", "via", PEER_ADDRESS)
        with world.guest(kernel.MAIN) as guest:

            def serves() -> bool:
                # A question of curl takes a second of a busy host, to start it.
                return gets(guest, "timeout 1 bash -c 'exec 3<>/dev/tcp/www.test/80'")

            def says() -> str:
                (device,) = guest.qmp("query-vmrpc", id="vmrpc0", sockets_limit=0)
                claim = f"query-vmrpc: {device.get('address6-claim')}"
                return "\n".join([*events(guest), claim])

            yield [Subject("virtio-vmrpc", Place(bridge), serves, says)]


@contextlib.contextmanager
def mip6(folder: Path) -> Iterator[list[Subject]]:
    """A VM that is away: its tap, and the bridge that the tap is a port of."""
    with mobility.world() as world, world.agent():
        tap = world.foreign.tap("tap0")
        with Guest(
            name="mobile",
            netns=world.foreign.host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[mobility.DEVICE],
            arguments=mobility.arguments(tap),
        ) as guest:
            roaming.configure(guest)
            guest.run("ip -6 route replace default via fe80::1 dev eth0")
            roaming.await_bound(guest)
            roaming.pings(guest)

            def serves() -> bool:
                return gets(guest, f"ping -n -c 1 -W 0.5 {CORRESPONDENT_ADDRESS}")

            def says() -> str:
                info = roaming.info(guest)
                state = f"query-mip6: {info['state']}, {info.get('reason')}"
                return "\n".join([*events(guest), state])

            yield [
                Subject(f"mip6, {what}", Place(interface), serves, says)
                for what, interface in (("bridge", world.foreign.bridge), ("tap", tap))
            ]


@contextlib.contextmanager
def hostvlan(folder: Path) -> Iterator[list[Subject]]:
    """A VM and a node of its tenant: its tap, and the bridge that the tap is a port of."""
    table = folder / "table"
    Table.create(table)
    with Network() as network:
        host, node = network.namespace("host"), network.namespace("node")
        bridge = host.bridge()
        link = network.connect(node, bridge, ["192.0.2.1/24"])
        tap = host.tap("tap0", bridge)
        with Table.change(table) as change:
            for mac in (MAC, macs.parse(link.a.mac)):
                change.set(Entry.of(mac, [7]))
        with Guest(
            netns=host,
            kernel=kernel.MAIN,
            memory="256M",
            devices=[f"virtio-net-pci,netdev=hv0,mac={macs.text(MAC)},romfile="],
            arguments=[
                *("-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"),
                *("-netdev", f"hostvlan,id=hv0,netdev=net0,table={table}"),
            ],
        ) as guest:
            guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
            guest.run("ip link set eth0 up; ip address add 192.0.2.2/24 dev eth0")
            guest.wait_for("ping -n -c 1 -W 1 192.0.2.1")

            def serves() -> bool:
                return gets(guest, "ping -n -c 1 -W 0.5 192.0.2.1")

            yield [
                Subject(
                    f"hostvlan, {what}", Place(interface), serves, lambda: "\n".join(events(guest))
                )
                for what, interface in (("bridge", bridge), ("tap", tap))
            ]


Bed = Callable[[Path], AbstractContextManager[Sequence[Subject]]]


@pytest.fixture(scope="module")
def report() -> Report:
    return Report("changes-qemu.md")


@pytest.mark.parametrize("bed", [vmrpc, mip6, hostvlan])
def test_no_outage_without_a_line(report: Report, bed: Bed, tmp_path: Path) -> None:
    """Whatever changes, it serves on, or serves again when the change is over and has told."""
    with bed(tmp_path) as subjects:
        for subject in subjects:
            outcomes = changes.tried(subject)
            report.add(subject.name, outcomes)
            assert None not in [outcome.after for outcome in outcomes.values()]
            silent = {name for name, outcome in outcomes.items() if outcome.silent}
            assert silent <= SILENT.get(subject.name, set())
