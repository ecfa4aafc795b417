# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a migrating VM does not answer, and the events of the migration.

A correspondent sends an echo request each millisecond.  The blackout is from the last
answer before the VM has resumed to the first one after.  QEMU reports when the VM stops and
resumes; a capture shows the packets at its new port.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from lab.base import wait
from lab.base.net import Interface, Namespace
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobile, mobility
from lab.mip6.mobility import FOREIGN_PREFIX, HOME_ADDRESS, World
from lab.packages import kernel

#: Events of a switch, in the order of a timeline.
STOP, RESUME, UPDATE, ACK = "stop", "resume", "update", "ack"
REQUEST, REPLY, HEARD = "request", "reply", "heard"
#: Kinds of switches: to the foreign link, home again, and on one link without MIP6.
AWAY, BACK, SAME = "away", "back", "same"

_INTERVAL = 0.001
_MORE = 100
#: An answer later than this many seconds after the last request counts as lost.
_LATE = 1.0
_PORT = 4444
_SAME_ADDRESS = f"{FOREIGN_PREFIX}::10"
_HOST_C = f"{FOREIGN_PREFIX}::c"
_IDENTIFIERS = itertools.count(1)
_SO_TIMESTAMPNS = 35
_ICMP6_FILTER = 1
_ETH_LEN = 14


@dataclass(frozen=True)
class Switch:
    """One migration: times of its events, in seconds since 1970, and unanswered requests."""

    marks: Mapping[str, float]
    #: Time of the VM's last answer before it resumed.
    silent: float
    lost: int

    @property
    def blackout(self) -> float:
        """Milliseconds without an answer."""
        return 1000 * (self.marks[HEARD] - self.silent)

    def between(self, first: str, last: str) -> float | None:
        """Milliseconds from one event to another; None if one was not seen."""
        if first not in self.marks or last not in self.marks:
            return None
        return 1000 * (self.marks[last] - self.marks[first])


def percentile(values: Sequence[float], part: float) -> float:
    """Return the least value that ``part`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(part) // 100) - 1)]


def silence(answers: Sequence[float], resumed: float) -> tuple[float, float]:
    """Return the last of the sorted times of answers before the VM resumed, and the first after."""
    at = bisect.bisect_left(answers, resumed)
    if not 0 < at < len(answers):
        raise RuntimeError("no answers of the VM before it stopped, or after")
    return answers[at - 1], answers[at]


class Probe:
    """Sends echo requests, and records the time of each answer."""

    def __init__(self, space: Namespace, address: str) -> None:
        with space.entered():
            self._socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, mobile.ICMP6)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        blocked = [0xFFFFFFFF] * 8
        blocked[mobile.ECHO_REPLY // 32] &= ~(1 << mobile.ECHO_REPLY % 32)
        self._socket.setsockopt(mobile.ICMP6, _ICMP6_FILTER, struct.pack("=8I", *blocked))
        self._address, self._identifier = address, next(_IDENTIFIERS)
        self.answers: dict[int, float] = {}
        self._sent = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Probe:
        self._thread.start()
        self.await_more()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def await_more(self) -> None:
        """Wait for answers to requests that are sent after this call."""
        first = self._sent

        def answered() -> bool:
            return sum(1 for number in list(self.answers) if number >= first) >= _MORE

        wait.until(answered, f"answers of {self._address}")

    @property
    def lost(self) -> int:
        """Number of unanswered requests between the first and the last answer."""
        return max(self.answers) - min(self.answers) + 1 - len(self.answers)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            if time.monotonic() >= due:
                self._send()
                due = max(due + _INTERVAL, time.monotonic())
            self._await_answer(due)
        end = time.monotonic() + _LATE
        while time.monotonic() < end:
            self._await_answer(end)

    def _await_answer(self, until: float) -> None:
        ready, _, _ = select.select([self._socket], [], [], max(0, until - time.monotonic()))
        if ready:
            self._receive()

    def _send(self) -> None:
        number = self._sent & 0xFFFF
        request = struct.pack(">BBHHHI", mobile.ECHO, 0, 0, self._identifier, number, self._sent)
        # The path may have no route for a moment.
        with contextlib.suppress(OSError):
            self._socket.sendto(request, (self._address, 0))
        self._sent += 1

    def _receive(self) -> None:
        data, (ancillary, *_), _, _ = self._socket.recvmsg(256, 64)
        identifier, _, number = struct.unpack(">HHI", data[4:12])
        # Ignore late answers to an earlier probe.
        if identifier == self._identifier:
            seconds, nanoseconds = struct.unpack("=qq", ancillary[2])
            self.answers.setdefault(number, seconds + nanoseconds / 1e9)


def packets(capture: bytes) -> Iterator[tuple[float, mobile.Packet]]:
    """Yield the IPv6 packets of a pcap file of Ethernet frames, with their times."""
    at = 24
    while at + 16 <= len(capture):
        seconds, micros, size, _ = struct.unpack("=IIII", capture[at : at + 16])
        frame = capture[at + 16 : at + 16 + size]
        at += 16 + size
        if frame[12:14] == b"\x86\xdd":
            yield seconds + micros / 1e6, mobile.parse(frame[_ETH_LEN:])


def what(packet: mobile.Packet) -> str | None:
    """Return the event of a timeline that a packet stands for; None: no event."""
    if packet.protocol == mobile.IP6:
        packet = packet.inner
    protocol, data = packet.protocol, packet.payload
    while protocol in (mobile.DESTINATION, mobile.ROUTING):
        protocol, data = data[0], data[8 * (data[1] + 1) :]
    if protocol == mobile.MOBILITY:
        return {mobile.BINDING_UPDATE: UPDATE, mobile.BINDING_ACK: ACK}.get(data[2])
    if protocol == mobile.ICMP6:
        return {mobile.ECHO: REQUEST, mobile.ECHO_REPLY: REPLY}.get(data[0])
    return None


def marks(capture: bytes, stopped: float) -> dict[str, float]:
    """Return the first time of each event: mobility at any time, others after the stop."""
    found: dict[str, float] = {}
    for when, packet in packets(capture):
        name = what(packet)
        if name and (name in (UPDATE, ACK) or when >= stopped):
            found.setdefault(name, when)
    return found


def _time(event: Mapping[str, Any]) -> float:
    stamp = event["timestamp"]
    return float(stamp["seconds"] + stamp["microseconds"] / 1e6)


@dataclass
class Stop:
    """A port of a host where a VM can be."""

    tap: Interface
    address: str
    netdevs: Sequence[str]

    @property
    def uri(self) -> str:
        """URI for an incoming migration."""
        return f"tcp:[{self.address}]:{_PORT}"


@dataclass
class Traveller:
    """A VM that goes from one port to the other and back."""

    guest: Guest
    address: str
    here: Stop
    there: Stop
    correspondent: Namespace
    folder: File
    #: States of its mobile node, at the source and at the destination; None: no mobile node.
    states: tuple[str, str] | None = None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def switch(self) -> Switch:
        """Migrate."""
        goal, capture = self.there, self.folder / "switch.pcap"
        moving = migrated(
            self.guest,
            uri=goal.uri,
            ready=self._is_ready if self.states else None,
            netns=goal.tap.namespace.netns,
            arguments=tuple(goal.netdevs),
        )
        with contextlib.ExitStack() as stack:
            with (
                goal.tap.namespace.capture(goal.tap.name, capture, "ip6"),
                Probe(self.correspondent, self.address) as probe,
            ):
                target = stack.enter_context(moving)
                stopped = _time(self.guest.monitor.wait_event("STOP"))
                resumed = _time(target.monitor.wait_event("RESUME"))
                self._arrived(target)
                probe.await_more()
            self._stack.close()
            self._stack = stack.pop_all()
        self.guest, self.here, self.there = target, self.there, self.here
        silent, heard = silence(sorted(probe.answers.values()), resumed)
        seen = {STOP: stopped, RESUME: resumed, HEARD: heard}
        return Switch({**marks(capture.read_bytes(), stopped), **seen}, silent, probe.lost)

    def _is_ready(self, target: Guest) -> object:
        """Return whether the mobile node knows the link; with a larger VM it always would."""
        assert self.states is not None
        known = "care-of" if self.states[1] == "bound" else "location-known"
        return target.qmp("query-mip6")[0].get(known)

    def _arrived(self, target: Guest) -> None:
        if self.states:
            here, there = self.states
            self.states = there, here
            wait.until(lambda: target.qmp("query-mip6")[0]["state"] == there, f"state {there}")

    def close(self) -> None:
        """End the VM."""
        self._stack.close()


def _plain(tap: Interface) -> list[str]:
    return ["-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"]


@contextlib.contextmanager
def _travelling(
    world: World, name: str, address: str, stops: tuple[Stop, Stop], device: str
) -> Iterator[Traveller]:
    guest = Guest(
        name=name,
        netns=stops[0].tap.namespace,
        kernel=kernel.MAIN,
        memory="128M",
        devices=[device],
        arguments=stops[0].netdevs,
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(guest)
        guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
        guest.run("sysctl -qw net.ipv6.conf.eth0.autoconf=0 net.ipv6.conf.eth0.accept_dad=0")
        guest.run(f"ip address add {address}/64 dev eth0; ip link set dev eth0 up")
        guest.wait_for("ip -6 route show default | grep -q via")
        traveller = Traveller(guest, address, *stops, world.correspondent, world.folder)
        traveller._stack = stack.pop_all()
        try:
            yield traveller
        finally:
            traveller.close()


def _mobile_stops(world: World) -> tuple[Stop, Stop]:
    home, foreign = world.home.tap("mobile0"), world.foreign.tap("mobile0")
    return (
        Stop(home, mobility.HOST_A_ADDRESS, mobility.arguments(home)),
        Stop(foreign, mobility.HOST_B_ADDRESS, mobility.arguments(foreign)),
    )


def _same_stops(world: World) -> tuple[Stop, Stop]:
    """Two hosts of the foreign link."""
    host = world.network.namespace("host-same")
    bridge = host.bridge()
    world.network.connect(bridge, world.foreign.link)
    bridge.add_address(f"{_HOST_C}/64")
    first, second = world.foreign.tap("same0"), host.tap("same0", bridge)
    return (
        Stop(first, mobility.HOST_B_ADDRESS, _plain(first)),
        Stop(second, _HOST_C, _plain(second)),
    )


@contextlib.contextmanager
def opened() -> Iterator[tuple[World, Traveller, Traveller]]:
    """A VM with a mobile node, at home, and one without on the foreign link."""
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(mobility.world())
        stack.enter_context(world.agent())
        plain = "virtio-net-pci,id=nic0,netdev=net0,romfile="
        moving = _travelling(world, "mobile", HOME_ADDRESS, _mobile_stops(world), mobility.DEVICE)
        staying = _travelling(world, "same", _SAME_ADDRESS, _same_stops(world), plain)
        traveller, other = stack.enter_context(moving), stack.enter_context(staying)
        traveller.states = ("home", "bound")
        yield world, traveller, other


def agent_round_trip(world: World) -> float:
    """Return the median round trip from the foreign host to the home agent, in milliseconds."""
    ping = ["ping", "-n", "-c", "51", "-i", "0.01", mobility.AGENT_ADDRESS]
    text = world.foreign.host.run(ping).stdout
    times = [line.partition("time=")[2].split() for line in text.splitlines()]
    return percentile([float(words[0]) for words in times if words], 50)


def measure(runs: int) -> tuple[dict[str, list[Switch]], float]:
    """Switch alternately; return all switches by kind, and the round trip to the home agent."""
    found: dict[str, list[Switch]] = {AWAY: [], BACK: [], SAME: []}
    with opened() as (world, traveller, other):
        trip = agent_round_trip(world)
        for index in range(runs):
            for kind in (AWAY, SAME, BACK):
                switch = (other if kind == SAME else traveller).switch()
                found[kind].append(switch)
                print(
                    f"  run {index + 1}, {kind}: {switch.blackout:.1f} ms, {switch.lost} lost",
                    flush=True,
                )
    return found, trip
