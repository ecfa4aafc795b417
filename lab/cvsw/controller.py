# SPDX-License-Identifier: GPL-2.0-or-later
"""CVSW's controller as a daemon in a namespace, and its command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from vmmnet.cvsw.client import Client

from ..base import commandline, paths, process, wait
from ..base.net import Namespace
from ..packages import wheels

PORT = 6653


class Controller:
    """``vmmnet cvsw run``; a folder keeps its state over restarts.

    ``words`` are more options of the command.
    """

    def __init__(
        self, space: Namespace, address: str, folder: Path, *words: str, port: int = PORT
    ) -> None:
        self._space, self.place, self._words = space, f"{address}:{port}", words
        self._folder, self._socket = folder, folder / "cvsw.sock"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, *before: str | Path) -> None:
        """Start the controller; returns when it accepts commands.

        ``before`` are a command and its words that execute the controller.
        """
        words: list[str | Path] = [*before, sys.executable, "-m", "vmmnet", "cvsw", "run"]
        words += ["--listen", self.place, "--socket", self._socket]
        words += ["--state", self._folder / "cvsw.json", *self._words]
        where = os.pathsep.join(map(str, (paths.ROOT / "control", wheels.os_ken())))
        with self._log.open("ab") as log:
            environment = {"PYTHONPATH": where}
            child = self._space.popen(words, env=environment, stdout=log, stderr=log)
        self._child = child
        wait.accepting(self._socket, lambda: child.poll() is not None)
        if child.poll() is not None:
            raise RuntimeError(f"the controller has ended:\n{self.log()}")

    def stop(self) -> None:
        """End it as its service manager would."""
        if self._child is not None:
            process.stop(self._child)
            self._child = None

    def kill(self) -> None:
        """End it as a power failure does."""
        assert self._child is not None
        self._child.kill()
        self._child.wait()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._child is not None
        self._child.send_signal(number)

    def sees(self, path: Path) -> Path:
        """The place of a file as the controller sees it, whose mounts may be its own."""
        assert self._child is not None
        return Path(f"/proc/{self._child.pid}/root{path}")

    def sharing(self) -> dict[str, Any]:
        """Its report about other controllers."""
        found: dict[str, Any] = Client(self._socket).ask("GET", "/controllers")
        return found

    def command(self, *words: str | Path) -> str:
        """The output of ``vmmnet cvsw`` with words; raises RuntimeError if it refuses."""
        first, *rest = map(str, words)
        answer = commandline.run("cvsw", first, "--socket", str(self._socket), *rest)
        if answer.status:
            raise RuntimeError(f"vmmnet cvsw {first}: status {answer.status}: {answer.err}")
        return answer.out

    def nics(self) -> dict[str, dict[str, Any]]:
        """Its report about each NIC of the file, by name."""
        return {nic["name"]: nic for nic in Client(self._socket).ask("GET", "/nics")["nics"]}

    def has_switches(self, number: int) -> None:
        """Wait until ``number`` switches are connected."""
        client = Client(self._socket)
        wait.until(lambda: len(client.ask("GET", "/switches")) == number, f"{number} switches")

    def settled(self) -> None:
        """Wait until all NICs are programmed as the file says."""
        try:
            wait.until(lambda: {nic["state"] for nic in self.nics().values()} <= {"ready"}, "ready")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.command('show')}\n{self.log()}") from error

    def outbound(self, nic: str) -> set[str]:
        """Numbers of the associations with which a NIC encrypts."""
        return set(re.findall(r"encrypt\(sa=(\d+)\)", self.command("flows", nic)))

    def awaits_new_keys(self, nic: str, before: set[str]) -> None:
        """Wait until a NIC encrypts with other associations than before."""

        def are_new() -> bool:
            now = self.outbound(nic)
            return bool(now) and not now & before

        wait.until(are_new, f"new keys of {nic}")

    def log(self) -> str:
        """Its whole log."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self._folder / "controller.log"
