# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt show``: the state of domains, with a simulated daemon."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline
from lxml import etree  # type: ignore[import-untyped]
from vmmnet import libvirtd
from vmmnet.command.status import Refused
from vmmnet.libvirt import devices, names, state
from vmmnet.libvirt.expand import expand
from vmmnet.libvirt.host import history, hostd, validator
from vmmnet.libvirt.host.claims import Claims

A = "52:54:00:00:00:01"
VM = "2001:db8:1::c0de"
UUID = "00000000-0000-4000-9000-000000000001"
SOCKETS = f"<vmmnet:sockets address6='{VM}'/>"
NIC = f"<vmmnet:interface mac='{A}' hostvlan='/t'/>"


def domain(inside: str = SOCKETS + NIC, net: str = "handoff='on'") -> str:
    """A domain that is expanded."""
    made = etree.fromstring(f"""
        <domain type='kvm'><name>guest</name><uuid>{UUID}</uuid>
          <metadata><vmmnet:net xmlns:vmmnet='{names.NET}' {net}>{inside}</vmmnet:net></metadata>
          <os><type arch='x86_64' machine='q35'>hvm</type></os>
          <devices><interface type='bridge'><mac address='{A}'/><source bridge='br0'/>
            <model type='virtio'/></interface></devices>
        </domain>""")
    return str(etree.tostring(expand(made), encoding="unicode"))


@dataclass
class Daemon:
    """A simulated daemon, with the functions that the command uses."""

    domains: dict[str, str] = field(default_factory=lambda: {"guest": domain()})
    now: dict[str, str] = field(default_factory=dict)
    where: str = "qemu:///system"
    answers: dict[str, Any] = field(default_factory=dict)

    def uri(self) -> str:
        """What is given."""
        return self.where

    def names(self) -> list[str]:
        """What is given."""
        return sorted(self.domains)

    def is_running(self, name: str) -> bool:
        """What is given."""
        return name in self.now

    def defined(self, name: str) -> str:
        """What is given."""
        return self.domains[name]

    def running(self, name: str) -> str:
        """What is given."""
        return self.now[name]

    def monitor(self, name: str, command: str, arguments: Mapping[str, Any]) -> Any:
        """What is given, or it is refused."""
        assert name in self.now and isinstance(arguments, dict)
        if command not in self.answers:
            raise Refused(f"QEMU does not answer to {command}: it is old")
        return self.answers[command]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Daemon:
    made = Daemon()

    @contextlib.contextmanager
    def opened(_: str | None) -> Iterator[Daemon]:
        yield made

    monkeypatch.setattr(libvirtd, "opened", opened)
    of = state.of
    monkeypatch.setattr(state, "of", lambda daemon, name: of(daemon, name, tmp_path))
    return made


def show(*words: str) -> commandline.Answer:
    return commandline.run("libvirt", "show", *words)


def told(*words: str) -> Any:
    answer = show(*words, "--json")
    assert answer.status == 0, answer
    return json.loads(answer.out)


def test_a_domain_that_does_not_run(daemon: Daemon) -> None:
    lines = show("guest").out.splitlines()
    assert lines[0] == "domain   guest: shut off"
    assert "drift    none" in lines and "claims   none" in lines and "hook     no event" in lines
    found = told("guest")
    assert found["claims"] is None and found["events"] == [] and found["devices"] == {}
    assert found["runs-as-defined"] is None and found["running-digest"] is None


def test_a_domain_that_runs_with_something_else(daemon: Daemon) -> None:
    daemon.now["guest"] = domain(NIC, "")
    found = told("guest")
    assert found["runs-as-defined"] is False
    assert found["running-digest"] not in (None, found["net"]["digest"])
    assert any("vmmnet-sockets is missing" in each for each in found["changes"])
    text = show("guest").out
    assert f"changed  {found['changes'][0]}" in text
    assert "guest: running with other settings; these apply from its next start" in text
    assert f"{found['net']['digest']}; it runs with {found['running-digest']}" in text


@contextlib.contextmanager
def _helper(place: Path, answer: str) -> Iterator[None]:
    """One that answers once."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                assert lines.readline() == b"show\n"
                connection.sendall(answer.encode())

        server = threading.Thread(target=serve)
        server.start()
        yield
        server.join()


_KNOWN = f"""\
vm 00000000-0000-4000-9000-000000000002 away /run/2.pid
address6 2001:db8:1::2 br1
vm {UUID} here /run/libvirt/qemu/a name.pid
address6 {VM} br0
ok
"""


def _claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hostd, "register", lambda *_: None)
        done = Claims(UUID, "guest", tmp_path).claim([A], [(VM, "br0")], handoff=True)
        history.record(tmp_path, UUID, "prepare", list(done), None)
    history.record(tmp_path, UUID, "migrate", [], "no such table")


def test_what_is_claimed_and_what_the_hook_did(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _claim(tmp_path, monkeypatch)
    with _helper(tmp_path / "hostd.sock", _KNOWN):
        found = told("guest")
    known = {"state": "here", "addresses": [{"address": VM, "interface": "br0"}]}
    ports = str(tmp_path / "ports/guest")
    assert found["claims"] == {
        "ports": ports,
        "macs": [A],
        "arriving": False,
        "owed": False,
        "hostd": known,
        "hostd-error": None,
    }
    assert [(each["event"], each["failed"]) for each in found["events"]] == [
        ("prepare", None),
        ("migrate", "no such table"),
    ]
    # The helper is gone.
    text = show("guest").out
    assert f"claims   {ports} has {A}" in text
    assert "vmmnet-hostd: " in text and "nothing listens there" in text
    assert f" prepare: {ports} has {A}; vmmnet-hostd knows {VM} on br0\n" in text
    assert " migrate: refused: no such table\n" in text


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [("ok\n", "does not know it"), ("error root may ask that\n", "root may ask"), ("", "closed")],
)
def test_a_helper_that_does_not_know_it(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, wrong: str
) -> None:
    _claim(tmp_path, monkeypatch)
    with _helper(tmp_path / "hostd.sock", answer):
        assert wrong in show("guest").out


def test_what_is_another_hosts_is_not_looked_for_here(daemon: Daemon) -> None:
    daemon.where = "qemu+ssh://other/system"
    assert told("guest")["claims"] is None and told("guest")["events"] is None
    assert "another host's" in show("guest").out


DNSSEC = f"<vmmnet:sockets address6='{VM}' dnssec='strict'/>"


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True)
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made


def test_who_validates(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit says what it found; the socket of another one listens, or does not."""
    monkeypatch.setattr(validator, "SOCKETS", tmp_path)
    daemon.domains["guest"] = domain(DNSSEC)
    assert told("guest")["validator"] is None
    daemon.now["guest"] = domain(DNSSEC)
    unit = f"vmmnet-validate@{UUID}.service"
    found = told("guest")["validator"]
    assert found["unit"] == unit and "does not exist" in found["error"]
    assert f"validator  {unit} is away: {tmp_path}/{UUID}/control does not" in show("guest").out
    (tmp_path / UUID).mkdir()
    with _helper(tmp_path / UUID / "control", "server ::1\nclients 2\nquestions 1\nbogus 1\nok\n"):
        found = told("guest")["validator"]
    assert found["error"] is None and found["clients"] == 2 and found["servers"] == ["::1"]
    own = tmp_path / "own/sockets/web"
    daemon.now["guest"] = domain(DNSSEC.replace("/>", f" validator='{own}'/>"))
    assert f"{own} is away" in show("guest").out
    with _listen(own):
        assert f"validator  {own}: listens\n" in show("guest").out
        assert told("guest")["validator"] == {"socket": str(own), "unit": None, "error": None}
    daemon.now["guest"] = domain()
    assert told("guest")["validator"] is None


def test_devices_are_asked(daemon: Daemon) -> None:
    """Those that the element has; one that does not answer keeps the others from nothing."""
    daemon.now["guest"] = domain()
    counts = {"passed": 42, "spoofed": 1, "other-tenant": 0}
    port = {"id": "p", "lnids": [7], "table": "/t", "generation": 3}
    daemon.answers["query-hostvlan"] = [{**port, "send": counts, "receive": {"passed": 40}}]
    daemon.answers["qom-get"] = "held"
    found = told("guest")
    assert found["devices"]["hostvlan"][0]["lnids"] == [7]
    assert set(found["errors"]) == {"vmrpc"} and "it is old" in found["errors"]["vmrpc"]
    text = show("guest").out
    line = "p: LNID 7, table /t of generation 3, 42 sent and 1 dropped (spoofed 1), 40 received"
    assert line in text and "vmmnet-handoff: addresses held" in text
    assert "vmrpc: QEMU does not answer to query-vmrpc" in text


@pytest.mark.parametrize(
    ("kind", "answer", "line"),
    [
        (
            "vmrpc",
            {
                "id": "s",
                "address6": VM,
                "address6-claim": "conflict",
                "sockets-open": 3,
                "max-sockets": 512,
                "sockets-arriving": 2,
                "counters": {
                    "refused-policy": 4,
                    "refused-default": 0,
                    "refused-hello": 1,
                    "policy-errors": 2,
                    "upstream-secure": 12,
                    "upstream-validator-outages": 1,
                },
                "audit": {"lines": 90, "lost": 0, "pending": 7, "blocked": True, "full": "wait"},
            },
            f"s: address6 {VM} conflict, 3 of 512 sockets, 2 wait for what is missing here,"
            " 5 refused (policy 4, hello 1), mistakes when the policy was read again: 2,"
            " audit 90 lines and 7 pending, the audit log takes nothing, and nothing begins,"
            " names 12 secure, 0 insecure, 0 bogus, 0 indeterminate, outages of the validator: 1",
        ),
        (
            "hostvlan",
            {
                "id": "p",
                "table": "/t",
                "error": "none",
                "send": {"passed": 0},
                "receive": {"passed": 0},
            },
            "p: no LNID, table /t: none, 0 sent, 0 received",
        ),
        (
            "mip6",
            {
                "id": "m",
                "state": "bound",
                "reason": "none",
                "home-address": VM,
                "home-agent": "2001:db8:1::1",
                "care-of": "2001:db8:2::5",
                "remaining": 60,
                "sent": 5,
                "received": 4,
                "dropped": [{"reason": "too-big", "count": 2}],
            },
            f"m: bound, home {VM}, agent 2001:db8:1::1, care-of 2001:db8:2::5, bound for 60 s more,"
            " 5 sent, 4 received by the tunnel and 2 dropped (too-big 2)",
        ),
        (
            "cvsw",
            {
                "id": "c",
                "session": {"open": True, "heard": 3},
                "table": {"flows": 2, "flows-max": 64, "hits": 9, "lookups": 10},
                "associations": [],
                "dropped-from-guest": [],
                "dropped-from-wire": [{"reason": "policy", "count": 1}],
            },
            "c: controller there, heard 3 s ago, 2 of 64 flows, 9 of 10 look-ups found one,"
            " from the wire 1 dropped (policy 1)",
        ),
    ],
)
def test_devices_in_short(kind: str, answer: dict[str, Any], line: str) -> None:
    assert list(devices.lines(kind, [answer])) == [line]


def test_all_domains(daemon: Daemon) -> None:
    """All domains with the element; a mistake in one does not hide the others."""
    bare = etree.fromstring(domain())
    bare.remove(bare.find("metadata"))
    daemon.domains["bare"] = etree.tostring(bare, encoding="unicode")
    assert [each["domain"] for each in told("--all")] == ["guest"]
    daemon.domains["wrong"] = domain().replace("address6", "adress6")
    answer = show("--all", "--json")
    assert answer.status == 1
    good, bad = json.loads(answer.out)
    assert good["domain"] == "guest" and bad["domain"] == "wrong" and "adress6" in bad["error"]
    answer = show("--all")
    assert answer.out.startswith("domain   guest") and "adress6" in answer.err
    daemon.domains = {}
    assert show("--all").out == "no domain has <vmmnet:net>\n"


@pytest.mark.parametrize("words", [[], ["guest", "--all"]])
def test_one_domain_or_all(daemon: Daemon, words: list[str]) -> None:
    answer = show(*words)
    assert answer.status == 2 and "--all" in answer.err
