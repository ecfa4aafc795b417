# SPDX-License-Identifier: GPL-2.0-or-later
"""The units as they are shipped, under a real systemd: started, asked, reloaded, late, stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.query
import pytest
from vmmnet.testbed.base import paths, tools, wait
from vmmnet.testbed.base.net import Namespace, Network
from vmmnet.testbed.dns import room as dns_room
from vmmnet.testbed.hosts import ebpf, hostd
from vmmnet.testbed.hosts.booted import Booted
from vmmnet.testbed.hosts.etcd import Etcd
from vmmnet.testbed.mip6.mobility import agent_binary

LATE = "2001:db8:7::53"
ZONE = """\
@ 300 SOA ns mail 1 7200 900 1209600 300
@ 300 NS ns
ns 300 AAAA 2001:db8::1
www 300 A 192.0.2.7
"""
#: vmmnet-cvsw needs python3-os-ken, which the packages' tests install.
DAEMONS = ("vmmnet-hostd", "vmmnet-ha", "vmmnet-dnsd", "vmmnet-hostvlan-agent")
MAC = "52:54:00:12:34:56"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What make install puts on a host, with configurations."""
    folder = tmp_path_factory.mktemp("files")
    folder.chmod(0o755)
    ebpf.compiled()
    tools.run([paths.ROOT / "control/install"], env={**os.environ, "DESTDIR": str(folder)})
    programs, units = folder / "usr/local/sbin", folder / "usr/local/lib/systemd/system"
    programs.mkdir(parents=True, exist_ok=True)
    units.mkdir(parents=True, exist_ok=True)
    for unit, program in {
        "hostd/vmmnet-hostd": hostd.binary(),
        "net/mip6/ha/vmmnet-ha": agent_binary(),
        "net/dns/server/vmmnet-dnsd": dns_room.program("vmmnet-dnsd"),
    }.items():
        shutil.copy(program, programs)
        text = (paths.ROOT / f"{unit}.service.in").read_text()
        (units / f"{Path(unit).name}.service").write_text(
            text.replace("@SBINDIR@", "/usr/local/sbin")
        )
    settings, zones = folder / "etc/vmmnet", folder / "srv/zones"
    settings.mkdir(parents=True, exist_ok=True)
    zones.mkdir(parents=True)
    dns_room.compile_zone("example", ZONE, zones / "example.vzi").chmod(0o644)
    (settings / "ha.conf").write_text(
        "interface home0\naddress 2001:db8:8::1/64\n"
        "state /var/lib/vmmnet/ha.state\ncontrol /run/vmmnet/ha.sock\n"
    )
    (settings / "dnsd.yaml").write_text(
        f"server: {{listen: [127.0.0.1, '{LATE}']}}\n"
        "zones: [{name: example, image: /srv/zones/example.vzi}]\n"
    )
    (settings / "hostvlan-agent.conf").write_text("OPTIONS=--store etcd://127.0.0.1:2379/vmmnet\n")
    return folder


@pytest.fixture
def space(network: Network) -> Namespace:
    made = network.namespace("booted")
    made.sysctl({"net.ipv6.conf.all.forwarding": 1})
    return made


@pytest.fixture
def host(space: Namespace, files: Path, tmp_path: Path) -> Iterator[Booted]:
    Etcd(space, tmp_path).start()
    with Booted(space, files) as booted:
        yield booted


def _is_active(host: Booted, unit: str) -> bool:
    return host.run("systemctl", "is-active", unit, check=False).stdout == "active\n"


def _answers(space: Namespace, server: str) -> bool:
    with space.entered():
        reply = dns.query.udp(dns.message.make_query("www.example", "A"), server, timeout=60)
    return bool(reply.answer)


def test_units_before_what_they_stand_on(host: Booted, space: Namespace) -> None:
    """The interface and the prefix come when all are started; each then serves, and restarts."""
    for unit in DAEMONS:
        done = host.run("systemctl", "start", unit, check=False)
        assert done.returncode == 0, f"{unit}: {host.log(unit)}"
    assert _answers(space, "127.0.0.1")
    host.run("vmmnet-hostd", "show")
    home = space.bridge("home0")
    home.add_address("2001:db8:8::2/64")
    home.add_address(f"{LATE}/64")
    assert _answers(space, LATE)
    wait.until(lambda: host.run("vmmnet-ha", "show", check=False).returncode == 0, "the home agent")
    store = ("--store", "etcd://127.0.0.1:2379/vmmnet")
    host.run("vmmnet", "hostvlan", "add", MAC, "7", *store)
    hosts = ("vmmnet", "hostvlan", "hosts", *store)
    wait.until(lambda: "follows" in host.run(*hosts, check=False).stdout, "the agent")
    for unit in ("vmmnet-dnsd", "vmmnet-ha"):
        host.run("systemctl", "reload", unit)
    for unit in DAEMONS:
        host.run("systemctl", "restart", unit)
        assert _is_active(host, unit), host.log(unit)
    assert _answers(space, LATE)
    for unit in DAEMONS:
        host.run("systemctl", "stop", unit)
        assert host.run("systemctl", "is-failed", unit, check=False).stdout == "inactive\n"
