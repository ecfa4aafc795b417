# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM with validation, a policy and an audit log, under a real libvirtd and a real systemd.

No system runs in it, so the log's lines are those of policies that are loaded.

 one, two: libvirtd, vmmnet-validate@UUID; br0, 192.0.2.1, .2
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import scratch, wait
from lab.base.net import Network
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.guest import qemu
from lab.libvirt import units
from lab.libvirt.libvirtd import GUESTS, built
from lab.libvirt.units import Managed
from vmmnet.libvirt import names

VM = "00000000-0000-4000-9000-00000000000b"
UNIT = f"vmmnet-validate@{VM}.service"
PROGRAM = "/usr/local/sbin/vmmnet-validate"
TEMPLATE = "/usr/local/lib/systemd/system/vmmnet-validate@.service"
ANCHOR, LOG = "/etc/vmmnet/own.anchor", "/var/log/vmmnet/web.jsonl"
OWN = f"/etc/systemd/system/{UNIT}.d/own.conf"
SERVER = "127.0.0.1"
ZONE = """\
@ 300 SOA ns mail 1 7200 900 1209600 300
@ 300 NS ns
ns 300 A 127.0.0.1
www 300 A 192.0.2.7
"""
#: Asks the VM's validator as a user, and prints how many answers there are, or "nothing".
ASK = f"""
import os, socket, struct, sys
os.setgid(0)
os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX)
s.connect("/run/vmmnet-validate/{VM}/socket")
query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\\3www\\7example\\0\\0\\1\\0\\1"
try:
    s.sendall(struct.pack(">H", len(query)) + query)
    reply = s.recv(9999)
except OSError:
    reply = b""
print(struct.unpack(">HHHHHH", reply[2:14])[3] if reply else "nothing")
"""
#: Opens the memory of a process as a user and a group of one number.
LOOK = """
import os, sys
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
try:
    open(f"/proc/{sys.argv[2]}/mem", "r+b")
except OSError as error:
    print(error.strerror)
"""

DOMAIN = f"""
<domain type='qemu'>
  <name>web</name>
  <uuid>{VM}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='{names.NET}'>
      <vmmnet:sockets dns='{SERVER}' dnssec='strict' trust-anchor='{ANCHOR}'
        policy='/etc/vmmnet/web.policy' audit='{LOG}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <emulator>{{emulator}}</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""


@dataclass(frozen=True)
class World:
    """The network above."""

    one: Managed
    two: Managed


def _define(host: Managed) -> None:
    """Define the VM as an operator does."""
    text = DOMAIN.format(emulator=built(qemu.binary()))
    host.run("sh", "-c", "cat >/root/web.xml", input=text)
    host.run("vmmnet", "libvirt", "define", "/root/web.xml")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        folder = Path(stack.enter_context(scratch.folder()))
        folder.chmod(0o755)
        files = folder / "files"
        files.mkdir()
        units.files(files)
        (files / ANCHOR.lstrip("/")).write_text(f"signed.example. DS 1 13 2 {'0e' * 32}\n")
        (files / "etc/vmmnet/web.policy").write_text("default deny\n")
        image = dns_room.compile_zone("example", ZONE, folder / "example.vzi")
        image.chmod(0o644)
        switch, hosts = network.namespace("switch").bridge("sw"), []
        for number, name in enumerate(("one", "two"), 1):
            space = network.namespace(name)
            network.connect(space, switch, [f"192.0.2.{number}/24"])
            served = folder / name
            served.mkdir()
            zones = [{"name": "example", "image": str(image)}]
            config = {"server": {"listen": [SERVER]}, "zones": zones}
            stack.enter_context(Dnsd(space, served, config))
            hosts.append(stack.enter_context(Managed(space, files, number)))
        _define(hosts[0])
        yield World(*hosts)


@pytest.fixture
def host(world: World) -> Iterator[Managed]:
    """Host one, where the VM is defined, without a log; it does not run any more afterwards."""
    world.one.run("sh", "-c", f"rm -f {LOG}*")
    yield world.one
    world.one.run("virsh", "destroy", "web", check=False)
    _has_nothing(world.one)


def _has_nothing(host: Managed) -> None:
    """Nothing is left of the VM's validator; an administrator's own file is no part of it."""
    places = ("/run/vmmnet/libvirt", "/run/vmmnet-validate", "/run/systemd/system.control")
    left = host.run("find", *places, "(", "-name", f"*{VM}*", "-o", "-type", "f", ")", check=False)
    assert left.stdout == ""
    known = host.run("systemctl", "list-units", "--all", "--no-legend", "vmmnet-validate@*")
    assert known.stdout == ""


def _shown(host: Managed, *properties: str) -> dict[str, str]:
    text = host.run("systemctl", "show", UNIT, "-p", ",".join(properties)).stdout
    return dict(line.split("=", 1) for line in text.splitlines())


def _ask(host: Managed, user: int) -> str:
    return host.run("python3", "-c", ASK, str(user), check=False).stdout.strip()


def _user(host: Managed, name: str) -> int:
    return int(host.run("id", "-u", name).stdout)


def _status(host: Managed, pid: str) -> dict[str, str]:
    text = host.run("cat", f"/proc/{pid}/status").stdout
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def _begun(host: Managed, pid: str) -> int:
    """When a process has begun, in ticks."""
    return int(host.run("cat", f"/proc/{pid}/stat").stdout.rpartition(") ")[2].split()[19])


def _qemu(host: Managed) -> str:
    return host.run("cat", "/run/libvirt/qemu/web.pid").stdout.strip()


def _lines(host: Managed, *files: str) -> list[dict[str, Any]]:
    text = host.run("cat", *(files or (LOG,))).stdout
    return [json.loads(line) for line in text.splitlines()]


def _numbers(host: Managed, *files: str) -> list[int]:
    return [line["seq"] for line in _lines(host, *files)]


def _reload(host: Managed) -> None:
    """Let QEMU write a line."""
    before = len(_lines(host))
    host.monitor("web", "vmrpc-reload-policy")
    wait.until(lambda: len(_lines(host)) > before, "the log's line")


def test_started_with_its_validator(host: Managed) -> None:
    """It is there before QEMU, is nobody else, serves QEMU's user, and goes with the VM."""
    host.virsh("start", "web")
    said = [f"prepare web: {UNIT} validates", f"prepare web: {LOG} is QEMU's"]
    assert host.said()[-2:] == said
    shown = _shown(host, "MainPID", "IPAddressAllow", "IPAddressDeny", "ActiveState")
    assert shown["ActiveState"] == "active"
    assert shown["IPAddressAllow"] == f"{SERVER}/32" and shown["IPAddressDeny"]
    pid, guests = shown["MainPID"], _user(host, GUESTS)
    assert _begun(host, pid) <= _begun(host, _qemu(host))
    status = _status(host, pid)
    own = int(status["Uid"].split()[0])
    assert own not in (0, guests)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == 0
    assert [_ask(host, each) for each in (guests, own, 12345)] == ["1", "nothing", "nothing"]
    # Validators of other VMs have its user, too.
    look = host.run("python3", "-c", LOOK, str(own), pid).stdout
    assert look == "Permission denied\n"
    log = host.run("stat", "-c", "%U %a", LOG).stdout
    assert log == f"{GUESTS} 600\n"
    (line,) = _lines(host)
    assert (line["seq"], line["vm"], line["event"]) == (1, "web", "policy")
    told = host.run("vmmnet", "libvirt", "show", "web").stdout
    assert f" {UNIT}: " in told and " 1 questions" in told
    host.virsh("destroy", "web")
    assert host.said()[-1] == f"release web: {UNIT} is stopped"
    _has_nothing(host)


def test_rotated(host: Managed) -> None:
    """Each line is in one file, whole, and none is missing; a new QEMU begins at 1."""
    host.virsh("start", "web")
    for _ in range(2):
        _reload(host)
        host.run("vmmnet", "libvirt", "rotate", "web", "--keep", "2")
    assert _lines(host) == []
    _reload(host)
    files = (f"{LOG}.2", f"{LOG}.1", LOG)
    assert _numbers(host, *files) == [1, 2, 3, 4]
    for each in files:
        assert host.run("stat", "-c", "%U %a", each).stdout == f"{GUESTS} 600\n"
    host.virsh("destroy", "web")
    host.virsh("start", "web")
    assert _numbers(host) == [4, 1]


def test_saved(host: Managed) -> None:
    """What goes on from a file has its validator again, and its log goes on."""
    host.virsh("start", "web")
    host.virsh("managedsave", "web")
    _has_nothing(host)
    host.virsh("start", "web")
    assert _shown(host, "ActiveState")["ActiveState"] == "active"
    _reload(host)
    found = _numbers(host)
    assert found == list(range(1, len(found) + 1))


def test_killed(host: Managed) -> None:
    """systemd has it back at once; an administrator's settings of this unit stay."""
    host.run("mkdir", "-p", str(Path(OWN).parent))
    host.run("sh", "-c", f"cat >{OWN}", input="[Service]\nMemoryMax=99M\n")
    host.run("systemctl", "daemon-reload")
    host.virsh("start", "web")
    user, before = _user(host, GUESTS), _shown(host, "MainPID")
    host.run("systemctl", "kill", "-s", "KILL", UNIT)
    wait.until(lambda: _ask(host, user) == "1", "an answer of the next one")
    assert _shown(host, "MainPID") != before
    assert _shown(host, "MemoryMax") == {"MemoryMax": str(99 << 20)}
    # Somebody has stopped it: libvirt's daemon, when it is started again, has it started.
    host.run("systemctl", "stop", UNIT)
    assert f"{UNIT} is away: " in host.run("vmmnet", "libvirt", "show", "web").stdout
    host.run("systemctl", "restart", "libvirtd")
    wait.until(lambda: _ask(host, user) == "1", "an answer of the next one")
    host.virsh("destroy", "web")
    assert host.run("cat", OWN).stdout
    host.run("rm", "-r", str(Path(OWN).parent))
    host.run("systemctl", "daemon-reload")


def test_starts_with_the_host(host: Managed) -> None:
    """The daemon that starts it is itself a unit that has not started yet, or just so."""
    host.virsh("autostart", "web")
    host.run("systemctl", "stop", "libvirtd")
    # As after a boot.
    host.run("rm", "-f", "/run/libvirt/qemu/autostarted")
    host.run("systemctl", "start", "libvirtd")
    running = ("virsh", "domstate", "web")
    wait.until(lambda: host.run(*running, check=False).stdout.strip() == "running", "the VM")
    assert _ask(host, _user(host, GUESTS)) == "1"
    host.virsh("autostart", "--disable", "web")


def test_stops_with_the_host(host: Managed) -> None:
    """libvirt-guests saves the VM while its validator still serves, and waits for nothing."""
    settings = "ON_BOOT=ignore\nON_SHUTDOWN=suspend\n"
    host.run("sh", "-c", "cat >/etc/default/libvirt-guests", input=settings)
    host.virsh("start", "web")
    host.run("systemctl", "start", "libvirt-guests")
    # As at a shutdown; only a job that waits for libvirt-guests is still to be seen by the hook.
    host.run("systemctl", "stop", "libvirt-guests", UNIT)
    assert host.said()[-1] == f"release web: {UNIT} stops with the host"
    assert "Managed save:   yes" in host.virsh("dominfo", "web")
    _has_nothing(host)
    host.virsh("managedsave-remove", "web")


def test_cannot_be_started(host: Managed) -> None:
    """The VM is refused with the validator's own words; then it starts as if nothing had been."""
    host.run("mv", ANCHOR, "/root")
    refused = host.refuses("start", "web")
    told = f"{UNIT}: trust-anchor={ANCHOR}: there is no file that can be read"
    assert told in refused and "dns-root-data" in refused
    assert any(line.startswith(f"prepare web: {told}") for line in host.said())
    _has_nothing(host)
    host.run("mv", "/root/own.anchor", ANCHOR)
    host.run("mv", PROGRAM, "/root")
    assert f"'systemctl restart {UNIT}': Job for {UNIT} failed" in host.refuses("start", "web")
    _has_nothing(host)
    host.run("mv", "/root/vmmnet-validate", PROGRAM)
    host.virsh("start", "web")
    assert _ask(host, _user(host, GUESTS)) == "1"


def test_removed(host: Managed) -> None:
    """Without the package a VM that runs ends as it should, and does not start again."""
    host.virsh("start", "web")
    host.run("mv", TEMPLATE, "/root")
    host.run("systemctl", "stop", UNIT)
    host.run("systemctl", "daemon-reload")
    host.virsh("destroy", "web")
    _has_nothing(host)
    refused = host.refuses("start", "web")
    assert f"{UNIT} not found. Install vmmnet-validate." in refused
    assert (
        "install vmmnet-validate"
        in host.run("vmmnet", "libvirt", "check", "web", check=False).stdout
    )
    _has_nothing(host)
    host.run("mv", f"/root/{Path(TEMPLATE).name}", TEMPLATE)
    host.run("systemctl", "daemon-reload")
    host.virsh("start", "web")


def test_moves(world: World, host: Managed) -> None:
    """Its validator there is up before QEMU is; its log goes on there, from its last line here."""
    two = world.two
    host.virsh("start", "web")
    _reload(host)
    words = ("migrate", "--live", "--migrateuri", "tcp://192.0.2.2", "web", two.uri())
    # virsh of no host, to which the sockets of both are files.
    done = host.space.run(["virsh", "-q", "-c", host.uri(), *words])
    assert done.returncode == 0
    _has_nothing(host)
    assert two.said()[-2:] == [f"prepare web: {UNIT} validates", f"prepare web: {LOG} is QEMU's"]
    pid = _shown(two, "MainPID")["MainPID"]
    assert _begun(two, pid) <= _begun(two, _qemu(two))
    assert _ask(two, _user(two, GUESTS)) == "1"
    _reload(two)
    here, there = _numbers(host), _numbers(two)
    assert here + there == list(range(1, len(here + there) + 1))
    two.virsh("destroy", "web")
    _has_nothing(two)
    # Without one there, it runs on here.
    two.run("mv", ANCHOR, "/root")
    host.run("vmmnet", "libvirt", "define", "/root/web.xml")
    host.virsh("start", "web")
    done = host.space.run(["virsh", "-q", "-c", host.uri(), *words], check=False)
    assert done.returncode and f"trust-anchor={ANCHOR}" in done.stderr
    assert host.virsh("domstate", "web").strip() == "running"
    assert _ask(host, _user(host, GUESTS)) == "1"
    _has_nothing(two)
