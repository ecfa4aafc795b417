# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-dnsd on a host of a test network."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vmmnet import controlsocket

from ..base import process, tools, wait
from ..base.net import Namespace
from . import room as dns_room

#: Its port in tests.
PORT = 53
#: The user that it runs as.
USER = "nobody"


class Dnsd:
    """The server of one host; a context manager.  It may be killed and started again.

    ``config`` is its configuration without ``server.user`` and ``server.control``.
    """

    def __init__(self, host: Namespace, folder: Path, config: Mapping[str, Any]) -> None:
        self.host = host
        self.folder = folder
        self.file = folder / "dnsd.yaml"
        self.control = folder / "run" / "control.sock"
        self.log = folder / "dnsd.log"
        self.child: subprocess.Popen[bytes] | None = None
        run = folder / "run"
        run.mkdir(exist_ok=True)
        tools.run(["chown", USER, run])
        self.configure(config)

    def __enter__(self) -> Dnsd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self.child is not None
        return self.child.pid

    def configure(self, config: Mapping[str, Any]) -> None:
        """Write the configuration; JSON is YAML."""
        server = {"user": USER, "control": str(self.control), **config.get("server", {})}
        self.file.write_text(json.dumps({**config, "server": server}, indent=1))

    def start(self, words: Sequence[str | Path] = (), options: Sequence[str] = ()) -> None:
        """Start it, after a prefix of ``words``, and wait until it serves."""
        program = dns_room.program("vmmnet-dnsd")
        # With the peers' libunbound, if there are peers.
        command = [*words, *tools.in_system(program, *options, self.file)]
        self.child = process.start_server(command, self.log, b"serving", netns=self.host.netns)

    def stop(self) -> None:
        """End it, if it runs."""
        if self.child is not None:
            process.stop(self.child)
            self.child = None

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.child is not None
        self.child.kill()
        self.child.wait(wait.PATIENCE)
        self.child = None

    def status(self, key: str) -> str:
        """A line of /proc/PID/status."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)[key]

    def ask(self, line: str) -> str:
        """Ask the control socket.  Raises vmmnet.controlsocket.Refused."""
        return controlsocket.ask(self.control, line)

    def reload(self) -> str:
        """Reload its configuration.  Raises Refused, also if a part of it fails."""
        return self.ask("reload")

    def metric(self, name: str) -> int:
        """One of its counters, with its labels."""
        for line in self.ask("metrics").splitlines():
            if line.startswith(f"vmmnet_dnsd_{name} "):
                return int(line.split()[-1])
        raise KeyError(name)


def check_command(file: Path, *words: str | Path) -> list[str | Path]:
    """The command that checks a configuration, after a prefix of ``words``."""
    return tools.in_system(*words, dns_room.program("vmmnet-dnsd"), "--check", file)


def check(file: Path) -> subprocess.CompletedProcess[str]:
    """The result of ``vmmnet-dnsd --check``."""
    command = check_command(file)
    return subprocess.run(command, capture_output=True, text=True, timeout=wait.PATIENCE)


@contextlib.contextmanager
def activation(host: Namespace, kinds: Sequence[tuple[int, str]]) -> Iterator[list[socket.socket]]:
    """Make sockets as systemd passes them: kind (SOCK_STREAM, ...) and address of each."""
    with contextlib.ExitStack() as stack:
        given = []
        for kind, address in kinds:
            with host.entered():
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                one = stack.enter_context(socket.socket(family, kind))
            one.bind((address, PORT))
            if kind == socket.SOCK_STREAM:
                one.listen()
            given.append(one)
        yield given


def pass_sockets(given: Sequence[socket.socket], command: Sequence[str | Path]) -> list[str]:
    """Return a command that starts another one with these sockets, by sd_listen_fds(3)."""
    fds = [one.fileno() for one in given]
    moves = " ".join(f"{number}<&{fd}" for number, fd in enumerate(fds, 3))
    script = f'exec {moves}; LISTEN_PID=$$ LISTEN_FDS={len(fds)} exec "$@"'
    return ["bash", "-c", script, "activated", *map(str, command)]
