# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts that ``vmmnet libvirt check`` goes by: rules of AppArmor, modes, and this host's own."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import paths
from vmmnet.confine import judge
from vmmnet.libvirt.check import apparmor, host, place
from vmmnet.libvirt.check.facts import Node, Policy, Unit, User
from vmmnet.libvirt.host import account, conf, hostd


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ("/a/b r,", True),
        ("/a/* rw,", True),
        ('"/a/b" r,', True),
        ("owner /a/{c,b} r,", True),
        ("/a/** r, # remark", True),
        ("/** rwk,", True),
        ("/a/[bc] r,", True),
        ("/a/? r,", True),
        ("/a/b w,", False),
        ("/* r,", False),
        ("/a/ r,", False),
        ("/a/b/* r,", False),
        ("# /a/b r,", False),
        ("/a/** r,\ndeny /a/b r,", False),
        ("/a/** r,\ndeny /a/b w,", True),
        ("@{HOME}/b r,", False),
        ("/a/[b r,", False),
        ("/a/{b r,", False),
    ],
)
def test_rules(rules: str, allowed: bool) -> None:
    assert apparmor.allows(rules, "/a/b", "r") is allowed


def test_a_star_is_not_nothing() -> None:
    assert not apparmor.allows("/a/* r,", "/a/", "r")
    assert not apparmor.allows("/a/** r,", "/a/", "r")


@dataclass(frozen=True)
class _Confined:
    """What of a host says whether guests are confined, and by which rules."""

    rules: str | None
    driver: str = "apparmor"

    def apparmor(self) -> str | None:
        return self.rules

    def qemu_conf(self) -> Mapping[str, str]:
        return {"security_driver": self.driver}


def test_an_emulator_is_installed_where_libvirt_cannot_run_it() -> None:
    """The remedy is enough; nothing is said where nobody is confined."""
    rules, path = "/usr/bin/qemu-* rmix,", Path("/usr/local/bin/qemu-system-x86_64")
    assert place.refused(Path("/usr/bin/qemu-x"), _Confined(rules)) is None
    assert place.refused(path, _Confined(None)) is None
    assert place.refused(path, _Confined(rules, driver="none")) is None
    told = place.refused(path, _Confined(rules))
    assert told is not None and f"'{path} PUx,' to {apparmor.DAEMON}" in told
    added = re.search(f"add '([^']*)' to {apparmor.LOCAL}", told)
    assert added and place.refused(path, _Confined(f"{rules}\n{added[1]}")) is None


def test_make_install_needs_no_lxml() -> None:
    code = "import sys; sys.modules['lxml'] = None; from vmmnet.libvirt.check import place"
    environment = {**os.environ, "PYTHONPATH": paths.PYTHONPATH}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_includes_are_followed() -> None:
    """Debian 12's way: its abstraction includes the local one, that includes the package's."""
    texts = {
        "abstractions/libvirt-qemu": ["one,\n#include <abstractions/base>\n"],
        "abstractions/base": ["include if exists <local/x> # remark\n"],
        "local/x": ["two,", 'include "abstractions/libvirt-qemu"'],
    }
    lines = list(apparmor.flat(lambda name: texts.get(name, []), "abstractions/libvirt-qemu"))
    assert lines[:2] == ["one,", "two,"] and set(lines) == {"one,", "two,"}


def test_a_group_may_read() -> None:
    """That of QEMU's user, be it not its first."""
    user = User("libvirt-qemu", 64055, frozenset((107, 64055)))
    node = Node(Path("/key"), 0, 107, stat.S_IFREG | 0o640)
    assert user.may(node, 4) and not user.may(node, 1)
    # The owner's bits are what counts for the owner.
    assert not user.may(Node(Path("/key"), user.uid, 107, stat.S_IFREG | 0o044), 4)


def test_settings_of_qemu_conf() -> None:
    text = """
#user = "no"
user = "+64055"   # remark
group='kvm'
  max_files = 32768
cgroup_controllers = [ "cpu" ]
"""
    assert account.settings(text) == {"user": "+64055", "group": "kvm", "max_files": "32768"}


@pytest.fixture
def here() -> host.ThisHost:
    return host.ThisHost(session=True)


def test_the_way_to_a_file(here: host.ThisHost, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch(0o640)
    (tmp_path / "link").symlink_to("real/file")
    way = here.way(tmp_path / "link")
    assert [each.path for each in way[-2:]] == [tmp_path / "real", tmp_path / "real/file"]
    assert way[0].path == Path("/") and way[-1].uid == os.getuid()
    with pytest.raises(FileNotFoundError):
        here.way(tmp_path / "none")


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def make(script: str) -> Path:
        path = tmp_path / "qemu"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


def test_qemu_is_asked(here: host.ThisHost, program: Callable[[str], Path]) -> None:
    assert here.help(program('echo "$@"'), "device", "x,help") == "-device x,help\n"
    assert here.version(program('echo "$@"')) == "-version\n"
    assert here.help(program("exit 127"), "device", "x,help") is None
    assert here.help(Path("/none"), "device", "x,help") is None


def test_qemu_that_hangs_is_given_up(
    here: host.ThisHost, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_PATIENCE", 0.2)
    assert here.help(program("exec sleep 1000"), "netdev", "help") is None


@pytest.mark.parametrize("answer", [b"ok\n", b"error root may ask that\n", b""])
def test_hostd_is_asked(tmp_path: Path, answer: bytes) -> None:
    """Any answer is one; none is there if it only closes the connection."""
    place = tmp_path / "hostd.sock"
    with pytest.raises(hostd.HostdError, match="does not exist"):
        hostd.probe(place)

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            assert lines.readline() == b"show\n"
            connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        server = threading.Thread(target=serve)
        server.start()
        try:
            if answer:
                hostd.probe(place)
            else:
                with pytest.raises(hostd.HostdError, match="closed the connection"):
                    hostd.probe(place)
        finally:
            server.join()


@pytest.mark.parametrize(
    ("script", "unit"),
    [
        ("echo LoadState=loaded; echo 'ExecStart={ path=/bin/sh ; argv[]=sh }'", Unit("loaded")),
        ("echo LoadState=loaded; echo 'ExecStart={ path=/no/x ; a }'", Unit("loaded", "/no/x")),
        ("echo LoadState=not-found", Unit("not-found")),
        ("echo 'not booted' >&2; exit 1", Unit("", silent="not booted")),
        ("exit 1", Unit("", silent="systemctl fails")),
    ],
)
def test_systemd_is_asked(
    here: host.ThisHost,
    program: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    unit: Unit,
) -> None:
    path = program(script)
    path.rename(path.with_name("systemctl"))
    monkeypatch.setenv("PATH", str(path.parent))
    assert here.unit("vmmnet-validate@x") == unit


def test_a_host_without_systemd(
    here: host.ThisHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "No such file" in here.unit("vmmnet-validate@x").silent


_PROXIES = """\
# proxy a http ::1 80 secret none
 proxy\tcorp  socks5 ::1 80 secret\tone # remark
proxy other http ::1 80
proxy third http ::1 80 secret two
"""


@pytest.mark.usefixtures("judged")
def test_a_policy_is_judged(
    here: host.ThisHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "web.policy"
    assert here.policy(file) is None
    file.write_text(_PROXIES)
    assert here.policy(file) == Policy("", ("one", "two"))
    file.write_text(f"{_PROXIES}allow hots\n")
    found = here.policy(file)
    assert found is not None and found.secrets == ("one", "two")
    assert found.wrong.startswith("line 5: 'hots' is not an address")
    monkeypatch.setattr(judge, "PLACES", (tmp_path / "none",))
    assert here.policy(file) == Policy("", ("one", "two"))


def test_what_else_the_hook_goes_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the system; a session has no hook."""
    system, session = (host.ThisHost(session=each) for each in (False, True))
    monkeypatch.setattr(conf.read, "__defaults__", (tmp_path / "host.conf",))
    assert system.conf_wrong() == ""
    (tmp_path / "host.conf").write_text("nonsense\n")
    assert "line 1: 'nonsense' is none of" in system.conf_wrong()
    assert session.conf_wrong() == ""
    assert system.has_interface("lo") and not system.has_interface("none0")
    label = "no-such-user:root"
    assert not system.has_user(label) and session.has_user(label)
    assert system.has_user(f"+{os.getuid()}")


def test_a_session_has_no_secrets() -> None:
    error = host.ThisHost(session=True).secret("6d7ab5a4-5c1c-4a0e-9d0e-2f6d3b1b8f10")
    assert error is not None and "name a file" in error.remedy and not error.untold
