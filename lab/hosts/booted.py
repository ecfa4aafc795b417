# SPDX-License-Identifier: GPL-2.0-or-later
"""A test host that a real systemd has booted: units run as they are shipped.

    with Booted(network.namespace("one"), files) as one:
        one.run("systemctl", "start", "vmmnet-hostd")

Its system is this machine's, or another one, below an overlay, with the folder ``files`` copied
over it.  Nothing of /etc/systemd/system is in force, but what ``files`` has.  What was built is
seen at BUILD, which every user can read, wherever the tree is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

from ..base import paths, scratch, tools, wait
from ..base.net import Namespace

#: The path of paths.BUILD on such hosts.
BUILD = Path("/run/build")
_INIT = Path(__file__).with_name("booted.sh")
#: systemd(1): "halts the machine", which ends the container.
_HALT = signal.SIGRTMIN + 3


def _cgroups() -> Path:
    """Where the hierarchy of cgroup v2 is."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise tools.MissingTool("there is no cgroup2 file system: systemd needs one")


def add_unit(files: Path, unit: str, program: Path) -> None:
    """Add a program of ours, and its unit: the path of a template without its ".service.in"."""
    programs, units = files / "usr/local/sbin", files / "usr/local/lib/systemd/system"
    for each in programs, units:
        each.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, programs)
    text = (paths.ROOT / f"{unit}.service.in").read_text()
    made = units / f"{Path(unit).name}.service"
    made.write_text(text.replace("@SBINDIR@", "/usr/local/sbin"))


class Booted:
    """One machine, with the network of a test host.  A context manager."""

    def __init__(self, space: Namespace, files: Path, system: Path = Path("/")) -> None:
        self.space = space
        self._files = files
        self._system = system
        self._pid = 0
        self._stack = contextlib.ExitStack()
        self.console = paths.LOGS / f"booted-{space.netns}.log"

    def __enter__(self) -> Self:
        tools.require("unshare", "nsenter", "systemctl")
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(scratch.folder()))
            (folder / "top").mkdir()
            (folder / "files").symlink_to(self._files)
            (folder / "system").symlink_to(self._system)
            (folder / "build").symlink_to(paths.BUILD)
            group = _cgroups() / f"vmmnet-{self.space.netns}"
            group.mkdir()
            stack.callback(_remove, group)
            self._begin(folder, group, stack)
            stack.callback(self._keep_journal)
            wait.until(self._is_up, "systemd")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self, folder: Path, group: Path, stack: contextlib.ExitStack) -> None:
        self.console.parent.mkdir(parents=True, exist_ok=True)
        new = ["--mount", "--uts", "--ipc", "--pid", "--cgroup", "--propagation", "private"]
        words = ["unshare", *new, "--fork", "--kill-child"]
        words += ["bash", str(_INIT), str(folder), self.space.name]
        # The shell enters the group first: it is the root of the new namespace.
        script = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        with self.console.open("wb") as out:
            child = self.space.popen_with_sys(
                ["sh", "-c", script, str(group), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        stack.callback(self._end, child)
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")

        def first() -> str:
            if child.poll() is not None:
                raise RuntimeError(f"it did not boot:\n{self.console.read_text()}")
            return children.read_text().strip()

        self._pid = int(wait.until(first, "its first process"))

    def _is_up(self) -> bool:
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def _keep_journal(self) -> None:
        """Put what its services have written where logs of tests are."""
        journal = self.run("journalctl", "--no-pager", check=False).stdout
        with self.console.open("a") as out:
            out.write(journal)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, _HALT)
        try:
            child.wait(wait.PATIENCE)
        finally:
            child.kill()

    def path(self, inside: str | Path) -> Path:
        """The outer path of a file inside."""
        return Path(f"/proc/{self._pid}/root") / str(inside).lstrip("/")

    def run(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program inside to its end; options are those of Namespace.run."""
        enter = ["nsenter", f"--target={self._pid}", "-m", "-u", "-i", "-p", "-C"]
        return self.space.run([*enter, "--", *command], **options)

    def log(self, unit: str) -> str:
        """What systemd and the unit's processes have written."""
        return self.run("systemctl", "status", "--no-pager", "--full", unit, check=False).stdout


def _remove(group: Path) -> None:
    """Remove the folders of a cgroup without processes."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
