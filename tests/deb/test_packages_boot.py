# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian 12 and 13 that a real systemd has booted: every service, from install to purge."""

from __future__ import annotations

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
from lab.packages.debs import RELEASES, dependencies, newer

pytestmark = pytest.mark.long

NAMES = ("vmmnet-control", "vmmnet-dnsd", "vmmnet-ha")
UNITS = ("vmmnet-hostd", "vmmnet-ha", "vmmnet-dnsd", "vmmnet-hostvlan-agent", "vmmnet-cvsw")
STORE = ("--store", "etcd://127.0.0.1:2379/vmmnet")
IMAGE = "/var/lib/vmmnet-dns/example.vzi"
ZONE = "@ 300 SOA ns mail 1 7200 900 1209600 300\n@ 300 NS ns\nns 300 A 127.0.0.1\n"
CONFIGURED = {
    "dnsd.yaml": f"server: {{listen: [127.0.0.1]}}\nzones: [{{name: example, image: {IMAGE}}}]\n",
    "ha.conf": "interface: home0\naddress: 2001:db8:8::1/64\n"
    "state: /var/lib/vmmnet/ha.state\ncontrol: /run/vmmnet/ha.sock\n",
    "hostvlan-agent.conf": f"OPTIONS={' '.join(STORE)}\n",
    "cvsw.conf": "OPTIONS=--listen 127.0.0.1:6653 /etc/vmmnet/tenants.yaml\n",
    "tenants.yaml": "underlay: {mtu: 1500}\ntenants: {}\n",
}


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that there are packages for."""
    return str(request.param)


@pytest.fixture
def host(packages: Mapping[str, Path], release: str, tmp_path: Path) -> Iterator[Booted]:
    """A machine with what the packages depend on, and their files in /debs."""
    ours = [packages[name] for name in NAMES]
    wanted = dependencies(ours, "Depends") | dependencies(ours[:1], "Recommends")
    system = chroot.base(["dbus", "iproute2", "systemd-sysv", *wanted], [], release)
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
