# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's hook: what it claims, rewrites, refuses and gives back, without a libvirt."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import json
import os
import socket
import subprocess
import syslog
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.base.net import Network
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand, hook, names
from vmmnet.libvirt.host import address6, history, validator
from vmmnet.libvirt.host.claims import Claims

UUID = "00000000-0000-4000-9000-000000000001"
A, B = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
VM = "2001:db8:1::c0de"


class World:
    """One host, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.run, self.pids = folder / "run", folder / "pids"
        self.conf = folder / "host.conf"
        self.table = folder / "lnid.table"
        self.table.touch()
        self.claims = Claims(UUID, "guest", self.run, self.pids)

    def domain(self, net: str = "", sockets: str = "", expanded: bool = True, nic: str = "") -> Any:
        """A domain with two NICs, of which the element has the first."""
        text = f"""
        <domain type='kvm'><name>guest</name><uuid>{UUID}</uuid>
          <metadata><vmmnet:net xmlns:vmmnet='{names.NET}' {net}>{sockets}
            <vmmnet:interface mac='{A}' hostvlan='{self.table}'>{nic}</vmmnet:interface>
          </vmmnet:net></metadata>
          <os><type machine='q35'>hvm</type></os>
          <devices>
            <interface type='bridge'><mac address='{A}'/><source bridge='br0'/>
              <model type='virtio'/></interface>
            <interface type='direct'><mac address='{B}'/><source dev='eth1' mode='bridge'/>
              <model type='virtio'/></interface>
          </devices>
        </domain>"""
        made = etree.fromstring(text)
        return expand.expand(made) if expanded else made

    def event(self, domain: Any) -> hook.Event:
        """An event with the domain."""
        return hook.Event("guest", etree.tostring(domain), self.claims, self.conf)

    def other(self) -> hook.Event:
        """An event of another VM, which asks for nothing."""
        uuid = UUID.replace("1", "2")
        text = f"<domain><name>other</name><uuid>{uuid}</uuid></domain>"
        claims = Claims(uuid, "other", self.run, self.pids)
        return hook.Event("other", text.encode(), claims, self.conf)

    @property
    def ports(self) -> Path:
        """The file with the MACs."""
        return self.run / "ports/guest"

    def nothing_is_left(self) -> None:
        """Fail if something is claimed; the history may stay."""
        files = [path for path in self.run.rglob("*") if path.is_file()]
        left = [path for path in files if path.parent.name != history.FOLDER]
        assert not left


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Messages to the system log."""
    lines: list[str] = []
    monkeypatch.setattr(syslog, "syslog", lambda *words: lines.append(words[1]))
    return lines


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The IPv6 addresses of the host."""
    found: set[str] = set()
    monkeypatch.setattr(address6, "is_here", found.__contains__)
    return found


@pytest.fixture(autouse=True)
def _interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has any interface."""
    monkeypatch.setattr(address6, "exists", bool)


def sockets(address: str = VM) -> str:
    """Return the element's part for VMRPC."""
    return f"<vmmnet:sockets address6='{address}'/>"


def test_what_was_done_can_be_read_later(world: World) -> None:
    """With its result, by ``vmmnet libvirt show``."""
    event = world.event(world.domain())
    hook.handle(event, "prepare")
    hook.handle(event, "release")
    world.table.unlink()
    hook.handle(event, "prepare")
    began, ended, refused = history.read(world.run, UUID)
    assert (began.event, began.failed) == ("prepare", None)
    assert began.did == (f"{world.ports} has {A} {B}",)
    assert ended.event == "release" and ended.did == (f"{world.ports} is removed",)
    assert refused.failed is not None and "is not on this host" in refused.failed


# prepare and release


def test_ports_are_claimed_and_given_back(world: World, log: list[str]) -> None:
    event = world.event(world.domain())
    assert hook.handle(event, "prepare") is None
    assert world.ports.read_text() == f"{A}\n{B}\n"
    assert hook.handle(event, "release") is None
    world.nothing_is_left()
    assert log == [
        f"prepare guest: {world.ports} has {A} {B}",
        f"release guest: {world.ports} is removed",
    ]


def test_release_knows_what_was_claimed_whatever_the_domain_is_now(world: World) -> None:
    hook.handle(world.event(world.domain()), "prepare")
    changed = world.domain()
    changed.remove(changed.find("metadata"))
    hook.handle(world.event(changed), "release")
    world.nothing_is_left()


def test_release_after_a_note_that_is_damaged(world: World) -> None:
    hook.handle(world.event(world.domain()), "prepare")
    world.claims.note.write_text("{")
    hook.handle(world.event(world.domain()), "release")
    world.nothing_is_left()


@pytest.mark.parametrize("name", [".hidden", "a/b"])
def test_names_that_no_file_can_have(world: World, name: str) -> None:
    assert Claims(UUID, name, world.run).ports == world.run / "ports" / UUID


# Validation


@dataclasses.dataclass
class Units:
    """A systemd that is played: what it was told, what it refuses with which status, its jobs."""

    calls: list[str] = dataclasses.field(default_factory=list)
    refused: str = ""
    status: int = 1
    journal: str = ""
    jobs: str = ""

    def __call__(self, words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        """Be subprocess.run()."""
        if words[:2] == ("systemctl", "list-jobs"):
            return subprocess.CompletedProcess(words, 0, self.jobs, "")
        if words[0] == "systemctl":
            self.calls.append(" ".join(words))
        failed = bool(self.refused) and self.refused in words
        told = "Unit vmmnet-validate@.service not found.\n" if failed else ""
        said = self.journal if words[:2] == ("journalctl", "-q") else ""
        return subprocess.CompletedProcess(words, self.status * failed, said, told)


UNIT = f"vmmnet-validate@{UUID}.service"


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch, world: World) -> Units:
    """The host's units, and a user of QEMU."""
    made = Units()
    monkeypatch.setattr(validator, "DROP_INS", world.run / "system.control")
    monkeypatch.setattr("vmmnet.libvirt.host.validator.subprocess.run", made)
    monkeypatch.setattr(hook, "_user", lambda *_: 64055)
    return made


def _validating(more: str = "") -> str:
    return f"<vmmnet:sockets dnssec='strict' {more}/>"


def test_a_validator_is_started_and_stopped(world: World, units: Units, log: list[str]) -> None:
    """With the options of the element, for QEMU's user; it may talk to these servers only."""
    more = "dns='2001:db8::53@5353+fe80::1%eth0' trust-anchor='/etc/a b' insecure='corp.test'"
    event = world.event(world.domain(sockets=_validating(more)))
    assert hook.handle(event, "prepare") is None
    options = (world.run / "libvirt/validate" / UUID).read_text()
    assert options == (
        'OPTIONS=\'"--allow=64055" "--dns=2001:db8::53@5353+fe80::1%eth0"'
        ' "--trust-anchor=/etc/a b" "--insecure=corp.test"\'\n'
    )
    assert units.calls == [
        f"systemctl set-property --runtime {UNIT} IPAddressDeny=any"
        " IPAddressAllow=2001:db8::53 fe80::1",
        f"systemctl restart {UNIT}",
    ]
    drop_ins = world.run / "system.control" / f"{UNIT}.d"
    drop_ins.mkdir(parents=True)
    # libvirtd is started again: it goes on as it is.
    units.calls.clear()
    assert hook.handle(event, "reconnect") is None
    assert units.calls == [f"systemctl start {UNIT}"]
    units.calls.clear()
    assert hook.handle(event, "release") is None
    # What "revert" would remove besides is the administrator's.
    assert units.calls == [f"systemctl stop {UNIT}"]
    assert not drop_ins.exists()
    world.nothing_is_left()


def test_a_validator_when_the_host_stops(world: World, units: Units, log: list[str]) -> None:
    """systemd stops it after the VM; the hook must not wait for that."""
    event = world.event(world.domain(sockets=_validating()))
    hook.handle(event, "prepare")
    units.calls.clear()
    units.jobs = f"42 {UNIT} stop waiting\n"
    assert hook.handle(event, "release") is None
    assert not units.calls
    world.nothing_is_left()


def test_a_validator_with_other_options(world: World, units: Units, log: list[str]) -> None:
    """Servers are not added to those of before."""
    hook.handle(world.event(world.domain(sockets=_validating("dns='2001:db8::53'"))), "prepare")
    units.calls.clear()
    event = world.event(world.domain(sockets=_validating("dns='2001:db8::54'")))
    assert hook.handle(event, "prepare") is None
    assert units.calls == [
        f"systemctl stop {UNIT}",
        f"systemctl set-property --runtime {UNIT} IPAddressDeny=any IPAddressAllow=2001:db8::54",
        f"systemctl restart {UNIT}",
    ]


@pytest.mark.parametrize("journal", ["", "vmmnet-validate: trust-anchor=/a: there is no file\n"])
def test_a_validator_that_cannot_be_started(
    world: World, units: Units, log: list[str], journal: str
) -> None:
    """The VM does not start, and is told why: by the validator, else by systemd."""
    units.refused, units.journal = "restart", journal
    event = world.event(world.domain(sockets=_validating()))
    refused = hook.handle(event, "prepare")
    assert refused == (
        f"{UNIT}: trust-anchor=/a: there is no file"
        if journal
        else f"'systemctl restart {UNIT}': Unit vmmnet-validate@.service not found."
        " Install vmmnet-validate."
    )
    world.nothing_is_left()


def test_a_validator_that_is_not_there_any_more(world: World, units: Units, log: list[str]) -> None:
    """The package was removed while the VM ran."""
    event = world.event(world.domain(sockets=_validating()))
    hook.handle(event, "prepare")
    units.refused, units.status = "stop", 5
    assert hook.handle(event, "release") is None
    world.nothing_is_left()


def test_a_validator_that_cannot_be_stopped(world: World, units: Units, log: list[str]) -> None:
    """It is stopped at a later event, of any VM."""
    event = world.event(world.domain(sockets=_validating()))
    hook.handle(event, "prepare")
    units.refused = "stop"
    assert hook.handle(event, "release") is None
    units.refused = ""
    units.calls.clear()
    hook.handle(world.other(), "release")
    assert f"systemctl stop {UNIT}" in units.calls
    world.nothing_is_left()


def test_a_validator_of_somebody_else(world: World, units: Units) -> None:
    """The hook starts none for a socket that is named, nor without validation."""
    for sockets in (_validating("validator='/srv/socket'"), "<vmmnet:sockets dnssec='off'/>"):
        event = world.event(world.domain(sockets=sockets))
        assert hook.handle(event, "prepare") is None
        hook.handle(event, "release")
    assert not units.calls
    world.nothing_is_left()


def test_an_option_that_no_unit_can_have(world: World, units: Units, log: list[str]) -> None:
    event = world.event(world.domain(sockets=_validating("trust-anchor='/etc/$a'")))
    refused = hook.handle(event, "prepare")
    assert refused is not None and "'$'" in refused
    world.nothing_is_left()


# Keys in secrets of libvirt


SECRET = "6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10"
KEY = "vmmnet-control-secret-52540000000a"
VALUE = "c2VjcmV0IHRoYXQgbm9ib2R5IHNlZXM="


class Keys:
    """A host whose libvirt has a secret, and a VM that uses it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.secrets, self.conf = world, folder / "secrets", folder / "qemu.conf"
        self.secrets.mkdir()
        self.conf.write_text(f'user = "+{os.getuid()}"\n')
        (self.secrets / f"{SECRET}.xml").write_text("<secret private='no'/>")
        (self.secrets / f"{SECRET}.base64").write_text(VALUE)

    @property
    def folder(self) -> Path:
        """Where the key is."""
        return self.world.run / "libvirt/keys" / UUID

    def event(self, more: str = "") -> hook.Event:
        """An event of the VM."""
        wanted = self.world.domain(expanded=False)
        (found,) = wanted.iter(names.net("interface"))
        etree.SubElement(found, names.net("cvsw"), secret=SECRET)
        if more:
            wanted.append(etree.fromstring(more))
        event = self.world.event(expand.expand(wanted))
        return dataclasses.replace(event, secrets=self.secrets, qemu_conf=self.conf)


@pytest.fixture
def keys(world: World, tmp_path: Path) -> Keys:
    return Keys(world, tmp_path)


@pytest.mark.parametrize("ends", ["started", "release", "reconnect"])
def test_a_key_is_there_for_the_time_of_a_start(keys: Keys, log: list[str], ends: str) -> None:
    assert hook.handle(keys.event(), "prepare") is None
    assert (keys.folder / KEY).read_text() == VALUE
    assert hook.handle(keys.event(), ends) is None
    assert not keys.folder.exists()
    assert keys.world.ports.exists() == (ends != "release")
    assert f"prepare guest: {keys.folder} has {KEY}" in log
    assert f"{ends} guest: {keys.folder} is removed" in log
    assert not [line for line in log if VALUE in line or SECRET in line]
    hook.handle(keys.event(), "release")
    keys.world.nothing_is_left()


#: Another user than ours, if we may give files away: nobody.
_QEMU = os.getuid() or 65534


@pytest.fixture
def logged(world: World, tmp_path: Path) -> hook.Event:
    conf = tmp_path / "qemu.conf"
    conf.write_text(f'user = "+{_QEMU}"\n')
    sockets = f"<vmmnet:sockets audit='{tmp_path}/log/web.jsonl'/>"
    return dataclasses.replace(world.event(world.domain(sockets=sockets)), qemu_conf=conf)


def test_the_audit_log_is_made_for_qemu(logged: hook.Event, tmp_path: Path) -> None:
    file = tmp_path / "log/web.jsonl"
    assert hook.handle(logged, "prepare") is None
    found = file.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (_QEMU, 0o600)
    # It stays for the next start, with its lines.
    file.write_text("line\n")
    hook.handle(logged, "release")
    assert hook.handle(logged, "prepare") is None
    assert file.read_text() == "line\n"


@pytest.mark.parametrize("kind", ["link", "hard", "folder", "fifo"])
def test_the_audit_log_is_no_way_to_another_file(
    logged: hook.Event, tmp_path: Path, kind: str
) -> None:
    file, other = tmp_path / "log/web.jsonl", tmp_path / "other"
    other.touch()
    file.parent.mkdir()
    if kind == "link":
        file.symlink_to(other)
    elif kind == "hard":
        file.hardlink_to(other)
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    assert "the audit log" in (hook.handle(logged, "prepare") or "")
    assert other.stat().st_uid == os.getuid()


def test_a_start_that_fails_leaves_no_key(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "chown", fail)
    assert "No space" in (hook.handle(keys.event(), "prepare") or "")
    keys.world.nothing_is_left()


def test_a_host_without_the_secret_refuses_the_vm(keys: Keys) -> None:
    (keys.secrets / f"{SECRET}.xml").unlink()
    assert hook.handle(keys.event(), "migrate") is None
    reason = hook.handle(keys.event(), "prepare") or ""
    assert f"control-secret of {A}: the libvirt of this host keeps no secret {SECRET}" in reason
    assert not keys.folder.exists() and not keys.world.ports.exists()


def test_a_key_is_the_users_that_qemu_runs_as(keys: Keys) -> None:
    label = "<seclabel type='static' model='dac'><label>no-such-user:root</label></seclabel>"
    assert "no-such-user:root" in (hook.handle(keys.event(label), "prepare") or "")
    own = label.replace("no-such-user", f"+{os.getuid()}")
    keys.conf.write_text('user = "no-such-user"\n')
    assert str(keys.conf) in (hook.handle(keys.event(), "prepare") or "")
    assert hook.handle(keys.event(own), "prepare") is None


def test_drift_is_refused(world: World, log: list[str]) -> None:
    domain = world.domain()
    (netdev,) = domain.xpath("//*[contains(@value, 'table=')]")
    netdev.set("value", netdev.get("value").replace("lnid.table", "other.table"))
    reason = hook.handle(world.event(domain), "prepare")
    assert reason is not None and "other.table" in reason and "vmmnet libvirt define" in reason
    assert log == [f"prepare guest: {reason}"]
    world.nothing_is_left()


def test_a_domain_that_was_never_expanded_is_refused(world: World) -> None:
    reason = hook.handle(world.event(world.domain(expanded=False)), "prepare")
    assert reason is not None and "never expanded" in reason


def test_an_element_that_is_wrong_is_refused(world: World) -> None:
    domain = world.domain()
    domain.find(f"metadata/{names.net('net')}").set("colour", "red")
    reason = hook.handle(world.event(domain), "prepare")
    assert reason is not None and "colour" in reason
    assert "correct it with 'vmmnet libvirt define'" in reason


@pytest.mark.parametrize("kind", ["prepare", "migrate", "restore"])
def test_an_element_whose_namespace_is_mistyped_is_refused(world: World, kind: str) -> None:
    """The VM would start without HostVLAN."""
    text = etree.tostring(world.domain(expanded=False)).replace(b"/net/1", b"/net")
    reason = hook.handle(world.event(etree.fromstring(text)), kind) or ""
    assert "'https://vmmnet.example/net': this namespace is not that" in reason
    assert names.NET in reason
    world.nothing_is_left()


def test_what_was_expanded_goes_with_its_element(world: World) -> None:
    """'virsh edit' may take out the one and leave the other."""
    domain = world.domain()
    domain.remove(domain.find("metadata"))
    reason = hook.handle(world.event(domain), "prepare")
    assert reason is not None and "no <vmmnet:net> any more" in reason
    assert "vmmnet libvirt define" in reason
    world.nothing_is_left()


def test_a_missing_table_is_refused(world: World) -> None:
    world.table.unlink()
    reason = hook.handle(world.event(world.domain()), "prepare")
    assert reason is not None and str(world.table) in reason and "vmmnet hostvlan add" in reason
    world.nothing_is_left()


def test_an_address_must_be_here(world: World, here: set[str]) -> None:
    event = world.event(world.domain(sockets=sockets()))
    world.conf.write_text("address6-wait 0\n")
    reason = hook.handle(event, "prepare")
    assert reason is not None and f"ip -6 address add {VM}/128" in reason
    world.nothing_is_left()
    here.add(VM)
    assert hook.handle(event, "prepare") is None


@pytest.mark.parametrize("kind", ["migrate", "restore"])
def test_an_address_may_come_later_than_its_vm(world: World, here: set[str], kind: str) -> None:
    event = world.event(world.domain(sockets=sockets()))
    assert hook.handle(event, kind) is None
    assert hook.handle(event, "prepare") is None
    hook.handle(event, "release")
    world.nothing_is_left()


def test_an_arrival_that_came_to_nothing(
    world: World, here: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not excuse a start that somebody orders later."""
    event = world.event(world.domain(sockets=sockets()))
    now = time.monotonic()
    world.conf.write_text("address6-wait 0\n")
    hook.handle(event, "migrate")
    monkeypatch.setattr(time, "monotonic", lambda: now + 3600)
    assert "is no address of this host" in (hook.handle(event, "prepare") or "")


def test_a_vm_that_is_here_keeps_its_claims_when_it_is_sent_again(world: World) -> None:
    """libvirt asks the hook before it refuses the second."""
    event = world.event(world.domain())
    hook.handle(event, "prepare")
    hook.handle(event, "migrate")
    assert world.ports.exists()
    hook.handle(event, "release")
    world.nothing_is_left()


# vmmnet-hostd


class Hostd:
    """Takes requests at a socket, and answers each with one text, but for ``show``."""

    def __init__(self, path: Path, answer: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        self._socket.listen()
        self.answer = answer
        self.shown = "ok\n"
        self.requests: list[str] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                request = stream.readline()
                while request.startswith("register") and not request.endswith("end\n"):
                    request += stream.readline()
                self.requests.append(request)
                stream.write(self.shown if request == "show\n" else self.answer)
                stream.flush()

    def close(self) -> None:
        """End it; it may have ended."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


@pytest.fixture
def hostd(world: World) -> Iterator[Callable[[str], Hostd]]:
    """Start a helper that gives an answer."""
    started = []

    def start(answer: str) -> Hostd:
        started.append(Hostd(world.claims.socket, answer))
        return started[-1]

    yield start
    for each in started:
        each.close()


HANDOFF = "handoff='on'"


def test_the_helper_is_told(world: World, hostd: Callable[[str], Hostd]) -> None:
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    assert hook.handle(event, "prepare") is None
    assert hook.handle(event, "release") is None
    pid_file = world.pids / "guest.pid"
    assert served.requests == [
        f"register {UUID} {pid_file}\naddress6 {VM} eth7\nend\n",
        f"forget {UUID}\n",
    ]


@pytest.mark.parametrize("answer", ["error 2001:db8:1::c0de is that of another VM\n", ""])
def test_what_the_helper_refuses(world: World, hostd: Callable[[str], Hostd], answer: str) -> None:
    world.conf.write_text("address6-device eth7\n")
    hostd(answer)
    reason = hook.handle(world.event(world.domain(HANDOFF, sockets())), "prepare")
    assert reason is not None and "vmmnet-hostd:" in reason
    assert not world.ports.exists() and not world.claims.note.exists()


def test_who_has_the_address_is_named(world: World, hostd: Callable[[str], Hostd]) -> None:
    """vmmnet-hostd knows UUIDs alone, and people names."""
    world.conf.write_text("address6-device eth7\n")
    hostd(f"error address6 {VM} is the address of VM {UUID.replace('1', '2')} already\n")
    other, event = world.other(), world.event(world.domain(HANDOFF, sockets()))
    reason = hook.handle(event, "prepare") or ""
    assert f"is the address of VM {other.claims.uuid} already" in reason
    other.claims.announce()
    reason = hook.handle(event, "prepare") or ""
    assert f"is the address of VM {other.claims.uuid}, 'other', already" in reason
    other.claims.note.write_text("{")
    reason = hook.handle(event, "prepare") or ""
    assert f"is the address of VM {other.claims.uuid} already" in reason


def test_a_helper_that_does_not_run(world: World, log: list[str]) -> None:
    world.conf.write_text("address6-device eth7\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    reason = hook.handle(event, "prepare")
    assert reason is not None and "systemctl start vmmnet-hostd" in reason
    world.nothing_is_left()


def test_an_address_without_an_interface(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address6, "device", {}.get)
    world.conf.write_text("address6-wait 0\n")
    reason = hook.handle(world.event(world.domain(HANDOFF, sockets())), "prepare")
    assert reason is not None and "within 0 s: 'address6-device br0'" in reason


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


def _when_it_waits(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act when the hook says that it waits."""
    monkeypatch.setattr(
        syslog, "syslog", lambda *words: act() if "waited for" in words[1] else None
    )


def test_a_prefix_that_comes_late(
    world: World,
    hostd: Callable[[str], Hostd],
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when the host boots: the bridge has its prefix after libvirt has begun."""
    host = network.namespace("host")
    bridge = host.bridge("br0")
    _when_it_waits(monkeypatch, lambda: bridge.add_address("2001:db8:1::1/64"))
    served = hostd("ok\n")
    with host.entered():
        assert hook.handle(world.event(world.domain(HANDOFF, sockets())), "prepare") is None
    assert f"\naddress6 {VM} br0\n" in served.requests[0]


def test_an_address_that_is_tentative_first(
    world: World, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one of this host's: it is waited for, and never called missing."""
    host, peer = network.namespace("host"), network.namespace("peer")
    link = network.connect(host, peer)
    name = link.a.name
    host.sysctl({f"net.ipv6.conf.{name}.{key}": 1 for key in ("accept_dad", "dad_transmits")})
    # Without a carrier its duplicate address detection does not begin.
    link.b.down()
    host.ip("address", "add", f"{VM}/64", "dev", name)
    event = world.event(world.domain(sockets=sockets()))
    with host.entered():
        world.conf.write_text("address6-wait 0\n")
        reason = hook.handle(event, "prepare")
        assert reason is not None and f"is on {name}, but tentative" in reason
        assert "no address of this host" not in reason and "within 0 s" in reason
        world.conf.write_text("address6-wait 240\n")
        _when_it_waits(monkeypatch, link.b.up)
        assert hook.handle(event, "prepare") is None


def test_the_interface_is_waited_for(
    world: World, hostd: Callable[[str], Hostd], log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one of the address's prefix, or of host.conf; but only so long."""
    asked: list[float] = []

    def wait_for(there: Callable[[], bool], seconds: float) -> bool:
        asked.append(seconds)
        monkeypatch.setattr(address6, "device", {VM: "eth7"}.get)
        monkeypatch.setattr(address6, "exists", {"eth7"}.__contains__)
        return there()

    monkeypatch.setattr(address6, "device", {}.get)
    monkeypatch.setattr(address6, "exists", set[str]().__contains__)
    monkeypatch.setattr(address6, "wait_for", wait_for)
    served = hostd("ok\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    assert hook.handle(event, "prepare") is None
    assert f"\naddress6 {VM} eth7\n" in served.requests[0]
    assert any("is in no prefix" in line and "30 s at most" in line for line in log)
    monkeypatch.setattr(address6, "exists", set[str]().__contains__)
    world.conf.write_text("address6-device eth7\naddress6-wait 12\n")
    assert hook.handle(event, "prepare") is None
    world.conf.write_text("address6-device eth8\naddress6-wait 12\n")
    reason = hook.handle(event, "prepare")
    assert reason is not None and "no interface eth8" in reason and "within 12 s" in reason
    assert asked == [30, 12, 12]
    # libvirt starts the next one then, which is not waited for again.
    assert "within 0 s" in (hook.handle(event, "prepare") or "")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert "within 12 s" in (hook.handle(event, "prepare") or "")
    assert asked == [30, 12, 12, 0, 12]


def test_a_release_that_the_helper_does_not_hear_is_made_up_for(
    world: World, hostd: Callable[[str], Hostd], log: list[str]
) -> None:
    """The next event of any VM does it: else the address were taken for good."""
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    hook.handle(event, "prepare")
    world.run.joinpath("hostd.state").touch()
    served.close()
    hook.handle(event, "release")
    assert "nothing listens there: 'systemctl start vmmnet-hostd'" in log[-1]
    assert world.claims.note.exists() and not world.ports.exists()

    world.claims.socket.unlink()
    served = hostd("ok\n")
    hook.handle(world.other(), "prepare")
    assert served.requests[0] == f"forget {UUID}\n"
    assert not world.claims.note.exists()
    assert "prepare other: of guest, left behind: vmmnet-hostd has forgotten it" in log


def test_a_vm_that_begins_again_makes_up_for_itself(
    world: World, hostd: Callable[[str], Hostd]
) -> None:
    """Its address may be another one now, which the helper refuses while it has the old one."""
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    hook.handle(world.event(world.domain(HANDOFF, sockets())), "prepare")
    world.run.joinpath("hostd.state").touch()
    served.close()
    hook.handle(world.event(world.domain(HANDOFF, sockets())), "release")
    world.claims.socket.unlink()
    served = hostd("ok\n")
    hook.handle(world.event(world.domain(HANDOFF, sockets("2001:db8:1::beef"))), "prepare")
    assert [each.split()[0] for each in served.requests] == ["forget", "register"]
    assert world.ports.exists()


def test_what_the_helper_has_not_registered_is_forgotten(
    world: World, hostd: Callable[[str], Hostd]
) -> None:
    """And what it cannot give back, is asked for again."""
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    hook.handle(event, "prepare")
    served.answer = "error there is a fault\n"
    served.shown = f"vm {UUID} leaving /run/guest.pid\nok\n"
    hook.handle(event, "release")
    assert world.claims.note.exists()
    served.answer = "error VM is not registered\n"
    served.shown = f"vm {UUID.replace('1', '2')} here /run/x.pid\nok\n"
    hook.handle(world.other(), "release")
    assert not world.claims.note.exists()


# What nobody has released


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Advance the clock by an hour."""
    now = time.monotonic()
    return lambda: monkeypatch.setattr(time, "monotonic", lambda: now + 3600)


@pytest.mark.parametrize("kind", ["prepare", "release", "reconnect"])
@pytest.mark.parametrize("left", ["prepare", "migrate"])
def test_a_vm_that_never_began_is_tidied_up(
    world: World, log: list[str], later: Callable[[], None], left: str, kind: str
) -> None:
    """Its libvirt was killed between two events, or has told nobody that it refused it."""
    hook.handle(world.event(world.domain()), left)
    hook.handle(world.other(), kind)
    assert world.claims.note.exists()
    later()
    hook.handle(world.other(), kind)
    assert not world.claims.note.exists() and not world.ports.exists()
    assert any("of guest, left behind: " in line for line in log)


def test_a_vm_that_runs_is_not_tidied_up(world: World, later: Callable[[], None]) -> None:
    hook.handle(world.event(world.domain()), "prepare")
    world.pids.mkdir()
    later()
    words = ["sh", "-c", "echo; read x", "-uuid", UUID]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline()
        world.claims.pid_file.write_text(f"{child.pid}")
        hook.handle(world.other(), "prepare")
        assert world.ports.exists()
    # Its number is somebody else's now.
    world.claims.pid_file.write_text(f"{os.getpid()}")
    hook.handle(world.other(), "prepare")
    assert not world.ports.exists()


def test_keys_of_a_start_that_never_came_are_removed(
    keys: Keys, later: Callable[[], None], log: list[str]
) -> None:
    hook.handle(keys.event(), "prepare")
    assert hook.handle(keys.world.other(), "prepare") is None
    assert keys.folder.exists()
    later()
    hook.handle(keys.world.other(), "prepare")
    assert not keys.folder.exists()
    assert f"prepare other: of guest, left behind: {keys.folder} is removed" in log


def test_one_thing_that_cannot_be_given_back_keeps_nothing_else(
    world: World, hostd: Callable[[str], Hostd], log: list[str]
) -> None:
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    event = world.event(world.domain(HANDOFF, sockets()))
    hook.handle(event, "prepare")
    world.ports.unlink()
    world.ports.mkdir()
    hook.handle(event, "release")
    assert served.requests[-1] == f"forget {UUID}\n"
    assert f"release guest: {world.ports} cannot be removed: Is a directory" in log
    assert world.claims.note.exists()


def test_a_handoff_that_is_switched_off_while_the_vm_runs_is_given_back(
    world: World, hostd: Callable[[str], Hostd]
) -> None:
    world.conf.write_text("address6-device eth7\n")
    served = hostd("ok\n")
    hook.handle(world.event(world.domain(HANDOFF, sockets())), "prepare")
    without = world.event(world.domain())
    hook.handle(without, "reconnect")
    hook.handle(without, "release")
    assert served.requests[-1] == f"forget {UUID}\n"
    world.nothing_is_left()


# migrate and restore


@pytest.mark.parametrize("kind", ["migrate", "restore"])
def test_what_is_this_hosts_is_rewritten(world: World, log: list[str], kind: str) -> None:
    world.conf.write_text("hostvlan-table /srv/here.table\nuplink br0 br7\nuplink * eth9\n")
    event = world.event(world.domain())
    assert hook.handle(event, kind) is None
    (answer,) = event.answer
    there = etree.fromstring(answer)
    assert not expand.drift(there)
    (netdev,) = there.xpath("//*[contains(@value, 'table=')]")
    assert "table=/srv/here.table" in netdev.get("value")
    sources = there.findall("devices/interface/source")
    # A NIC that the element does not name is not ours to change.
    assert (sources[0].get("bridge"), sources[1].get("dev")) == ("br7", "eth1")
    assert log == [
        f"{kind} guest: the table of {A} is /srv/here.table, not {world.table}",
        f"{kind} guest: {A} is on br7, not br0",
    ]


def _call(world: World, domain: Any, kind: str) -> tuple[int, bytes]:
    """Status and answer of the hook's program."""
    answer = io.BytesIO()
    status = hook.main(["guest", kind, "begin", "-"], io.BytesIO(etree.tostring(domain)), answer)
    return status, answer.getvalue()


def test_what_may_not_be_restored_is_refused_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """libvirt 11.3 would remove what is saved if the hook failed at once."""
    monkeypatch.setattr(hook, "Claims", lambda *_: world.claims)
    wrong = world.domain(expanded=False)
    assert _call(world, wrong, "restore") == (0, b"")
    # Now also for what "prepare" does not look at.
    right = world.domain()
    assert _call(world, right, "prepare") == (1, b"")
    said = capsys.readouterr().err
    assert "never expanded" in said and "virsh managedsave-define guest NEW" in said
    world.nothing_is_left()
    # A restore that is right afterwards, or a start, has nothing to do with it.
    assert _call(world, wrong, "restore") == (0, b"")
    assert _call(world, right, "restore") == (0, b"")
    assert _call(world, right, "prepare") == (0, b"")


def test_an_arrival_is_refused_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "Claims", lambda *_: world.claims)
    assert _call(world, world.domain(expanded=False), "migrate") == (1, b"")
    assert _call(world, world.domain(), "prepare") == (0, b"")


def _mip6(more: str = "") -> str:
    home = "home-address='2001:db8:2000::10' home-prefix-length='64' home-agent='2001:db8:2000::1'"
    return f"<vmmnet:mip6 {home} {more}/>"


@pytest.mark.parametrize(
    ("there", "line", "here"),
    [
        ("care-of='2001:db8:a::7'", f"care-of {A.upper()} 2001:db8:b::7", "2001:db8:b::7"),
        ("care-of='2001:db8:a::7'", "care-of * auto", "auto"),
        ("", f"care-of {A} 2001:db8:b::7\ncare-of * auto", "2001:db8:b::7"),
    ],
)
@pytest.mark.parametrize("kind", ["migrate", "restore"])
def test_a_care_of_address_is_this_hosts(
    world: World, log: list[str], kind: str, there: str, line: str, here: str
) -> None:
    world.conf.write_text(f"{line}\n")
    event = world.event(world.domain(nic=_mip6(there)))
    assert hook.handle(event, kind) is None
    rewritten = etree.fromstring(event.answer[0])
    assert not expand.drift(rewritten)
    (netdev,) = rewritten.xpath("//*[starts-with(@value, 'mip6,')]")
    assert f"care-of={here}" in netdev.get("value").split(",")
    before = "2001:db8:a::7" if there else "auto"
    assert log == [f"{kind} guest: the care-of address of {A} is {here}, not {before}"]


@pytest.mark.parametrize("line", [f"care-of {B} 2001:db8:b::7", "care-of * auto", ""])
def test_another_care_of_address_is_not(world: World, line: str) -> None:
    world.conf.write_text(line)
    event = world.event(world.domain(nic=_mip6()))
    assert hook.handle(event, "migrate") is None
    assert event.answer == []


@pytest.mark.parametrize("text", [None, "# nothing\n", "uplink br1 br2\n"])
def test_a_domain_that_fits_comes_as_it_is(world: World, text: str | None) -> None:
    if text is not None:
        world.conf.write_text(text)
    event = world.event(world.domain())
    assert hook.handle(event, "migrate") is None
    assert event.answer == []


def test_drift_does_not_arrive(world: World) -> None:
    """Rewriting the domain would hide the drift."""
    world.conf.write_text("hostvlan-table /srv/here.table\n")
    event = world.event(world.domain(expanded=False))
    assert hook.handle(event, "migrate") is not None
    assert event.answer == []


def test_a_host_conf_that_is_wrong_lets_nobody_arrive(world: World) -> None:
    world.conf.write_text("uplnik br0 br7\n")
    reason = hook.handle(world.event(world.domain()), "migrate")
    assert reason is not None and f"{world.conf}, line 1: 'uplnik' is none of" in reason


# reconnect, and the process


@pytest.fixture
def process(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The hook as a process, whose claims are in the folder of the world."""
    claims = functools.partial(Claims, run=world.run, pids=world.pids)
    monkeypatch.setattr(hook, "Claims", claims)
    return lambda xml, *words: hook.main(["guest", *words, "-"], io.BytesIO(xml), io.BytesIO())


def test_reconnect_claims_again(world: World) -> None:
    event = world.event(world.domain())
    world.table.unlink()
    assert hook.handle(event, "reconnect") is None
    assert world.ports.read_text() == f"{A}\n{B}\n"


@pytest.mark.parametrize("xml", [b"", b"<domain", f"<domain><uuid>{UUID}</uuid>&x;".encode()])
def test_reconnect_never_fails(process: Callable[..., int], xml: bytes, log: list[str]) -> None:
    assert process(xml, "reconnect", "begin") == 0


def test_reconnect_survives_a_fault_of_ours(
    process: Callable[..., int], monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    def fail(event: hook.Event) -> Iterator[str]:
        raise RuntimeError("a fault")

    monkeypatch.setitem(hook._EVENTS, "reconnect", fail)
    assert process(f"<uuid>{UUID}</uuid>".encode(), "reconnect", "begin") == 0
    assert "a fault" in log[0]


def test_a_fault_of_ours_is_in_the_log(
    process: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    log: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(hook._EVENTS, "release", lambda _: 1 / 0)
    assert process(f"<uuid>{UUID}</uuid>".encode(), "release", "end") == 1
    assert "ZeroDivisionError" in log[0] and "domain 'guest'" in capsys.readouterr().err


def test_lines_of_the_log_are_one_line(world: World, log: list[str]) -> None:
    event = hook.Event("a\nb", b"<", world.claims, world.conf)
    hook.handle(event, "prepare")
    assert len(log) == 1 and "\n" not in log[0] and log[0].startswith("prepare a?b: ")


def test_the_note_is_json(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    hook.handle(world.event(world.domain()), "prepare")
    assert json.loads(world.claims.note.read_text()) == {
        "name": "guest",
        "ports": str(world.ports),
        "handed": False,
        "validated": False,
        "arriving": False,
        "refused": "",
        "owed": False,
        "since": now,
    }
