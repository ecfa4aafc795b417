# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts and wires: network namespaces, veth pairs and bridges.

    with Network() as net:
        host, peer = net.namespace("host"), net.namespace("peer")
        link = net.connect(host, peer, ["2001:db8::1/64"], ["2001:db8::2/64"])
        peer.run(["ping", "-c1", "2001:db8::1"])

Names begin with ``vmmnet-<pid>-``.  Leaving the context ends the processes
that were started inside and removes the namespaces, and with them their
interfaces; ``reap_stale`` does so for owners that were killed.  Addresses
are usable at once: duplicate address detection is off.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import process, scratch, tools, wait
from .lock import locked
from .rough import SMOOTH, Rough, Trunk, observe

_PREFIX = "vmmnet-"
_serial = itertools.count(1)
# IFNAMSIZ leaves 15 characters; two ends of one link share a number.
_links = itertools.count(1)


_CLONE_NEWNET = 0x40000000

#: Timers of bridges that snoop, in hundredths of a second: a group expires after 6 s without a
#: report; queries go out each second, as reports are late on a busy machine. A querier never
#: expires during a test, as no test needs that.
_TIMERS = {
    "mcast_query_interval": 100,
    "mcast_startup_query_interval": 100,
    "mcast_query_response_interval": 50,
    "mcast_last_member_interval": 50,
    "mcast_membership_interval": 600,
    "mcast_querier_interval": 60000,
}


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _ip(*words: str) -> str:
    return tools.run(["ip", *words])


@dataclass(frozen=True)
class Interface:
    """A network interface inside a namespace."""

    namespace: Namespace
    name: str

    def _set(self, *words: str) -> None:
        self.namespace.ip("link", "set", "dev", self.name, *words)

    def up(self) -> None:
        """Switch the interface on."""
        self._set("up")

    def down(self) -> None:
        """Switch the interface off; the other end of a veth loses its carrier."""
        self._set("down")

    def has_carrier(self) -> bool:
        """Whether the interface is on and the other end of its wire too."""
        return "LOWER_UP" in self.namespace.ip("link", "show", "dev", self.name)

    def set_mtu(self, mtu: int) -> None:
        """Change the largest packet, in bytes."""
        self._set("mtu", str(mtu))

    def cut_super_frames(self, on: bool = True) -> None:
        """Limit frames to the MTU, as real wires do; ``on=False``: allow super-frames again."""
        self._set("gso_max_segs", "1" if on else "65535")

    def add_address(self, address: str) -> None:
        """Add an address with its prefix length; usable at once."""
        nodad = ["nodad"] if ":" in address else []
        self.namespace.ip("address", "add", address, "dev", self.name, *nodad)

    def remove_address(self, address: str) -> None:
        """Take an address away again."""
        self.namespace.ip("address", "del", address, "dev", self.name)

    @property
    def mac(self) -> str:
        """The link-layer address."""
        path = f"/sys/class/net/{self.name}/address"
        return self.namespace.run(["cat", path]).stdout.strip()


class Namespace:
    """A network namespace: one host, or one switch, of the test network."""

    def __init__(self, name: str, netns: str, network: Network | None = None) -> None:
        self.name = name
        self.netns = netns
        self._network = network
        self._children: list[subprocess.Popen[bytes]] = []

    def ip(self, *words: str) -> str:
        """Run ``ip`` inside."""
        return _ip("-n", self.netns, *words)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        timeout: float = wait.PATIENCE,
        check: bool = True,
        input: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside to its end; with ``check`` an error raises."""
        with self.started(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            data = (input or "").encode()
            out, err = (
                stream.decode(errors="replace")
                for stream in child.communicate(data, timeout=timeout)
            )
        done = subprocess.CompletedProcess(list(command), child.returncode, out, err)
        if check and done.returncode:
            raise tools.CommandFailed(
                f"{self.name}: {' '.join(map(str, command))}: exit {done.returncode}\n{out}{err}"
            )
        return done

    @property
    def children(self) -> Sequence[subprocess.Popen[bytes]]:
        """The programs that were started here, ended ones included."""
        return self._children

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move this thread inside for the time of a block; sockets made in it stay there."""
        inside = os.open(f"/run/netns/{self.netns}", os.O_RDONLY | os.O_CLOEXEC)
        outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(inside)
            try:
                yield
            finally:
                _enter(outside)
        finally:
            os.close(inside)
            os.close(outside)

    def popen(self, command: Sequence[str | Path], **streams: Any) -> subprocess.Popen[bytes]:
        """Start a program inside; it ends, at the latest, with the network.

        ``streams`` are those of process.start.
        """
        child = process.start(command, netns=self.netns, **streams)
        self._children.append(child)
        return child

    def popen_with_sys(
        self, command: Sequence[str | Path], **streams: Any
    ) -> subprocess.Popen[bytes]:
        """Do the same with the host's /sys, which ``popen`` hides; for users of /sys/fs/bpf."""
        words = ["nsenter", f"--net=/run/netns/{self.netns}", *command]
        child = process.start(words, **streams)
        self._children.append(child)
        return child

    @contextlib.contextmanager
    def started(
        self, command: Sequence[str | Path], **streams: Any
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program inside for the time of a ``with`` block."""
        child = process.start(command, netns=self.netns, **streams)
        try:
            yield child
        finally:
            process.stop(child)

    def sysctl(self, settings: Mapping[str, str | int]) -> None:
        """Set kernel parameters of the namespace, such as forwarding."""
        for key, value in settings.items():
            self.run(["sysctl", "-qw", f"{key}={value}"])

    def route(self, destination: str, via: str) -> None:
        """Add a route; ``default`` is a destination too."""
        family = "-6" if ":" in via else "-4"
        self.ip(family, "route", "add", destination, "via", via)

    def bridge(
        self,
        name: str = "br0",
        *,
        snooping: bool | None = None,
        querier: bool | None = None,
        own_mac: bool | None = None,
    ) -> Interface:
        """Make a learning bridge without spanning tree, switched on.

        With ``snooping`` and ``querier`` groups reach only the ports behind which a node reported
        them.  Without ``own_mac`` the bridge has, as the system has it, the lowest MAC address of
        its ports.  By default it is as rough as the network.
        """
        rough = self._network.rough if self._network else SMOOTH
        asks = rough.snoops if querier is None else querier
        snoops = ["mcast_snooping", str(int(rough.snoops if snooping is None else snooping))]
        timers = [word for each, value in _TIMERS.items() for word in (each, str(value))]
        self.ip("link", "add", name, "type", "bridge", "stp_state", "0", *snoops, *timers)
        self.ip("link", "set", name, "type", "bridge", "mcast_querier", str(int(asks)))
        bridge = Interface(self, name)
        if not rough.system_macs if own_mac is None else own_mac:
            bridge._set("address", bridge.mac)
        bridge.up()
        if self._network:
            self._network.roughen(bridge)
        return bridge

    def tap(self, name: str, bridge: Interface | None = None) -> Interface:
        """Make a tap for a QEMU to open by name, on a bridge if one is given."""
        self.ip("tuntap", "add", name, "mode", "tap")
        if bridge is not None:
            self.ip("link", "set", name, "master", bridge.name)
        tap = Interface(self, name)
        tap.up()
        if self._network:
            self._network.observe(tap)
        return tap

    @contextlib.contextmanager
    def capture(self, interface: str, file: Path, expression: str = "") -> Iterator[Path]:
        """Record an interface into a pcap file for the time of a block."""
        command = ["tcpdump", "-i", interface, "-U", "--immediate-mode", "-w", str(file)]
        with self.started([*command, *expression.split()], stderr=subprocess.PIPE) as child:
            assert child.stderr is not None
            for line in child.stderr:
                if b"listening on" in line:
                    break
            else:
                raise RuntimeError(f"tcpdump on {interface} ended at once")
            yield file
            # SIGINT makes tcpdump write what it has seen before it ends.
            child.send_signal(signal.SIGINT)
            child.wait(wait.PATIENCE)

    def close(self) -> None:
        """End the processes inside and remove the namespace."""
        for child in reversed(self._children):
            process.stop(child)
        _remove(self.netns)


@dataclass(frozen=True)
class Link:
    """A veth pair."""

    a: Interface
    b: Interface

    def down(self) -> None:
        """Cut the wire."""
        self.a.down()

    def up(self) -> None:
        """Repair the wire and wait until both ends have a carrier."""
        self.a.up()
        for end in (self.a, self.b):
            wait.until(end.has_carrier, f"carrier of {end.name}")


class Network:
    """All namespaces of one test.  A context manager."""

    def __init__(self, rough: Rough = SMOOTH) -> None:
        self.rough = rough
        self._stack = contextlib.ExitStack()
        self._tag = f"{_PREFIX}{os.getpid()}-{next(_serial)}"

    def __enter__(self) -> Network:
        tools.require("ip")
        process.unwind_on_signals()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def namespace(self, name: str) -> Namespace:
        """Make a namespace with its loopback up."""
        space = Namespace(name, f"{self._tag}-{name}", self)
        self._stack.callback(space.close)
        _ip("netns", "add", space.netns)
        space.ip("link", "set", "lo", "up")
        settings = {"accept_dad": 0, "dad_transmits": 0, "accept_ra": 0, "keep_addr_on_down": 1}
        space.sysctl({f"net.ipv6.conf.default.{key}": value for key, value in settings.items()})
        return space

    def connect(
        self,
        a: Namespace | Interface,
        b: Namespace | Interface,
        addresses_a: Sequence[str] = (),
        addresses_b: Sequence[str] = (),
    ) -> Link:
        """Join two hosts, or a host and a bridge, by a veth pair that is up."""
        number = next(_links)
        ends = [_space(a), _space(b)]
        names = [f"veth{number}a", f"veth{number}b"]
        _ip(
            *("-n", ends[0].netns, "link", "add", names[0], "type", "veth"),
            *("peer", "name", names[1], "netns", ends[1].netns),
        )
        link = Link(Interface(ends[0], names[0]), Interface(ends[1], names[1]))
        for place, end in ((a, link.a), (b, link.b)):
            if isinstance(place, Interface):
                place.namespace.ip("link", "set", end.name, "master", place.name)
            end.up()
        link.up()
        for end, addresses in ((link.a, addresses_a), (link.b, addresses_b)):
            self.observe(end)
            for address in addresses:
                end.add_address(address)
        return link

    def observe(self, interface: Interface) -> None:
        """Have programs of somebody else on an interface, if the network is as rough as that."""
        if self.rough.observers:
            with interface.namespace.entered():
                self._stack.push(observe(socket.if_nametoindex(interface.name)))

    def roughen(self, bridge: Interface) -> None:
        """Give a new bridge what the network has."""
        self.observe(bridge)
        if self.rough.trunks:
            port = self.trunk(bridge)
            # The node behind it hears all groups, as a router does.
            bridge.namespace.run(["bridge", "link", "set", "dev", port.name, "mcast_router", "2"])

    def trunk(self, place: Namespace | Interface) -> Interface:
        """Make a Trunk, as a port of a bridge, or in a namespace for another switch."""
        link = self.connect(self._trunks, place)
        with self._trunks.entered():
            self._stack.callback(Trunk(link.a.name, link.a.mac).close)
        return link.b

    @functools.cached_property
    def _trunks(self) -> Namespace:
        """Where the other ends of trunks are."""
        made = self.namespace("trunks")
        made.sysctl({"net.ipv6.conf.default.disable_ipv6": 1})
        return made


def _space(place: Namespace | Interface) -> Namespace:
    return place.namespace if isinstance(place, Interface) else place


def _remove(netns: str) -> None:
    """Kill the processes in a namespace, then remove it."""
    listed = subprocess.run(
        [tools.find("ip"), "netns", "pids", netns], capture_output=True, text=True
    )
    for pid in listed.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    if netns in existing():
        _ip("netns", "delete", netns)


def existing(pid: int | None = None) -> list[str]:
    """Names of test bed namespaces, of one owner or of all."""
    prefix = _PREFIX if pid is None else f"{_PREFIX}{pid}-"
    names = (line.split()[0] for line in _ip("netns", "list").splitlines() if line)
    return [name for name in names if name.startswith(prefix)]


@locked("reap")
def reap_stale() -> list[str]:
    """Remove namespaces whose owners have ended; return their names."""
    process.kill_orphans()
    scratch.reap_stale()
    stale = []
    for name in existing():
        owner = name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and process.start_time(int(owner)) is None:
            _remove(name)
            stale.append(name)
    return stale
