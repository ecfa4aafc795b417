# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-validate on a host of a test network."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..base import process, tools, wait
from ..base.net import Namespace
from . import room as dns_room
from .dnsd import USER


class Validator:
    """The validator of one VM; a context manager.  It may be killed and started again."""

    def __init__(self, host: Namespace, folder: Path, *options: str | Path) -> None:
        folder.mkdir(exist_ok=True)
        tools.run(["chown", USER, folder])
        self.host = host
        self.socket = folder / "socket"
        self.log = folder / "validate.log"
        self.options = options
        self.child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Validator:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.child is not None:
            process.stop(self.child)
            self.child = None

    def start(self) -> None:
        """Start it, and wait until it serves."""
        program = dns_room.program("vmmnet-validate")
        own = ["--user", USER, "--socket", self.socket, *self.options]
        # With the peers' libunbound, if there are peers.
        command = [*tools.in_system(program, *own)]
        self.child = process.start_server(command, self.log, b"validating", netns=self.host.netns)

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.child is not None
        self.child.kill()
        self.child.wait(wait.PATIENCE)
        self.child = None

    def ended(self) -> int:
        """Wait until it ends by itself; its exit status."""
        assert self.child is not None
        status = self.child.wait(wait.PATIENCE)
        self.child = None
        return status

    def resident(self) -> int:
        """Octets of memory that it has now."""
        assert self.child is not None
        text = Path(f"/proc/{self.child.pid}/status").read_text()
        found = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)["VmRSS"]
        return int(found.split()[0]) * 1024
