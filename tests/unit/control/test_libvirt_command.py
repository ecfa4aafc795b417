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
from pathlib import Path

import pytest
from vmmnet.libvirt import connect, document
from vmmnet.libvirt.expand import drift
from vmmnet.testbed.base import commandline, paths

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
    monkeypatch.setattr(connect.Daemon, "version", lambda _: (8, 1, 0))
    answer = libvirt("define", file, *DAEMON)
    assert answer.status == 1 and "libvirt 8.1.0 is too old" in answer.err, answer


def test_a_domain_without_the_element(file: Path) -> None:
    file.write_text(DOMAIN.replace(f"<vmmnet:interface mac='{A}' hostvlan='/t'/>", ""))
    answer = libvirt("define", file, *DAEMON)
    assert (answer.status, answer.out) == (0, "guest: defined, with an empty <vmmnet:net>\n")


def test_domains_are_offered(file: Path) -> None:
    offered = commandline.offered("libvirt", "")
    assert sorted(offered) == ["check", "convert", "define", "show"]
    for command in ("show", "check", "convert"):
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


def test_check_of_a_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is checked without the element, or with another host's daemon."""
    answer = libvirt("check", "test", *DAEMON)
    assert answer.status == 0 and answer.out.endswith("test: no fault found\n"), answer
    monkeypatch.setattr(connect.Daemon, "uri", lambda _: "qemu+ssh://other/system")
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
