# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: images are made, boot without a NIC, and are on the network.

The first one is made and started as newcomers do it; what they see is in
build/guest-image.md.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from lab import run
from lab.base import commandline, conditions, paths, process, tools, wait
from lab.guest import guest, qemu
from lab.libvirt import session as libvirt_session
from lab.libvirt.session import Session
from lab.peers.lab import DNS_ADDRESS, PAGE, VM_ADDRESS, Lab, lab

pytestmark = pytest.mark.long

#: A whole system boots by emulation, or is made; seconds.
_WHOLE = 10 * wait.PATIENCE
_PASSWORD = "correct horse"
_PROMPT = r"root@[a-z]+:~# "
#: What a terminal is told beside text.
_CONTROL = re.compile(r"\r|\x1b[\[\]][?0-9;]*[a-zA-Z]")
_PYTHON = {"PYTHONPATH": paths.PYTHONPATH}


class Console:
    """A program on a terminal, which leads to a guest's serial console.  A context manager."""

    def __init__(self, log: str, command: list[str | Path], **where: Any) -> None:
        folder = guest.log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        self._log = (folder / log).open("wb")
        self._terminal, program = pty.openpty()
        self._child = process.start(command, stdin=program, stdout=program, stderr=program, **where)
        os.close(program)
        self._said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # virsh ends by this, and not by a signal.
        os.close(self._terminal)
        process.stop(self._child)
        self._log.close()

    def _hear(self, deadline: float, awaited: str) -> bool:
        """Take what is said next; False when the program has ended."""
        rest = deadline - time.monotonic()
        if rest <= 0 or not select.select([self._terminal], [], [], rest)[0]:
            raise wait.Timeout(f"{awaited} at the console: not in time, see {self._log.name}")
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            # Nobody has the other side any more.
            return False
        self._log.write(data)
        self._log.flush()
        self._said = _CONTROL.sub("", self._said + data.decode(errors="replace"))
        return True

    def until(self, pattern: str) -> str:
        """Wait for what matches; returns all that was said since the last one."""
        deadline = time.monotonic() + _WHOLE
        while not (found := re.search(pattern, self._said)):
            assert self._hear(deadline, pattern), f"ended before {pattern}, see {self._log.name}"
        new, self._said = self._said[: found.end()], self._said[found.end() :]
        return new

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{line}\n".encode())

    def run(self, command: str) -> str:
        """Run a command that succeeds in the guest's shell; returns what it says."""
        self.type(f"{command}; printf '\\nended=%d.\\n' $?")
        said = self.until(r"\nended=\d+\.\n")
        assert said.endswith("\nended=0.\n"), said
        return said

    def end(self) -> int:
        """Wait for the program's end; returns its status."""
        deadline = time.monotonic() + _WHOLE
        while self._hear(deadline, "the end"):
            pass
        return self._child.wait(wait.PATIENCE)


def make(folder: Path, *words: str | Path) -> str:
    """Make an image in a folder, with nothing else left there; returns what is said."""
    before = set(folder.iterdir())
    command = [sys.executable, "-m", "vmmnet", "guest-image", *map(str, words)]
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **_PYTHON}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    (made,) = set(folder.iterdir()) - before
    assert ended.stdout.startswith(f"{made}: made, ")
    return f"{ended.stderr}{ended.stdout}".replace(f"{folder}/", "")


def check_system(console: Console) -> None:
    """No unit has failed, and the module is one that DKMS keeps."""
    console.run(
        "systemctl is-system-running --wait || systemctl --failed --no-legend --plain; "
        'test -z "$(systemctl --failed --no-legend)"'
    )
    assert ": installed" in console.run("dkms status vmmnet-vmrpc")
    assert "vmrpc0" in console.run("ls -m /sys/class/net")
    console.run("! ls -d /sys/class/net/e*")


def test_make_run_boots_it(tmp_path: Path) -> None:
    """Root is at the console, and a page of an IPv6-only server is there."""
    began = time.monotonic()
    words: list[str | Path] = ["--output", "guest.qcow2"]
    shown = [
        f"# vmmnet guest-image {' '.join(map(str, words))}",
        *make(tmp_path, *words).splitlines(),
    ]
    took = f"{time.monotonic() - began:.0f} s to make the image"
    shown.append("# make run DISK=guest.qcow2\n…")
    words = [sys.executable, "-m", "lab.run", "--disk", "guest.qcow2"]
    with Console("make-run.log", words, env=_PYTHON, cwd=tmp_path) as console:
        began = time.monotonic()
        login = [line for line in console.until(_PROMPT).splitlines() if "login: " in line]
        shown += [*login, "…", "root@guest:~# "]
        took += f", {time.monotonic() - began:.0f} s from 'make run' to the prompt"
        for command in (
            "df -h --output=size,used,avail /",
            "ip -brief address",
            f"getent ahostsv4 {run.WEB_NAME}",
            f"curl -4 -sS http://{run.WEB_NAME}/",
        ):
            console.type(command)
            said = console.until(_PROMPT)
            shown[-1] += said.partition("\n")[0]
            shown += said.splitlines()[1:]
        shown[-1] += "poweroff"
        assert run.PAGE in said
        check_system(console)
        console.type("poweroff")
        assert console.end() == 0
    text = "\n".join(f"    {line}".rstrip() for each in shown for line in each.splitlines())
    page = f"{conditions.machine()}; by emulation (TCG); {took}\n\n{text}\n"
    (paths.BUILD / "guest-image.md").write_text(page)


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module")
def session(world: Lab) -> Iterator[Session]:
    with libvirt_session.session(world, 1) as made:
        yield made


@pytest.fixture(scope="module")
def key(session: Session) -> Path:
    """The private key of who may log in."""
    path = session.folder / "key"
    tools.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path])
    return path


@pytest.fixture(scope="module")
def domain(session: Session, key: Path) -> str:
    """A domain of libvirt, as the command prints it, with an image; its name."""
    folder, secret = session.folder / "images", session.folder / "secret"
    folder.mkdir()
    image = folder / "tiny.raw"
    secret.write_text(f"{_PASSWORD}\n")
    login = ["--root-password", str(secret), "--ssh-key", f"{key}.pub"]
    kind = ["--hostname", "tiny", "--format", "raw", "--kernel", "6.12"]
    make(folder, "--output", image, *kind, *login)
    assert image.stat().st_mode & 0o077 == 0
    os.chown(image, libvirt_session.USER.pw_uid, libvirt_session.USER.pw_gid)
    words = ["--output", str(image), *kind[:4], "--address6", VM_ADDRESS]
    text = commandline.run("guest-image", "--print-domain", *words).out
    # The test bed has a name server, no KVM, and the emulator that was built.
    emulator = session.build / qemu.binary().relative_to(paths.BUILD)
    for old, new in {
        'type="kvm"': 'type="qemu"',
        "/usr/bin/qemu-system-x86_64-vmmnet": str(emulator),
        f'address6="{VM_ADDRESS}"': f'address6="{VM_ADDRESS}" dns="{DNS_ADDRESS}"',
    }.items():
        assert text.count(old) == 1, text
        text = text.replace(old, new)
    file = session.folder / "tiny.xml"
    file.write_text(text)
    uri = f"qemu+unix:///session?socket={session.folder}/libvirt/libvirt-sock"
    answer = commandline.run("libvirt", "define", str(file), "--connect", uri)
    assert answer.status == 0, answer
    return "tiny"


@contextlib.contextmanager
def started(session: Session, domain: str, log: str) -> Iterator[Console]:
    """Start it with its console on a terminal, and log in there."""
    words = ["virsh", "-c", "qemu:///session", "start", "--console", domain]
    with Console(log, session.command(*words), netns=session.world.host.netns) as console:
        console.until("tiny login: ")
        console.type("root")
        console.until("Password: ")
        console.type(_PASSWORD)
        console.until(_PROMPT)
        yield console


def shut_off(session: Session, domain: str) -> bool:
    return session.virsh("domstate", domain).strip() == "shut off"


def test_libvirt_runs_it(session: Session, domain: str, key: Path, world: Lab) -> None:
    """Out by IPv4, in by IPv6, off and on again; what was written is there."""
    world.host.sysctl({"net.ipv4.ip_unprivileged_port_start": 22})
    with started(session, domain, "libvirt-first.log") as console:
        assert PAGE in console.run("curl -4 -sS http://www.test/")
        assert "6.12." in console.run("uname -r")
        check_system(console)
        assert "nameserver 192.0.0.1" in console.run("cat /etc/resolv.conf")
        console.run("test ! -e /root/password && test ! -e /root/vmmnet-customize")
        # Its own, made when it booted first.
        console.run("test -s /etc/ssh/ssh_host_ed25519_key")
        options = [*("-o", "StrictHostKeyChecking=no"), *("-o", "UserKnownHostsFile=/dev/null")]
        login = ["-o", "BatchMode=yes", "-i", str(key), f"root@{VM_ADDRESS}"]
        command = ["ssh", *options, *login, "uname -n | tee kept"]
        assert world.peer.run(command, timeout=_WHOLE).stdout == "tiny\n"
        console.type("poweroff")
        console.end()
        wait.until(lambda: shut_off(session, domain), "the domain's end")
    with started(session, domain, "libvirt-second.log") as console:
        assert "\ntiny\n" in console.run("cat kept")
        console.run("! dmesg | grep -E 'EXT4-fs.*recovery'")
        assert PAGE in console.run("curl -4 -sS http://www.test/")
        check_system(console)
        session.virsh("shutdown", domain)
        console.end()
        wait.until(lambda: shut_off(session, domain), "the domain's end", _WHOLE)
