# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of one look-up alone, without a network.

In QEMU's code by lookup.c, beside GLib's hash table; in the kernel by running the
programs of the eBPF twin again and again on one frame (BPF_PROG_TEST_RUN).  lookup.c looks up
addresses in a random order, so that they miss the processor's caches as on a busy host; the
programs always have the same two addresses, which are in the cache.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.base import paths as tree
from lab.base import tools
from vmmnet.hostvlan.bpf import bpf, mirror, twin
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

from ..base.loads import Metric
from ..base.report import Comparison, Rounds
from . import tenants

#: The cases of lookup.c, with a description.
TITLES = {
    "hit": "a lookup",
    "chained": "a lookup that waits for the one before",
    "ahead": "the same, with the buckets of 12 lookups ahead prefetched",
    "miss": "a lookup of an unknown address",
    "receive": "the whole verdict about a received frame",
    "glib": "a lookup in a GHashTable",
    "glib-chained": "a lookup in a GHashTable that waits for the one before",
}
PEER = "glib"
_SOURCES = ("net/hostvlan/guard.c", "net/hostvlan/table.c", "net/hostvlan/verdict.c")
# Cases that are compared with one of the peer's: the metric's name, the peer's case.
_COMPARED = {
    "hit": ("lookup", PEER),
    "chained": ("lookup-chained", f"{PEER}-chained"),
    "receive": ("lookup-verdict", PEER),
}
_REPEAT = 1 << 20
_FIRST = 0x020000000000
# struct hostvlan_port: the MAC address, and fields that only the command line reads.
_PORT = struct.Struct("=Q32x")
# Return values of the programs for a frame that passes: XDP_PASS, TC_ACT_UNSPEC.
_PROGRAMS = {
    "hostvlan_xdp": 2,
    "hostvlan_send": -1,
    "hostvlan_receive": -1,
}

#: Nanoseconds, by case and number of MAC addresses.
Costs = dict[tuple[str, int], list[float]]


def build(folder: Path) -> Path:
    """Compile lookup.c with QEMU's sources and QEMU's optimization."""
    product = folder / "lookup"
    flags = tools.run(["pkg-config", "--cflags", "--libs", "glib-2.0"]).split()
    includes = [f"-I{tree.ROOT}", f"-I{tree.ROOT / 'include'}"]
    sources = [tree.ROOT / each for each in ("bench/hostvlan/lookup.c", *_SOURCES)]
    options = ["-std=gnu11", "-O2", "-Wall", *includes]
    tools.run(["gcc", *options, "-o", product, *sources, *flags])
    return product


def _mac(number: int) -> int:
    """Return a permutation of 32 bits, as addresses are assigned at random (mac_of())."""
    return _FIRST + (number * 0x9E3779B1 & 0xFFFFFFFF)


def _make_table(path: Path, size: int) -> None:
    """Make the table as the command does, as the size of its pages in memory depends on that."""
    with Table.change(path) as change:
        change.replace(
            Entry(_mac(number), (1 + number // tenants.TENANT,)) for number in range(size)
        )


def measure(program: Path, sizes: Sequence[int]) -> Costs:
    """Run lookup.c on tables of these sizes."""
    costs: Costs = {}
    for size in sizes:
        table = program.with_name(f"lookup-{size}.table")
        _make_table(table, size)
        output = tools.run([program, table, str(size)])
        table.unlink()
        for line in output.splitlines():
            found = json.loads(line)
            costs[found["what"], size] = found["ns"]
    return costs


def comparisons(costs: Costs) -> Iterator[Comparison]:
    """Look-ups in our table beside those in GLib's."""
    for (what, size), ours in costs.items():
        if what in _COMPARED:
            name, case = _COMPARED[what]
            name = f"{name}-{size}"
            title = TITLES[what]
            metric = Metric(name, "ns", False, f"{title[0].upper()}{title[1:]}, {size:,}")
            peer: Rounds = costs[case, size]
            yield Comparison(metric, f"{name}-vs-{PEER}", PEER, ours, peer)


class _TestRun(ctypes.Structure):
    """struct bpf_test_run_opts of libbpf."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_char_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    )


def _run(program: int, frame: bytes, expected: int) -> int:
    """Return the nanoseconds of one run of a program, as the kernel measures: a whole number."""
    options = _TestRun(data_in=frame, data_size_in=len(frame), repeat=_REPEAT)
    options.sz = ctypes.sizeof(options)
    call = ctypes.CDLL("libbpf.so.1").bpf_prog_test_run_opts
    status = call(program, ctypes.byref(options))
    if status < 0:
        raise OSError(-status, os.strerror(-status))
    if ctypes.c_int32(options.retval).value != expected:
        raise RuntimeError(f"the program answers {options.retval}, and does not let the frame pass")
    return int(options.duration)


def in_kernel(tables: Sequence[Path]) -> dict[str, dict[str, int]]:
    """Nanoseconds a frame of each of the twin's programs, by the name of the table."""
    costs: dict[str, dict[str, int]] = {}
    sent, received = (
        destination.to_bytes(6) + source.to_bytes(6) + b"\x08\0" + bytes(86)
        for source, destination in (
            (tenants.vm(0), tenants.peer(0)),
            (tenants.peer(0), tenants.vm(0)),
        )
    )
    for path in tables:
        with bpf.Object(twin.OBJECT) as loaded, Table.open(path, verify=False) as table:
            loaded.load()
            mirror.copy(loaded.map("tables"), None, table, check=False)
            bpf.update(loaded.map("port"), 0, _PORT.pack(tenants.vm(0)))
            costs[path.stem] = {
                name: _run(
                    loaded.program(name), received if name.endswith("receive") else sent, passes
                )
                for name, passes in _PROGRAMS.items()
            }
    return costs
