# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines on a foreign link and a correspondent, with a local address or the home address.

    foreign router ---- host B: br0 --- tap --- QEMU --- guest
                                    --- tap --- QEMU, tap --- namespace ("wire")

All links except those into guests carry frames of 1500 octets, that is, no super-frames. A wire is
a QEMU without a guest (forwarder.py), whose other end replaces the guest, so that only QEMU and the
network cost time.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from lab.base import process, wait
from lab.base.net import Interface, Namespace, Network
from lab.guest.guest import Guest
from lab.mip6 import mobile, mobility
from lab.mip6.mobility import (
    AGENT_ADDRESS,
    CORRESPONDENT_ADDRESS,
    FOREIGN_PREFIX,
    HOME_ADDRESS,
    HOME_PREFIX,
    World,
)
from lab.packages import kernel

from ..base import forwarder, loads, measure, paths
from ..base.forwarder import Pair
from ..base.loads import Load, Metric, Values
from ..base.paths import Path

#: Places: in a guest, or at the end of a wire.
GUEST, WIRE = "", "wire-"
LOCAL, AGAIN, STAGE, MIP6, IP6TNL = "local", "local-again", "stage", "mip6", "ip6tnl"
#: Cases of each place.
CASES = {
    GUEST: {
        LOCAL: "a local address: the limit",
        AGAIN: "the same, again",
        MIP6: "-netdev mip6",
        IP6TNL: "ip6tnl of the guest's kernel",
    },
    WIRE: {
        LOCAL: "a local address: the limit",
        AGAIN: "the same, again",
        STAGE: "the same behind an empty stage",
        MIP6: "-netdev mip6",
        IP6TNL: "ip6tnl of the host's kernel, where it has one",
    },
}

#: Loads of TCP, both ways.
BULK = ("send-1MiB", "receive-1MiB")
# The rate of the paper's link.
_LINK = "rate 100mbit burst 16k latency 20ms"
_LIFETIME = 7200
_HOMES = {GUEST + IP6TNL: f"{HOME_PREFIX}::11", WIRE + MIP6: f"{HOME_PREFIX}::12"}
_HOMES |= {GUEST + MIP6: HOME_ADDRESS, WIRE + IP6TNL: f"{HOME_PREFIX}::13"}
_WIRES = (LOCAL, STAGE, MIP6, IP6TNL)
_GUESTS = (LOCAL, MIP6, IP6TNL)
_NUMBERS = itertools.count(0x20)
_SEQUENCE = itertools.count(1)
#: The routers of the foreign link and of the home link.
ROUTER, HOME_ROUTER = f"{FOREIGN_PREFIX}::ffff", f"{HOME_PREFIX}::ffff"


@dataclass(frozen=True)
class Place:
    """A machine on the foreign link, and its QEMU."""

    path: Path
    pid: int

    def measure(self, load: Load, seconds: int) -> Values:
        """Measure once, and add QEMU's time for a GB or for a round trip."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.path.active())
            if load.name == loads.LATENCY:
                # With the home agent, which is on the path.
                stack.enter_context(measure.one_processor(*process.owned()))
            before, own_before = measure.seconds(self.pid), measure.own_seconds(self.pid)
            values = load.measure(self.path, seconds)
            spent = measure.seconds(self.pid) - before
            own = measure.own_seconds(self.pid) - own_before
        if load.name == loads.LATENCY:
            done = trips(values["latency-mean"], seconds)
        elif load.name in BULK:
            done = gigabytes(values[f"throughput-{load.name}"], seconds)
        else:
            return values
        return {**values, f"qemu-{load.name}": spent / done, f"own-{load.name}": own / done}


def gigabytes(megabits: float, seconds: float) -> float:
    """Return the GB (10^9 octets) sent in a time at a rate in Mbit/s."""
    return megabits * seconds / 8000


def trips(mean: float, seconds: float) -> float:
    """Return the millions of round trips in a time, from microseconds of each."""
    return seconds / mean


@contextlib.contextmanager
def _limited(host: Namespace, router: Namespace) -> Iterator[None]:
    """Limit the host's uplink to _LINK, both ways."""
    (uplink,) = _wires_of(host)
    ends = ((host, uplink), (router, f"{uplink[:-1]}b"))
    for space, name in ends:
        space.run(["tc", "qdisc", "add", "dev", name, "root", "tbf", *_LINK.split()])
    try:
        yield
    finally:
        for space, name in ends:
            space.run(["tc", "qdisc", "del", "dev", name, "root"])


def on_link(world: World, base: Load) -> Load:
    """A load of TCP over a slow link, which a guest can fill in every case."""
    name = f"link-{base.name}"

    def run(path: Path, seconds: int) -> Values:
        with _limited(world.foreign.host, world.foreign.router):
            values = base.measure(path, seconds)
        return {name: values[f"throughput-{base.name}"], "others": values["others"]}

    title = f"{base.metrics[0].title}, link of 100 Mbit/s"
    return Load(name, (Metric(name, "Mbit/s", True, title),), run)


def local(device: str, address: str, router: str) -> Iterator[str]:
    """Return commands that give a machine its address and its router."""
    yield f"ip address add {address}/64 dev {device} nodad"
    yield f"ip link set dev {device} up"
    yield f"ip -6 route replace default via {router} dev {device}"


def _tunnel(device: str, care_of: str, home: str) -> Iterator[str]:
    """Return commands that make a machine's kernel the end of its tunnel."""
    *address, _ = local(device, care_of, ROUTER)
    yield from address
    yield f"ip -6 route add {AGENT_ADDRESS}/128 via {ROUTER} dev {device}"
    ends = f"local {care_of} remote {AGENT_ADDRESS}"
    yield f"ip -6 tunnel add home0 mode ip6ip6 {ends} encaplimit none dev {device}"
    yield f"ip address add {home}/128 dev home0 nodad"
    yield "ip link set dev home0 up mtu 1460"
    yield "ip -6 route add default dev home0"


def _register(world: World, care_of: str, home: str) -> None:
    """Make the binding for a kernel without a mobile node; requests no acknowledgement."""
    bridge = Interface(world.foreign.host, world.foreign.bridge.name)
    with contextlib.closing(mobile.Node(bridge, world.foreign.link.mac)) as node:
        node.send(
            mobile.binding_update(care_of, next(_SEQUENCE), _LIFETIME, home, mobile.HOME),
        )


def _commands(world: World, where: str, name: str, device: str) -> list[str]:
    """Return the commands for the machine of a case."""
    home = _HOMES.get(where + name)
    if name == MIP6:
        assert home is not None
        return [*local(device, home, HOME_ROUTER)]
    address = f"{FOREIGN_PREFIX}::{next(_NUMBERS):x}"
    if home is None:
        return [*local(device, address, ROUTER)]
    _register(world, address, home)
    return [*_tunnel(device, address, home)]


def _netdev(world: World, where: str, name: str) -> str | None:
    """Return the netdev between the tap and the machine, without netdev=."""
    if name == STAGE:
        return "stage,id=st0"
    return away(world, _HOMES[where + name]) if name == MIP6 else None


def away(world: World, home_address: str) -> str:
    """-netdev mip6 of a machine away from home, without netdev=."""
    home = f"home-address={home_address},home-prefix-length=64"
    options = f"home-agent={AGENT_ADDRESS},location=away,router-mac={world.home.link.mac}"
    return f"mip6,id=mip0,{home},{options}"


def _await_bound(command: Callable[..., Any]) -> None:
    wait.until(lambda: command("query-mip6")[0]["state"] == "bound", "a binding")


@contextlib.contextmanager
def _guest(world: World, name: str, pingpong: File) -> Iterator[Place]:
    tap = world.foreign.tap(f"{name}0")
    netdevs = [f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"]
    middle = _netdev(world, GUEST, name)
    if middle:
        netdevs.append(f"{middle},netdev=net0")
    with Guest(
        name=name,
        netns=world.foreign.host,
        kernel=kernel.MAIN,
        memory="256M",
        devices=[f"virtio-net-pci,netdev={'mip0' if middle else 'net0'},romfile="],
        arguments=[word for netdev in netdevs for word in ("-netdev", netdev)],
        files={paths.PINGPONG: pingpong},
    ) as guest:
        guest.run("modprobe virtio_net; modprobe ip6_tunnel")
        guest.wait_for("ip link show dev eth0")
        guest.run("sysctl -qw net.ipv6.conf.eth0.accept_ra=0 net.ipv6.conf.eth0.accept_dad=0")
        for command in _commands(world, GUEST, name, "eth0"):
            guest.run(command)
        if middle:
            _await_bound(guest.qmp)
        guest.wait_for(f"ping -c1 -W1 {CORRESPONDENT_ADDRESS}")
        peer = CORRESPONDENT_ADDRESS
        path = Path(name, world.foreign.host, world.correspondent, peer, peer, pingpong, guest)
        path.pause()
        yield Place(path, guest.pid)


@contextlib.contextmanager
def _wire(world: World, name: str, pingpong: File, folder: File) -> Iterator[Place]:
    host = world.foreign.host
    near, far = world.foreign.tap(f"{name}w"), f"{name}wfar"
    host.tap(far)
    pair = Pair(near.name, far, _netdev(world, WIRE, name))
    with forwarder.opened(host, folder, pair) as running:
        space = world.network.namespace(f"wire-{name}")
        host.ip("link", "set", "dev", far, "netns", space.netns)
        for command in _commands(world, WIRE, name, far):
            space.run(command.split())
        if name == MIP6:
            _await_bound(running.qmp.command)
        ping = ["ping", "-c1", "-W1", CORRESPONDENT_ADDRESS]
        wait.until(lambda: space.run(ping, check=False).returncode == 0, "the correspondent")
        peer = CORRESPONDENT_ADDRESS
        path = Path(WIRE + name, space, world.correspondent, peer, peer, pingpong)
        yield Place(path, running.pid)


def _has_tunnels() -> bool:
    """Return whether the host's kernel has ip6tnl; the guests' kernel has it."""
    with Network() as network:
        space = network.namespace("tunnels")
        command = ["ip", "link", "add", "try0", "type", "ip6tnl"]
        return space.run(command, check=False).returncode == 0


def _wires_of(space: Namespace) -> list[str]:
    names = space.run(["ls", "/sys/class/net"]).stdout.split()
    return [name for name in names if name.startswith("veth")]


def without_super_frames(world: World) -> None:
    """Limit links to frames of their MTU, as real wires."""
    hosts = [space for site in (world.home, world.foreign) for space in (site.router, site.host)]
    for space in (*hosts, world.agent_host, world.correspondent):
        for name in _wires_of(space):
            space.ip("link", "set", "dev", name, "gso_max_segs", "1")


@contextlib.contextmanager
def opened(pingpong: File, folder: File) -> Iterator[tuple[World, dict[str, Place]]]:
    """Build the networks and all machines, by place and name."""
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(mobility.world())
        without_super_frames(world)
        others = [f"allow {home}" for home in _HOMES.values() if home != HOME_ADDRESS]
        stack.enter_context(world.agent(_LIFETIME, *others))
        places = {
            WIRE + name: stack.enter_context(_wire(world, name, pingpong, folder))
            for name in _WIRES
            if name != IP6TNL or _has_tunnels()
        }
        for name in _GUESTS:
            places[GUEST + name] = stack.enter_context(_guest(world, name, pingpong))
        for where in (GUEST, WIRE):
            places[where + AGAIN] = places[where + LOCAL]
        yield world, places
