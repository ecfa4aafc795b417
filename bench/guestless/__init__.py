# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host pays for a call, a byte, a frame, without a guest.

The guest's side is a native program in QEMU's first vCPU thread (-accel guestless,
accel/accel.c): it lays descriptors into virtqueues and rings doorbells, and no instruction of a
guest is executed.  A figure is processor time for one unit of a load, in nanoseconds.

    vmrpc       requests of virtio-vmrpc for IPv4 sockets
    native      the same program makes system calls on IPv6 sockets: the limit
    virtio-net  frames of virtio-net, on a routed tap
    stage       the same behind an empty -netdev stage
    hostvlan    the same behind -netdev hostvlan with 8,192 entries
    cvsw        the same of virtio-net-cvsw without flows
    foreign     the same of virtio-net on a foreign link
    mip6        the same there behind -netdev mip6, with the home address
    passt       the same through vhost-user to passt
    SWITCH-CASE datagrams of virtio-net through a switch, to an uplink (switched.py): the kernel's
                bridge, CVSW or ovs (Open vSwitch); null, ip (addresses set), vxlan, vxlan-aes

Of the NICs only what the VMM spends counts, not the guest's own stack (bed.py).  A round runs each
load on one path after the other.

--check counts instead: instructions and system calls of virtio-vmrpc, and compares them with
counts.json.  --write puts the new ones there.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import net, scratch, tools

from ..base import commandline, measure, report
from . import bed, counts, switched, tables
from .bed import CVSW, FOREIGN, HOSTVLAN, MIP6, NATIVE, PASST, STAGE, VIRTIO_NET, VMRPC, Load

_SOCKETS = (VMRPC, NATIVE)
_NICS = (VIRTIO_NET, STAGE, HOSTVLAN, CVSW, PASST, FOREIGN, MIP6)
_PATHS = (*_SOCKETS, *_NICS, *switched.KINDS)
_LOADS = (
    Load("send", 1, 50000, 0, "TCP send of 1 octet"),
    Load("send", 1400, 50000, 0, "TCP send of 1,400 octets"),
    Load("send", 16384, 20000, 0, "TCP send of 16 KiB"),
    Load("send", 65536, 10000, 0, "TCP send of 64 KiB"),
    Load("send", 1048576, 1000, 0, "TCP send of 1 MiB"),
    Load("receive", 1, 50000, 1, "TCP receive of 1 octet"),
    Load("receive", 1400, 50000, 1, "TCP receive of 1,400 octets"),
    Load("receive", 16384, 20000, 1, "TCP receive of 16 KiB"),
    Load("receive", 65536, 10000, 1, "TCP receive of 64 KiB"),
    Load("receive", 1048576, 1000, 1, "TCP receive of 1 MiB"),
    Load("echo", 1, 10000, 2, "TCP round trip of 1 octet"),
    Load("datagrams", 64, 50000, 0, "UDP datagram of 64 octets, sent"),
    Load("datagrams", 1400, 50000, 0, "UDP datagram of 1,400 octets, sent"),
    Load("segments", 1400, 5000, 0, "32 UDP datagrams of 1,400 octets by UDP_SEGMENT, sent"),
    Load("connect", 0, 3000, 3, "TCP connection, made and closed"),
)
#: A guest's stack makes frames of its own size of what a program sends.
_OF_NICS = (
    *("send-65536", "receive-65536", "echo-1", "connect"),
    *("datagrams-64", "datagrams-1400", "segments-1400"),
)
_ALL = (*_LOADS, *switched.LOADS)


def _runs(path: str, load: Load) -> bool:
    """Whether a load is for a path."""
    if load in switched.LOADS or path in switched.KINDS:
        return load in switched.LOADS and path in switched.KINDS
    return path in _SOCKETS or load.name in _OF_NICS


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    loads: tuple[Load, ...]
    paths: tuple[str, ...]
    counts: bool
    write: bool
    output: File


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("guestless", __doc__, rounds=6, quick="1 round")
    commandline.add_only(parser, [load.name for load in _ALL], "load")
    parser.add_argument(
        "--paths",
        type=commandline.names(_PATHS, "paths"),
        default=_PATHS,
        metavar="PATH,…",
        help=f"only these of {', '.join(_PATHS)}",
    )
    parser.add_argument("--check", action="store_true", help="count, and compare with counts.json")
    parser.add_argument("--write", action="store_true", help="count, and write counts.json")
    options = parser.parse_args(arguments)
    return Plan(
        rounds=1 if options.quick else options.rounds,
        loads=tuple(load for load in _ALL if load.name in options.only),
        paths=tuple(options.paths),
        counts=options.check or options.write,
        write=options.write,
        output=options.output,
    )


@contextlib.contextmanager
def _opened(plan: Plan, folder: File) -> Iterator[dict[str, Callable[[Load], float]]]:
    """What measures a load on each path."""
    programs = bed.build(folder)
    measures: dict[str, Callable[[Load], float]] = {}
    with contextlib.ExitStack() as stack:
        if set(plan.paths) & {*_SOCKETS}:
            sockets = stack.enter_context(bed.sockets(folder / "sockets", programs))
            for path in _SOCKETS:
                measures[path] = functools.partial(sockets.measure, path)
        for kind in _NICS:
            if kind in plan.paths:
                made = stack.enter_context(bed.nic(kind, folder / kind, programs))
                measures[kind] = made.measure
        for kind in switched.KINDS:
            if kind in plan.paths:
                at_switch = stack.enter_context(switched.nic(kind, folder / kind, programs))
                measures[kind] = at_switch.measure
        yield {path: measures[path] for path in plan.paths}


def _measure(plan: Plan, measures: Mapping[str, Callable[[Load], float]]) -> tables.Values:
    values: dict[tuple[str, str], list[float]] = {}
    for index in range(plan.rounds):
        for load in plan.loads:
            for path in report.turned(plan.paths, index):
                if _runs(path, load):
                    values.setdefault((load.name, path), []).append(measures[path](load))
            shown = (
                f"{path} {values[load.name, path][-1]:.0f}"
                for path in plan.paths
                if (load.name, path) in values
            )
            print(f"  round {index + 1}, {load.name}, ns: {', '.join(shown)}", flush=True)
    return values


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    net.reap_stale()
    with scratch.folder() as name:
        folder = File(name)
        folder.chmod(0o755)
        if plan.counts:
            tools.require("ip", "gcc", "valgrind", "strace")
            own = [load for load in plan.loads if load in _LOADS]
            with bed.sockets(folder / "sockets", bed.build(folder)) as sockets:
                return int(not counts.count(sockets, own, write=plan.write))
        tools.require("ip", "gcc", "pkg-config")
        with _opened(plan, folder) as measures:
            with measure.cost() as cost:
                values = _measure(plan, measures)
            tables.publish(plan.loads, values, plan.rounds, cost.others, plan.output)
    return 0
