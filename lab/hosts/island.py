# SPDX-License-Identifier: GPL-2.0-or-later
"""A test host that is a machine of its own: /etc, /run, /var, processes, host name, log.

    with Island(network.namespace("one")) as one:
        one.run("sh", "-c", "echo $$ >/run/me.pid; logger hello")
        assert one.path("/run/me.pid").exists()

/etc begins as a copy of this machine's, /run and /var are empty; all else is shared, temporary
files too.  If peers come from another system (packages/peers.py), /etc and /usr are that one's.
/dev has what a container has, no disks and no KVM.  All processes end with the island: its first
one is the owner of their PID namespace, and ends when the test does, however that ends.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self

from ..base import paths, process, scratch, tools, wait
from ..base.net import Namespace

_INIT = Path(__file__).with_name("island.sh")
_FOLDERS = ("run/lock", "run/vmmnet", "var/lib", "var/log", "var/cache", "var/tmp")
# Of syslog(3): <PRIORITY>Mmm dd hh:mm:ss TAG: TEXT.
_STAMP = len("Mmm dd hh:mm:ss ")


class Log:
    """Receives messages of syslog(3)."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, name="syslog", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        # shutdown() causes an empty datagram, which no program sends.
        while message := self._socket.recv(1 << 16):
            text = message.decode(errors="replace").rstrip("\0\n")
            self.lines.append(text.partition(">")[2][_STAMP:])

    def close(self) -> None:
        """Have no more."""
        self._socket.shutdown(socket.SHUT_RD)
        self._thread.join()
        self._socket.close()


class Island:
    """One machine, with the network of a test host.  A context manager."""

    #: Script of its first process; arguments are the folder and the name.
    init = _INIT

    def __init__(self, space: Namespace) -> None:
        self.space = space
        self._stack = contextlib.ExitStack()
        self._pid = 0

    @property
    def name(self) -> str:
        """Its host name."""
        return self.space.name

    def __enter__(self) -> Self:
        tools.require("unshare", "nsenter")
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(scratch.folder()))
            system = tools.system()
            shutil.copytree(
                system / "etc", self.folder / "etc", symlinks=True, ignore_dangling_symlinks=True
            )
            if system != Path("/"):
                (self.folder / "usr").symlink_to(system / "usr")
            for name in _FOLDERS:
                (self.folder / name).mkdir(parents=True)
            (self.folder / "var/run").symlink_to("/run")
            (self.folder / "var/lock").symlink_to("/run/lock")
            self._log = Log(self.path("/run/log"))
            stack.callback(self._log.close)
            self._pid = self._begin(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self, stack: contextlib.ExitStack) -> int:
        """Start the first process; returns its pid, seen from outside."""
        log = paths.LOGS / f"island-{self.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        new = ["--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"]
        shell: list[str | Path] = ["sh", self.init, self.folder, self.name]
        with log.open("wb") as errors:
            child = self.space.popen(
                ["unshare", *new, *shell],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        stack.callback(_end, child)
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            raise RuntimeError(f"island {self.name} did not come up:\n{log.read_text()}")
        (pid,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        return int(pid)

    def path(self, inside: str | Path) -> Path:
        """Return the outer path of a file in its /etc, /run or /var."""
        return self.folder / str(inside).lstrip("/")

    def words(self, *command: str | Path) -> list[str | Path]:
        """Return a command for the namespace that runs another one inside."""
        return ["nsenter", f"--target={self._pid}", "-m", "-u", "-i", "-p", *command]

    def run(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program inside to its end; options are those of Namespace.run."""
        return self.space.run(self.words(*command), **options)

    def log(self) -> Sequence[str]:
        """The lines of its system log so far: TAG[PID]: TEXT."""
        return tuple(self._log.lines)

    @contextlib.contextmanager
    def service(
        self, command: Sequence[str | Path], output: IO[bytes]
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program inside for the time of a block; SIGTERM ends it."""
        # The child of this process only waits for the program.
        script = 'echo $$ >"$0" && exec "$@"'
        pid_file = f"/run/{Path(command[0]).name}.service"
        words = self.words("sh", "-c", script, pid_file, *command)
        with self.space.started(words, stdout=output, stderr=output) as child:
            try:
                yield child
            finally:
                if child.poll() is None:
                    number = self.path(pid_file).read_text().strip()
                    # It may have just ended.
                    self.run("sh", "-c", f"kill {number}", check=False)
                    child.wait(wait.PATIENCE)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the first process; the kernel ends the others before this one is gone."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        child.wait(wait.PATIENCE)
    finally:
        process.stop(child, 0)
