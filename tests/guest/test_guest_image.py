# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: the image is made, boots without a NIC, and is on the network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from vmmnet import own_disk
from vmmnet.testbed import guest, paths, process, tools, wait
from vmmnet.testbed.lab import PAGE, VM_ADDRESS, Lab, lab

pytestmark = pytest.mark.long

#: A whole system boots by emulation, or is made; seconds.
_WHOLE = 10 * wait.PATIENCE


class Console:
    """The serial console of a guest; what it said stays in a log."""

    def __init__(self, child: subprocess.Popen[bytes], log: Path) -> None:
        self._child, self._log = child, log
        self._read = 0

    def until(self, pattern: str) -> str:
        """Wait for what matches; returns all that was said since the last one."""

        def said() -> str | None:
            text = self._log.read_text(errors="replace").replace("\r", "")
            found = re.compile(pattern).search(text, self._read)
            if not found:
                assert self._child.poll() is None, f"QEMU ended before {pattern}: {self._log}"
                return None
            new, self._read = text[self._read : found.end()], found.end()
            return new

        new = wait.until(said, f"{pattern} at the console, {self._log}", _WHOLE)
        assert new is not None
        return new

    def run(self, command: str) -> str:
        """Run a command that succeeds; returns what it says."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{command}; printf '\\nended=%d.\\n' $?\n".encode())
        self._child.stdin.flush()
        said = self.until(r"\nended=\d+\.\n")
        assert said.endswith("\nended=0.\n"), said
        return said


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    with lab() as built:
        yield built


@pytest.fixture(scope="module", params=["6.1"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image in a folder with the private key of who may log in."""
    folder = tmp_path_factory.mktemp("image")
    tools.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"])
    made = folder / "guest.qcow2"
    command = ["guest-image", "--output", made, "--kernel", request.param, "--autologin"]
    command += ["--ssh-key", folder / "key.pub", "--hostname", "tiny"]
    place = {"PYTHONPATH": str(paths.ROOT / "control")}
    tools.run([sys.executable, "-m", "vmmnet", *command], env=place)
    return made


@pytest.fixture(scope="module")
def console(world: Lab, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The image runs as ``make run DISK=`` runs it, and root is at its console."""
    modules = own_disk.module_disk(tmp_path_factory.mktemp("modules"))
    folder = guest.log_folder()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "serial.log"
    words = own_disk.command(image, modules, world.device(), "tcg,thread=multi")
    with log.open("wb") as out:
        child = process.start(
            words, netns=world.host.netns, stdin=subprocess.PIPE, stdout=out, stderr=out
        )
    try:
        made = Console(child, log)
        made.until("root@tiny:~#")
        made.run("stty -echo")
        yield made
    finally:
        process.stop(child)


def test_nothing_but_the_image_is_left(image: Path) -> None:
    assert {each.name for each in image.parent.iterdir()} == {"guest.qcow2", "key", "key.pub"}


def test_an_ipv4_program_reaches_an_ipv6_only_server(console: Console) -> None:
    assert "vmrpc0" in console.run("ls -m /sys/class/net")
    assert "eth" not in console.run("ls -m /sys/class/net")
    assert PAGE in console.run("curl -4 -sS http://www.test/")


def test_the_system_is_whole(console: Console) -> None:
    """No unit fails, the module is one that DKMS keeps, and files have a time."""
    console.run(
        "systemctl is-system-running --wait || systemctl --failed --no-legend --plain; "
        'test -z "$(systemctl --failed --no-legend)"'
    )
    assert ": installed" in console.run("dkms status vmmnet-vmrpc")
    assert "192.0.0.1" in console.run(
        "cat /etc/resolv.conf; test $(stat -c %Y /etc/resolv.conf) -gt 1"
    )
    console.run("test ! -e /root/password && test ! -e /root/vmmnet-customize")


def test_root_logs_in_from_outside(console: Console, world: Lab, image: Path) -> None:
    """By IPv6, at a server that listens to IPv4; the keys of the server are new."""
    console.run("until systemctl is-active ssh; do read -t 1 _ </dev/zero; done")
    options = [*("-o", "StrictHostKeyChecking=no"), *("-o", "UserKnownHostsFile=/dev/null")]
    key = ["-o", "BatchMode=yes", "-i", str(image.with_name("key"))]
    answer = world.peer.run(
        ["ssh", *options, *key, f"root@{VM_ADDRESS}", "uname -n"], timeout=_WHOLE
    )
    assert answer.stdout == "tiny\n"
