# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's topology: hosts with an Open vSwitch, VMs whose NICs are switches, a controller.

    VM red1, blue1    taps, Open vSwitch --- host 1 ---+ wire
    VM red2, blue2    taps, Open vSwitch --- host 2 ---+
                                  |
                         management network, with the controller

VMs of all tenants have addresses of one network inside their tunnels, so that only the tunnels
isolate them. The wire has no other traffic, as hosts and guests have no IPv6.
"""

from __future__ import annotations

import contextlib
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..base import parallel, scratch, tools
from ..base.net import Interface, Namespace, Network
from ..base.rough import SMOOTH, Rough
from ..guest.guest import Guest
from ..packages import kernel
from .controller import Controller
from .openvswitch import Switch

CONTROLLER_ADDRESS = "203.0.113.1"
#: MTU of the virtual switches.
UNDERLAY_MTU = 1500
VXLAN_PORT = 4789
#: Filter for all frames between a NIC and its controller.
CONTROL = "ether proto 0x88b5"
_CONTROL_TYPE, _ESP = b"\x88\xb5", 50
#: Nothing passes before the controller has set flows.
_DEVICE = "virtio-net-cvsw-pci,netdev=net0,control-secret=key0,miss=drop,romfile="
_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}


@dataclass(frozen=True)
class Host:
    """A host with a virtual switch, and its end of the wire to the other one."""

    name: str
    space: Namespace
    switch: Switch
    wire: Interface


@dataclass(frozen=True)
class Vm:
    """A VM; ``number`` is in all its addresses."""

    name: str
    tenant: str
    number: int
    host: Host
    key: Path = field(repr=False)
    device: str
    guest: Guest

    @property
    def mac(self) -> str:
        """Its NIC's."""
        return _mac(self.number)

    @property
    def outer(self) -> str:
        """The address of its tunnels."""
        return f"192.0.2.{self.number}"

    @property
    def address(self) -> str:
        """The guest's address, inside of the tunnels."""
        return f"198.51.100.{self.number}"

    def configure(self) -> None:
        """Give the guest its address, as its owner would."""
        self.guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
        self.guest.run(f"ip link set eth0 up; ip address add {self.address}/24 dev eth0")

    def of(self, tenant: str) -> Vm:
        """The same VM, of another tenant."""
        return replace(self, tenant=tenant)

    def reaches(self, other: Vm, *options: str) -> bool:
        """Return whether another VM answers a ping."""
        command = ["ping", "-c1", "-W1", *options, other.address]
        return self.guest.run(command, check=False).rc == 0

    def frames(self) -> int:
        """Number of frames that its guest has received."""
        return int(self.guest.get("/sys/class/net/eth0/statistics/rx_packets"))


def plan(
    vms: Sequence[Vm], ciphers: Mapping[str, str], offloads: Mapping[str, str] | None = None
) -> str:
    """Return the file of the VMs' tenants, some with ciphers; some VMs with offloads."""
    lines = ["underlay:", f"  mtu: {UNDERLAY_MTU}", "tenants:"]
    for vni, tenant in enumerate(dict.fromkeys(vm.tenant for vm in vms), 5001):
        lines += [f"  {tenant}:", f"    vni: {vni}"]
        if tenant in ciphers:
            lines.append(f"    cipher: {ciphers[tenant]}")
        lines.append("    vms:")
        for vm in vms:
            if vm.tenant == tenant:
                end = f"mac: {vm.mac}, tunnel: {vm.outer}, key: {vm.key.name}"
                if offloads and vm.name in offloads:
                    end += f", offloads: {offloads[vm.name]}"
                lines.append(f"      {vm.name}: {{{end}}}")
    return "\n".join(lines) + "\n"


def _mac(number: int) -> str:
    return f"52:54:00:00:00:{number:02x}"


@dataclass
class Bed:
    """The hosts and the controller's namespace."""

    folder: Path
    controller: Controller
    hosts: Sequence[Host]

    def connect(self, host: Host) -> None:
        """Connect a host's switch to the controller, with Open vSwitch's own datapath-id."""
        host.switch.obey(f"tcp:{self.controller.place}", None)

    def start_controller(self) -> None:
        """Start it, and wait until the switches are connected."""
        self.controller.start()
        self.controller.has_switches(len(self.hosts))

    @property
    def file(self) -> Path:
        """The controller's file of tenants."""
        return self.folder / "tenants.yaml"

    def apply(
        self,
        vms: Sequence[Vm],
        ciphers: Mapping[str, str],
        offloads: Mapping[str, str] | None = None,
    ) -> None:
        """Write the file, apply it, and wait until all NICs are programmed.

        Guests get the MTU that the controller has derived, as if their owners had set it.
        """
        self.file.write_text(plan(vms, ciphers, offloads))
        self.controller.command("apply", self.file)
        self.controller.settled()
        for vm in vms:
            mtu = self.controller.nics()[vm.name]["mtu"]
            vm.guest.run(f"ip link set eth0 mtu {mtu}")

    @contextlib.contextmanager
    def capture(self, file: Path) -> Iterator[Path]:
        """Capture the wire between the hosts, for the time of a block."""
        wire = self.hosts[0].wire
        with wire.namespace.capture(wire.name, file) as made:
            yield made

    @staticmethod
    def tap(host: Host, number: int) -> Interface:
        """Make a tap for a VM on a host."""
        tap = host.space.tap(f"tap{number}")
        tap.set_mtu(UNDERLAY_MTU)
        host.switch.set("add-port", "sw", tap.name)
        return tap

    def vm(
        self,
        name: str,
        tenant: str,
        number: int,
        host: Host,
        *,
        series: str = kernel.MAIN,
        ipv6: bool = False,
    ) -> Vm:
        """Return a VM on a host, to be started."""
        tap = self.tap(host, number)
        key = self.folder / f"{name}.key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        nic = f"{_DEVICE},mac={_mac(number)}"
        arguments = ["-netdev", f"tap,id=net0,ifname={tap.name},script=no,downscript=no,vhost=off"]
        arguments += ["-object", f"secret,id=key0,file={key}"]
        guest = Guest(
            name=name,
            netns=host.space,
            kernel=series,
            ipv6=ipv6,
            memory="256M",
            smp=1,
            devices=[nic],
            arguments=arguments,
        )
        return Vm(name, tenant, number, host, key, nic, guest)


def read(file: Path, expression: str = "") -> list[str]:
    """Return the frames of a capture that match an expression of tcpdump, as lines."""
    return tools.run(["tcpdump", "-nn", "-t", "-r", file, *expression.split()]).splitlines()


def nonces(file: Path) -> list[tuple[int, bytes]]:
    """SPI and IV of each packet of a capture, all of which are ESP over IPv4 or control frames."""
    octets, at, found = file.read_bytes(), 24, []
    while at < len(octets):
        (size,) = struct.unpack_from("=8xI", octets, at)
        frame = octets[at + 16 : at + 16 + size]
        at += 16 + size
        if frame[12:14] != _CONTROL_TYPE:
            found.append(nonce(frame))
    return found


def nonce(frame: bytes) -> tuple[int, bytes]:
    """Return SPI and IV of ESP with AES-GCM, which must differ for all packets of a key."""
    assert frame[12:14] == b"\x08\x00" and frame[23] == _ESP, frame.hex()
    (spi,) = struct.unpack_from(">I", frame, 34)
    return spi, frame[42:50]


def _join(network: Network, management: Interface, stack: contextlib.ExitStack) -> list[Host]:
    """Make the hosts with their switches."""
    spaces = [network.namespace(f"host{number}") for number in (1, 2)]
    for space in spaces:
        space.sysctl(_QUIET)
    wire = network.connect(spaces[0], spaces[1])
    hosts = []
    for number, (space, end) in enumerate(zip(spaces, (wire.a, wire.b), strict=True), 1):
        end.set_mtu(UNDERLAY_MTU)
        network.connect(space, management, [f"203.0.113.{10 + number}/24"])
        switch = stack.enter_context(Switch.running(space))
        switch.set("add-port", "sw", end.name)
        if network.rough.trunks:
            switch.set("add-port", "sw", network.trunk(space).name)
        hosts.append(Host(space.name, space, switch, end))
    return hosts


@contextlib.contextmanager
def bed(rough: Rough = SMOOTH) -> Iterator[Bed]:
    """Build the networks and start the switches; they obey a controller once it runs."""
    with Network(rough) as network, contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(scratch.folder()))
        space = network.namespace("controller")
        management = space.bridge()
        management.add_address(f"{CONTROLLER_ADDRESS}/24")
        hosts = _join(network, management, stack)
        controller = Controller(space, CONTROLLER_ADDRESS, folder)
        stack.callback(controller.stop)
        made = Bed(folder, controller, hosts)
        for host in hosts:
            made.connect(host)
        yield made


@contextlib.contextmanager
def started(vms: Sequence[Vm]) -> Iterator[None]:
    """Boot VMs, as many side by side as programs of a test run, and give them their addresses."""
    with contextlib.ExitStack() as stack:
        for first in range(0, len(vms), parallel.WORKERS):
            some = vms[first : first + parallel.WORKERS]
            for vm in some:
                stack.push(vm.guest)
                vm.guest.launch()
            for vm in some:
                vm.guest.boot()
        for vm in vms:
            vm.configure()
        yield
