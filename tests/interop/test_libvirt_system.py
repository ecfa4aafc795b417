# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts with libvirt of the system: the element is started, moved, and refused by the hook.

 friend, LNID 7     stranger, LNID 8
        |              |
one: br0 +-- switch --+ two: br-two
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import paths, scratch, tools, wait
from lab.base.net import Interface, Namespace, Network
from lab.dns import signed_zones
from lab.dns.validator import Validator
from lab.guest import domain, qemu
from lab.libvirt.libvirtd import BUILD, GUESTS, GUESTS_FOLDER, GUESTS_ID, Host, built
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.hostvlan.host import hostports
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.libvirt import expand
from vmmnet.values import mac as macs

_MAC, _UUID = "52:54:00:00:00:01", "00000000-0000-4000-9000-{:012}"
_VM = "2001:db8:1::c0de"
_TABLE, _TABLE_OF_TWO = "/var/lib/vmmnet/lnid.table", "/var/lib/vmmnet/two.table"
_VALIDATE, _LOG = "/run/validate", "/var/log/vmmnet/guest.jsonl"
#: That and the former ones, the oldest first.
_LOGS = (f"{_LOG}.3", f"{_LOG}.2", f"{_LOG}.1", _LOG)
#: What the VM has besides its address: names that are validated, a policy, a log.
_CONFINED = (
    f"dnssec='strict' validator='{_VALIDATE}/socket' policy='/etc/vmmnet/guest.policy'"
    f" audit='{_LOG}'"
)
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
    #: Of each host, for the VM.
    validators: dict[str, Validator]
    friend: Namespace
    stranger: Namespace


def _host(network: Network, stack: contextlib.ExitStack, name: str, number: int) -> Host:
    host: Host = stack.enter_context(Host(network.namespace(name), number, user=GUESTS))
    host.path(_TABLE).parent.mkdir()
    return host


def _validator(host: Host, folder: Path, stack: contextlib.ExitStack) -> Validator:
    """Run the host's validator, and the server that it asks."""
    folder.mkdir()
    anchor = stack.enter_context(signed_zones.served(host.space, folder, "127.0.0.1"))
    words = ("--allow", str(GUESTS_ID), "--dns", "127.0.0.1", "--trust-anchor", anchor)
    return stack.enter_context(Validator(host.space, host.path(_VALIDATE), *words))


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
        uplinks, validators = {}, {}
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        for host, bridge, table in ((one, "br0", _TABLE), (two, "br-two", _TABLE_OF_TWO)):
            uplinks[host.name] = host.space.bridge(bridge)
            network.connect(uplinks[host.name], switch)
            _fill(host.path(table), members)
            settings = host.path("/etc/vmmnet/host.conf")
            settings.write_text(f"uplink * {bridge}\nhostvlan-table {table}  # ours\n")
            host.path("/etc/vmmnet/guest.policy").write_text(
                "default deny\nallow *.vm.example tcp 443\n"
            )
            validators[host.name] = _validator(host, folder / host.name, stack)
        uplinks["one"].add_address(f"{_VM}/64")
        yield World(one, two, uplinks, validators, *outside)


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
    wanted = etree.fromstring(_DOMAIN.replace("dns=", f"{_CONFINED} dns="))
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
        f"{_LOG} is QEMU's",
    ]


def _asks(host: Host, *names: str) -> list[bool]:
    """Whether the guest finds names below vm.example; each is asked for anew."""
    with contextlib.closing(domain.connect(host.path(_AGENT))) as channel:
        words = [f"getent ahostsv4 {each}.vm.example >/dev/null; echo $?" for each in names]
        said = domain.run(channel, "; ".join(words)).stdout
    return [each == "0" for each in said.split()]


def _lines(host: Host, *files: str) -> list[dict[str, Any]]:
    text = "".join(host.path(each).read_text() for each in files or (_LOG,))
    return [json.loads(line) for line in text.splitlines()]


def _has_no_gaps(lines: list[dict[str, Any]]) -> bool:
    return [each["seq"] for each in lines] == list(range(1, len(lines) + 1))


def test_names_are_validated(world: World, guest: str) -> None:
    """Without its validator the VM is told nothing, and goes on as soon as that is back."""
    one, validator = world.one, world.validators["one"]
    assert _asks(one, "six", "six.forged") == [True, False]
    validator.kill()
    assert _asks(one, "six.plain") == [False]
    _serves(world)
    validator.start()
    wait.until(lambda: _asks(one, "six.plain") == [True], "the validator is asked again")
    told = one.path("/var/log/libvirt/qemu/guest.log").read_text()
    assert told.count(" is away: ") == told.count(" is back\n") == 1
    verdicts = [line["security"] for line in _lines(one) if "security" in line]
    assert {"secure", "bogus", "insecure"} <= set(verdicts)


def test_log_is_rotated_while_it_is_written(world: World, guest: str) -> None:
    one = world.one
    rotate = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", "/usr/bin/python3", "-m", "vmmnet"]
    rotate += ["libvirt", "rotate", guest, "--keep", "3"]
    with contextlib.closing(domain.connect(one.path(_AGENT))) as channel:
        ask = "i=0; while [ ! -e /stop ]; do i=$((i + 1)); getent ahostsv4 x$i.vm.example; done"
        job = channel.start(["sh", "-c", f"{ask}; echo $i"])
        job.close_input()
        for number in range(3):
            # Each former file has lines of this guest.
            wait.until(lambda: len(_lines(one)) > 10, f"lines before rotation {number}")
            one.run(*rotate)
        domain.run(channel, "touch /stop")
        asked = int(job.wait(wait.PATIENCE).stdout)
    lines = _lines(one, *_LOGS)
    assert _has_no_gaps(lines)
    names = {line["name"] for line in lines if line["event"] == "name"}
    assert {f"x{number}.vm.example" for number in range(1, asked + 1)} <= names
    for each in _LOGS:
        assert one.run("stat", "-c", "%U %a", each).stdout == f"{GUESTS} 600\n"


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
    assert _asks(two, "six.nsec3", "six.expired") == [True, False]
    there = _lines(two)
    assert _has_no_gaps(_lines(one, *_LOGS) + there)
    assert any(line["event"] == "name" for line in there)

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
    assert _asks(one, "six.nsec3", "six.early") == [True, False]
    lines = [*_lines(one, *_LOGS), *_lines(two)]
    assert _has_no_gaps(sorted(lines, key=lambda line: line["seq"]))
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
