# SPDX-License-Identifier: GPL-2.0-or-later
"""The units as they are shipped, under a real systemd: started, asked, reloaded, late, stopped."""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone
import pytest
from lab.base import paths, scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.dns import room as dns_room
from lab.dns.dnsd import Dnsd
from lab.hosts import booted, ebpf, hostd
from lab.hosts.booted import Booted
from lab.hosts.etcd import Etcd
from lab.mip6.mobility import agent_binary
from lab.packages import certificates, wheels

LATE = "2001:db8:7::53"
LINK = "fe80::53"
ZONE = """\
@ 300 SOA ns mail 1 7200 900 1209600 300
@ 300 NS ns
ns 300 AAAA 2001:db8::1
www 300 A 192.0.2.7
"""
#: They start whatever is missing; vmmnet-cvsw tries until it can listen.
WAITING = ("vmmnet-hostd", "vmmnet-ha", "vmmnet-dnsd", "vmmnet-hostvlan-agent")
DAEMONS = (*WAITING, "vmmnet-cvsw")
VM = "0a7c1f3e-0000-4000-8000-00000000000a"
MAC = "52:54:00:12:34:56"
STORE = ("--store", "etcds://127.0.0.1:2379/vmmnet", "--store-ca", "/etc/vmmnet/etcd-ca.pem")
METRICS = "127.0.0.1:9108"
KEY, SECRET = "ddns.test", "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
#: A server that the one under test copies a zone from, and asks as a resolver.
OTHER = "127.0.0.2"
DNSD = f"""\
server: {{listen: [127.0.0.1, '{LATE}', '{LINK}%late0']}}
keys: [{{name: {KEY}, secret-file: /etc/vmmnet/ddns.secret}}]
resolver: {{allow: [127.0.0.0/8], forward: [{OTHER}], dnssec: off}}
zones:
  - {{name: example, image: /srv/zones/example.vzi}}
  - name: dynamic
    image: /var/lib/vmmnet-dns/dynamic.vzi
    allow-update: [{KEY}]
    allow-transfer: [{KEY}]
    notify: [{OTHER}]
  - {{name: copied, image: /var/lib/vmmnet-dns/copied.vzi, primaries: [{OTHER}]}}
"""
TENANTS = """\
underlay: {mtu: 1500}
tenants:
  red:
    vni: 5001
    vms:
      red1: {mac: 52:54:00:00:01:01, key: keys/red1, tunnel: 192.0.2.1}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What make install puts on a host, with configurations."""
    folder = tmp_path_factory.mktemp("files")
    folder.chmod(0o755)
    ebpf.compiled()
    tools.run([paths.ROOT / "control/install"], env={**os.environ, "DESTDIR": str(folder)})
    for unit, program in {
        "hostd/vmmnet-hostd": hostd.binary(),
        "ha/vmmnet-ha": agent_binary(),
        "dnsd/server/vmmnet-dnsd": dns_room.program("vmmnet-dnsd"),
        "dnsd/validate/vmmnet-validate@": dns_room.program("vmmnet-validate"),
    }.items():
        booted.add_unit(folder, unit, program)
    # Beside our package, where any Python finds it.
    shutil.copytree(wheels.os_ken(), folder / "usr/local/share/vmmnet", dirs_exist_ok=True)
    settings = folder / "etc/vmmnet"
    (settings / "keys").mkdir(parents=True)
    for name, place in {"example": "srv/zones", "dynamic": "var/lib/vmmnet-dns"}.items():
        (folder / place).mkdir(parents=True)
        dns_room.compile_zone(name, ZONE, folder / place / f"{name}.vzi").chmod(0o644)
    (settings / "ha.conf").write_text(
        "interface: home0\naddress: 2001:db8:8::1/64\n"
        "state: /var/lib/vmmnet/ha.state\ncontrol: /run/vmmnet/ha.sock\n"
    )
    (settings / "dnsd.yaml").write_text(DNSD)
    (settings / "own.anchor").write_text(f"signed.example. DS 1 13 2 {'0e' * 32}\n")
    (settings / "ddns.secret").write_text(f"{SECRET}\n")
    (settings / "tenants.yaml").write_text(TENANTS)
    (settings / "keys/red1").write_bytes(bytes(32))
    (settings / "keys/red1").chmod(0o600)
    (settings / "cvsw.conf").write_text(
        f"OPTIONS=--listen [{LATE}]:6653 /etc/vmmnet/tenants.yaml\n"
    )
    words = ("--metrics", METRICS, *STORE)
    (settings / "hostvlan-agent.conf").write_text(f"OPTIONS={' '.join(words)}\n")
    certificates.make(settings, "etcd")
    (settings / "ca.pem").rename(settings / "etcd-ca.pem")
    return folder


@pytest.fixture
def space(network: Network) -> Namespace:
    made = network.namespace("booted")
    made.sysctl({"net.ipv6.conf.all.forwarding": 1})
    return made


@pytest.fixture
def host(space: Namespace, files: Path, tmp_path: Path) -> Iterator[Booted]:
    own = files / "etc/vmmnet/etcd"
    pair = ("--cert-file", f"{own}.pem", "--key-file", f"{own}.key")
    Etcd(space, tmp_path, *pair, tls=True).start()
    with Booted(space, files) as made:
        yield made


def _is_active(host: Booted, unit: str) -> bool:
    return host.run("systemctl", "is-active", unit, check=False).stdout == "active\n"


def _ask(space: Namespace, name: str, server: str = "127.0.0.1") -> list[str]:
    """Ask as resolvers do, again after a second: a datagram may meet a change of the interface."""
    question = dns.message.make_query(name, "A")
    found: list[str] = []

    def is_answered() -> bool:
        try:
            with space.entered():
                reply = dns.query.udp(question, server, timeout=1)
        except dns.exception.Timeout:
            return False
        found.extend(item.to_text() for rrset in reply.answer for item in rrset)
        return True

    wait.until(is_answered, f"a reply of {server}")
    return found


def _answers(host: Booted, *command: str) -> bool:
    return host.run(*command, check=False).returncode == 0


def test_units_before_what_they_stand_on(host: Booted, space: Namespace) -> None:
    """The interface and the prefix come when all are started; each then serves, and restarts."""
    for unit in WAITING:
        done = host.run("systemctl", "start", unit, check=False)
        assert done.returncode == 0, f"{unit}: {host.log(unit)}"
    host.run("systemctl", "start", "--no-block", "vmmnet-cvsw")
    assert _ask(space, "www.example")
    host.run("vmmnet-hostd", "show")
    home = space.bridge("home0")
    home.add_address("2001:db8:8::2/64")
    home.add_address(f"{LATE}/64")
    assert _ask(space, "www.example", LATE)
    wait.until(lambda: _answers(host, "vmmnet-ha", "show"), "the home agent")
    wait.until(lambda: _answers(host, "vmmnet", "cvsw", "show"), "the controller")
    host.run("vmmnet", "hostvlan", "add", MAC, "7", *STORE)
    hosts = ("vmmnet", "hostvlan", "hosts", *STORE)
    wait.until(lambda: "follows" in host.run(*hosts, check=False).stdout, "the agent")
    shown = json.loads(host.run("vmmnet", "show", "--json").stdout)
    assert list(shown) == ["hostd", "ha", "dnsd", "cvsw", "hostvlan"]
    print(host.run("vmmnet", "show").stdout, json.dumps(shown), sep="")
    for unit in ("vmmnet-dnsd", "vmmnet-ha", "vmmnet-cvsw"):
        host.run("systemctl", "reload", unit)
    for unit in DAEMONS:
        host.run("systemctl", "restart", unit)
        assert _is_active(host, unit), host.log(unit)
    assert _ask(space, "www.example", LATE)
    for unit in DAEMONS:
        host.run("systemctl", "stop", unit)
        assert host.run("systemctl", "is-failed", unit, check=False).stdout == "inactive\n"


@pytest.fixture
def other(space: Namespace) -> Iterator[Dnsd]:
    """A server with a zone to copy, and one to be asked for; it serves while it is entered."""
    with scratch.folder() as name:
        folder = Path(name)
        folder.chmod(0o755)
        zones = [
            {
                "name": each,
                "image": str(dns_room.compile_zone(each, ZONE, folder / f"{each}.vzi")),
                "allow-transfer": ["127.0.0.0/8"],
            }
            for each in ("copied", "elsewhere")
        ]
        yield Dnsd(space, folder, {"server": {"listen": [OTHER]}, "zones": zones})


def test_dnsd_changes_copies_and_resolves(host: Booted, space: Namespace, other: Dnsd) -> None:
    """What needs files, sockets and threads beyond answering from an image."""
    with other:
        host.run("systemctl", "start", "vmmnet-dnsd")
        wait.until(lambda: _ask(space, "www.copied"), "the zone is copied")
        assert _ask(space, "www.elsewhere") == ["192.0.2.7"]
        ring = dns.tsigkeyring.from_text({KEY: SECRET})
        update = dns.update.UpdateMessage("dynamic", keyring=ring)
        update.add("new", 60, "A", "192.0.2.99")
        with space.entered():
            assert dns.query.tcp(update, "127.0.0.1", wait.PATIENCE).rcode() == dns.rcode.NOERROR
        host.run("systemctl", "reload", "vmmnet-dnsd")
        host.run("systemctl", "restart", "vmmnet-dnsd")
        assert _ask(space, "new.dynamic") == ["192.0.2.99"]
        with space.entered():
            sent = dns.query.xfr("127.0.0.1", "dynamic", keyring=ring, lifetime=wait.PATIENCE)
            assert dns.zone.from_xfr(sent).get_rdataset("new", "A")
    assert "vmmnet_dnsd_" in host.run("vmmnet-dnsd", "metrics").stdout


def test_dnsd_follows_an_interface(host: Booted, space: Namespace, network: Network) -> None:
    """It comes late and is made again; for that, not more than the unit allows is needed."""
    client = network.namespace("client")
    host.run("systemctl", "start", "vmmnet-dnsd")

    def is_told(what: str, count: int) -> bool:
        journal = host.run("journalctl", "--unit=vmmnet-dnsd", "--no-pager").stdout
        return journal.count(f"'late0' is {what}") == count

    for turn in (1, 2):
        space.ip("link", "add", "late0", "type", "veth", *("peer", "late1", "netns", client.netns))
        for where, name, address in ((space, "late0", LINK), (client, "late1", "fe80::1")):
            where.ip("address", "add", f"{address}/64", "dev", name, "nodad")
            where.ip("link", "set", name, "up")
        wait.until(partial(is_told, "there", turn), "the listener")
        assert _ask(client, "www.example", f"{LINK}%late1") == ["192.0.2.7"]
        space.ip("link", "delete", "late0")
        wait.until(partial(is_told, "gone", turn), "its end")


def test_ebpf_of_the_home_agent_and_of_ports(host: Booted, space: Namespace) -> None:
    """The kernel forwards for the one, and has the other's table as soon as it changes."""
    space.bridge("home0").add_address("2001:db8:8::2/64")
    space.ip("link", "add", "vm1", "type", "veth", "peer", "name", "vm1-in")
    host.run("systemctl", "start", "vmmnet-ha", "vmmnet-hostvlan-agent")
    wait.until(lambda: _answers(host, "vmmnet-ha", "show"), "the home agent")
    assert "fast path on" in host.run("vmmnet-ha", "show").stdout
    host.run("sh", "-c", f"echo {MAC} >/run/vmmnet/ports/vm1")
    # The first entry makes the table, which the port needs.
    host.run("vmmnet", "hostvlan", "add", MAC, "7", *STORE)
    attach = ("vmmnet", "hostvlan", "attach", "vm1", MAC)
    wait.until(lambda: _answers(host, *attach), "the port is attached")
    host.run("vmmnet", "hostvlan", "set", MAC, "8", *STORE)
    wait.until(lambda: "8" in host.run("vmmnet", "hostvlan", "list").stdout.split(), "the table")
    wait.until(lambda: _answers(host, "vmmnet", "hostvlan", "check"), "the kernel's copy")
    # The agent puts back what is lost.
    space.ip("link", "del", "vm1")
    space.ip("link", "add", "vm1", "type", "veth", "peer", "name", "vm1-in")
    space.ip("link", "set", "vm1", "up")
    wait.until(
        lambda: f"vm1 was made again: attached for {MAC}" in host.log("vmmnet-hostvlan-agent"),
        "the agent attaches it again",
    )
    with space.entered(), urllib.request.urlopen(f"http://{METRICS}/metrics") as said:
        numbers = said.read().decode().splitlines()
    for name in ("hooks_missing", "ports_unread", "table_unwritten", "twin_errors_total"):
        assert f"vmmnet_hostvlan_{name} 0.0" in numbers
    assert "vmmnet_hostvlan_hooks_mended_total 2.0" in numbers


def test_hostd_gives_an_address_to_a_vm_of_another_user(host: Booted, space: Namespace) -> None:
    """By netlink and packet sockets; and takes it away when the process ends."""
    home = space.bridge("home0")
    host.run("systemctl", "start", "vmmnet-hostd")
    # A service that systemd starts later finds its socket.
    host.run("vmmnet-hostd", "show")
    words = ("systemd-run", "--unit=vm", "-p", "User=nobody", "sleep", "infinity")
    host.run(*words)
    host.run("sh", "-c", "systemctl show -p MainPID --value vm >/run/vm.pid")
    lines = hostd.registration(VM, Path("/run/vm.pid"), (LATE, home))
    assert hostd.ask(host.path(hostd.SOCKET), lines) == "ok\n"
    assert hostd.ask(host.path(hostd.SOCKET), f"take {VM}\n") == "ok\n"
    assert LATE in space.ip("-6", "address", "show", "dev", home.name)
    host.run("systemctl", "stop", "vm")
    wait.until(lambda: LATE not in space.ip("-6", "address", "show"), "it is taken away")


def test_folder_in_run_is_removed(host: Booted, space: Namespace) -> None:
    """Each unit says so, as it may write to no other folder; a restart makes the folder."""
    space.bridge("home0").add_address("2001:db8:8::2/64")
    sockets = {"vmmnet-hostd": hostd.SOCKET, "vmmnet-ha": "/run/vmmnet/ha.sock"}
    host.run("systemctl", "start", *sockets)
    for unit in sockets:
        wait.until(lambda each=unit: _answers(host, each, "show"), f"{unit} answers")
    host.run("rm", "-r", "/run/vmmnet")
    for unit, path in sockets.items():
        told = f"{path} was removed: cannot listen at"
        wait.until(lambda each=unit, text=told: text in host.log(each), told)
    host.run("systemctl", "restart", *sockets)
    for unit in sockets:
        wait.until(lambda each=unit: _answers(host, each, "show"), f"{unit} answers again")


#: Asks the validator of a VM for an address, and prints how much it was told.
_ASK = """
import socket, struct
s = socket.socket(socket.AF_UNIX)
s.connect("/run/vmmnet-validate/web/socket")
query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\\3www\\7example\\0\\0\\1\\0\\1"
s.sendall(struct.pack(">H", len(query)) + query)
reply = s.recv(9999)
print(struct.unpack(">HHHHHH", reply[2:14])[3] if reply else "nothing")
"""


#: States of units, as this host's systemd has them.
_STATES = """
import sys
sys.path.insert(0, "/usr/local/share/vmmnet")
from vmmnet.libvirt.check.host import ThisHost
for name in ("vmmnet-validate@other.service", "vmmnet-none@other.service"):
    found = ThisHost(session=False).unit(name)
    print(found.state, found.missing, found.silent)
"""


def test_the_validator_of_a_vm(host: Booted) -> None:
    """As libvirt's hook starts it: it may ask one server, and is back when it is killed."""
    unit = "vmmnet-validate@web"
    options = "--allow=12345 --dns=127.0.0.1 --trust-anchor=/etc/vmmnet/own.anchor"
    host.run("systemctl", "start", "vmmnet-dnsd")
    host.run("mkdir", "-p", "/run/vmmnet/libvirt/validate")
    host.run("sh", "-c", f"echo \"OPTIONS='{options}'\" >/run/vmmnet/libvirt/validate/web")
    allowed = ("IPAddressDeny=any", "IPAddressAllow=127.0.0.1")
    host.run("systemctl", "set-property", "--runtime", unit, *allowed)
    done = host.run("systemctl", "restart", unit, check=False)
    assert done.returncode == 0, host.log(unit)

    def is_answered() -> bool:
        return host.run("python3", "-c", _ASK, check=False).stdout == "1\n"

    assert is_answered(), host.log(unit)
    shown = host.run("systemctl", "show", unit, "-p", "IPAddressAllow,MemoryMax,User").stdout
    assert "IPAddressAllow=127.0.0.1" in shown and "MemoryMax=83886080" in shown
    shown = json.loads(host.run("vmmnet", "show", "--json").stdout)["validate"]
    assert shown["web"]["servers"] == ["127.0.0.1"] and shown["web"]["questions"] == 1
    # As 'vmmnet libvirt check' asks.
    assert host.run("python3", "-c", _STATES).stdout.split() == ["loaded", "not-found"]
    before = host.run("systemctl", "show", unit, "-p", "MainPID").stdout
    host.run("systemctl", "kill", "-s", "KILL", unit)
    wait.until(is_answered, "an answer of the next one")
    assert host.run("systemctl", "show", unit, "-p", "MainPID").stdout != before
    host.run("systemctl", "stop", unit)
    host.run("systemctl", "revert", unit)
    assert not is_answered()
    shown = host.run("vmmnet", "show", "validate", check=False)
    assert shown.returncode == 1 and "web: does not run: " in shown.stdout
