# SPDX-License-Identifier: GPL-2.0-or-later
"""``make install-control``: what is installed works without the sources."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lab.base import own_run, paths, tools

A = "52:54:00:00:00:01"

_IMPORT_ALL = """
import pkgutil, sys
sys.path[0] = sys.argv[1]
import vmmnet
names = [each.name for each in pkgutil.walk_packages(vmmnet.__path__, "vmmnet.")]
# These want os-ken, which is for 'vmmnet cvsw run' alone.
want_os_ken = {"vmmnet.cvsw.wire.channel"}
want_os_ken |= {f"vmmnet.cvsw.control.{name}" for name in ("controller", "life")}
assert want_os_ken < set(names)
for name in set(names) - want_os_ken:
    if not name.endswith("__main__"):
        __import__(name)
assert "vmmnet.hostvlan.host.agent" in names and "lab" not in names
assert sys.modules["vmmnet.hostvlan.bpf.twin"].OBJECT.is_file()
assert {"dkms.conf", "transport/device.c"} < set(sys.modules["vmmnet.guestimage.module"].sources())
"""


def install(destination: Path, *options: str) -> Path:
    """Install below a folder; returns what stands for the prefix there."""
    if options:
        environment = {**os.environ, "DESTDIR": str(destination)}
        tools.run([paths.ROOT / "control/install", *options], env=environment)
    else:
        tools.run(["make", "-C", paths.ROOT, "install-control", f"DESTDIR={destination}"])
    (command,) = destination.glob("**/bin/vmmnet")
    return command.parents[1]


def call(*words: str | Path) -> str:
    """Run a program that does not know where the sources are."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(
        words, cwd="/", env=environment, text=True, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_installed_command(tmp_path: Path) -> None:
    prefix = install(tmp_path / "root")
    command, table = prefix / "bin/vmmnet", tmp_path / "lnid.table"
    assert "keep tenants apart" in call(command, "--help")
    for room in ("cvsw", "guest-image", "hostvlan", "libvirt", "policy"):
        assert "exit status" in call(command, room, "--help")
    assert call(command, "hostvlan", "add", A, "7", "--table", table) == f"{A}: new, in LNID 7\n"
    assert A in call(command, "hostvlan", "list", "--table", table)
    policy = tmp_path / "web.policy"
    policy.write_text("default deny\n")
    assert call(command, "policy", "test", policy) == f"{policy} is right: policy 1ba0e9b9\n"
    call(sys.executable, "-c", _IMPORT_ALL, prefix / "share/vmmnet")


def test_nothing_of_a_room_is_left_out(tmp_path: Path) -> None:
    """Nor its data."""
    sources = paths.ROOT / "control/vmmnet"
    known = tools.run(["git", "-C", sources, "ls-files"]).split()
    # Files that are new and not yet added count as well.
    known += tools.run(["git", "-C", sources, "ls-files", "-o", "--exclude-standard"]).split()
    installed = install(tmp_path) / "share/vmmnet/vmmnet"
    assert {name for name in known if not (installed / name).is_file()} == set()


@pytest.mark.parametrize("options", [(), ("--prefix=/opt/net",)])
def test_the_unit_runs_the_command_that_is_installed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    prefix = install(tmp_path, *options)
    if options:
        assert prefix == tmp_path / "opt/net"
    for name, words in (("hostvlan-agent", "hostvlan agent"), ("cvsw", "cvsw run")):
        unit = prefix / f"lib/systemd/system/vmmnet-{name}.service"
        (program,) = re.findall(rf"^ExecStart=(\S+) {words}", unit.read_text(), re.MULTILINE)
        assert tmp_path / program[1:] == prefix / "bin/vmmnet"


def test_the_hook_runs_what_is_installed(tmp_path: Path) -> None:
    prefix = install(tmp_path, "--prefix=/opt/net")
    hook = tmp_path / "etc/libvirt/hooks/qemu.d/vmmnet"
    assert hook.stat().st_mode & 0o777 == 0o755
    text = hook.read_text()
    assert "=/opt/net/share/vmmnet\n" in text
    # What it says there stands below a folder here.
    text = text.replace("/opt/net", str(prefix))
    domain = (
        "<domain><uuid>00000000-0000-4000-9000-000000000001</uuid><metadata>"
        "<net xmlns='https://vmmnet.example/net/1' wrong='yes'/></metadata></domain>"
    )
    done = subprocess.run(
        own_run.words("sh", "-c", text, "hook", "guest", "prepare", "begin", "-"),
        input=domain,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr.startswith("vmmnet: domain 'guest': ")


def test_completion_is_installed(tmp_path: Path) -> None:
    prefix = install(tmp_path)
    script = prefix / "share/bash-completion/completions/vmmnet"
    ask = (
        'source "$1"; PATH=$2:$PATH; COMP_LINE="vmmnet "; COMP_POINT=7;'
        ' _python_argcomplete vmmnet; echo "$COMPREPLY"'
    )
    assert call("bash", "-c", ask, "bash", script, prefix / "bin") == "audit\n"


def test_everybody_may_read_it_and_nothing_is_left_of_before(tmp_path: Path) -> None:
    """Also where root's files are for root alone otherwise."""
    before = os.umask(0o077)
    try:
        prefix = install(tmp_path / "root")
        left = prefix / "share/vmmnet/vmmnet/hostvlan/gone.py"
        left.touch()
        install(tmp_path / "root")
    finally:
        os.umask(before)
    assert not left.exists()
    modes = {path: path.stat().st_mode & 0o777 for path in prefix.glob("**/*")}
    programs = {path for path, mode in modes.items() if mode & 0o111 and path.is_file()}
    assert programs == {prefix / "bin/vmmnet", prefix / "libexec/vmmnet/policy-judge"}
    assert all(mode in (0o644, 0o755) for mode in modes.values())


def test_the_installed_home_agent(tmp_path: Path) -> None:
    """``make install-ha``: the program, and a unit that names it."""
    tools.run(["make", "-C", paths.ROOT, "install-ha", f"DESTDIR={tmp_path}"])
    (program,) = tmp_path.glob("**/sbin/vmmnet-ha")
    (unit,) = tmp_path.glob("**/lib/systemd/system/vmmnet-ha.service")
    assert "usage: vmmnet-ha FILE" in call(program, "--help")
    assert f"ExecStart=/{program.relative_to(tmp_path)} /etc/vmmnet/ha.conf\n" in unit.read_text()


def test_make_install_looks_whether_libvirt_may_run_it(tmp_path: Path) -> None:
    """Of this host; of another one, below DESTDIR, nothing is known."""
    words = ["make", "-n", "-C", paths.ROOT, "install"]
    here, below = (tools.run([*words, f"DESTDIR={each}"]) for each in ("", tmp_path))
    assert "vmmnet.libvirt.check.place" in here
    assert "vmmnet.libvirt.check.place" not in below
