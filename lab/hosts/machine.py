# SPDX-License-Identifier: GPL-2.0-or-later
"""A test host with a Debian of its own, for packages to be installed and services to run.

    with Machine(network.namespace("one"), chroot.base(...)) as one:
        one.run("apt-get", "install", "--yes", "/root/ours.deb")

An Island whose file system is a copy of a base of chroot.py; changes inside are lost at the end. No
init system runs; Island.service starts services.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any, Self

from ..base import tools, wait
from ..base.net import Namespace
from ..packages.chroot import ENVIRONMENT
from .island import Island, Log

_INIT = Path(__file__).with_name("machine.sh")


class Machine(Island):
    """One machine, with the network of a test host.  A context manager.

    ``path`` is only for files below /run.
    """

    init = _INIT

    def __init__(self, space: Namespace, system: Path) -> None:
        super().__init__(space)
        self._system = system

    def __enter__(self) -> Self:
        tools.require("unshare", "nsenter")
        with contextlib.ExitStack() as stack:
            # An overlay needs its folders on a file system that is no overlay.
            place = tempfile.TemporaryDirectory(dir=self._system.parent, prefix="copy-")
            self.folder = Path(stack.enter_context(place))
            for name in ("upper", "work", "root", "run", "run/lock"):
                (self.folder / name).mkdir(mode=0o755)
            (self.folder / "base").symlink_to(self._system)
            self._log = Log(self.path("/run/log"))
            stack.callback(self._log.close)
            self._pid = self._begin(stack)
            self._stack = stack.pop_all()
        return self

    def words(self, *command: str | Path) -> list[str | Path]:
        """Return a command for the namespace that runs another one inside."""
        clean = ["env", "-i", *(f"{name}={value}" for name, value in ENVIRONMENT.items())]
        enter = ["nsenter", f"--target={self._pid}", "-m", "-u", "-i", "-p", "--root", "--wd"]
        return [*enter, *clean, *command]

    def put(self, path: str, content: str) -> None:
        """Write a file."""
        self.run("sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh", path, input=content)

    def copy(self, file: Path, path: str) -> None:
        """Copy a file of this machine to a path inside."""
        with file.open("rb") as data:
            words = self.words("sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh", path)
            with self.space.started(words, stdin=data) as child:
                assert child.wait(wait.PATIENCE) == 0

    def shell(self, line: str, **options: Any) -> str:
        """Run a line of shell; returns its output as on a terminal."""
        return self.run("bash", "-c", f"{line} 2>&1", **options).stdout
