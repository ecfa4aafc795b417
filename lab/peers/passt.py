# SPDX-License-Identifier: GPL-2.0-or-later
"""passt, which carries the frames of a guest (``-netdev stream``) to sockets of a host."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from ..base import process, wait
from ..base.net import Namespace


class Passt:
    """A passt that may be ended and started again; a guest reaches the host as ``gateway``.

    passt gives up root, so everybody may make a socket in its folder.
    """

    def __init__(self, space: Namespace, path: Path, network: str, mac: str) -> None:
        """``network`` is the first three octets of a /24; ``mac`` that of the gateway."""
        self.path = path
        self.mac = mac
        self.address, self.gateway = f"{network}.15", f"{network}.2"
        self._space = space
        self._log = path.with_suffix(".log")
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns when it listens."""
        command: list[str | Path] = ["passt", "--foreground", "--stderr", "--socket", self.path]
        command += ["--ipv4-only", "--address", self.address, "--netmask", "24"]
        command += ["--gateway", self.gateway, "--mac-addr", self.mac]
        with self._log.open("ab") as out:
            self._child = child = self._space.popen(command, stdout=out, stderr=out)
        # passt takes only one connection, QEMU's, so do not connect for a test.
        wait.until(
            lambda: child.poll() is not None or self._listens(),
            f"passt at {self.path.name}",
        )
        assert child.poll() is None, self._log.read_text()

    def stop_reading(self) -> None:
        """Stop it from reading frames."""
        self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Kill it."""
        self._signal(signal.SIGKILL)
        assert self._child is not None
        process.stop(self._child)
        self.path.unlink()

    def _listens(self) -> bool:
        return any(
            line.split()[-1] == str(self.path) and line.split()[3] == "00010000"
            for line in self._space.run(["cat", "/proc/net/unix"]).stdout.splitlines()
        )

    def _signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        os.kill(self._child.pid, number)
