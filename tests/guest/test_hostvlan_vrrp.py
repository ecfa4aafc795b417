# SPDX-License-Identifier: GPL-2.0-or-later
"""Two VRRP routers (keepalived) in guests that may not forge senders, as docs/hostvlan.md says.

HostVLAN is in QEMU or in eBPF on the taps.  interop/test_hostvlan_vrrp.py has the same without
guests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import commandline
from lab.base.net import Namespace, Network
from lab.guest.agent import Job
from lab.guest.guest import Guest
from lab.hosts import ebpf
from lab.packages import kernel
from lab.peers import keepalived
from lab.peers.keepalived import ADDRESSES, LNID, MACS
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs

pytestmark = pytest.mark.long

_FOLDER = "/run/router"


class Router:
    """keepalived in a guest."""

    def __init__(self, guest: Guest, number: int) -> None:
        self._guest = guest
        guest.run("modprobe virtio_net && modprobe macvlan")
        where = "/sys/bus/pci/devices/0000:00:10.0/virtio*/net/"
        name = guest.wait_for(f"ls {where}").stdout.strip()
        guest.run(f"ip link set {name} up")
        ip4, ip6 = ADDRESSES[number]
        guest.run(f"ip address add {ip4}/24 dev {name}")
        guest.run(f"ip -6 address add {ip6}/64 dev {name} nodad")
        text = keepalived.configuration(name, number)
        guest.run(f"mkdir {_FOLDER} && cat >{_FOLDER}/conf", input=text)
        self._job: Job | None = None

    def start(self) -> None:
        """Start it; its log is in the guest's folder."""
        command = " ".join(keepalived.command(_FOLDER))
        self._job = self._guest.spawn(f"exec {command} >>{_FOLDER}/log 2>&1")

    def stop(self) -> None:
        """It ends with an advertisement of priority 0."""
        assert self._job
        self._guest.run(f"kill $(cat {_FOLDER}/pid)")
        self._job.wait()

    def addresses(self) -> str:
        """What it has."""
        return self._guest.run("ip -json address").stdout


def _guest(host: Namespace, number: int, filtered: str) -> Guest:
    """A guest behind a tap; ``filtered``: the options of HostVLAN in QEMU."""
    tap = f"tap{number}"
    netdevs = ["-netdev", f"tap,id=net0,ifname={tap},script=no,downscript=no,vhost=off"]
    if filtered:
        netdevs += ["-netdev", f"hostvlan,id=hv0,netdev=net0,{filtered}"]
    behind = "hv0" if filtered else "net0"
    return Guest(
        name=f"router{number}",
        netns=host,
        kernel=kernel.MAIN,
        memory="256M",
        smp=1,
        packages=("keepalived",),
        devices=[f"virtio-net-pci,netdev={behind},mac={MACS[number]},addr=0x10,romfile="],
        arguments=netdevs,
    )


@pytest.mark.parametrize("path", ["qemu", "xdp", "tc"])
def test_routers_take_turns(network: Network, tmp_path: Path, path: str) -> None:
    """Both families have one master each, which clients reach, in 20 fail-overs."""
    table = tmp_path / "lnid.table"
    where = ["--table", str(table)]
    for words in keepalived.documented():
        assert commandline.run("hostvlan", *words, *where).status == 0
    host = network.namespace("host")
    bridge = host.bridge()
    link = network.connect(network.namespace("client"), bridge)
    link.a.add_address(f"{ADDRESSES[2][0]}/24")
    link.a.add_address(f"{ADDRESSES[2][1]}/64")
    assert commandline.run("hostvlan", "add", link.a.mac, str(LNID), *where).status == 0
    with contextlib.ExitStack() as stack:
        for tap in ("tap0", "tap1"):
            host.tap(tap, bridge)
        filtered = f"table={table},check-sender=on" if path == "qemu" else ""
        if path != "qemu":
            ebpf.compiled()
            stack.enter_context(_attached(host, table, "xdp" if path == "xdp" else "tc"))
        routers = [
            Router(stack.enter_context(_guest(host, number, filtered)), number) for number in (0, 1)
        ]
        for each in routers:
            each.start()
        pair = keepalived.Pair(routers, link.a.namespace, link.a.name)
        pair.master(0)
        pair.fail_over(20)


@contextlib.contextmanager
def _attached(host: Namespace, table: Path, sending: twin.Sending) -> Iterator[None]:
    """HostVLAN in eBPF on both taps."""
    taps = ("tap0", "tap1")
    with host.entered():
        for tap, mac in zip(taps, MACS, strict=False):
            twin.attach(tap, macs.parse(mac), table, sending=sending, check_sender=True)
    try:
        yield
    finally:
        with host.entered():
            for tap in taps:
                twin.detach(tap)
