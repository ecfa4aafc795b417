# SPDX-License-Identifier: GPL-2.0-or-later
"""A domain with all devices, and two hosts with system libvirt that it moves between.

    home link (mobility) --- br0 - host a - br1 ---+
                                                   +-- tenants' link: friend (LNID 7),
    foreign link --------- br0 - host b - br1 -----+   stranger (LNID 8)

Its NIC ``mobile`` is on br0, with the switch, HostVLAN and Mobile IPv6 before it; ``tenant`` is
on br1, with the switch and HostVLAN.  Friend and stranger are on the home link as well.
Sockets of its IPv4 programs are on its host, at the tenants' link, where friend has a page and a
DNS server.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from vmmnet.hostvlan.table import lnid
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

from ..base import paths
from ..base.net import Interface, Namespace
from ..cvsw import bed as cvsw
from ..cvsw.bed import DECAP, GUEST, NORMAL, WIRE, Controller, encap, flow, output
from ..guest import domain
from ..guest.agent import Channel
from ..mip6 import mobility
from ..mip6.mobility import AGENT_ADDRESS, HOME_ADDRESS, HOME_PREFIX, World
from ..peers import servers as peers
from .libvirtd import Host

UUID = "00000000-0000-4000-9000-000000000001"
MOBILE, TENANT = "52:54:00:00:00:01", "52:54:00:00:00:02"
ADDRESS6, DNS_ADDRESS = "2001:db8:1::c0de", "2001:db8:1::53"
PAGE, NAME = "what an IPv6 server has\n", "www.test"
#: The guest's address at ``tenant``, outside of any tunnel.
TENANT_ADDRESS = "2001:db8:5::1"
FRIEND_ADDRESS, FRIEND_AT_HOME = "2001:db8:5::2", f"{HOME_PREFIX}::20"
#: Both ends of the tunnel, and the addresses inside of it.
OUTER = ("192.0.2.1", "192.0.2.2")
INNER = ("198.51.100.1", "198.51.100.2")
#: Cookies of flows: of ``tenant`` into the tunnel and out of it, of ``mobile`` from the guest.
INTO, OUT, SENT = 0xA, 0xB, 0xC

_VNI, _IPV4, _ARP, _IPV6, _UDP = 100, 0x0800, 0x0806, 0x86DD, 17
_INNER_MTU = 1450
_TABLE, _KEY = "/var/lib/vmmnet/lnid.table", "/etc/vmmnet/cvsw.key"
_AGENT, _CONSOLE = Path("/run/agent"), Path("/run/console")
_OURS, _OTHERS = 7, 8

_DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <uuid>{UUID}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1' handoff='on'>
      <vmmnet:sockets address6='{ADDRESS6}' dns='{DNS_ADDRESS}'/>
      <vmmnet:interface mac='{MOBILE}' hostvlan='{_TABLE}'>
        <vmmnet:mip6 home-address='{HOME_ADDRESS}' home-prefix-length='64'
                     home-agent='{AGENT_ADDRESS}'/>
        <vmmnet:cvsw control-secret='{_KEY}'/>
      </vmmnet:interface>
      <vmmnet:interface mac='{TENANT}' hostvlan='{_TABLE}'>
        <vmmnet:cvsw control-secret='{_KEY}'/>
      </vmmnet:interface>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <interface type='bridge'>
      <mac address='{MOBILE}'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
    <interface type='bridge'>
      <mac address='{TENANT}'/>
      <source bridge='br1'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
"""


@dataclass(frozen=True)
class Bed:
    """The network above; nothing is defined."""

    world: World
    home: Host
    foreign: Host
    friend: Namespace
    stranger: Namespace
    #: Friend's end at the tenants' link.
    friend_nic: Interface
    #: Controllers of the NICs, by MAC address: on the home link, and on the tenants'.
    controllers: Mapping[str, Controller]

    def define(self) -> str:
        """Define the domain on the home host, by our command; returns its output."""
        wanted = etree.fromstring(_DOMAIN)
        places = domain.Places(self.home.folder / "initrd", _AGENT, _CONSOLE)
        domain.make_bootable(wanted, places, ipv6=True)
        file = self.home.folder / "guest.xml"
        file.write_bytes(etree.tostring(wanted))
        python = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", "/usr/bin/python3", "-m", "vmmnet"]
        words = ["libvirt", "define", "--connect", "qemu:///system", str(file)]
        return self.home.run(*python, *words).stdout

    @contextlib.contextmanager
    def talk(self, host: Host) -> Iterator[Channel]:
        """Open the channel to the agent of the guest on a host."""
        with contextlib.closing(domain.connect(host.path(_AGENT))) as channel:
            yield channel

    def prepare(self) -> None:
        """Configure the guest as its owner would: addresses, and the module for its sockets."""
        with self.talk(self.home) as channel:
            for script in _PREPARE:
                done = domain.run(channel, script)
                assert done.rc == 0, f"{script}: {done.stdout}{done.stderr}"

    def migrate(self, source: Host, target: Host) -> None:
        """Move the guest by virsh."""
        with target.way() as way:
            source.virsh("migrate", "--live", *way, "guest", target.uri())

    def meet(self) -> None:
        """Let both NICs register with their controllers."""
        for controller in self.controllers.values():
            controller.hello()
            controller.meet()

    def set_flows(self) -> None:
        """Tunnel all IPv4 of ``tenant`` to friend, and back; ``mobile`` only counts."""
        ends = ((TENANT, OUTER[0]), (self.friend_nic.mac, OUTER[1]))
        into = (encap(_VNI, *ends), output(WIRE))
        self.controllers[TENANT].set(
            flow(*into, in_port=GUEST, dl_type=_IPV4, cookie=INTO),
            flow(*into, in_port=GUEST, dl_type=_ARP),
            flow(DECAP, output(GUEST), in_port=WIRE, dl_type=_IPV4, nw_proto=_UDP, cookie=OUT),
        )
        sent = flow(output(NORMAL), in_port=GUEST, dl_type=_IPV6, cookie=SENT)
        self.controllers[MOBILE].set(sent)

    def switch(self, host: Host, mac: str) -> dict[str, Any]:
        """The reply of query-cvsw for a NIC, with its flows."""
        found = host.monitor("guest", "query-cvsw", flows=True)
        (nic,) = (each for each in found if each["mac"] == mac)
        return dict(nic)

    def mip6(self, host: Host) -> dict[str, Any]:
        """The reply of query-mip6."""
        (found,) = host.monitor("guest", "query-mip6")
        return dict(found)


_FIND = "$(basename $(dirname $(grep -l {mac} /sys/class/net/*/address)))"
_NICS = f"mobile={_FIND.format(mac=MOBILE)} tenant={_FIND.format(mac=TENANT)}"
_PREPARE = (
    f"modprobe virtio_net; insmod {domain.MODULE}",
    "until test $(ls -d /sys/class/net/eth* | wc -l) = 2; do :; done",
    f"{_NICS} && sysctl -w net.ipv6.conf.$mobile.autoconf=0 net.ipv6.conf.$mobile.accept_dad=0"
    f" && ip link set $mobile up && ip address add {HOME_ADDRESS}/64 dev $mobile",
    f"{_NICS} && sysctl -w net.ipv6.conf.$tenant.accept_ra=0 net.ipv6.conf.$tenant.accept_dad=0"
    f" && ip link set $tenant mtu {_INNER_MTU} up"
    f" && ip address add {TENANT_ADDRESS}/64 dev $tenant"
    f" && ip address add {INNER[0]}/24 dev $tenant",
    "until ip -6 route show default | grep -q via; do sleep 0.1; done",
)


def _host(stack: contextlib.ExitStack, space: Namespace, number: int, table: list[Entry]) -> Host:
    host: Host = stack.enter_context(Host(space, number))
    for file in (_TABLE, _KEY):
        host.path(file).parent.mkdir(exist_ok=True)
    host.path(_KEY).write_bytes(cvsw.KEY)
    host.path("/etc/vmmnet/host.conf").write_text("address6-device br1\n")
    with Table.change(host.path(_TABLE)) as change:
        for entry in table:
            change.set(entry)
    stack.enter_context(host.run_hostd())
    return host


def _serve(stack: contextlib.ExitStack, friend: Namespace) -> None:
    """Serve a page and its name, for the guest's IPv4 programs."""
    root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmmnet-whole-")))
    root.chmod(0o755)
    (root / "index.html").write_text(PAGE)
    stack.enter_context(peers.web(friend, root))
    names = [f"{NAME}. 60 IN AAAA 2001:db8:1::2"]
    stack.enter_context(peers.dns(friend, names, DNS_ADDRESS))


def _tunnel(friend: Namespace, nic: Interface) -> None:
    """Set up VXLAN of friend's kernel, to the guest's NIC."""
    friend.ip("neigh", "replace", OUTER[0], "lladdr", TENANT, "dev", nic.name)
    ends = ["remote", OUTER[0], "local", OUTER[1], "dstport", str(cvsw.VXLAN), "dev", nic.name]
    friend.ip("link", "add", "vx0", "type", "vxlan", "id", str(_VNI), *ends)
    inside = Interface(friend, "vx0")
    inside.add_address(f"{INNER[1]}/24")
    inside.up()


@contextlib.contextmanager
def bed() -> Iterator[Bed]:
    """Build the network, with a home agent."""
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(mobility.world())
        stack.enter_context(world.agent())
        link = world.network.namespace("tenants").bridge("sw")
        members = {
            MOBILE: _OURS,
            TENANT: _OURS,
            macs.text(int.from_bytes(cvsw.OURS)): lnid.GLOBAL,
            world.home.link.mac: lnid.GLOBAL,
            Interface(world.agent_host, world.agent_interface).mac: lnid.GLOBAL,
        }
        spaces, nics = {}, {}
        for name, number, number_of in (("friend", 2, _OURS), ("stranger", 3, _OTHERS)):
            spaces[name] = world.network.namespace(name)
            own = [f"2001:db8:{net}::{number}/64" for net in (1, 5)]
            own += [f"192.0.2.{number}/24"] + [f"{DNS_ADDRESS}/128"] * (name == "friend")
            nics[name] = world.network.connect(spaces[name], link, own).a
            at_home = [f"{HOME_PREFIX}::{number}0/64"]
            home_nic = world.network.connect(spaces[name], world.home.link, at_home).a
            members |= {nic.mac: number_of for nic in (nics[name], home_nic)}
        table = [Entry.of(macs.parse(mac), [number]) for mac, number in members.items()]
        hosts = []
        for number, site in enumerate((world.home, world.foreign), 1):
            bridge = site.host.bridge("br1")
            world.network.connect(bridge, link)
            bridge.add_address(f"2001:db8:1::{number:x}a/64")
            hosts.append(_host(stack, site.host, number, table))
        _serve(stack, spaces["friend"])
        _tunnel(spaces["friend"], nics["friend"])
        controllers = {
            MOBILE: Controller(world.home.link, MOBILE),
            TENANT: Controller(link, TENANT),
        }
        for each in controllers.values():
            stack.callback(each.close)
        yield Bed(
            world,
            hosts[0],
            hosts[1],
            spaces["friend"],
            spaces["stranger"],
            nics["friend"],
            controllers,
        )
