# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process has of the host, and ways to take it away for a time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.base import process, wait

_PTRACE_DETACH = 17
_PTRACE_SEIZE = 0x4206
_PTRACE_INTERRUPT = 0x4207
_WALL = 0x40000000
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ (?P<mode>\S{4}) \S+ (?P<device>\S+) (?P<inode>\d+)")

_libc = ctypes.CDLL(None, use_errno=True)


# --- descriptors --------------------------------------------------------------


def descriptors(pid: int) -> list[int]:
    """The numbers of all that a process has open."""
    return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir())


@contextlib.contextmanager
def without_descriptors(pid: int) -> Iterator[None]:
    """Let a process open nothing for the time of a block; what is open stays."""
    taken = set(descriptors(pid))
    first_free = next(number for number in range(len(taken) + 1) if number not in taken)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def allow_descriptors(pid: int, number: int) -> None:
    """Let a process open at least so many."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(soft, number), max(hard, number)))


# --- threads ------------------------------------------------------------------


def _status(pid: int, thread: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def switches(pid: int, thread: int) -> int:
    """How often a thread went to sleep or had to make room, so far."""
    status = _status(pid, thread)
    return int(status["voluntary_ctxt_switches"]) + int(status["nonvoluntary_ctxt_switches"])


def quiet_switches(pid: int, thread: int) -> int:
    """The same, once the thread has come to rest."""
    seen = [-1]

    def at_rest() -> bool:
        seen.append(switches(pid, thread))
        return seen[-1] == seen[-2]

    wait.until(at_rest, f"thread {thread} to come to rest")
    return seen[-1]


def cpu_ms(pid: int) -> dict[str, int]:
    """Milliseconds of CPU that each thread has used so far, by its name and number."""
    tick = 1000 // os.sysconf("SC_CLK_TCK")
    used = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        used[f"{name} {task.name}"] = (int(fields[11]) + int(fields[12])) * tick
    return used


def _ptrace(request: int, thread: int) -> None:
    _libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if _libc.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x}, {thread})")


@contextlib.contextmanager
def stalled(pid: int, thread: int) -> Iterator[None]:
    """Stop one thread of a process, which is at rest, for the time of a block."""
    quiet_switches(pid, thread)
    _ptrace(_PTRACE_SEIZE, thread)
    try:
        _ptrace(_PTRACE_INTERRUPT, thread)
        os.waitpid(thread, _WALL)
        yield
    finally:
        _ptrace(_PTRACE_DETACH, thread)


@contextlib.contextmanager
def _injected(threads: Sequence[int], what: str) -> Iterator[None]:
    """Interfere with system calls of some threads for the time of a block, by strace."""
    command = ["strace", "-q", "-o", "/dev/null", "-e", f"inject={what}"]
    command += [word for thread in threads for word in ("-p", str(thread))]
    child = process.start(command, stderr=subprocess.PIPE)
    try:
        # It says nothing once it is quiet; the kernel knows.
        wait.until(lambda: all(_is_traced(thread, child.pid) for thread in threads), "strace")
        yield
    finally:
        process.stop(child)


@contextlib.contextmanager
def refused(threads: Sequence[int], error: str, *calls: str) -> Iterator[None]:
    """Have system calls of some threads fail for the time of a block."""
    with _injected(threads, f"{','.join(calls)}:error={error}"):
        yield


@contextlib.contextmanager
def delayed(threads: Sequence[int], seconds: float, *calls: str) -> Iterator[None]:
    """Have each of these system calls of some threads begin late, for the time of a block."""
    with _injected(threads, f"{','.join(calls)}:delay_enter={int(seconds * 1e6)}"):
        yield


def _is_traced(thread: int, tracer: int) -> bool:
    return int(_status(thread, thread)["TracerPid"]) == tracer


# --- memory -------------------------------------------------------------------


def memory(pid: int) -> int:
    """Bytes that a QEMU keeps for itself, its guest's memory being in a file.

    What TCG translates the guest's code into is the guest's affair, too.
    """
    total = 0
    counts = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if mapping := _MAPPING.match(line):
            counts = "x" not in mapping["mode"]
        elif counts and line.startswith("Anonymous:"):
            total += int(line.split()[1]) * 1024
    return total
