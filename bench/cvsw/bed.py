# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts with an Open vSwitch and encryption each, as in the paper's figure 4.

    taps --- bridge sw --- wire --------------------------- the same
                |  vx, vxc: Open vSwitch's own VXLAN
             bridge phy --- wire2 ------------------------- the same
                |
             namespace crypt --- wireguard-go --- wire3 --- the same

NICs with a switch put their frames into tunnels themselves, and the bridge sw only passes them on.
For other NICs Open vSwitch makes the tunnels, with its datapath in user space; they end at the
bridge phy. Open vSwitch needs ESP of the kernel to encrypt, which this host does not have, nor
WireGuard or MACsec. So its tunnel goes through wireguard-go, WireGuard in user space, which is the
fastest implementation in Debian. The cipher is ChaCha20-Poly1305.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from lab.base import tools, wait
from lab.base.net import Interface, Namespace, Network
from lab.cvsw.openvswitch import Switch

from ..base import measure
from . import rules
from .rules import TUNNELS, UPLINK, Pair, switch_flows
from .station import End

_QUIET = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
#: Octets of an IP packet.
WIRE_MTU = 1500
#: MTU of a guest whose frames are in Open vSwitch's tunnels: WireGuard adds 60 octets.
MTU_PLAIN, MTU_CRYPT = 1450, 1390
_SOCKETS = Path("/var/run/wireguard")
#: Ends of the tunnels: without encryption, and behind the namespace crypt.
_CLEAR, _SEALED = "10.9.0", "10.8.0"
_PORT = 51820


@dataclass
class Host:
    """A host, its switch and its namespace for encryption."""

    number: int
    space: Namespace
    switch: Switch
    crypt: Namespace
    #: Process ids of the encryption.
    crypt_pids: list[int] = field(default_factory=list)

    def tap(self, name: str, mac: str, number: int, net: int) -> End:
        """A VM's place at the switch."""
        tap = self.space.tap(name)
        tap.set_mtu(WIRE_MTU)
        self.switch.set("add-port", "sw", name)
        return End(tap, mac, number, net)


@dataclass
class Bed:
    """All of it."""

    network: Network
    hosts: tuple[Host, Host]

    def groups(self) -> dict[str, Sequence[int]]:
        """Process ids of the programs that VMs share, by their task."""
        found: dict[str, Sequence[int]] = {"kernel": measure.kernel_threads()}
        for host in self.hosts:
            found[f"switch{host.number}"] = [host.switch.pid]
            found[f"crypt{host.number}"] = host.crypt_pids
        return found

    def pair(self, number: int, *, is_cvsw: bool) -> Pair:
        """Return places for two VMs, with the numbers 2 * number and 2 * number + 1."""
        kind = "c" if is_cvsw else "p"
        ends = []
        for side, host in enumerate(self.hosts):
            own = 2 * number + side
            mac = f"52:54:00:00:{int(is_cvsw):02x}:{own:02x}"
            ends.append(host.tap(f"{kind}{own}", mac, own, 100 if is_cvsw else 101))
        return Pair(*ends)

    def obey(self, case: str, served: Sequence[Pair], others: Sequence[Pair]) -> None:
        """Let both switches process the frames of some pairs, and pass on all frames."""
        for side, host in enumerate(self.hosts):
            host.switch.program(switch_flows(case, served, others, side))


def _keys(numbers: Sequence[int]) -> list[tuple[str, str]]:
    """A private and a public key for each host, in hex."""
    made = []
    for _ in numbers:
        key = X25519PrivateKey.generate()
        raw, none = serialization.Encoding.Raw, serialization.NoEncryption()
        private = key.private_bytes(raw, serialization.PrivateFormat.Raw, none)
        public = key.public_key().public_bytes(raw, serialization.PublicFormat.Raw)
        made.append((private.hex(), public.hex()))
    return made


def _configure(name: str, lines: Sequence[str]) -> None:
    """Configure wireguard-go through its cross-platform interface."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(wait.PATIENCE)
        client.connect(str(_SOCKETS / f"{name}.sock"))
        client.sendall(("\n".join(("set=1", *lines)) + "\n\n").encode())
        answer = client.recv(1 << 12).decode()
    if "errno=0" not in answer:
        raise RuntimeError(f"wireguard-go: {answer}")


def _encrypt(host: Host, keys: Sequence[tuple[str, str]], stack: contextlib.ExitStack) -> None:
    """Start it behind the bridge phy."""
    me, other = host.number, 3 - host.number
    name = f"wg{os.getpid()}-{me}"
    environment = {"WG_PROCESS_FOREGROUND": "1", "LOG_LEVEL": "error"}
    child = stack.enter_context(
        host.crypt.started(["wireguard-go", "-f", name], env=environment, stderr=DEVNULL),
    )
    wait.accepting(_SOCKETS / f"{name}.sock", lambda: child.poll() is not None)
    own = [f"private_key={keys[me - 1][0]}", f"listen_port={_PORT}"]
    peer = [f"public_key={keys[other - 1][1]}", f"endpoint=192.0.2.{200 + other}:{_PORT}"]
    _configure(name, [*own, *peer, f"allowed_ip={_SEALED}.{other}/32"])
    host.crypt.ip("link", "set", name, "mtu", str(WIRE_MTU - 60), "up")
    host.crypt.ip("route", "add", f"{_SEALED}.{other}/32", "dev", name)
    host.crypt.ip("route", "add", f"{_SEALED}.{me}/32", "via", f"{_CLEAR}.{me}", "dev", "inner")
    host.crypt_pids.append(child.pid)


def _rename(end: Interface, name: str) -> None:
    """Give an end of a wire a name by its purpose."""
    end.down()
    end.namespace.ip("link", "set", "dev", end.name, "name", name, "mtu", str(WIRE_MTU))
    Interface(end.namespace, name).up()


def _wire(network: Network, hosts: Sequence[Host]) -> None:
    """Join hosts by one wire for each kind of tunnel."""
    one, two = hosts
    for name in (UPLINK, "wire2"):
        link = network.connect(one.space, two.space)
        _rename(link.a, name)
        _rename(link.b, name)
    link = network.connect(one.crypt, two.crypt)
    _rename(link.a, "wire3")
    _rename(link.b, "wire3")
    for host in hosts:
        Interface(host.crypt, "wire3").add_address(f"192.0.2.{200 + host.number}/24")
        link = network.connect(host.space, host.crypt)
        _rename(link.a, "outer")
        _rename(link.b, "inner")


def _plug(host: Host) -> None:
    """Make the bridges of a host and the tunnels of its switch."""
    me, other = host.number, 3 - host.number
    # Addresses of silent stations must not age, as frames for them would be flooded. The bridge
    # must keep its address when ports are added.
    lasting = ["other_config:mac-aging-time=3600", f"other_config:hwaddr=02:00:00:00:09:0{me}"]
    bridge = ["set", "bridge", "phy", "datapath_type=netdev", *lasting]
    host.switch.program(f"{rules.NOTHING}\n")
    host.switch.set("add-port", "sw", UPLINK, "--", "add-br", "phy", "--", *bridge)
    for name in ("wire2", "outer"):
        host.switch.set("add-port", "phy", name)
    # The ports are also interfaces of the kernel, which would answer there for the bridge's
    # addresses.
    host.space.sysctl({"net.ipv4.conf.all.arp_ignore": 1})
    phy = Interface(host.space, "phy")
    phy.up()
    phy.add_address(f"{_CLEAR}.{me}/24")
    phy.add_address(f"{_SEALED}.{me}/32")
    Interface(host.crypt, "inner").add_address(f"{_CLEAR}.{100 + me}/24")
    host.crypt.sysctl({"net.ipv4.ip_forward": 1})
    host.space.route(f"{_SEALED}.{other}/32", f"{_CLEAR}.{100 + me}")
    for case, net in zip(TUNNELS, (_CLEAR, _SEALED), strict=True):
        ends = f"options:local_ip={net}.{me}", f"options:remote_ip={net}.{other}"
        interface = ["set", "interface", TUNNELS[case], "type=vxlan", "options:key=flow", *ends]
        host.switch.set("add-port", "sw", TUNNELS[case], "--", *interface)


def _await_tunnel(host: Host, net: str) -> None:
    """Wait until the other end of a tunnel answers."""
    ping = ["ping", "-c1", "-W1", "-I", f"{net}.{host.number}", f"{net}.{3 - host.number}"]
    wait.until(lambda: host.space.run(ping, check=False).returncode == 0, f"an answer in {net}.0")


@contextlib.contextmanager
def opened() -> Iterator[Bed]:
    """Build the test bed; its switches pass all frames on."""
    tools.require("ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "wireguard-go")
    with Network() as network, contextlib.ExitStack() as stack:
        hosts = []
        for number in (1, 2):
            space, crypt = (network.namespace(f"{kind}{number}") for kind in ("host", "crypt"))
            for each in (space, crypt):
                each.sysctl(_QUIET)
            switch = stack.enter_context(Switch.running(space))
            hosts.append(Host(number, space, switch, crypt))
        _wire(network, hosts)
        keys = _keys([host.number for host in hosts])
        for host in hosts:
            _plug(host)
            _encrypt(host, keys, stack)
        for host in hosts:
            for net in (_CLEAR, _SEALED):
                _await_tunnel(host, net)
        yield Bed(network, (hosts[0], hosts[1]))
