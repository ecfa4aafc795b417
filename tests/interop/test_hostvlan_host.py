# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN on the bridge's own port: the host hears and reaches whom the table allows."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.hosts import bridged
from lab.hosts.bridged import BROADCAST, Bed, Port, until
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.command import check
from vmmnet.hostvlan.host.ports import Port as NamedPort
from vmmnet.values import mac as macs

HOST, VM, VICTIM = "192.0.2.1", "192.0.2.2", "192.0.2.9"
HOST_MAC = 0x5254000000AA
NOBODY = 0x525400ABCDEF
# The host's tenant, which no VM is in.
INFRASTRUCTURE = 4000


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        address(made, HOST_MAC)
        made.bridge.add_address(f"{HOST}/24")
        yield made


def address(host: Bed, mac: int) -> None:
    host.space.ip("link", "set", host.bridge.name, "address", macs.text(mac))


@pytest.fixture
def vms(host: Bed) -> dict[str, Port]:
    """Who is in no table, a tenant's and a router; all behind HostVLAN."""
    made = {name: host.veth(name) for name in ("stranger", "tenant", "router")}
    host.put(made["tenant"].mac, 1)
    host.put(made["router"].mac, 0)
    for port in made.values():
        host.attach(port)
    return made


@pytest.fixture
def server(host: Bed) -> Iterator[socket.socket]:
    with host.space.entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        made.bind((HOST, 7))
        made.settimeout(wait.PATIENCE)
        yield made


def own_port(host: Bed) -> Port:
    return Port(host.bridge, host.listen(host.bridge), HOST_MAC)


def datagram(port: Port, text: str) -> bytes:
    data = text.encode()
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0)
    ip += socket.inet_aton(VM) + socket.inet_aton(HOST)
    ones = sum(struct.unpack("!10H", ip))
    ip = ip[:10] + struct.pack("!H", ~(ones + (ones >> 16)) & 0xFFFF) + ip[12:]
    udp = struct.pack("!HHHH", 7, 7, 8 + len(data), 0)
    return HOST_MAC.to_bytes(6) + port.mac.to_bytes(6) + b"\x08\0" + ip + udp + data


def forged_arp(port: Port) -> bytes:
    """A request for the host's address that says: the victim's address is here."""
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + port.mac.to_bytes(6)
    arp += socket.inet_aton(VICTIM) + bytes(6) + socket.inet_aton(HOST)
    return BROADCAST.to_bytes(6) + port.mac.to_bytes(6) + b"\x08\x06" + arp


def poisoned(host: Bed) -> bool:
    return VICTIM in host.space.ip("neigh", "show", "dev", host.bridge.name)


def attach(host: Bed, *lnids: int) -> Port:
    port = own_port(host)
    if lnids:
        host.put(HOST_MAC, *lnids)
    with host.space.entered():
        attached = twin.attach(host.bridge.name, None, host.table)
    assert (attached.mac, attached.whole) == (HOST_MAC, True)
    assert [hook.place for hook in attached.hooks] == ["tc ingress", "tc egress"]
    return port


def test_without_it_anybody_reaches_the_host(
    host: Bed, vms: dict[str, Port], server: socket.socket
) -> None:
    """What the other tests say would be said of nothing."""
    stranger = vms["stranger"]
    stranger.wire.send(datagram(stranger, "hello"))
    assert server.recv(100) == b"hello"
    stranger.wire.send(forged_arp(stranger))
    wait.until(lambda: poisoned(host), "the forged address")


def test_who_is_in_no_table_does_not_reach_the_host(
    host: Bed, vms: dict[str, Port], server: socket.socket
) -> None:
    own = attach(host, INFRASTRUCTURE)
    for name, reason in (("stranger", "unknown-source"), ("tenant", "other-tenant")):
        before = host.status(own).receive[reason]
        vms[name].wire.send(datagram(vms[name], name))
        vms[name].wire.send(forged_arp(vms[name]))
        host.refuses(own, reason, before + 2)
    router = vms["router"]
    router.wire.send(datagram(router, "from the router"))
    assert server.recv(100) == b"from the router"
    assert not poisoned(host)
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(100)


def test_who_the_host_reaches(host: Bed, vms: dict[str, Port], server: socket.socket) -> None:
    own = attach(host, INFRASTRUCTURE)
    own.say("for the router only")
    own.say("end")
    assert vms["router"].hears("end") == ["for the router only", "end"]
    for name in ("tenant", "stranger"):
        reason = "other-tenant" if name == "tenant" else "no-port"
        host.refuses(vms[name], reason, 2)
    own.say("not mine", source=NOBODY)
    assert host.status(own).send["spoofed"] == 1
    host.put(HOST_MAC, 0)
    own.say("global")
    assert vms["tenant"].hears("global") == ["global"]
    vms["tenant"].wire.send(datagram(vms["tenant"], "answer"))
    assert server.recv(100) == b"answer"


def test_a_host_that_is_in_no_table(host: Bed, vms: dict[str, Port]) -> None:
    """It hears nobody, and is let in without a gap by one change of the table."""
    own = attach(host)
    vms["router"].say("who is there?")
    host.refuses(own, "no-port", 1)
    host.put(HOST_MAC, INFRASTRUCTURE)
    vms["router"].say("now?")
    assert until(own.wire, "now?")[-1] == "now?"
    assert host.status(own).receive["passed"] == 1


def test_detached(host: Bed, vms: dict[str, Port], server: socket.socket) -> None:
    own = attach(host, INFRASTRUCTURE)
    host.detach(own)
    stranger = vms["stranger"]
    stranger.wire.send(datagram(stranger, "hello"))
    assert server.recv(100) == b"hello"


def findings(host: Bed, *qemus: NamedPort) -> list[tuple[str, str]]:
    with host.space.entered():
        return [(each.kind, each.text) for each in check.bridges(qemus, {})]


def in_qemu(table: Path, interface: str) -> NamedPort:
    return NamedPort("vm", "hv0", NOBODY, table, 1, "", (), interface)


def test_check_names_ports_without_hostvlan(host: Bed, vms: dict[str, Port]) -> None:
    tap = host.tap("tap0", NOBODY)
    container = host.veth("container")
    found = findings(host)
    texts = {text.split()[0]: (kind, text) for kind, text in found}
    assert texts.keys() == {"tap0", container.end.name, "br0"}
    assert texts["tap0"][0] == "fault"
    assert "vmmnet hostvlan attach tap0 MAC" in texts["tap0"][1]
    assert texts[container.end.name][0] == "note"
    assert "vmmnet hostvlan attach br0" in texts["br0"][1]
    # Behind a QEMU with -netdev hostvlan, and by the eBPF twin.
    found = findings(host, in_qemu(host.table, "tap0"))
    assert {text.split()[0] for _, text in found} == {container.end.name, "br0"}
    host.attach(tap)
    host.attach(container)
    attach(host, INFRASTRUCTURE)
    assert findings(host) == []


def test_check_passes_over_other_bridges(host: Bed) -> None:
    """One without any HostVLAN is none of ours."""
    host.tap("tap0", NOBODY)
    other = host.space.bridge("br1")
    host.space.tap("tap1", other)
    assert findings(host) == []
    assert {text.split()[0] for _, text in findings(host, in_qemu(host.table, "tap1"))} == {"br1"}


def test_check_sees_another_address_of_the_bridge(host: Bed) -> None:
    """A bridge takes that of a port, unless it was given one."""
    attach(host, INFRASTRUCTURE)
    address(host, NOBODY)
    with host.space.entered():
        (found,) = check.attachments(host.table)
    assert found.kind == "fault"
    assert f"br0 has the MAC address {macs.text(NOBODY)} now" in found.text
