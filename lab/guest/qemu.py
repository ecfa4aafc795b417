# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMU under test: which binary, and one process of it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..base import architecture, paths, process, tools, wait
from ..base.lock import locked
from ..base.wait import PATIENCE

#: The accelerator that works on every host.
TCG = "tcg,thread=multi"
# Debian separates the firmware from QEMU; our build does the same.
_FIRMWARE = (Path("/usr/share/seabios"), Path("/usr/share/qemu"))


class QemuFailed(RuntimeError):
    """QEMU did not start, crashed, or ended with an error."""


def binary() -> Path:
    """The QEMU to test: ``$VMMNET_QEMU``, else our first existing build."""
    chosen = os.environ.get("VMMNET_QEMU")
    if chosen:
        return Path(chosen)
    guests = architecture.guests()
    for build in ("qemu-lean", "qemu"):
        path = paths.BUILD / f"{build}{guests.tail}" / guests.emulator
        if path.exists():
            return path
    goal = f"make lean ARCH={guests.name}" if guests.tail else "make"
    raise tools.MissingTool(f"QEMU is not built: run '{goal}'")


def accelerator() -> str:
    """QEMU's -accel of every guest of the test bed: ``$VMMNET_ACCEL``, else TCG."""
    return os.environ.get("VMMNET_ACCEL") or TCG


def series() -> list[str]:
    """The series of QEMU that we have patches for, the default one first."""
    lines = (paths.ROOT / "qemu" / "series").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def folder(shape: str, of_series: str) -> Path:
    """Where a shape (``lean``, ``asan``) of a series is built."""
    tail = "" if of_series == series()[0] else f"-{of_series}"
    return paths.BUILD / f"qemu-{shape}{architecture.guests().tail}{tail}"


def of_series(name: str) -> Path:
    """The small QEMU of a series, which is built first if it is not the default one."""
    if name != series()[0]:
        with locked(f"qemu-{name}"):
            tools.run(["make", "-C", paths.ROOT, "lean", f"SERIES={name}"])
    return folder("lean", name) / architecture.guests().emulator


def sanitized() -> Path:
    """The QEMU with sanitizers if it is built, to find memory faults of error paths.

    It is of the series of the QEMU to test. One that is no build of ours is taken itself.
    """
    used = binary()
    ours = re.fullmatch(r"qemu(?:-lean|-asan)?(-arm64|-amd64)?(-[\d.]+)?", used.parent.name)
    if ours and used.parent.parent == paths.BUILD:
        path = paths.BUILD / f"qemu-asan{ours[1] or ''}{ours[2] or ''}" / used.name
        return path if path.exists() else used
    return used


def firmware_options() -> list[str]:
    """QEMU's options for the path of its firmware."""
    return [word for folder in _FIRMWARE if folder.is_dir() for word in ("-L", str(folder))]


class QemuProcess:
    """One running QEMU, with its standard error in a file."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        netns: str | None,
        stderr: Path,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.stderr_path = stderr
        with stderr.open("wb") as errors:
            self._child: subprocess.Popen[bytes] = process.start(
                command, netns=netns, stdout=errors, stderr=errors, pass_fds=pass_fds
            )

    @property
    def pid(self) -> int:
        """The process id of QEMU itself."""
        return self._child.pid

    @property
    def status(self) -> int | None:
        """The exit status; None while QEMU runs."""
        return self._child.poll()

    def errors(self) -> str:
        """The end of QEMU's standard error."""
        return self.stderr_path.read_text(errors="replace")[-4000:]

    def connect(self, path: Path, timeout: float = PATIENCE) -> socket.socket:
        """Connect to a UNIX socket that QEMU makes while it starts."""

        def attempt() -> socket.socket | None:
            if self.status is not None:
                raise QemuFailed(f"QEMU ended with {self.status}:\n{self.errors()}")
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
                return None
            return connection

        found = wait.until(attempt, f"QEMU's socket {path.name}", timeout)
        assert found is not None
        return found

    def wait(self, timeout: float) -> int:
        """Wait until QEMU ends by itself; a QEMU that does not is stopped."""
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return process.stop(self._child)

    def stop(self) -> None:
        """End QEMU in any state."""
        process.stop(self._child)
