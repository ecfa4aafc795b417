# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of the test bed, which all end.

Every child carries the identity of its owner in its environment.  Context
managers end their children; when the owner was killed before it could, the
next run finds the orphans by that mark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import IO

from . import tools, wait

MARK = "VMMNET_TESTBED_OWNER"


def start_time(pid: int) -> str | None:
    """When a process began, in clock ticks; None when it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


@cache
def _owner() -> str:
    return f"{os.getpid()}.{start_time(os.getpid())}"


def start(
    command: Sequence[str | Path],
    *,
    netns: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    pass_fds: Sequence[int] = (),
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child, in a network namespace when one is named.

    The pid of the result is the program's own: ``ip netns exec`` becomes it.
    """
    words = [tools.find(str(command[0])), *map(str, command[1:])]
    if netns is not None:
        words = [tools.find("ip"), "netns", "exec", netns, *words]
    return subprocess.Popen(
        words,
        env={**os.environ, **(env or {}), MARK: _owner()},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        cwd=cwd,
        # Ctrl-C is for the owner, who then ends the children in order.
        start_new_session=True,
    )


def stop(child: subprocess.Popen[bytes], grace: float = wait.PATIENCE) -> int:
    """End a child and its session; return its exit status.

    If it does not end in ``grace`` seconds, it is killed and cannot clean up.
    """
    if child.poll() is None:
        child.terminate()
        # A stopped process could not end.
        child.send_signal(signal.SIGCONT)
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
    status = child.wait()
    _end_session(child.pid)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return status


def start_server(
    command: Sequence[str | Path], log: Path, said: bytes, *, netns: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a child whose output is added to ``log``, and wait until it has ``said`` so there."""
    begin = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        child = start(command, netns=netns, stdout=out, stderr=out)

    def ready() -> bool:
        if child.poll() is not None:
            raise RuntimeError(f"ended: {log.read_text()}")
        return said in log.read_bytes()[begin:]

    try:
        wait.until(ready, Path(command[0]).name)
    except BaseException:
        stop(child)
        raise
    return child


def _end_session(pid: int) -> None:
    """Kill what is left of the session that an ended and reaped process led.

    While any of it lives, the kernel gives the number to no other process.  A
    process that has it is a later one, perhaps with a session of its own.
    """
    if not Path(f"/proc/{pid}").exists():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _marks() -> Iterator[tuple[int, str]]:
    prefix = f"{MARK}=".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                for entry in (folder / "environ").read_bytes().split(b"\0"):
                    if entry.startswith(prefix):
                        yield int(folder.name), entry[len(prefix) :].decode()


def _pid_namespace(pid: int | str) -> str:
    """The PID namespace of a process; empty: it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def owned(owner: str | None = None) -> list[int]:
    """The living processes that an owner, by default this one, started."""
    wanted = owner or _owner()
    return [pid for pid, mark in _marks() if mark == wanted and start_time(pid)]


def kill_orphans() -> list[int]:
    """Kill test bed processes whose owner is gone; return their pids.

    Those of another PID namespace name their owners by other numbers, and end with its first one.
    """
    killed = []
    here = _pid_namespace("self")
    for pid, mark in list(_marks()):
        owner, _, began = mark.partition(".")
        if start_time(int(owner)) != began and _pid_namespace(pid) == here:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
    return killed


def unwind_on_signals(ended: type[BaseException] = SystemExit) -> None:
    """Turn SIGTERM and SIGHUP into an exception, so that context managers clean up.

    ``ended`` is raised with the exit status that the signal stands for.
    """

    def handler(number: int, frame: FrameType | None) -> None:
        raise ended(128 + number)

    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, handler)
