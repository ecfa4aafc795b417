# SPDX-License-Identifier: GPL-2.0-or-later
"""The hosts, switches and VMs of the experiment.

    VM 1-1, 1-2          taps,     Linux bridge  --- host 1 ---+
    VM 2-1, 2-3          taps,     Open vSwitch  --- host 2 ---+ physical network
    VM 3-2-1, 3-2-2, 3-3 macvtaps                --- host 3 ---+

Each host has a table of its own, which the command line changes.  Nobody else
speaks there: hosts and guests are without IPv6.  VM 1-2 has a second NIC with
the same address that no HostVLAN stands before; it is off.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.base.rough import SMOOTH, Rough
from lab.cvsw.openvswitch import Switch
from lab.guest.guest import Guest, Job
from lab.hosts import bridged
from lab.packages import kernel
from vmmnet.__main__ import main as vmmnet
from vmmnet.values import mac as macs

from .judge import Heard, Place, Row, judge

T = TypeVar("T")

MTU = 9000
#: The paper's LNIDs of each VM.
LNIDS: Mapping[str, frozenset[int]] = {
    "1-1": frozenset({1}),
    "1-2": frozenset({2}),
    "2-1": frozenset({1}),
    "2-3": frozenset({3}),
    "3-2-1": frozenset({2}),
    "3-2-2": frozenset({2}),
    "3-3": frozenset({3}),
}
#: The one that can do without HostVLAN.
OPEN = "1-2"
NETWORK = "192.0.2"
_VOICE = Path(__file__).with_name("voice.py")
_GUEST_VOICE = "/usr/lib/vmmnet/tests/voice.py"
_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
# Where a guest finds its NICs.
_SLOTS = {"hv0": "10", "open0": "11"}
_MACS = itertools.count(0x525400001100)
#: What every VM says to all.
GREETINGS = tuple(f"hello {number}" for number in range(5))
# More than what a VM may send of itself while it sends these.
_LAST_WORDS = 16


class Voice:
    """The program ``voice`` in a guest, on one of its NICs."""

    def __init__(self, guest: Guest, interface: str) -> None:
        self._job = guest.spawn(["python3", "-u", _GUEST_VOICE, interface])
        self._job.wait_output("ready")
        self._numbers = itertools.count(1)

    def begin(self, what: str, argument: Sequence[str] = ()) -> Callable[[], Any]:
        """Ask for something; what is returned waits for the answer."""
        number = next(self._numbers)
        self._job.write(json.dumps([number, what, list(argument)]).encode() + b"\n")
        return lambda: json.loads(self._job.wait_output(rf"^{number} (.*)\n")[1])

    def close(self) -> None:
        """End the program."""
        self._job.close_input()
        self._job.wait(check=True)


@dataclass(frozen=True)
class Host:
    """A host with its table; ``plug`` makes a VM's port and returns the option for QEMU."""

    name: str
    space: Namespace
    table: Path
    plug: Callable[[str, int], str]


class Vm:
    """A VM of the experiment."""

    def __init__(self, name: str, number: int, host: Host) -> None:
        self.name, self.host = name, host
        self.mac = next(_MACS)
        self.address = f"{NETWORK}.{number}"
        self.filtered = True
        self.interface = ""
        nics = {"hv0": f"hostvlan,id=hv0,netdev=hv0-net,table={host.table}"}
        if name == OPEN:
            nics["open0"] = "stage,id=open0,netdev=open0-net"
        arguments, devices, fds = [], [], []
        for netdev, room in nics.items():
            backend = host.plug(f"{netdev}-{name}", self.mac)
            fds += [int(fd) for fd in re.findall(r",fd=(\d+)", backend)]
            arguments += ["-netdev", f"{backend},id={netdev}-net", "-netdev", room]
            place = f"netdev={netdev},mac={macs.text(self.mac)},addr=0x{_SLOTS[netdev]}"
            devices.append(f"virtio-net-pci,{place},host_mtu={MTU},romfile=")
        self.guest = Guest(
            name=f"vm{name}",
            netns=host.space,
            kernel=kernel.MAIN,
            ipv6=False,
            memory="256M",
            smp=1,
            devices=devices,
            arguments=arguments,
            files={_GUEST_VOICE: _VOICE},
            pass_fds=tuple(fds),
            # All of them boot at once.
            boot_timeout=5 * wait.PATIENCE,
        )

    # Its life.

    def boot(self) -> None:
        """Wait for the guest, and give it its address."""
        self.guest.boot()
        self.guest.run("modprobe -a virtio_net 8021q")
        self.guest.run(["sysctl", "-qw", "net.ipv4.icmp_echo_ignore_broadcasts=0"])
        self._use("hv0")

    def _use(self, netdev: str) -> None:
        where = f"/sys/bus/pci/devices/0000:00:{_SLOTS[netdev]}.0/virtio*/net/"
        self.interface = self.guest.wait_for(f"ls {where}").stdout.strip()
        self.guest.run(
            f"ip link set {self.interface} up &&"
            f" ip address add {self.address}/24 brd + dev {self.interface}"
        )
        self.voice = Voice(self.guest, self.interface)

    def _leave(self) -> None:
        self.voice.close()
        self.guest.run(
            f"ip address flush dev {self.interface} && ip link set {self.interface} down"
        )

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Break HostVLAN: the guest uses the NIC that is not behind it."""
        ports = [Interface(self.host.space, f"{netdev}-{self.name}") for netdev in _SLOTS]
        self._leave()
        ports[0].down()
        ports[1].up()
        self.filtered = False
        try:
            self._use("open0")
            yield
            self._leave()
        finally:
            self.filtered = True
            ports[1].down()
            ports[0].up()
        self._use("hv0")

    # Its words.

    def frame(self, text: str, source: Vm | None = None, to: Vm | None = None) -> bytes:
        """A frame that says whose it is, and whose it pretends to be."""
        destination = bridged.BROADCAST if to is None else to.mac
        return bridged.frame((source or self).mac, f"{self.name}/{text}", destination)

    def arp_request(self, other: Vm) -> bytes:
        """Ask the network for another VM's address."""
        own = bytes(map(int, self.address.split(".")))
        asked = bytes(map(int, other.address.split(".")))
        source = self.mac.to_bytes(6)
        ethernet = bridged.BROADCAST.to_bytes(6) + source + b"\x08\x06"
        arp = b"\0\1\x08\0\6\4\0\1" + source + own + bytes(6) + asked
        return (ethernet + arp).ljust(60, b"\0")

    def send(self, frames: Iterable[bytes]) -> None:
        """Send frames as they are."""
        self.voice.begin("say", [frame.hex() for frame in frames])()

    def awaits(self, texts: Iterable[str]) -> Callable[[], Any]:
        """Wait, when what is returned is called, until it has heard each of the texts."""
        return self.voice.begin("await", list(texts))

    def heard(self) -> list[Heard]:
        """All frames since it was last hushed."""
        return [Heard(*frame) for frame in self.voice.begin("heard")()]

    def hears(self, texts: Collection[str]) -> int:
        """How many frames with one of these texts it has heard since then."""
        return sum(frame.text in texts for frame in self.heard())

    def pings(self, other: str, *options: str) -> None:
        """Have an answer from an address; fails if there is none."""
        self.guest.run(["ping", "-n", "-c1", "-w", f"{wait.PATIENCE / 2:.0f}", *options, other])

    def broadcast_ping(self) -> Job:
        """Begin to ping everybody."""
        return self.guest.spawn(["ping", "-n", "-b", "-i", "0.5", f"{NETWORK}.255"])

    def counters(self, direction: str) -> dict[str, int]:
        """What its port has counted."""
        (info,) = self.guest.qmp("query-hostvlan", id="hv0")
        assert "error" not in info, info
        counted: dict[str, int] = info[direction]
        return counted


def answered(job: Job, *addresses: str) -> set[str]:
    """Wait until these have answered a ping, and end it; returns all who have answered."""
    for address in addresses:
        job.wait_output(rf"from {re.escape(address)}: .*\n")
    job.kill(2)
    return set(re.findall(r"from ([\d.]+): ", job.wait().stdout))


@dataclass(frozen=True)
class Round:
    """What a round of words has shown."""

    rows: list[Row]
    heard: dict[str, list[Heard]]


class Bed:
    """All of it; made by ``bed``."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = hosts
        self.lnids = dict(LNIDS)
        self.vms: dict[str, Vm] = {}
        for number, name in enumerate(LNIDS, 1):
            host = hosts[int(name[0]) - 1]
            self.vms[name] = Vm(name, number, host)
        self._serial = itertools.count(1)

    def boot(self) -> None:
        """Wait for guests whose QEMUs run."""
        self.side_by_side(Vm.boot)

    def side_by_side(self, work: Callable[[Vm], T]) -> dict[str, T]:
        """Do something with every VM at once: guests are slow, and not slower together."""
        pool = ThreadPoolExecutor(len(self.vms))
        wait_for_all = True
        try:
            return dict(zip(self.vms, pool.map(work, self.vms.values()), strict=True))
        except KeyboardInterrupt:
            # Who waits for a guest does so until it ends, which is later than this.
            wait_for_all = False
            raise
        finally:
            pool.shutdown(wait_for_all, cancel_futures=True)

    # Who is who.

    def manage(self, verb: str, vm: Vm, *lnids: int | str) -> None:
        """Run ``vmmnet hostvlan`` on every host."""
        words = ["hostvlan", verb, macs.text(vm.mac), *map(str, lnids)]
        for host in self.hosts:
            assert vmmnet([*words, "--table", str(host.table)]) == 0

    @contextlib.contextmanager
    def assigned(self, name: str, *lnids: int) -> Iterator[Vm]:
        """Have a VM in other LNIDs for a time."""
        vm = self.vms[name]
        self.manage("set", vm, *(each or "global" for each in lnids))
        self.lnids[name] = frozenset(lnids)
        try:
            yield vm
        finally:
            self.manage("set", vm, *LNIDS[name])
            self.lnids[name] = LNIDS[name]

    def places(self) -> list[Place]:
        """The VMs with their LNIDs now."""
        return [
            Place(name, vm.host.name, macs.text(vm.mac), self.lnids[name])
            for name, vm in self.vms.items()
        ]

    def friends(self, vm: Vm) -> list[Vm]:
        """Those whom a VM may hear."""
        places = {place.name: place for place in self.places()}
        own = places.pop(vm.name)
        return [self.vms[name] for name, place in places.items() if own.may_hear(place)]

    # What they say.

    def hush(self) -> None:
        """Have all guests forget what they have heard."""
        self.side_by_side(lambda vm: vm.voice.begin("hush")())

    def greet(self) -> None:
        """Every VM sends broadcasts and ARP requests, and has its friends' answers."""

        def greet(vm: Vm) -> None:
            others = [other for other in self.vms.values() if other is not vm]
            vm.send(vm.frame(greeting) for greeting in GREETINGS)
            vm.send(vm.arp_request(other) for other in others)
            vm.awaits(f"arp reply {friend.address}" for friend in self.friends(vm))()

        self.side_by_side(greet)

    def ping_all(self) -> dict[str, set[str]]:
        """Every VM pings everybody; who has answered it, once its friends have."""
        jobs = {name: vm.broadcast_ping() for name, vm in self.vms.items()}
        answers = {}
        for name, vm in self.vms.items():
            addresses = (friend.address for friend in self.friends(vm))
            answers[name] = answered(jobs[name], *addresses) - {vm.address}
        return answers

    def settle(self) -> None:
        """Wait until all that was sent before has arrived, or was refused.

        Frames of one VM stay in their order.  So each sends some more: its friends
        hear the last of them, and ports of others count as many as refused.  What
        others hear of them instead has met its fate too, and ``judge`` finds it.
        """
        serial = next(self._serial)
        ends = [f"end {serial}.{number}" for number in range(_LAST_WORDS)]
        before = self.side_by_side(self._refused)

        def settle(vm: Vm) -> None:
            vm.send(vm.frame(end) for end in ends)
            others = {other.name: other for other in self.vms.values() if other is not vm}
            friends = self.friends(vm) if vm.filtered else [*others.values()]
            vm.awaits(f"{each.name}/{ends[-1]}" for each in friends)()
            strangers = others.keys() - {friend.name for friend in friends}
            texts = {f"{name}/{end}" for name in strangers for end in ends}
            wait.until(
                lambda: self._refused(vm) - before[vm.name] + vm.hears(texts) >= len(texts),
                f"VM {vm.name} hears, or its port refuses, what others have said",
            )

        self.side_by_side(settle)

    @staticmethod
    def _refused(vm: Vm) -> int:
        return vm.counters("receive")["other-tenant"]

    def result(self) -> Round:
        """What everybody has heard, when nothing is under way any more."""
        self.settle()
        heard = self.side_by_side(Vm.heard)
        return Round(judge(self.places(), heard), heard)


# The hosts.


def _bridge_host(space: Namespace, bridge: Interface) -> Callable[[str, int], str]:
    def plug(name: str, mac: int) -> str:
        tap = space.tap(name, bridge)
        tap.set_mtu(MTU)
        if not name.startswith("hv0"):
            tap.down()
        return f"tap,ifname={name},script=no,downscript=no,vhost=off"

    return plug


def _switch_host(space: Namespace, switch: Switch) -> Callable[[str, int], str]:
    def plug(name: str, mac: int) -> str:
        space.tap(name).set_mtu(MTU)
        switch.set("add-port", "sw", name)
        return f"tap,ifname={name},script=no,downscript=no,vhost=off"

    return plug


def _macvtap_host(
    space: Namespace, uplink: Interface, folder: Path, stack: contextlib.ExitStack
) -> Callable[[str, int], str]:
    def plug(name: str, mac: int) -> str:
        kind = ["address", macs.text(mac), "mtu", str(MTU), "type", "macvtap", "mode", "bridge"]
        words = ["link", uplink.name, "name", name, "index", bridged.macvtap_index()]
        space.ip("link", "add", *words, *kind)
        Interface(space, name).up()
        device = bridged.open_macvtap(Interface(space, name), folder)
        stack.callback(os.close, device)
        return f"tap,fd={device},vhost=off"

    return plug


def _hosts(network: Network, folder: Path, stack: contextlib.ExitStack) -> list[Host]:
    physical = network.namespace("physical")
    physical.sysctl(_QUIET)
    wires = physical.bridge()
    hosts = []
    for kind in ("bridge", "Open vSwitch", "macvtap"):
        number = len(hosts) + 1
        space = network.namespace(f"host{number}")
        space.sysctl(_QUIET)
        uplink = network.connect(space, wires)
        for end in (uplink.a, uplink.b):
            end.set_mtu(MTU)
        if kind == "bridge":
            bridge = space.bridge()
            space.ip("link", "set", uplink.a.name, "master", bridge.name)
            plug = _bridge_host(space, bridge)
        elif kind == "macvtap":
            plug = _macvtap_host(space, uplink.a, folder, stack)
        else:
            switch = stack.enter_context(Switch.running(space))
            switch.set("add-port", "sw", uplink.a.name)
            plug = _switch_host(space, switch)
        hosts.append(Host(f"{number}, {kind}", space, folder / f"host{number}.table", plug))
    return hosts


@contextlib.contextmanager
def bed(folder: Path, rough: Rough = SMOOTH) -> Iterator[Bed]:
    """Build the network, fill the tables, and boot all guests side by side."""
    with Network(rough) as network, contextlib.ExitStack() as stack:
        made = Bed(_hosts(network, folder, stack))
        for name, vm in made.vms.items():
            made.manage("add", vm, *LNIDS[name])
        for vm in made.vms.values():
            stack.push(vm.guest)
            vm.guest.launch()
        made.boot()
        yield made
        for vm in made.vms.values():
            vm.guest.check_kernel()
