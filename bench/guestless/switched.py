# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMUs without a guest at a switch, which passes frames on, changes them, or tunnels them.

    program -- [ guest ] -- tap -- QEMU -- tap0 -- a switch of the host -- uplink

The switch is in the NIC (CVSW), and a bridge of the kernel passes on what comes out of it; or it is
Open vSwitch, with its datapath in user space; or the kernel's bridge alone, with a port of VXLAN.
The uplink is a device that takes every frame and drops it, super-frames uncut, like a NIC that cuts
in hardware.  So a figure is all work from the guest's ring to the NIC: that of QEMU's threads but
the vCPU's, with the kernel's work in their writes to the tap, and that of all threads of Open
vSwitch.

Open vSwitch's datapath runs in its main thread, which sleeps without frames; a thread of its own
(PMD) polls, and the time of that tells nothing.  It takes neither partial checksums nor UDP
super-frames from a tap: the guest's kernel makes both complete, and does not count.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path as File

from lab.base import wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw import bed as cvsw
from lab.cvsw.openvswitch import Switch

from ..cvsw import rules, station
from ..cvsw.rules import AES, IP, NULL, TUNNELS, UPLINK, VXLAN, Pair
from ..cvsw.station import End
from . import bed
from .bed import LIMIT, MAC, NATIVE, SEGMENTS, Load, Programs

BRIDGE, CVSW, OVS = "bridge", "cvsw", "ovs"
#: What a switch does, and which can.
CASES = {
    NULL: (BRIDGE, CVSW, OVS),
    IP: (CVSW, OVS),
    VXLAN: (BRIDGE, CVSW, OVS),
    AES: (CVSW,),
}
#: Bursts, as Open vSwitch's queues overflow when the guest sends as fast as it can.
LOADS = (
    Load("bursts", 64, 80000, 0, "UDP datagram of 64 octets"),
    Load("bursts", 1400, 80000, 0, "UDP datagram of 1,400 octets"),
    Load("supers", 1400, 2400, 0, "32 UDP datagrams of 1,400 octets by UDP_SEGMENT"),
)
KINDS = tuple(f"{switch}-{case}" for case, switches in CASES.items() for switch in switches)
_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
_ME, _OTHER = 2, 3
_OTHER_MAC = "52:54:00:00:00:03"
#: More than any tunnel adds to 1,500 octets.
_JUMBO = 9000
#: Of a tunnel in bytes, more than any has.
_TUNNEL = 150
#: The underlay's bridge of Open vSwitch.
_PHY = "phy"
#: Ethernet, IPv4, UDP.
_HEADERS = 42
_UDP, _ESP = 17, 50
#: ETH_P_ALL.
_ALL = 3
#: Seconds for a frame to come.
_MOMENT = 0.2
#: Of a load, a part that is not measured: processors that were idle are slow at first.
_WARM_UP = 5
_OPTIONS = ("-m", "128")
#: The guest's kernel completes checksums and cuts.
_COMPLETE = ",csum=off,host_tso4=off,host_tso6=off,host_uso=off"


@dataclass(frozen=True)
class Switched:
    """A NIC at a switch."""

    guest: Namespace
    uplink: Interface
    me: End
    other: End
    programs: Programs
    folder: File
    spent: Callable[[], int]

    def measure(self, load: Load) -> float:
        """Nanoseconds of processor time for a frame that has left, or for SEGMENTS datagrams."""
        self.send(replace(load, count=load.count // _WARM_UP))
        self.settle()
        start, before = self._left(), self.spent()
        self.send(load)
        self.settle()
        spent = self.spent() - before
        frames, octets = (now - then for now, then in zip(self._left(), start, strict=True))
        units = datagrams(frames, octets, load.size)
        return spent / (units / SEGMENTS if load.kind == "supers" else units)

    def send(self, load: Load) -> None:
        """Run a load in the guest."""
        path = self.folder / "script"
        path.write_text(load.line(NATIVE, to=f"::ffff:{rules.alias(self.other)}"))
        self.guest.run([self.programs.native, path], timeout=LIMIT)

    def settle(self) -> None:
        """Wait until no more frame leaves."""
        last = [-1]

        def is_quiet() -> bool:
            last.append(self._left()[0])
            return last[-1] == last[-2]

        wait.until(is_quiet, "the last frame")

    def _left(self) -> tuple[int, int]:
        """Frames, and their octets, that have left by the uplink."""
        where = f"/sys/class/net/{self.uplink.name}/statistics"
        files = [f"{where}/rx_packets", f"{where}/rx_bytes"]
        frames, octets = self.uplink.namespace.run(["cat", *files]).stdout.split()
        return int(frames), int(octets)

    def await_frame(self, case: str) -> None:
        """Send datagrams until one leaves as a case makes it."""
        load = Load("bursts", 64, 1, 0, "")
        with self.uplink.namespace.entered():
            there = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        with there:
            there.bind((self.uplink.name, _ALL))
            there.settimeout(_MOMENT)

            def has_left() -> bool:
                self.send(load)
                with contextlib.suppress(TimeoutError):
                    while self._case_of(there.recv(_JUMBO)) != case:
                        pass
                    return True
                return False

            wait.until(has_left, f"a frame at {self.uplink.name} with {case}")

    def _case_of(self, frame: bytes) -> str:
        """Return the case that has made a frame; "": none that we know."""
        if frame[12:14] != b"\x08\x00":
            return ""
        proto = frame[23]
        source, to = (str(IPv4Address(frame[at : at + 4])) for at in (26, 30))
        if (source, to) == (rules.address(self.me), rules.alias(self.other)):
            return NULL
        if (source, to) == (rules.alias(self.me), rules.address(self.other)):
            return IP
        if proto == _ESP:
            return AES
        is_vxlan = proto == _UDP and int.from_bytes(frame[36:38]) == cvsw.VXLAN
        return VXLAN if is_vxlan else ""


def datagrams(frames: int, octets: int, size: int) -> int:
    """Datagrams of a size in frames that have so many octets together."""
    if octets <= frames * (_HEADERS + size + _TUNNEL):
        return frames
    return round((octets - frames * _HEADERS) / size)


def _uplink(host: Namespace, name: str) -> Interface:
    """A device that takes every frame and drops it."""
    host.ip("link", "add", name, "txqueuelen", "0", "mtu", str(_JUMBO), "type", "ifb")
    made = Interface(host, name)
    made.up()
    return made


def _bridge(case: str, uplink: Interface, me: End, other: End) -> None:
    """The kernel's bridge, which knows where the other VM is; its own VXLAN, if that is asked."""
    host, port = uplink.namespace, uplink.name
    bridge = host.bridge("br0")
    if case == VXLAN:
        uplink.add_address(f"{rules.outer(me)}/24")
        port = TUNNELS[VXLAN]
        words = ("type", "vxlan", "id", "1", "dstport", str(cvsw.VXLAN), "nolearning")
        ends = ("local", rules.outer(me), "remote", rules.outer(other))
        host.ip("link", "add", port, "mtu", "1500", *words, *ends)
        host.ip("link", "set", port, "up")
    for each in (me.tap.name, port):
        host.ip("link", "set", each, "master", bridge.name)
    host.run(["bridge", "fdb", "add", other.mac, "dev", port, "master", "static"])


def _open_vswitch(
    case: str, uplink: Interface, me: End, other: End, stack: contextlib.ExitStack
) -> int:
    """Open vSwitch with the tap and the uplink; returns its pid."""
    host = uplink.namespace
    switch = stack.enter_context(Switch.running(host))
    switch.set("add-port", "sw", me.tap.name)
    flows = rules.switch_flows(case, [Pair(me, other)], [], 0)
    if case == VXLAN:
        tunnel = f"options:local_ip={rules.outer(me)}", f"options:remote_ip={rules.outer(other)}"
        switch.add_bridge(_PHY)
        switch.set("add-port", _PHY, uplink.name)
        switch.set("set", "interface", _PHY, f"mtu_request={_JUMBO}")
        phy = Interface(host, _PHY)
        phy.up()
        phy.add_address(f"{rules.outer(me)}/24")
        words = ["set", "interface", TUNNELS[VXLAN], "type=vxlan", "options:key=flow", *tunnel]
        switch.set("add-port", "sw", TUNNELS[VXLAN], "--", *words)
        switch.know(_PHY, rules.outer(other), other.mac)
        # The uplink is not a port of this bridge.
        flows = "".join(line for line in flows.splitlines(True) if f"output:{UPLINK}" not in line)
    else:
        switch.set("add-port", "sw", uplink.name)
    switch.program(flows)
    return switch.pid


@contextlib.contextmanager
def nic(kind: str, folder: File, programs: Programs) -> Iterator[Switched]:
    """A QEMU with a NIC, and a switch that does what its kind says."""
    switch, _, case = kind.partition("-")
    folder.mkdir()
    with Network() as network, contextlib.ExitStack() as stack:
        guest, host = (network.namespace(name) for name in ("guest", "host"))
        for each in (guest, host):
            each.sysctl(_QUIET)
        tap = host.tap("tap0")
        uplink = _uplink(host, UPLINK)
        me, other = End(tap, MAC, _ME), End(tap, _OTHER_MAC, _OTHER)
        words, ovs = [*_OPTIONS, *station.nic_options(me, is_cvsw=switch == CVSW)], 0
        words[-1] += ",disable-legacy=on"
        if switch == OVS:
            words[-1] += _COMPLETE
            ovs = _open_vswitch(case, uplink, me, other, stack)
        inner = bed.guest_tap(guest)
        guest.ip("address", "add", f"{rules.address(me)}/16", "dev", "eth0")
        there = ("lladdr", other.mac, "nud", "permanent")
        guest.ip("neigh", "add", rules.alias(other), *there, "dev", "eth0")
        pid = stack.enter_context(bed.running(words, host, inner))
        if switch == CVSW:
            controller = stack.enter_context(contextlib.closing(cvsw.Controller(tap, MAC)))
            controller.hello()
            controller.meet()
            rules.set_keys(controller, me, other)
            rules.set_nic(controller, case, me, other, 1)
        # A port of a bridge hears no controller.
        if switch != OVS:
            _bridge(NULL if switch == CVSW else case, uplink, me, other)

        def spent() -> int:
            return bed.time_of(pid, but="CPU ") + (bed.time_of(ovs) if ovs else 0)

        made = Switched(guest, uplink, me, other, programs, folder, spent)
        made.await_frame(case)
        yield made
