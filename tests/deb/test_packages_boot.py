# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian 12 and 13 that a real systemd has booted: every service, from install to purge.

And a VM of libvirt, as Debian's packages and ours are, without AppArmor.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import dns.message
import dns.query
import pytest
from lab.base import wait
from lab.base.net import Network
from lab.hosts.booted import Booted
from lab.hosts.etcd import Etcd
from lab.packages import chroot
from lab.packages.debs import EMULATOR, LIBVIRT, RELEASES, dependencies, newer
from vmmnet.architecture import HOST
from vmmnet.libvirt.names import NET

pytestmark = pytest.mark.long

NAMES = ("vmmnet-control", "vmmnet-dnsd", "vmmnet-ha", "vmmnet-validate")
UNITS = (
    *("vmmnet-hostd", "vmmnet-ha", "vmmnet-dnsd", "vmmnet-hostvlan-agent", "vmmnet-cvsw"),
    "vmmnet-validate@web",
)
VALIDATOR = "/run/vmmnet-validate/web"
STORE = ("--store", "etcd://127.0.0.1:2379/vmmnet")
IMAGE = "/var/lib/vmmnet-dns/example.vzi"
ZONE = "@ 300 SOA ns mail 1 7200 900 1209600 300\n@ 300 NS ns\nns 300 A 127.0.0.1\n"
CONFIGURED = {
    "dnsd.yaml": f"server: {{listen: [127.0.0.1]}}\nzones: [{{name: example, image: {IMAGE}}}]\n",
    "ha.conf": "interface: home0\naddress: 2001:db8:8::1/64\n"
    "state: /var/lib/vmmnet/ha.state\ncontrol: /run/vmmnet/ha.sock\n",
    "hostvlan-agent.conf": f"OPTIONS={' '.join(STORE)}\n",
    "cvsw.conf": "OPTIONS=--listen 127.0.0.1:6653 /etc/vmmnet/tenants.yaml\n",
    "own.anchor": f"signed.example. DS 1 13 2 {'0e' * 32}\n",
    "validate/web": "OPTIONS='--dns=127.0.0.1 --trust-anchor=/etc/vmmnet/own.anchor'\n",
    "tenants.yaml": "underlay: {mtu: 1500}\ntenants: {}\n",
}


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that there are packages for."""
    return str(request.param)


def _system(release: str, ours: list[Path], *more: str) -> Path:
    """A machine with what the packages depend on."""
    wanted = dependencies(ours, "Depends") | dependencies(ours[:1], "Recommends")
    return chroot.base(["dbus", "iproute2", "systemd-sysv", *more, *wanted], [], release)


@pytest.fixture
def host(packages: Mapping[str, Path], release: str, tmp_path: Path) -> Iterator[Booted]:
    """A machine with what the packages depend on, and their files in /debs."""
    ours = [packages[name] for name in NAMES]
    system = _system(release, ours)
    for name in ("old", "new"):
        (tmp_path / "files/debs" / name).mkdir(parents=True)
    for package in ours:
        shutil.copy(package, tmp_path / "files/debs/old")
        shutil.copy(newer(package, tmp_path), tmp_path / "files/debs/new")
    with Network() as network:
        space = network.namespace("host")
        space.sysctl({"net.ipv6.conf.all.forwarding": 1})
        space.bridge("home0").add_address("2001:db8:8::2/64")
        Etcd(space, tmp_path).start()
        with Booted(space, tmp_path / "files", system) as booted:
            yield booted


def _apt(host: Booted, line: str) -> None:
    options = "-o Dpkg::Options::=--force-confold --no-install-recommends"
    host.run("sh", "-c", f"DEBIAN_FRONTEND=noninteractive apt-get --yes {options} {line}")


def _serve(host: Booted) -> None:
    """One request to each service."""
    for unit, command in {
        "vmmnet-hostd": ("vmmnet-hostd", "show"),
        "vmmnet-ha": ("vmmnet-ha", "show"),
        "vmmnet-cvsw": ("vmmnet", "cvsw", "show"),
        "vmmnet-dnsd": ("vmmnet-dnsd", "metrics"),
        "vmmnet-validate": ("vmmnet-validate", "show", "--control", f"{VALIDATOR}/control"),
    }.items():
        wait.until(lambda c=command: host.run(*c, check=False).returncode == 0, unit)  # type: ignore[misc]
    with host.space.entered():
        question = dns.message.make_query("ns.example", "A")
        assert dns.query.udp(question, "127.0.0.1", wait.PATIENCE).answer
    hosts = ("vmmnet", "hostvlan", "hosts", *STORE)
    wait.until(lambda: "follows" in host.run(*hosts, check=False).stdout, "the agent")


def _processes(host: Booted) -> dict[str, str]:
    """The main processes of the services that run."""
    show = ("systemctl", "show", "--value", "-p", "MainPID")
    found = {unit: host.run(*show, unit).stdout.strip() for unit in UNITS}
    return {unit: number for unit, number in found.items() if number not in ("", "0")}


def test_services_from_install_to_purge(host: Booted) -> None:
    _apt(host, "install /debs/old/*.deb")
    assert set(_processes(host)) == {"vmmnet-hostd"}
    host.run("mkdir", "-p", "/etc/vmmnet/validate")
    for name, text in CONFIGURED.items():
        host.run("sh", "-c", f"cat >/etc/vmmnet/{name}", input=text)
    host.run("sh", "-c", "cat >/tmp/zone", input=ZONE)
    host.run("vmmnet-zone", "compile", "example", "/tmp/zone", "-o", IMAGE)
    host.run("vmmnet", "hostvlan", "add", "52:54:00:12:34:56", "7", *STORE)
    host.run("systemctl", "enable", "--now", *UNITS)
    _serve(host)
    for unit in ("vmmnet-ha", "vmmnet-dnsd", "vmmnet-cvsw"):
        host.run("systemctl", "reload", unit)
    host.run("systemctl", "restart", *UNITS)
    _serve(host)
    before = _processes(host)
    _apt(host, "install /debs/new/*.deb")
    _serve(host)
    after = _processes(host)
    assert set(before) == set(after) == set(UNITS)
    # An upgrade is of effect: each is a new process.
    assert not set(before.items()) & set(after.items())
    _apt(host, f"purge {' '.join(NAMES)}")
    assert not _processes(host)
    known = host.run("systemctl", "list-unit-files", "vmmnet*", "--no-legend", check=False)
    assert known.stdout == ""


# A VM of libvirt

_VM = "00000000-0000-4000-9000-00000000000b"
_UNIT, _LOG = f"vmmnet-validate@{_VM}.service", "/var/log/vmmnet/web.jsonl"
_DOMAIN = f"""
<domain type='qemu'>
  <name>web</name>
  <uuid>{_VM}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='{NET}'>
      <vmmnet:sockets dns='127.0.0.1' dnssec='strict' trust-anchor='/etc/vmmnet/own.anchor'
        policy='/etc/vmmnet/web.policy' audit='{_LOG}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <os><type arch='{HOST.qemu}' machine='{HOST.machine}'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <emulator>/usr/bin/{EMULATOR}</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""


@pytest.fixture
def machine(packages: Mapping[str, Path], release: str, tmp_path: Path) -> Iterator[Booted]:
    """A machine with Debian's libvirt, and what a VM wants of our packages in /debs."""
    ours = [packages[f"vmmnet-{name}"] for name in ("control", "qemu", "validate")]
    system = _system(release, ours, LIBVIRT[0])
    (tmp_path / "files/debs").mkdir(parents=True)
    for package in ours:
        shutil.copy(package, tmp_path / "files/debs")
    with (
        Network() as network,
        Booted(network.namespace("host"), tmp_path / "files", system) as made,
    ):
        yield made


def test_a_vm_of_libvirt(machine: Booted) -> None:
    """QEMU is in the sandbox that libvirt makes for it, and has its validator and its log."""
    _apt(machine, "install /debs/*.deb")
    for name, text in {
        "/etc/vmmnet/own.anchor": CONFIGURED["own.anchor"],
        "/etc/vmmnet/web.policy": "default deny\n",
        "/root/web.xml": _DOMAIN,
    }.items():
        machine.run("sh", "-c", f"cat >{name}", input=text)
    machine.run("systemctl", "start", "libvirtd")
    machine.run("vmmnet", "libvirt", "define", "/root/web.xml")
    machine.run("virsh", "start", "web")
    pid = machine.run("cat", "/run/libvirt/qemu/web.pid").stdout.strip()
    assert "Seccomp:\t2\n" in machine.run("cat", f"/proc/{pid}/status").stdout
    assert machine.run("systemctl", "is-active", _UNIT).stdout == "active\n"
    # A question of QEMU's user is answered.
    ask = f"""
import os, socket
os.setuid({machine.run("id", "-u", "libvirt-qemu").stdout})
s = socket.socket(socket.AF_UNIX)
s.connect("/run/vmmnet-validate/{_VM}/socket")
query = bytes.fromhex("0007 0100 0001 0000 0000 0000 03777777 00 0001 0001")
s.sendall(len(query).to_bytes(2) + query)
print(s.recv(99)[2:4].hex())
"""
    assert machine.run("python3", "-c", ask).stdout == "0007\n"
    for _ in range(2):
        machine.run("vmmnet", "libvirt", "rotate", "web", "--keep", "2")
        reload = json.dumps({"execute": "vmrpc-reload-policy"})
        machine.run("virsh", "qemu-monitor-command", "web", reload)
    lines = machine.run("cat", f"{_LOG}.2", f"{_LOG}.1", _LOG).stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]
    owner = machine.run("stat", "-c", "%U %a", _LOG, f"{_LOG}.2").stdout
    assert owner == "libvirt-qemu 600\n" * 2
    # The VM stays when the package goes and comes.
    _apt(machine, "remove vmmnet-validate")
    _apt(machine, "install /debs/vmmnet-validate*.deb")
    machine.run("systemctl", "restart", "libvirtd")
    active = ("systemctl", "is-active", _UNIT)
    wait.until(lambda: not machine.run(*active, check=False).returncode, "a validator")
    _apt(machine, "remove vmmnet-validate")
    known = machine.run("systemctl", "list-units", "--all", "--no-legend", "vmmnet-validate@*")
    assert known.stdout == ""
    assert machine.run("virsh", "domstate", "web").stdout.strip() == "running"
    machine.run("virsh", "destroy", "web")
    left = machine.run("find", "/run", "-name", f"*{_VM}*", "-not", "-path", "*/events/*").stdout
    assert left == ""
    refused = machine.run("virsh", "start", "web", check=False).stderr
    assert "Install vmmnet-validate." in refused
    _apt(machine, "install /debs/vmmnet-validate*.deb")
    machine.run("virsh", "start", "web")
    machine.run("virsh", "destroy", "web")
