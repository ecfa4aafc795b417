# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time: what a measurement cost, and what disturbed it.

The cost is that of every process the bench started, QEMU and its peers,
clients and servers, with the kernel's work on their behalf, and of the
kernel's network threads.  The machine's busy time that is not ours is what
others took away meanwhile; a report without that number hides how far to
trust the rest.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vmmnet.testbed import process

_TICKS = os.sysconf("SC_CLK_TCK")
# Packets that one process sends are often received in the same breath; what
# is left over, the kernel's own threads do.
_KERNEL_THREADS = ("ksoftirqd/", "napi/")


@dataclass
class Cost:
    """Processor seconds that a measurement took, and what it had to share.

    ``others`` is the part of all processors' time, from 0 to 1, that work
    which is not ours took away.
    """

    ours: float = 0.0
    others: float = 0.0


def _process_ticks(pid: int) -> tuple[int, int, int, int]:
    """Time of a process and its threads, the kernel's for it, and both of its ended children."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        # It ended; its parent, the bench, has its time.
        return 0, 0, 0, 0
    user, system, *children = map(int, text.rpartition(")")[2].split()[11:15])
    return user, system, children[0], children[1]


def seconds(pid: int) -> float:
    """Processor time that a process has had so far."""
    return sum(_process_ticks(pid)[:2]) / _TICKS


def own_seconds(pid: int) -> float:
    """The same without the kernel's work for it; of samples, 250 or more a second."""
    return _process_ticks(pid)[0] / _TICKS


def resident(pid: int) -> float:
    """MiB of a process that are in memory."""
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
    """Time that all processors of the machine have worked."""
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
    """Where each thread of these processes may be."""
    for pid in pids:
        for folder in Path(f"/proc/{pid}/task").iterdir():
            thread = int(folder.name)
            yield thread, os.sched_getaffinity(thread)


@contextlib.contextmanager
def one_processor(*pids: int) -> Iterator[None]:
    """Keep to one processor, always the same, with these and all that is started meanwhile.

    A round trip between processes is then what they take together.  Where each is on
    goes else by the scheduler's choice, which costs more than what is measured.
    """
    own = os.sched_getaffinity(0)
    usual = {0: own, **dict(_affinities(pids))}
    try:
        for thread in usual:
            os.sched_setaffinity(thread, {max(own)})
        yield
    finally:
        for thread, where in usual.items():
            # It may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, where)
