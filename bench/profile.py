# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time of an operation by part of the system, ours and a native program's.

perf record -a samples the whole machine while a load runs. The samples are sorted by the part whose
code ran; code of the guest by the guest's symbols. The time of all processors is divided among the
parts, and by the number of operations. Other work of the machine appears as "other programs".

A native program and its work in the kernel are in the rows of the guest's and
of QEMU's.  Rows of the host's kernel contain its work in their context: it delivers a packet to the
peer's socket in the context of the sender, so that much of a peer's TCP counts for the sender, on
both sides alike.

The sampler slows the load down. So compare processor time with the sampled time beside it: the sum
of all rows is the sampled time multiplied by the number of processors. The undisturbed time,
without a sampler, is that of a user.

A KVM host spends QEMU's and the host kernel's time here, except TCG's.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, process, scratch, tools
from lab.base import paths as tree
from lab.guest import qemu

from .base import loads, paths
from .base.loads import LOADS, Values
from .base.paths import Path
from .base.report import number

OURS, NATIVE = "vmrpc", "native"
_SAMPLES_A_SECOND = 2500
_WARM_UP = 1
#: Seconds of a load that are not sampled: its start and its end.
_EDGES = 1
_KIB, _MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Operation:
    """An operation to profile: a load, and the microseconds that an operation takes."""

    name: str
    load: str
    microseconds: Callable[[Values], float]


_OPERATIONS = (
    Operation(
        "send of 1 MiB", "send-1MiB", lambda values: 8 * _MIB / values["throughput-send-1MiB"]
    ),
    Operation(
        "receive of 128 KiB",
        "receive-128KiB",
        lambda values: 128 * _KIB * 8 / values["throughput-receive-128KiB"],
    ),
    Operation(
        "datagram of 1400 bytes",
        "udp",
        lambda values: 8 * loads.UDP_PAYLOAD / values[f"throughput-udp-{loads.UDP_PAYLOAD}B"],
    ),
    Operation("round trip of 1 byte", "latency", lambda values: values["latency-mean"]),
    Operation(
        "connection",
        "connections-sequential",
        lambda values: 1e6 / values["connections-sequential"],
    ),
)

_TCG = "QEMU: TCG"
_OTHERS = "other programs"
_PEER = "the peer's process, with the kernel's work"
_NOBODY = "nobody"

#: Programs that make the loads, at both ends, and kernel threads of the network (see ``measure``).
_CLIENTS = ("iperf3", "pingpong")
_KERNEL_THREADS = ("ksoftirqd/", "napi/")

# By the object file of a symbol of QEMU, as a pattern below its build folder.
_QEMU = (
    (
        "QEMU: the socket server",
        ("*.a.p/hw_vmrpc_*.o", "*.a.p/net_dns_*.o", "*.a.p/net_packet_*.o"),
    ),
    (
        "QEMU: virtqueue and memory",
        ("*.a.p/hw_virtio_*.o", "*.a.p/system_memory.*.o", "*.a.p/system_physmem.*.o"),
    ),
    (
        _TCG,
        (
            "*.a.p/accel_tcg_*.o",
            "tcg/*.a.p/*.o",
            "*.a.p/target_i386_*.o",
            "*.a.p/util_qht.*.o",
            "*.a.p/util_qtree.*.o",
        ),
    ),
)
_QEMU_REST = "QEMU: locks, main loop, libc"

# By a symbol of the host kernel: the first matching prefix.
_KERNEL = (
    # A timer's interrupt takes the samples. Code that runs with interrupts off is attributed to the
    # place that turns them on again.
    (
        "host kernel: where interrupts come on again",
        re.compile(
            r"_raw_\w*unlock_irq|finish_task_switch|irqentry|handle_softirqs|do_softirq"
            r"|run_ksoftirqd|asm_\w*interrupt"
        ),
    ),
    (
        "host kernel: copying",
        re.compile(
            r"_*copy_(from|to)_|rep_movs|_*(pi_)?memcpy|__check_object|__virt_addr|\w+_iter\b"
        ),
    ),
    (
        "host kernel: sleeping and waking up",
        re.compile(
            r"(?!_*(tcp|sk|inet)_)(\w*sched|\w*wake|ttwu|\w*futex|\w*hrtimer|select_(task|idle)"
            r"|\w*queue_(task|entity|entities)|\w*switch|update_(curr|load)|pick_|put_prev|set_next)"
        ),
    ),
    (
        "host kernel: system calls, poll",
        re.compile(
            r"(?!_*napi)(\w*poll|eventfd|ep_|\w*fdget|fput|do_syscall|entry_|syscall|x64_sys|_*x64_sys"
            r"|_*sys_|\w*exit_to_user|vfs_|ksys_|\w*rseq)"
        ),
    ),
)
_KERNEL_REST = "host kernel: TCP, IPv6, veth"
_PROGRAM = "the program"
_GUEST = (_PROGRAM, "guest: its kernel", "guest: vmrpc.ko", "guest: virtio ring")
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
_SAMPLE = re.compile(r"\s*(.+?)\s+(\d+)\s+([0-9a-f]+)\s+(.*) \(([^()]*?)(?: \(deleted\))?\)\s*$")
#: First address of a kernel, the host's and a guest's.
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
        """Return the part that an address of the guest belongs to."""
        program, kernel, module, ring = _GUEST
        if address < _KERNEL_ADDRESS:
            return program
        at = bisect.bisect_right(self._addresses, address) - 1
        name = self._names[at] if at >= 0 else ""
        if "[vmrpc]" in name:
            return module
        return ring if "[virtio" in name else kernel


class _Sources:
    """The functions of a QEMU, by part."""

    def __init__(self, folder: File) -> None:
        self._parts: dict[str, str] = {}
        for part, patterns in _QEMU:
            objects = [file for pattern in patterns for file in folder.glob(pattern)]
            if not objects:
                raise tools.MissingTool(f"{folder} has no object files of QEMU: run 'make lean'")
            for line in tools.run(["nm", "--defined-only", *objects]).splitlines():
                words = line.split()
                if len(words) == 3 and words[1] in "tT":
                    self._parts.setdefault(_plain(words[2]), part)

    def part(self, symbol: str) -> str:
        """Return the part that a function of QEMU or of its libraries belongs to."""
        return self._parts.get(_plain(symbol), _QEMU_REST)


def _plain(symbol: str) -> str:
    """Return the name of a function without suffixes of the compiler and perf."""
    return re.split(r"[.+ ]", symbol, maxsplit=1)[0]


def _first(rows: Sequence[tuple[str, re.Pattern[str]]], symbol: str, rest: str) -> str:
    return next((name for name, pattern in rows if pattern.match(symbol)), rest)


@dataclass(frozen=True)
class _Machine:
    """Process ids while a load runs: QEMU (0: none) and the peer."""

    qemu: int
    peer: int
    guest: Symbols
    sources: _Sources

    def part(self, line: str) -> str | None:
        """Return the part of a sample; None: the line is no sample."""
        found = _SAMPLE.match(line)
        if not found:
            return None
        comm, number, address, symbol, where = found.groups()
        process, in_kernel = int(number), int(address, 16) >= _KERNEL_ADDRESS
        if comm == "swapper":
            return _NOBODY
        if process == self.peer:
            return _PEER
        ours = process == self.qemu or (not self.qemu and comm.startswith(_CLIENTS))
        if in_kernel and (ours or comm.startswith(_KERNEL_THREADS)):
            return _first(_KERNEL, symbol, _KERNEL_REST)
        if not ours:
            return _OTHERS
        if not self.qemu:
            return _PROGRAM
        if "perf-" in where:
            # QEMU names translated code by the guest's address.
            named = re.search(r"[0-9a-f]{8,16}", symbol)
            return self.guest.part(int(named[0], 16) if named else int(address, 16))
        return self.sources.part(symbol)


def _server() -> int:
    """Return the process id of the load's server, the peer."""
    for pid in process.owned():
        try:
            words = File(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].decode().rpartition("/")[2] in _CLIENTS and words[1] in (b"-s", b"server"):
            return pid
    raise RuntimeError("the load has no server")


@dataclass
class _Recording:
    """Samples of the machine in the middle of a load, without its edges."""

    data: File
    seconds: int
    peer: int = 0

    def __enter__(self) -> _Recording:
        self._pool = concurrent.futures.ThreadPoolExecutor(1)
        self._done = self._pool.submit(self._record)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._done.result()

    def _record(self) -> None:
        perf: list[str | File] = ["perf", "record", "-a", "-q", "-F", str(_SAMPLES_A_SECOND)]
        threading.Event().wait(_EDGES)
        self.peer = _server()
        tools.run([*perf, "-o", self.data, "--", "sleep", str(self.seconds - 2 * _EDGES)])


@dataclass(frozen=True)
class Profile:
    """Microseconds of processor time of an operation, by part.

    ``sampled`` is its duration with the sampler, ``undisturbed`` without.
    """

    undisturbed: float
    sampled: float
    parts: Mapping[str, float]

    @property
    def busy(self) -> float:
        """Sum of all parts, with the peer."""
        return sum(each for part, each in self.parts.items() if part not in (_NOBODY, _OTHERS))

    @property
    def with_kvm(self) -> float:
        """Part that a KVM host spends outside of the guest, without the exits."""
        kinds = ("QEMU", "host kernel")
        return sum(
            each for part, each in self.parts.items() if part.startswith(kinds) and part != _TCG
        )


def _profile(
    path: Path, operation: Operation, seconds: int, folder: File, sources: _Sources
) -> Profile:
    load, data = LOADS[operation.load], folder / "perf.data"
    with path.active():
        load.measure(path, _WARM_UP)
        undisturbed = operation.microseconds(load.measure(path, seconds))
        with _Recording(data, seconds) as recording:
            sampled = operation.microseconds(load.measure(path, seconds))
        emulator, symbols = 0, ""
        if path.guest is not None:
            emulator = path.guest.pid
            symbols = path.guest.run(["cat", "/proc/kallsyms"], timeout=60).stdout
    text = tools.run(["perf", "script", "-i", data, "-F", "comm,pid,ip,sym,dso"])
    machine = _Machine(emulator, recording.peer, Symbols(symbols), sources)
    counts = collections.Counter(part for line in text.splitlines() if (part := machine.part(line)))
    share = (os.cpu_count() or 1) * sampled / max(counts.total(), 1)
    return Profile(undisturbed, sampled, {name: counts[name] * share for name in _ORDER})


def _table(operations: Sequence[Operation], found: Mapping[tuple[str, str], Profile]) -> str:
    """Return two columns for each operation: ours and the native program's."""
    columns = [(operation, name) for operation in operations for name in (OURS, NATIVE)]
    profiles = [found[operation.name, name] for operation, name in columns]
    rows = [
        ["µs", *(f"a {operation.name}, {name}" for operation, name in columns)],
        ["---"] * (len(columns) + 1),
        ["elapsed, undisturbed", *(number(profile.undisturbed) for profile in profiles)],
        ["elapsed, sampled", *(number(profile.sampled) for profile in profiles)],
        ["CPU, sampled, all but the last two rows", *(number(each.busy) for each in profiles)],
        ["of it QEMU without TCG and the host kernel", *(number(one.with_kvm) for one in profiles)],
    ]
    rows += [[part, *(number(profile.parts[part]) for profile in profiles)] for part in _ORDER]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _metrics(
    operations: Sequence[Operation], found: Mapping[tuple[str, str], Profile]
) -> list[dict[str, object]]:
    """Return the JSON: the whole time of an operation beside the native program's."""
    metrics = []
    for operation in operations:
        ours, native = (found[operation.name, name].busy for name in (OURS, NATIVE))
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
    """Start a guest with QEMU's list of translated code, in the place where perf looks for it."""
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
    tools.require("perf", "iperf3", "gcc", "nm")
    sources = _Sources(qemu.binary().parent)
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
                        path, operation, options.seconds, folder, sources
                    )
    text = f"{conditions.machine()}; {_SAMPLES_A_SECOND} samples a second of each\n\n"
    text += _table(_OPERATIONS, found)
    print(text, end="")
    output = tree.BUILD / "bench"
    output.mkdir(parents=True, exist_ok=True)
    (output / "profile.md").write_text(text)
    metrics = _metrics(_OPERATIONS, found)
    (output / "profile.json").write_text(json.dumps({"metrics": metrics}, indent=1) + "\n")
    return 0
