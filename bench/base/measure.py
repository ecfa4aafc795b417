# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time: cost of a measurement, and disturbance by other programs.

The cost covers every process that the bench started (QEMU and its peers, clients and servers), with
the kernel's work for them, and the kernel's network threads. The rest of the machine's busy time
belongs to other programs; a reader needs it to judge the values.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base import process

_TICKS = os.sysconf("SC_CLK_TCK")
# Packets are often received in the context of their sender; the kernel's threads do the rest.
_KERNEL_THREADS = ("ksoftirqd/", "napi/")


@dataclass
class Cost:
    """Processor seconds of a measurement, and the part of the machine that others used.

    ``others`` is the part of all processors' time, from 0 to 1, that other programs used.
    """

    ours: float = 0.0
    others: float = 0.0


def _process_ticks(pid: int) -> tuple[int, int, int, int]:
    """Return user and system time of a process with its threads, and both of its ended children."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        # The process has ended; its time counts with its parent, the bench.
        return 0, 0, 0, 0
    user, system, *children = map(int, text.rpartition(")")[2].split()[11:15])
    return user, system, children[0], children[1]


def seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    return sum(_process_ticks(pid)[:2]) / _TICKS


def own_seconds(pid: int) -> float:
    """Return the user time of a process; the kernel samples it 250 or more times a second."""
    return _process_ticks(pid)[0] / _TICKS


def resident(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def kernel_threads() -> list[int]:
    """The kernel's own threads that carry packets."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if (folder / "comm").read_text().startswith(_KERNEL_THREADS):
                    found.append(int(folder.name))
    return found


def _ours() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    pids = [*process.owned(), *kernel_threads()]
    living = sum(sum(_process_ticks(pid)) for pid in pids)
    return living / _TICKS + ended.ru_utime + ended.ru_stime


def _busy() -> float:
    """Return the busy time of all processors."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / _TICKS


def _self() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


@contextlib.contextmanager
def cost() -> Iterator[Cost]:
    """Measure a block; the result is complete after it."""
    result = Cost()
    ours, busy, own, began = _ours(), _busy(), _self(), time.monotonic()
    yield result
    elapsed = (time.monotonic() - began) * (os.cpu_count() or 1)
    busy, own = _busy() - busy, _self() - own
    result.ours = _ours() - ours
    result.others = max(0.0, busy - result.ours - own) / elapsed


def _affinities(pids: Iterable[int]) -> Iterator[tuple[int, set[int]]]:
    """Return the affinity of each thread of these processes."""
    for pid in pids:
        for folder in Path(f"/proc/{pid}/task").iterdir():
            thread = int(folder.name)
            yield thread, os.sched_getaffinity(thread)


@contextlib.contextmanager
def one_processor(*pids: int) -> Iterator[None]:
    """Run this process, the given ones and their new children on one processor, always the same.

    So a round trip between processes is the sum of their times. Otherwise it depends on the
    scheduler's placement, whose effect is greater than the difference to be measured.
    """
    own = os.sched_getaffinity(0)
    usual = {0: own, **dict(_affinities(pids))}
    try:
        for thread in usual:
            os.sched_setaffinity(thread, {max(own)})
        yield
    finally:
        for thread, where in usual.items():
            # The thread may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, where)
