# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test of programs does with a machine, be it in the guest or outside."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from lab.base import scratch, wait
from lab.base.net import Namespace
from lab.guest import image
from lab.guest.agent import Job
from lab.guest.guest import Guest
from lab.peers.lab import VM_ADDRESS

#: What the programs under test need beyond what every guest has.
PACKAGES = (
    "apache2-utils",
    "chrony",
    "libmemcached-tools",
    "memcached",
    "nftables",
    "nghttp2-client",
    "nodejs",
    "openssh-client",
    "openssh-server",
    "openssh-sftp-server",
    "postgresql-15",
    "redis-server",
    "rsync",
    "slirp4netns",
    "wireguard-tools",
    "wrk",
)

#: Seconds after which something hangs, however busy the machine is.
_PATIENCE = 2 * wait.PATIENCE

#: Seconds after which a program that has been asked to end is asked again.
_AGAIN = 5.0


Transport = Literal["tcp", "udp"]


class Machine(Protocol):
    """A machine with programs; ``other`` is the name of the one to talk to."""

    other: str
    any_address: str

    def run(self, command: str) -> str:
        """Run a line of shell to its end, which must be a success; return what it says."""

    def started(
        self, command: str, port: int, protocol: Transport = "tcp"
    ) -> contextlib.AbstractContextManager[None]:
        """Run a server for the time of a block; it listens when the block begins."""

    def put(self, text: str, path: str) -> None:
        """Write a file."""


def _asked_to_end(job: Job) -> bool:
    """Send SIGTERM; whether the command ends soon.

    To be done again if not: ssh notes a signal and looks at the note before it
    polls, so that one which comes in between is not noticed.
    """
    job.kill()
    with contextlib.suppress(TimeoutError):
        job.wait(_AGAIN)
    return not job.running


class Inside:
    """The guest."""

    other = "peer.test"
    any_address = "0.0.0.0"

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def run(self, command: str) -> str:
        """Run a line of shell to its end, which must be a success; return what it says."""
        return self._guest.run(command, _PATIENCE).stdout

    @contextlib.contextmanager
    def started(self, command: str, port: int, protocol: Transport = "tcp") -> Iterator[None]:
        """Run a server for the time of a block; it listens when the block begins."""
        job = self._guest.spawn(f"exec {command}")
        look = f"ss -Hln --{protocol} | grep -q ':{port} '"

        def serves() -> bool:
            return not job.running or self._guest.run(look, _PATIENCE, check=False).rc == 0

        try:
            wait.until(serves, f"guest: {command}: port {port}", _PATIENCE)
            yield
            if not job.running:
                raise AssertionError(f"guest: {command} has ended: {job.output()}")
        finally:
            wait.until(lambda: _asked_to_end(job), f"guest: {command}: end", _PATIENCE)

    def put(self, text: str, path: str) -> None:
        """Write a file."""
        self._guest.put(text.encode(), path)


# ``ip netns exec`` has made the mount namespace.
_ENTER = """\
set -e
mkdir image root
mount -t squashfs -o ro,loop "$1" image
mount -t tmpfs tmpfs root
mkdir root/data root/work root/new
mount -t overlay -o lowerdir=image,upperdir=root/data,workdir=root/work overlay root/new
cd root/new
mount --rbind /dev dev
mount -t proc proc proc
mount -t tmpfs tmpfs run
exec chroot . sh -c 'echo ready; exec cat'
"""


class Outside:
    """A machine of its own in a network namespace of the host."""

    other = "vm.test"
    any_address = "::"

    def __init__(self, space: Namespace, holder: int, folder: Path) -> None:
        self._space = space
        self._enter = ["nsenter", f"--target={holder}", "--mount", "--root", "--wd", "sh", "-c"]
        self._logs = folder

    def run(self, command: str) -> str:
        """Run a line of shell to its end, which must be a success; return what it says."""
        return self._space.run([*self._enter, command], timeout=_PATIENCE).stdout

    @contextlib.contextmanager
    def started(self, command: str, port: int, protocol: Transport = "tcp") -> Iterator[None]:
        """Run a server for the time of a block; it listens when the block begins."""
        log = self._logs / "server.log"
        with log.open("wb") as out:
            words = [*self._enter, f"exec {command}"]
            with self._space.started(words, stdout=out, stderr=out) as child:
                try:
                    wait.listening(child.pid, port, protocol, timeout=_PATIENCE)
                except (RuntimeError, TimeoutError) as error:
                    raise RuntimeError(f"{error}\n{log.read_text()[-3000:]}") from error
                yield

    def put(self, text: str, path: str) -> None:
        """Write a file."""
        self._space.run([*self._enter, f"mkdir -p $(dirname {path}); cat > {path}"], input=text)


@contextlib.contextmanager
def outside(space: Namespace, packages: tuple[str, ...] = PACKAGES) -> Iterator[Outside]:
    """A machine in a namespace, for the time of a block."""
    with scratch.folder() as name:
        folder = Path(name)
        command: list[str | Path] = ["sh", "-c", _ENTER, "enter", image.root(packages)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with space.started(command, cwd=folder, **pipes) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            machine = Outside(space, holder.pid, folder)
            machine.put(f"::1 localhost\n{VM_ADDRESS} {machine.other}\n", "/etc/hosts")
            yield machine


@dataclass(frozen=True)
class Roles:
    """Who serves and who asks."""

    server: Machine
    client: Machine

    @property
    def name(self) -> str:
        """What the client calls the server."""
        return self.client.other


if __name__ == "__main__":
    # make check builds the image while QEMU is compiled.
    image.root(PACKAGES)
