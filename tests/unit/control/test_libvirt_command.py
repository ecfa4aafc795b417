# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet libvirt``: command lines and messages.

libvirt's test driver, which is a daemon in this process, knows no ``qemu:commandline``:
what a daemon keeps is in tests/interop/test_libvirt_define.py.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.base import commandline, paths
from vmmnet import libvirtd
from vmmnet.command.status import Refused
from vmmnet.libvirt import document, names, sharing
from vmmnet.libvirt.expand import drift

A = "52:54:00:00:00:01"
DAEMON = ("--connect", "test:///default")
DOMAIN = f"""\
<domain type='test'>
  <name>guest</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1'>
      <vmmnet:interface mac='{A}' hostvlan='/t'/>
    </vmmnet:net>
  </metadata>
  <memory>1024</memory>
  <os>
    <type machine='q35'>hvm</type>
  </os>
  <devices>
    <interface type='user'>
      <mac address='{A}'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "guest.xml"
    path.write_text(DOMAIN)
    return path


@pytest.fixture
def kept() -> Iterator[None]:
    """The test driver forgets all that it has when its last connection ends."""
    connection = importlib.import_module("libvirt").open(DAEMON[1])
    yield
    connection.close()


def libvirt(*words: str | Path) -> commandline.Answer:
    return commandline.run("libvirt", *map(str, words))


def test_print(file: Path) -> None:
    """It needs no daemon, and its output is valid input."""
    answer = libvirt("define", "--print", file)
    assert (answer.status, answer.err) == (0, "")
    assert drift(document.parse(answer.out)) == []
    file.write_text(answer.out)
    assert libvirt("define", "--print", file).out == answer.out
    for line in DOMAIN.splitlines()[5:12]:
        assert line.replace("'", '"') in answer.out.splitlines()
    told = json.loads(libvirt("define", "--print", "--json", file).out)
    assert told["xml"] == answer.out and f'digest="{told["digest"]}"' in answer.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("hostvlan='/t'", "hostvln='/t'", "line 5: <vmmnet:interface> hostvln='/t': there is no"),
        (f"mac='{A}'", "mac='52:54:00:00:00:02'", "line 5: <vmmnet:interface> mac='52:54"),
        ("/net/1", "/net", "line 4: <vmmnet:net> xmlns:vmmnet='https://vmmnet.example/net': this"),
        ("</devices>", "", "line 18: this is no XML: "),
        ("domain", "network", "line 1: <network> is no domain of libvirt"),
    ],
)
def test_a_wrong_file(file: Path, old: str, new: str, said: str) -> None:
    file.write_text(DOMAIN.replace(old, new))
    for more in (["--print"], DAEMON):
        answer = libvirt("define", file, *more)
        assert answer.status == 1 and answer.out == ""
        assert answer.err.startswith(f"vmmnet libvirt: {file}: {said}"), answer.err
    told = json.loads(libvirt("define", "--print", "--json", file).out)
    assert told["error"].startswith(f"{file}: {said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    answer = libvirt("define", "--print", tmp_path / "none")
    assert answer.status == 1 and "No such file or directory" in answer.err


def test_words_that_do_not_go_together(file: Path) -> None:
    answer = libvirt("define", "--print", file, *DAEMON)
    assert answer.status == 2 and "--print asks no daemon" in answer.err


def test_a_daemon_that_is_not_there(file: Path, tmp_path: Path) -> None:
    uri = f"qemu+unix:///session?socket={tmp_path}/none"
    answer = libvirt("define", file, "--connect", uri)
    assert answer.status == 1 and f"no daemon of libvirt of {uri} is reached" in answer.err


def test_what_a_daemon_drops_is_refused(file: Path, kept: None) -> None:
    """And nothing is changed: there is no such domain then, or the one of before."""
    answer = libvirt("define", file, *DAEMON)
    assert answer.status == 1, answer
    assert "guest: libvirt does not keep all of it, so that nothing is changed" in answer.err
    assert "-netdev vmmnet-hostvlan-525400000001 is missing" in answer.err
    assert "there is no domain 'guest'" in libvirt("show", "guest", *DAEMON).err
    file.write_text(DOMAIN.replace(f"<vmmnet:interface mac='{A}' hostvlan='/t'/>", ""))
    assert libvirt("define", file, *DAEMON).status == 0
    file.write_text(DOMAIN)
    assert libvirt("define", file, *DAEMON).status == 1
    told = json.loads(libvirt("show", "guest", "--json", *DAEMON).out)
    assert told["net"]["interfaces"] == [] and told["drift"] == [], told
    file.write_text(DOMAIN.replace("<name>guest", "<name>test"))
    assert libvirt("define", file, *DAEMON).status == 1
    told = json.loads(libvirt("show", "test", "--json", *DAEMON).out)
    assert told["net"] is None and told["running"] is True, told


def test_a_libvirt_that_is_too_old(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would drop qemu:override: the NIC would be past HostVLAN."""
    monkeypatch.setattr(libvirtd.Daemon, "version", lambda _: (8, 1, 0))
    answer = libvirt("define", file, *DAEMON)
    assert answer.status == 1 and "libvirt 8.1.0 is too old" in answer.err, answer


def test_a_domain_without_the_element(file: Path) -> None:
    file.write_text(DOMAIN.replace(f"<vmmnet:interface mac='{A}' hostvlan='/t'/>", ""))
    answer = libvirt("define", file, *DAEMON)
    assert (answer.status, answer.out) == (0, "guest: defined, with an empty <vmmnet:net>\n")


def test_domains_are_offered(file: Path) -> None:
    offered = commandline.offered("libvirt", "")
    assert sorted(offered) == ["check", "define", "protect", "rotate", "show"]
    for command in ("show", "check"):
        assert commandline.offered("libvirt", command, *DAEMON, "") == ["test"]
    assert commandline.offered("libvirt", "check", f"{file.parent}/g") == [str(file)]


def test_check_of_a_file(file: Path) -> None:
    """It needs no daemon, and reports findings with remedies."""
    answer = libvirt("check", file)
    assert answer.status == 3 and answer.err == "", answer
    lines = answer.out.splitlines()
    found = lines.index("fault: table /t: does not exist")
    assert lines[found + 1].startswith("    'vmmnet hostvlan add"), lines
    told = json.loads(libvirt("check", file, "--json").out)
    assert told["domain"] == str(file)
    assert told["faults"] == sum(each["severity"] == "fault" for each in told["findings"]) > 0
    file.write_text("<network/>")
    answer = libvirt("check", file)
    assert answer.status == 1 and "<network> is no domain of libvirt" in answer.err


_SOCKETS = DOMAIN.replace(
    f"<vmmnet:interface mac='{A}' hostvlan='/t'/>", "<vmmnet:sockets address6='2001:db8::1'/>"
)
_WORDS = f"""\
<domain xmlns:qemu='{names.QEMU}'>
  <name>hand</name><uuid>00000000-0000-4000-9000-000000000002</uuid>
  <qemu:commandline><qemu:arg value='-device'/><qemu:arg value='WORDS'/></qemu:commandline>
</domain>"""


@dataclass
class Neighbours:
    """A daemon that has domains, by their names; those of ``runs`` run."""

    domains: dict[str, str]
    runs: dict[str, str]

    def names(self) -> list[str]:
        """All of them, and one that has gone meanwhile."""
        return [*self.domains, "gone"]

    def uuid(self, name: str) -> str:
        """Of the domain."""
        if name not in self.domains:
            raise Refused(f"there is no domain '{name}'")
        return str(document.parse(self.domains[name]).findtext("uuid"))

    def is_running(self, name: str) -> bool:
        """Whether it is one of those."""
        return name in self.runs

    def defined(self, name: str) -> str:
        """At its next start."""
        return self.domains[name]

    def running(self, name: str) -> str:
        """As it runs."""
        return self.runs[name]


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (_SOCKETS.replace("::1", ":0::1"), True),
        (_SOCKETS.replace("::1", "::2"), False),
        (DOMAIN, False),
        (_WORDS.replace("WORDS", "virtio-vmrpc-pci,id=v,address6=2001:db8::1,dns=::1"), True),
        (_WORDS.replace("WORDS", '{"driver":"virtio-vmrpc-pci","address6":"2001:db8::1"}'), True),
        (_WORDS.replace("WORDS", "virtio-vmrpc-pci,address6=2001:db8::11"), False),
        (_WORDS.replace("WORDS", "virtio-vmrpc-pci,address6=nonsense"), False),
        (_WORDS.replace("WORDS", "other,address6=2001:db8::1"), False),
    ],
)
def test_domains_with_the_same_address6(other: str, shared: bool) -> None:
    """Of the element or of words; not the domain itself; also as another one runs still."""
    other = other.replace("name>guest<", "name>other<")
    domain = document.parse(_SOCKETS)
    daemon: Any = Neighbours({"guest": _SOCKETS, "other": other}, {})
    assert sharing.of(daemon, domain) == ({"other": False} if shared else {})
    daemon.runs["other"] = other
    assert sharing.of(daemon, domain) == ({"other": True} if shared else {})
    daemon.domains["other"] = DOMAIN.replace("guest", "other")
    assert sharing.of(daemon, domain) == ({"other": True} if shared else {})
    assert sharing.of(daemon, document.parse(DOMAIN)) == {}


def test_check_names_a_domain_with_the_same_address6(file: Path, kept: None) -> None:
    """Of a file, if a daemon is named."""
    connection = importlib.import_module("libvirt").open(DAEMON[1])
    connection.defineXML(_SOCKETS.replace("guest", "other"))
    file.write_text(_SOCKETS)
    said = "note: address6 2001:db8::1: is that of the domain 'other' as well: a host refuses"
    assert said in libvirt("check", file, *DAEMON).out
    assert "'other'" not in libvirt("check", file).out
    connection.defineXML(_SOCKETS)
    assert said in libvirt("check", "guest", *DAEMON).out
    connection.lookupByName("other").undefine()
    assert "as well" not in libvirt("check", "guest", *DAEMON).out
    connection.close()


def test_define_names_a_domain_with_the_same_address6(
    file: Path, kept: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does define it: one may take the other's place."""
    monkeypatch.setattr(sharing, "of", lambda *_: {"web1": False, "web2": True})
    file.write_text(DOMAIN.replace(f"<vmmnet:interface mac='{A}' hostvlan='/t'/>", ""))
    answer = libvirt("define", file, *DAEMON)
    begin, end = "guest: its address6 is that of the domain", ": a host refuses the second that"
    assert answer.status == 0 and f"{begin} 'web1' as well{end} starts\n" in answer.err, answer
    assert f"{begin} 'web2' as well, which runs{end} starts\n" in answer.err, answer
    told = json.loads(libvirt("define", file, "--json", *DAEMON).out)
    assert told["same-address6"] == ["web1", "web2"]


def test_check_of_a_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is checked without the element, or with another host's daemon."""
    answer = libvirt("check", "test", *DAEMON)
    assert answer.status == 0 and answer.out.endswith("test: no fault found\n"), answer
    monkeypatch.setattr(libvirtd.Daemon, "uri", lambda _: "qemu+ssh://other/system")
    answer = libvirt("check", "test", *DAEMON)
    assert answer.status == 1 and "run it on other" in answer.err


@pytest.mark.parametrize(("module", "package"), [("lxml", "python3-lxml"), ("libvirt", "python3-")])
def test_a_package_that_is_missing(file: Path, module: str, package: str) -> None:
    """The other rooms do without it, and this one names it."""
    script = f"import sys; sys.modules['{module}'] = None; from vmmnet.__main__ import main; main()"
    place = {**os.environ, "PYTHONPATH": str(paths.ROOT / "control")}

    def run(*words: str | Path) -> str:
        command = [sys.executable, "-c", script.replace("main()", "sys.exit(main())"), *words]
        return subprocess.run(command, env=place, text=True, capture_output=True).stderr

    assert f"apt install {package}" in run("libvirt", "define", file)
    assert run("hostvlan", "--help") == ""
