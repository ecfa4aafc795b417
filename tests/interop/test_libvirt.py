# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt runs guests with virtio-vmrpc and HostVLAN by words for QEMU, unprivileged.

The domains are those of docs/libvirt-by-hand.md, the NIC that is plugged in later is that
of docs/libvirt.md; what is changed in them is where this machine keeps things, and how the
guest boots.  libvirt's session daemon and its QEMU are the user nobody's.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.base import paths, tools, wait
from lab.base.net import Interface, Namespace
from lab.guest.agent import Channel
from lab.libvirt import session as libvirt_session
from lab.libvirt.session import (
    MODULE,
    QEMU,
    USER,
    Session,
    bootable,
    connect,
    on_tap,
    run,
    tap,
)
from lab.peers.lab import PAGE, VM_ADDRESS, Lab, lab
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

_PAGE = paths.ROOT / "docs" / "libvirt-by-hand.md"
_GUIDE = paths.ROOT / "docs" / "libvirt.md"


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def session(world: Lab) -> Iterator[Session]:
    with libvirt_session.session(world, 1) as made:
        yield made


def _documented(number: int = 0) -> ElementTree.Element:
    """A domain of the page: the whole one, or what is HostVLAN in one."""
    found = re.findall(r"^```xml\n(<domain .*?</domain>)\n```$", _PAGE.read_text(), re.M | re.S)
    assert len(found) == 2, f"{_PAGE} shows {len(found)} domains"
    return ElementTree.fromstring(found[number])


@pytest.fixture(scope="module")
def channel(session: Session) -> Iterator[Channel]:
    """The guest, defined and started by virsh."""
    file = session.folder / "guest.xml"
    file.write_text(bootable(_documented(), session))
    session.virsh("define", file)
    session.virsh("start", "guest")
    with contextlib.closing(connect(session.folder / "agent")) as opened:
        run(opened, f"insmod {MODULE}")
        yield opened


def test_documented_domain_reads_a_page(channel: Channel, session: Session) -> None:
    assert run(channel, "curl -sS http://www.test/").stdout == PAGE
    devices = session.monitor("query-vmrpc")
    assert devices[0]["id"] == "vmrpc0"
    assert devices[0]["counters"]["sockets-opened"] > 0


def test_ping_sockets_are_the_hosts_to_allow(channel: Channel, session: Session) -> None:
    """QEMU without privileges may have them when its group is in the host's range."""
    run(channel, "sysctl -qw net.ipv4.ping_group_range='0 0'")
    script = (
        "import socket; s = socket.socket(2, 2, 1); s.sendto(bytes([8, *[0] * 7]), ('www.test', 0))"
    )
    assert "PermissionError" in run(channel, f'python3 -c "{script}"').stderr
    group = USER.pw_gid
    session.world.host.sysctl({"net.ipv4.ping_group_range": f"{group} {group}"})
    text = run(channel, f"ping -c 1 -W {wait.PATIENCE:.0f} www.test").stdout
    assert " 0% packet loss" in text, text


def test_policy_file_that_qemu_may_not_read_is_told(session: Session) -> None:
    """The domain does not start, and virsh says which file it is."""
    policy = session.folder / "policy"
    policy.write_text("default allow\n")
    policy.chmod(0o600)
    domain = _documented()
    name = domain.find("name")
    assert name is not None
    name.text = "limited"
    for argument in domain.iter(f"{{{QEMU}}}arg"):
        if "virtio-vmrpc" in argument.get("value", ""):
            argument.set("value", f"{argument.get('value')},policy={policy}")
    file = session.folder / "limited.xml"
    file.write_text(bootable(domain, session))
    with pytest.raises(tools.CommandFailed, match=f"{policy}.*Permission denied"):
        session.virsh("create", file)


def test_low_ports_are_the_hosts_to_allow(channel: Channel, session: Session) -> None:
    """QEMU without privileges may have those from the host's lowest port on."""
    script = "import socket; s = socket.socket(); s.bind(('', 80)); s.listen(); print('listens')"
    listen = f'python3 -c "{script}"'
    assert "PermissionError" in run(channel, listen).stderr
    session.world.host.sysctl({"net.ipv4.ip_unprivileged_port_start": 80})
    assert run(channel, listen).stdout == "listens\n"


def test_migrated_by_virsh(channel: Channel, session: Session) -> None:
    """A server of the guest goes on under the libvirt that it has moved to."""
    serve = (
        "cd /srv && echo moved > index.html && setsid python3 -m http.server 8080 >/dev/null 2>&1 &"
    )
    run(channel, serve)
    run(channel, "until curl -sf http://127.0.0.1:8080/; do :; done")
    fetch = ["curl", "-sS", f"http://[{VM_ADDRESS}]:8080/"]
    assert session.world.peer.run(fetch).stdout == "moved\n"
    with libvirt_session.session(session.world, 2, session.build) as target:
        there = f"qemu+unix:///session?socket={target.folder}/libvirt/libvirt-sock"
        way = ["--migrateuri", f"unix://{session.folder}/moving", "--live", "guest"]
        session.virsh("migrate", *way, there)
        assert "guest" not in session.virsh("list", "--name").split()
        assert target.virsh("domstate", "guest").strip() == "running"
        assert session.world.peer.run(fetch).stdout == "moved\n"


# HostVLAN


def _with_hostvlan(interface: str, mac: str, table: Path) -> ElementTree.Element:
    """The whole domain with what the page says of HostVLAN, instead of virtio-vmrpc."""
    domain, part = _documented(), _documented(1)
    name, devices, nic = domain.find("name"), domain.find("devices"), part.find("devices/interface")
    assert name is not None and devices is not None and nic is not None
    name.text = "tenant"
    on_tap(nic, interface, mac)
    devices.append(nic)
    for tag in ("commandline", "override"):
        qualified = f"{{{QEMU}}}{tag}"
        for old in domain.findall(qualified):
            domain.remove(old)
        new = part.find(qualified)
        assert new is not None
        domain.append(new)
    for argument in domain.iter(f"{{{QEMU}}}arg"):
        argument.set("value", re.sub(r"table=.*", f"table={table}", argument.get("value", "")))
    return domain


@dataclass(frozen=True)
class Tenants:
    """A domain with a NIC of LNID 7, and neighbours in LNIDs 7 and 8."""

    session: Session
    channel: Channel
    bridge: Interface
    friend: Namespace
    stranger: Namespace
    table: Path

    def put(self, mac: str, lnid: int) -> None:
        """Put a MAC address into a logical network."""
        with Table.change(self.table) as change:
            change.set(Entry.of(macs.parse(mac), [lnid]))

    def has_address(self, nic: str, address: str) -> None:
        """Wait for a NIC of the guest and give it an address."""
        run(self.channel, f"until ip link show {nic}; do :; done; ip link set {nic} up")
        run(self.channel, f"ip address add {address}/24 dev {nic}")

    def only_friend_reaches(self, address: str) -> None:
        """Who is of its tenant has an answer, who is not has none."""
        ping = ["ping", "-n", "-c1", address]
        self.friend.run([*ping, f"-w{wait.PATIENCE:.0f}"])
        assert self.stranger.run([*ping, "-w1"], check=False).returncode


_FIRST_MAC, _SECOND_MAC = "52:54:00:00:00:01", "52:54:00:00:00:02"


@pytest.fixture(scope="module")
def tenants(session: Session) -> Iterator[Tenants]:
    host, network = session.world.host, session.world.network
    bridge = host.bridge("tenants")
    friend, stranger = (
        network.connect(
            network.namespace(name), bridge, [f"192.0.2.{number}/24", f"198.51.100.{number}/24"]
        ).a
        for number, name in enumerate(("friend", "stranger"), 2)
    )
    table = session.folder / "lnid.table"
    with Table.change(table) as change:
        for member, lnid in ((_FIRST_MAC, 7), (friend.mac, 7), (stranger.mac, 8)):
            change.set(Entry.of(macs.parse(member), [lnid]))
    table.chmod(0o644)
    tap(host, "tap0", bridge)
    file = session.folder / "tenant.xml"
    domain = _with_hostvlan("tap0", _FIRST_MAC, table)
    file.write_text(bootable(domain, session, "tenant-agent"))
    session.virsh("create", file)
    with contextlib.closing(connect(session.folder / "tenant-agent")) as channel:
        run(channel, "modprobe virtio_net")
        yield Tenants(session, channel, bridge, friend.namespace, stranger.namespace, table)
    session.virsh("destroy", "tenant")


def test_a_nic_with_hostvlan(tenants: Tenants) -> None:
    tenants.has_address("eth0", "192.0.2.1")
    tenants.only_friend_reaches("192.0.2.1")
    (port,) = tenants.session.monitor("query-hostvlan", "tenant")
    assert port["id"] == "hv0" and port["lnids"] == [7], port
    assert port["receive"]["other-tenant"] > 0


def test_a_nic_that_is_plugged_in_later(tenants: Tenants) -> None:
    """Nothing passes before HostVLAN is on its tap, and then what is of its tenant."""
    session, space = tenants.session, tenants.session.world.host
    page = _GUIDE.read_text()
    found = re.findall(r"^```xml\n(<interface .*?</interface>)\n```$", page, re.M | re.S)
    assert len(found) == 1, f"{_GUIDE} shows {len(found)} NICs"
    nic = ElementTree.fromstring(found[0])
    on_tap(nic, "tap1", _SECOND_MAC)
    file = session.folder / "nic.xml"
    file.write_text(ElementTree.tostring(nic, encoding="unicode"))
    tap(space, "tap1", tenants.bridge)
    tenants.put(_SECOND_MAC, 7)
    session.virsh("attach-device", "tenant", file)
    assert "tap1" in session.virsh("domiflist", "tenant")
    tenants.has_address("eth1", "198.51.100.1")
    ping = ["ping", "-n", "-c1", "-w1", "198.51.100.1"]
    assert tenants.stranger.run(ping, check=False).returncode
    with space.entered():
        twin.attach("tap1", macs.parse(_SECOND_MAC), tenants.table, sending="xdp")
        try:
            session.virsh("domif-setlink", "tenant", "tap1", "up")
            tenants.only_friend_reaches("198.51.100.1")
        finally:
            twin.detach("tap1")
