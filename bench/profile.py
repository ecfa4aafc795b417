# SPDX-License-Identifier: GPL-2.0-or-later
"""Where each microsecond of an operation goes, ours and a native program's.

The whole machine is sampled while a load runs (perf record -a), and the
samples are sorted by whose code ran, code of the guest by the guest's symbols.
The time of all processors together is shared out among them; divided by the
operations of that time, it is what one operation took.  On a machine that does
something else besides, that shows under "other programs".

A KVM host spends what is QEMU's and the host kernel's here, but for TCG.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import contextlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from vmmnet.testbed import net, scratch, tools
from vmmnet.testbed import paths as tree

from . import loads, paths
from .loads import LOADS, Values
from .paths import Path
from .report import number

OURS, NATIVE = "vmrpc", "native"
_SAMPLES_A_SECOND = 2500
_WARM_UP = 1
#: Seconds of a load that are not sampled: its start and its end.
_EDGES = 1
_MIB = 1 << 20


@dataclass(frozen=True)
class Operation:
    """What is looked at: a load, and microseconds an operation of it takes."""

    name: str
    load: str
    microseconds: Callable[[Values], float]


_OPERATIONS = (
    Operation(
        "send of 1 MiB", "send-1MiB", lambda values: 8 * _MIB / values["throughput-send-1MiB"]
    ),
    Operation("round trip of 1 byte", "latency", lambda values: values["latency-p50"]),
    Operation(
        "connection",
        "connections-sequential",
        lambda values: 1e6 / values["connections-sequential"],
    ),
)

_TCG = "QEMU: TCG"
_OTHERS = "other programs"
_PEER = "the peer's process"
_NOBODY = "nobody"

# In QEMU and in the host's kernel on its behalf: the first that fits a symbol.
_QEMU = (
    ("QEMU: the socket server", re.compile("vmrpc")),
    (
        "QEMU: virtqueue and memory",
        re.compile(
            "virtqueue|vring|address_space|flatview|memory_region|qemu_ram|dma_|virtio|iov_"
        ),
    ),
    (
        _TCG,
        re.compile(
            "helper_|tb_|tcg|cpu_exec|mmu|tlb|qht|cpu_loop|probe_access|do_ld|do_st|cc_compute"
            "|q_tree|x86|log_pc|curr_cflags|get_page_addr|io_"
        ),
    ),
)
_QEMU_REST = "QEMU: locks, main loop, libc"
_KERNEL = (
    (
        "host kernel: copying",
        re.compile("copy_(from|to)_iter|rep_movs|memcpy|__check_object|virt_addr"),
    ),
    (
        "host kernel: wake-ups, interrupts, softirqs",
        re.compile(
            "sched|wake|ttwu|finish_task|futex|hrtimer|_raw_spin_unlock_irq|pv_queued|select_task"
            "|enqueue|dequeue|switch|irqentry|softirqs"
        ),
    ),
    (
        "host kernel: system calls, poll",
        re.compile("poll|eventfd|fdget|fput|do_syscall|entry_|syscall|__x64|exit_to_user"),
    ),
)
_KERNEL_REST = "host kernel: TCP, IPv6, veth"
_GUEST = ("guest: the program", "guest: its kernel", "guest: vmrpc.ko", "guest: virtio ring")
_ORDER = (
    *_GUEST,
    _TCG,
    *(name for name, _ in _QEMU if name != _TCG),
    _QEMU_REST,
    *(name for name, _ in _KERNEL),
    _KERNEL_REST,
    _PEER,
    _OTHERS,
    _NOBODY,
)

# A line of perf script: comm, process, address, symbol and in brackets the object.
_SAMPLE = re.compile(r"\s*(.+?)\s+(\d+)\s+([0-9a-f]+)\s+(.*) \(([^()]*)\)\s*$")
#: Where a guest's kernel begins.
_KERNEL_ADDRESS = 1 << 63


class Symbols:
    """The kernel symbols of a guest."""

    def __init__(self, text: str) -> None:
        found = []
        for line in text.splitlines():
            address, kind, name, *module = line.split()
            if kind in "tTwW":
                found.append((int(address, 16), f"{name} {' '.join(module)}"))
        found.sort()
        self._addresses = [address for address, _ in found]
        self._names = [name for _, name in found]

    def part(self, address: int) -> str:
        """Whose code an address of the guest is."""
        program, kernel, module, ring = _GUEST
        if address < _KERNEL_ADDRESS:
            return program
        at = bisect.bisect_right(self._addresses, address) - 1
        name = self._names[at] if at >= 0 else ""
        if "[vmrpc]" in name:
            return module
        return ring if "[virtio" in name else kernel


def _first(rows: Sequence[tuple[str, re.Pattern[str]]], symbol: str, rest: str) -> str:
    return next((name for name, pattern in rows if pattern.search(symbol)), rest)


def _part(line: str, qemu: int, guest: Symbols) -> str | None:
    """Whose code a sample was taken in; None: the line is none."""
    found = _SAMPLE.match(line)
    if not found:
        return None
    comm, process, address, symbol, where = found.groups()
    if comm == "swapper":
        return _NOBODY
    if int(process) == qemu:
        if "perf-" in where:
            # QEMU names what it has translated by the guest's address.
            named = re.search(r"[0-9a-f]{8,16}", symbol)
            return guest.part(int(named[0], 16) if named else int(address, 16))
        if "kernel" in where:
            return _first(_KERNEL, symbol, _KERNEL_REST)
        return _first(_QEMU, symbol, _QEMU_REST)
    return _PEER if comm.startswith(("iperf3", "pingpong")) else _OTHERS


def _record(data: File, seconds: int) -> None:
    """Sample the machine in the middle of a load of so many seconds."""
    perf: list[str | File] = ["perf", "record", "-a", "-q", "-F", str(_SAMPLES_A_SECOND)]
    threading.Event().wait(_EDGES)
    tools.run([*perf, "-o", data, "--", "sleep", str(seconds - 2 * _EDGES)])


@contextlib.contextmanager
def _recorded(data: File, seconds: int) -> Iterator[None]:
    thread = threading.Thread(target=_record, args=(data, seconds))
    thread.start()
    try:
        yield
    finally:
        thread.join()


@dataclass(frozen=True)
class Profile:
    """Microseconds of processor time that an operation takes, by whose they are."""

    elapsed: float
    undisturbed: float
    parts: Mapping[str, float]


def _profile(path: Path, operation: Operation, seconds: int, folder: File) -> Profile:
    load, data = LOADS[operation.load], folder / "perf.data"
    with path.active():
        load.measure(path, _WARM_UP)
        undisturbed = operation.microseconds(load.measure(path, seconds))
        with _recorded(data, seconds):
            elapsed = operation.microseconds(load.measure(path, seconds))
        qemu, symbols = 0, ""
        if path.guest is not None:
            qemu = path.guest.pid
            symbols = path.guest.run(["cat", "/proc/kallsyms"], timeout=60).stdout
    text = tools.run(["perf", "script", "-i", data, "-F", "comm,pid,ip,sym,dso"])
    guest = Symbols(symbols)
    counts = collections.Counter(
        part for line in text.splitlines() if (part := _part(line, qemu, guest))
    )
    share = (os.cpu_count() or 1) * elapsed / max(counts.total(), 1)
    return Profile(elapsed, undisturbed, {name: counts[name] * share for name in _ORDER})


def _table(operations: Sequence[Operation], found: Mapping[tuple[str, str], Profile]) -> str:
    """A column an operation; of the native program only how long it takes."""
    ours = [found[operation.name, OURS] for operation in operations]
    rows = [
        ["µs of CPU", *(f"a {operation.name}" for operation in operations)],
        ["---"] * (len(operations) + 1),
        ["elapsed", *(number(profile.undisturbed) for profile in ours)],
        ["elapsed, sampled", *(number(profile.elapsed) for profile in ours)],
    ]
    for part in _ORDER:
        rows.append([part, *(number(profile.parts[part]) for profile in ours)])
    native = [found[operation.name, NATIVE] for operation in operations]
    rows.append(["a native one, elapsed", *(number(one.undisturbed) for one in native)])
    rows.append(["a native one, CPU", *(number(_busy(one)) for one in native)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _busy(profile: Profile) -> float:
    return sum(value for part, value in profile.parts.items() if part not in (_NOBODY, _OTHERS))


def _metrics(
    operations: Sequence[Operation], found: Mapping[tuple[str, str], Profile]
) -> list[dict[str, object]]:
    """What programs read: all of an operation's time, beside the native program's."""
    metrics = []
    for operation in operations:
        ours, native = (_busy(found[operation.name, name]) for name in (OURS, NATIVE))
        metrics.append(
            {
                "name": f"cpu of a {operation.name}",
                "unit": "us",
                "ours": round(ours, 1),
                "peer": round(native, 1),
                "peer_name": NATIVE,
                "ratio": round(ours / native, 3),
                "runs": 1,
            }
        )
    return metrics


@contextlib.contextmanager
def _ours(pingpong: File) -> Iterator[Path]:
    """A guest of whose translated code QEMU keeps a list, where perf looks for it."""
    with paths.vmrpc(pingpong, ["-perfmap"]) as path:
        assert path.guest is not None
        path.pause()
        try:
            yield path
        finally:
            File(f"/tmp/perf-{path.guest.pid}.map").unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; returns its exit status."""
    parser = argparse.ArgumentParser(prog="bench/run profile", description=__doc__)
    parser.add_argument("--seconds", type=int, default=6, help="of each load; at least 4")
    options = parser.parse_args(arguments)
    if options.seconds < 4:
        parser.error(f"--seconds {options.seconds}: a load is sampled between its ends, so 4")
    tools.require("perf", "iperf3", "gcc")
    paths.require((OURS, NATIVE))
    net.reap_stale()
    found: dict[tuple[str, str], Profile] = {}
    with scratch.folder() as name:
        folder = File(name)
        pingpong = loads.build_pingpong(folder)
        with paths.native(pingpong) as native, _ours(pingpong) as ours:
            for operation in _OPERATIONS:
                for path in native, ours:
                    print(f"{operation.name}: {path.name}", file=sys.stderr, flush=True)
                    found[operation.name, path.name] = _profile(
                        path, operation, options.seconds, folder
                    )
    print(_table(_OPERATIONS, found), end="")
    result = tree.BUILD / "bench" / "profile.json"
    result.parent.mkdir(parents=True, exist_ok=True)
    metrics = _metrics(_OPERATIONS, found)
    result.write_text(json.dumps({"metrics": metrics}, indent=1) + "\n")
    return 0
