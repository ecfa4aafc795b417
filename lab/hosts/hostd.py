# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-hostd on hosts of a test network, and its clients."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

from ..base import paths, process, tools, wait
from ..base.lock import locked
from ..base.net import Interface, Namespace

#: A user without privileges, as QEMU is under libvirt.
NOBODY = 65534
#: Its default socket.
SOCKET = Path("/run/vmmnet/hostd.sock")
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def binary() -> Path:
    """Build vmmnet-hostd, if needed, and return its path."""
    with locked("programs"):
        tools.run(["make", "-C", paths.ROOT, "hostd"])
    return paths.BUILD / "programs/hostd/vmmnet-hostd"


def ask(path: Path, lines: str) -> str:
    """Send lines as root; return the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(wait.PATIENCE)
        client.connect(str(path))
        client.sendall(lines.encode())
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(1 << 16), b"")).decode()


def registration(vm: str, pid_file: Path, *addresses: tuple[str, Interface]) -> str:
    """Return the lines that register a VM."""
    lines = [f"register {vm} {pid_file}"]
    lines += [f"address6 {address} {interface.name}" for address, interface in addresses]
    return "\n".join((*lines, "end\n"))


class Hostd:
    """The helper of one host; a context manager.  It may be killed and started again."""

    def __init__(self, host: Namespace, folder: Path) -> None:
        self.host = host
        self.path = folder / "hostd.sock"
        self.state = folder / "hostd.state"
        self.log = folder / "hostd.log"
        self.child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Hostd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command: list[str | Path] = [binary(), "--socket", self.path, "--state", self.state]
        self.child = process.start_server(command, self.log, b"ready", netns=self.host.netns)

    def stop(self) -> None:
        """End it as systemd does; it may have ended before."""
        if self.child is not None:
            process.stop(self.child)
        self.child = None

    def kill(self) -> None:
        """End it at once."""
        assert self.child is not None
        self.child.kill()
        self.stop()

    def ask(self, lines: str) -> str:
        """Send lines as root; return the answer."""
        return ask(self.path, lines)


def has_address(pid: int, address: str) -> bool:
    """Whether an interface has the address, in the network namespace of a process."""
    wanted = IPv6Address(address).packed.hex()
    return any(
        line.startswith(wanted)
        for line in Path(f"/proc/{pid}/net/if_inet6").read_text().split("\n")
    )


_CLIENT = """
import socket, sys
for line in sys.stdin:
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    client.sendall(line.encode())
    print(client.makefile().readline(), end="", flush=True)
    client.close()
"""


class Stand:
    """An unprivileged process in place of a VM's QEMU."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    @property
    def pid(self) -> int:
        """Its number."""
        return self.child.pid

    def ask(self, line: str) -> str:
        """Send a line; return the answer."""
        assert self.child.stdin is not None and self.child.stdout is not None
        self.child.stdin.write(f"{line}\n".encode())
        self.child.stdin.flush()
        return self.child.stdout.readline().decode().rstrip("\n")


@contextlib.contextmanager
def stand(hostd: Hostd) -> Iterator[Stand]:
    """Run such a process as a client of this helper."""
    command = [*AS_NOBODY, "/usr/bin/python3", "-c", _CLIENT, str(hostd.path)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with hostd.host.started(command, **streams) as child:
        yield Stand(child)
