# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts with libvirt of the system: the element is started, moved, and refused by the hook.

 friend, LNID 7     stranger, LNID 8
        |              |
one: br0 +-- switch --+ two: br-two
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import tools, wait
from lab.base.net import Interface, Namespace, Network
from lab.guest import domain, qemu
from lab.libvirt.libvirtd import BUILD, GUESTS, GUESTS_FOLDER, Host, built
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.hostvlan.host import hostports
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.libvirt import expand
from vmmnet.values import mac as macs

_MAC, _UUID = "52:54:00:00:00:01", "00000000-0000-4000-9000-{:012}"
_VM = "2001:db8:1::c0de"
_TABLE, _TABLE_OF_TWO = "/var/lib/vmmnet/lnid.table", "/var/lib/vmmnet/two.table"
_AGENT, _CONSOLE, _INITRD = GUESTS_FOLDER / "agent", GUESTS_FOLDER / "console", "initrd"

_DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <uuid>{_UUID.format(1)}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:sockets address6='{_VM}' dns='2001:db8:1::2'/>
      <vmmnet:interface mac='{_MAC}' hostvlan='{_TABLE}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>512</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <interface type='bridge'>
      <mac address='{_MAC}'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
"""


@dataclass(frozen=True)
class World:
    """The network above."""

    one: Host
    two: Host
    uplinks: dict[str, Interface]
    friend: Namespace
    stranger: Namespace


def _host(network: Network, stack: contextlib.ExitStack, name: str, number: int) -> Host:
    host: Host = stack.enter_context(Host(network.namespace(name), number, user=GUESTS))
    host.path(_TABLE).parent.mkdir()
    return host


def _fill(table: Path, members: dict[str, int]) -> None:
    with Table.change(table) as change:
        for mac, lnid in members.items():
            change.set(Entry.of(macs.parse(mac), [lnid]))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        switch = network.namespace("switch").bridge("sw")
        members, outside = {_MAC: 7}, []
        for name, lnid, address in (("friend", 7, 2), ("stranger", 8, 3)):
            space = network.namespace(name)
            nic = network.connect(
                space, switch, [f"192.0.2.{address}/24", f"2001:db8:1::{address}/64"]
            ).a
            members[nic.mac] = lnid
            outside.append(space)
        one, two = (_host(network, stack, name, n) for n, name in enumerate(("one", "two"), 1))
        uplinks = {}
        for host, bridge, table in ((one, "br0", _TABLE), (two, "br-two", _TABLE_OF_TWO)):
            uplinks[host.name] = host.space.bridge(bridge)
            network.connect(uplinks[host.name], switch)
            _fill(host.path(table), members)
            settings = host.path("/etc/vmmnet/host.conf")
            settings.write_text(f"uplink * {bridge}\nhostvlan-table {table}  # ours\n")
        uplinks["one"].add_address(f"{_VM}/64")
        yield World(one, two, uplinks, *outside)


def _define(host: Host, made: Any) -> str:
    """Define a domain; returns its name."""
    name: str = made.findtext("name")
    file = host.folder / f"{name}.xml"
    file.write_bytes(etree.tostring(made))
    host.virsh("define", file)
    return name


@pytest.fixture(scope="module")
def guest(world: World) -> str:
    """The domain, expanded, defined and started on host one; it serves a page.  Its name."""
    wanted = etree.fromstring(_DOMAIN)
    places = domain.Places(world.one.folder / _INITRD, _AGENT, _CONSOLE, BUILD)
    domain.make_bootable(wanted, places)
    name = _define(world.one, expand.expand(wanted))
    world.one.virsh("start", name)
    with contextlib.closing(domain.connect(world.one.path(_AGENT))) as channel:
        domain.run(channel, f"modprobe virtio_net; insmod {domain.MODULE}")
        domain.run(channel, "until ip link show eth0; do :; done; ip link set eth0 up")
        domain.run(channel, "ip address add 192.0.2.1/24 dev eth0")
        serve = "cd /srv && echo here >index.html && setsid python3 -m http.server 8080"
        domain.run(channel, f"{serve} >/dev/null 2>&1 &")
        domain.run(channel, "until curl -sf http://127.0.0.1:8080/; do :; done")
    return name


def _only_friend_reaches_it(world: World) -> None:
    ping = ["ping", "-n", "-c1", "192.0.2.1"]
    world.friend.run([*ping, f"-w{wait.PATIENCE:.0f}"])
    assert world.stranger.run([*ping, "-w1"], check=False).returncode


def _serves(world: World) -> None:
    fetch = ["curl", "-sS", "--fail", f"http://[{_VM}]:8080/"]
    wait.until(
        lambda: world.friend.run(fetch, check=False).stdout == "here\n", "an answer of the guest"
    )


def _ports(host: Host) -> list[str]:
    found = hostports.read(host.path("/run/vmmnet/ports"))
    return sorted(map(macs.text, found.macs)) if found else []


def _has_claims(host: Host) -> bool:
    notes = host.path("/run/vmmnet/libvirt")
    return bool(_ports(host)) or (notes.exists() and any(notes.iterdir()))


def _said(host: Host, event: str) -> list[str]:
    """What the hook has done at the events of a kind, as the log has it."""
    begin = f"]: {event} guest: "
    return [line.partition(begin)[2] for line in host.log() if begin in line]


def test_starts_with_what_the_hook_claims(world: World, guest: str) -> None:
    _serves(world)
    _only_friend_reaches_it(world)
    assert _ports(world.one) == [_MAC]
    assert _said(world.one, "prepare") == [
        f"address6 {_VM} is here",
        f"/run/vmmnet/ports/guest has {_MAC}",
    ]


def test_daemon_is_restarted(world: World, guest: str) -> None:
    """The guest stays, and has its claims again if they are gone."""
    one = world.one
    one.path("/run/vmmnet/ports/guest").unlink()
    one.stop()
    one.start()
    assert one.virsh("domstate", "guest").strip() == "running"
    # libvirt serves before it has asked the hook about each domain.
    wait.until(lambda: _said(one, "reconnect"), "the hook's line")
    assert _said(one, "reconnect") == [f"/run/vmmnet/ports/guest has {_MAC}"]
    assert _ports(one) == [_MAC]


def test_moves_and_has_what_is_the_other_hosts(world: World, guest: str) -> None:
    one, two = world.one, world.two
    with two.way() as way:
        one.virsh("migrate", "--live", *way, "guest", two.uri())
    assert two.virsh("domstate", "guest").strip() == "running"
    assert _said(two, "migrate") == [
        f"the table of {_MAC} is {_TABLE_OF_TWO}, not {_TABLE}",
        f"{_MAC} is on br-two, not br0",
    ]
    assert _said(two, "prepare")[0] == f"address6 {_VM} is not here yet"
    assert _ports(two) == [_MAC]
    (port,) = two.monitor("guest", "query-hostvlan")
    assert port["table"] == _TABLE_OF_TWO and port["lnids"] == [7], port
    _only_friend_reaches_it(world)

    assert _said(one, "release") == ["/run/vmmnet/ports/guest is removed"]
    assert not _has_claims(one)
    world.uplinks["one"].remove_address(f"{_VM}/64")
    world.uplinks["two"].add_address(f"{_VM}/64")
    world.friend.ip("-6", "neigh", "flush", "all")
    _serves(world)


def test_saved_and_restored(world: World, guest: str) -> None:
    """A file of a VM claims nothing."""
    two, file = world.two, Path("/run/saved")
    two.virsh("save", "guest", file)
    assert not _has_claims(two)
    two.virsh("restore", file)
    assert _said(two, "restore") == ["it comes as it is"]
    assert _ports(two) == [_MAC]
    _serves(world)


def test_moves_back_from_daemon_to_daemon(world: World, guest: str) -> None:
    """What was rewritten is rewritten again."""
    one, two = world.one, world.two
    with one.way() as way:
        two.virsh("migrate", "--live", "--p2p", *way, "guest", one.uri())
    assert not _has_claims(two)
    assert _said(one, "migrate") == [
        f"the table of {_MAC} is {_TABLE}, not {_TABLE_OF_TWO}",
        f"{_MAC} is on br0, not br-two",
    ]
    assert _ports(one) == [_MAC]
    _only_friend_reaches_it(world)
    one.virsh("destroy", "guest")
    assert not _has_claims(one)


# What is refused, on host one.


def _refusal(world: World, number: int, made: Any) -> str:
    """Start a domain that the hook refuses; returns what virsh says."""
    made.find("uuid").text = _UUID.format(number)
    made.find("name").text = f"refused{number}"
    domain.child(made.find("devices"), "emulator", built(qemu.binary()))
    name = _define(world.one, made)
    with pytest.raises(tools.CommandFailed) as failed:
        world.one.virsh("start", name)
    notes = world.one.path("/run/vmmnet/libvirt") / _UUID.format(number)
    assert not notes.exists() and not world.one.path(f"/run/vmmnet/ports/{name}").exists()
    return str(failed.value)


def test_drift_is_refused(world: World) -> None:
    """Whoever edits what was expanded learns what differs."""
    made = expand.expand(etree.fromstring(_DOMAIN))
    (netdev,) = made.xpath("//*[contains(@value, 'table=')]")
    netdev.set("value", netdev.get("value").replace(_TABLE, "/tmp/mine.table"))
    text = _refusal(world, 2, made)
    assert "vmmnet: domain 'refused2':" in text and "vmmnet libvirt define" in text
    assert f"table={_TABLE}" in text and "table=/tmp/mine.table" in text


def test_an_element_whose_namespace_is_mistyped_is_refused(world: World) -> None:
    """libvirt keeps it, and the VM would start without HostVLAN."""
    text = _refusal(world, 4, etree.fromstring(_DOMAIN.replace("/net/1", "/net")))
    assert "'https://vmmnet.example/net': this namespace is not that of <vmmnet:net>" in text
    assert "write xmlns:vmmnet='https://vmmnet.example/net/1'" in text


def test_a_table_that_is_not_here_is_refused(world: World) -> None:
    wanted = etree.fromstring(_DOMAIN.replace(_TABLE, "/var/lib/vmmnet/none.table"))
    text = _refusal(world, 3, expand.expand(wanted))
    assert "/var/lib/vmmnet/none.table, is not on this host" in text
