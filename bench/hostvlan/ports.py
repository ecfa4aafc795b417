# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of a host: VMs, each on a bridge with its peer.

    guest   eth0 --- tap0 --------- br0 --- peer     with what the host filters by
            eth1 --- tap1 --------- br1 --- peer     behind -netdev hostvlan
            eth2 --- tap2 --------- br2 --- peer     never with anything
    process      --- veth --------- br3 --- peer     as eth0, without QEMU
    wire    tap4 --- QEMU, tap4 --- br4 --- peer     as eth0, without a guest
            tap5 --- QEMU, tap5 --- br5 --- peer     as eth1
            tap6 --- QEMU, tap6 --- br6 --- peer     as eth2
            tap7 --- QEMU, tap7 --- br7 --- peer     behind -netdev stage

All bridges are on one host, all peers in one namespace, and the three NICs in one guest, so that
only the filters of the ports differ. Each wire has a QEMU of its own (forwarder.py), as in a shared
QEMU the third wire would take longer than the first. Each bridge also has a stranger, a machine
that no table contains, to test the filters before the measurement.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.guest.guest import Guest
from vmmnet.qmp import Qmp
from vmmnet.values import mac as macs

from ..base import forwarder
from ..base.forwarder import Pair
from ..base.paths import PINGPONG, Path
from . import tenants

#: Number of ports, and of machines on them.
PARTS = 8
#: -netdev hostvlan of the guest, and of the QEMU without a guest.
NETDEV, WIRE_NETDEV = "hv0", "hv1"
# The VMs' numbers: NICs of the guest, the process, the wires.
_NICS, _PROCESS, _WIRES = range(3), 3, range(4, 8)
# Each port has a network: the peer's address, the VM's, the stranger's.  RFC 2544.
_PREFIX = "198.18"
_PAGE = "/srv/bench/page"
_NGINX = "/etc/nginx/bench.conf"
_NGINX_CONFIG = b"""\
worker_processes 1;
pid /run/nginx-bench.pid;
error_log /var/log/nginx-bench.log;
events { worker_connections 512; }
http {
    access_log off;
    server { listen 80; root /srv/bench; }
}
"""
_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
# By default the kernel passes frames of bridges to IP filters (bridge-nf-call); on a host without
# IP filters this costs all paths the same.
_BRIDGED_ONLY = [f"net.bridge.bridge-nf-call-{which}=0" for which in ("iptables", "arptables")]


@dataclass(frozen=True)
class Port:
    """A port of the host, and the path from its VM to the peer."""

    interface: Interface
    mac: int
    path: Path
    address: str
    stranger: Namespace

    @property
    def url(self) -> str:
        """URL of the VM's page of 1 KB."""
        return f"http://{self.address}/page"

    def admits_stranger(self) -> bool:
        """Return whether the stranger gets an answer from the VM."""
        limit = ["-c1", "-w1"]
        ping = ["ping", "-n", "-q", *limit, self.address]
        return self.stranger.run(ping, check=False).returncode == 0

    def await_stranger(self) -> None:
        """Wait until the stranger gets an answer."""
        limit = ["-c1", "-w", f"{wait.PATIENCE:.0f}"]
        self.stranger.run(["ping", "-n", "-q", *limit, self.address])


@dataclass(frozen=True)
class Ports:
    """All of them."""

    host: Namespace
    guest: Guest
    #: Monitor of the QEMU without a guest that has HostVLAN.
    forwarder: Qmp
    filtered: Port
    hostvlan: Port
    other: Port
    process: Port
    wire: Port
    wire_hostvlan: Port
    wire_other: Port
    wire_stage: Port


def _address(port: int, machine: int) -> str:
    return f"{_PREFIX}.{port}.{machine}"


class _Builder:
    """Builds the ports, number by number."""

    def __init__(self, network: Network, pingpong: File) -> None:
        self._network, self._pingpong = network, pingpong
        self.host, self._peer = network.namespace("host"), network.namespace("peer")
        for space in (self.host, self._peer):
            space.sysctl(_QUIET)
        self.host.run(["sysctl", "-eqw", *_BRIDGED_ONLY])
        self._bridges = [self.host.bridge(f"br{port}") for port in range(PARTS)]

    def tap(self, number: int) -> Interface:
        return self.host.tap(f"tap{number}", self._bridges[number])

    def process(self, number: int) -> tuple[Interface, Namespace]:
        """Make a namespace on the bridge in place of a VM."""
        space = self._network.namespace("process")
        space.sysctl(_QUIET)
        link = self._network.connect(space, self._bridges[number])
        _dress(link.a, number)
        return link.b, space

    def wire(self, number: int, near: Interface) -> Namespace:
        """Make a namespace at the far end of a wire in place of a VM; its QEMU exists."""
        space = self._network.namespace(f"wire{number}")
        space.sysctl(_QUIET)
        self.host.ip("link", "set", "dev", _far(near), "netns", space.netns)
        end = Interface(space, _far(near))
        _dress(end, number)
        end.up()
        return space

    def port(self, number: int, interface: Interface, where: Guest | Namespace) -> Port:
        """Give a port its peer and its stranger."""
        bridge = self._bridges[number]
        link = self._network.connect(self._peer, bridge)
        _set_mac(link.a, tenants.peer(number))
        link.a.add_address(f"{_address(number, 1)}/24")
        stranger = self._network.namespace(f"stranger{number}")
        stranger.sysctl(_QUIET)
        self._network.connect(stranger, bridge, [f"{_address(number, 3)}/24"])
        host, guest = (self.host, where) if isinstance(where, Guest) else (where, None)
        target = _address(number, 1)
        path = Path(interface.name, host, self._peer, target, target, self._pingpong, guest)
        return Port(interface, tenants.vm(number), path, _address(number, 2), stranger)


def _dress(interface: Interface, number: int) -> None:
    """Give an interface the addresses of the VM with this number."""
    _set_mac(interface, tenants.vm(number))
    interface.add_address(f"{_address(number, 2)}/24")


def _far(near: Interface) -> str:
    """Return the name of a wire's other tap."""
    return f"{near.name}far"


def _set_mac(interface: Interface, mac: int) -> None:
    interface.namespace.ip("link", "set", "dev", interface.name, "address", macs.text(mac))


def _guest(host: Namespace, taps: Sequence[Interface], table: File, pingpong: File) -> Guest:
    arguments, devices = [], []
    for number, tap in enumerate(taps):
        backend = f"tap,id=net{number},ifname={tap.name},script=no,downscript=no,vhost=off"
        arguments += ["-netdev", backend]
        top = f"net{number}"
        if number == _NICS[1]:
            arguments += ["-netdev", f"hostvlan,id={NETDEV},netdev={top},table={table}"]
            top = NETDEV
        devices.append(f"virtio-net-pci,netdev={top},mac={macs.text(tenants.vm(number))}")
    return Guest(
        name="tenant",
        netns=host,
        devices=devices,
        arguments=arguments,
        ipv6=False,
        files={PINGPONG: pingpong, _PAGE: b"x" * 1024, _NGINX: _NGINX_CONFIG},
    )


def _settle(guest: Guest, numbers: Sequence[int]) -> None:
    """Give the NICs their addresses, and start the web server."""
    guest.run("modprobe virtio_net")
    for number in numbers:
        mac = macs.text(tenants.vm(number))
        name = guest.wait_for(f"grep -l {mac} /sys/class/net/*/address").stdout.split("/")[4]
        guest.run(f"ip address add {_address(number, 2)}/24 dev {name}")
        guest.run(f"ip link set dev {name} up")
    # nginx returns when it listens.
    guest.run(["nginx", "-c", _NGINX])


def _pairs(taps: Sequence[Interface], table: File) -> Iterator[Pair]:
    """Yield the pairs that the QEMUs without a guest connect."""
    for number, tap in zip(_WIRES, taps, strict=True):
        middle = None
        if number == _WIRES[1]:
            mac = macs.text(tenants.vm(number))
            middle = f"hostvlan,id={WIRE_NETDEV},table={table},mac={mac}"
        elif number == _WIRES[3]:
            middle = "stage,id=st0"
        yield Pair(tap.name, _far(tap), middle)


@contextlib.contextmanager
def opened(pingpong: File, folder: File, table: File) -> Iterator[Ports]:
    """Set everything up; the ports in QEMU read ``table``."""
    with contextlib.ExitStack() as stack:
        builder = _Builder(stack.enter_context(Network()), pingpong)
        taps = [builder.tap(number) for number in _NICS]
        veth, space = builder.process(_PROCESS)
        wires = [builder.tap(number) for number in _WIRES]
        for tap in wires:
            builder.host.tap(_far(tap))
        forwarders = [
            stack.enter_context(forwarder.opened(builder.host, folder, pair))
            for pair in _pairs(wires, table)
        ]
        ends = [builder.wire(number, tap) for number, tap in zip(_WIRES, wires, strict=True)]
        guest = stack.enter_context(_guest(builder.host, taps, table, pingpong))
        _settle(guest, _NICS)
        filtered, hostvlan, other = (
            builder.port(number, tap, guest) for number, tap in zip(_NICS, taps, strict=True)
        )
        process = builder.port(_PROCESS, veth, space)
        of_wires = [
            builder.port(number, tap, end)
            for number, tap, end in zip(_WIRES, wires, ends, strict=True)
        ]
        monitor = forwarders[1].qmp
        yield Ports(builder.host, guest, monitor, filtered, hostvlan, other, process, *of_wires)
