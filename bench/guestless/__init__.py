# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host pays for a call, a byte, a connection, without a guest.

The guest's side is a native program in QEMU's first vCPU thread (-accel guestless, accel.c): it lays
descriptors into virtqueues and rings doorbells, and no instruction of a guest is executed.

    native  the same program makes system calls on IPv6 sockets: the limit
    vmrpc   the same program makes requests of virtio-vmrpc for IPv4 sockets

The peer is in another namespace, behind a veth.  A figure is processor time of QEMU's threads, user
and system, for one unit of a load; a round runs each load on one path after the other.

--check counts instead: instructions of QEMU in user space (callgrind) and system calls (strace), and
compares them with counts.json.  The same tree has the same counts, to a per mille, on every machine
with the same compiler.  --write puts the new ones there.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as File

from lab.base import conditions, net, scratch, tools, wait
from lab.base.net import Namespace, Network
from lab.guest import qemu

from ..base import commandline, report
from ..base.loads import Metric
from ..base.report import Comparison

_HERE = File(__file__).parent
_COUNTS = _HERE / "counts.json"
#: A prefix of NAT64: the peer's address is the one that stands for _PEER4.
_PREFIX = "2001:db8:64::"
_OWN, _PEER, _PEER4 = f"{_PREFIX}1", f"{_PREFIX}c000:202", "192.0.2.2"
_PORT = 7000
_NATIVE, _VMRPC = "native", "vmrpc"
_ADDRESSES = {_NATIVE: _PEER, _VMRPC: _PEER4}
#: More instructions than this part make --check fail.
_TOLERANCE = 0.02
_COUNTED = 2000


@dataclass(frozen=True)
class Load:
    """A load of loads.c: its size in octets, how often a round runs it, and the peer's port."""

    kind: str
    size: int
    count: int
    port: int
    title: str

    @property
    def name(self) -> str:
        """The name in tables and on the command line."""
        return f"{self.kind}-{self.size}" if self.size else self.kind

    def line(self, path: str, count: int) -> str:
        """The line of a script."""
        return f"{path} {self.kind} {self.size} {count} {_PORT + self.port} {_ADDRESSES[path]}\n"


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
    Load("datagrams", 1400, 20000, 0, "UDP datagram of 1,400 octets, sent"),
    Load("connect", 0, 3000, 3, "TCP connection, made and closed"),
)


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    loads: tuple[Load, ...]
    check: bool
    write: bool
    output: File


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("guestless", __doc__, rounds=5, quick="1 round")
    commandline.add_only(parser, [load.name for load in _LOADS], "load")
    parser.add_argument("--check", action="store_true", help="count, and compare with counts.json")
    parser.add_argument("--write", action="store_true", help="count, and write counts.json")
    options = parser.parse_args(arguments)
    return Plan(
        rounds=1 if options.quick else options.rounds,
        loads=tuple(load for load in _LOADS if load.name in options.only),
        check=options.check,
        write=options.write,
        output=options.output,
    )


@contextlib.contextmanager
def _bed(folder: File) -> Iterator[Namespace]:
    """The namespace for QEMU, with the peer at the other end of a veth."""
    program = folder / "peer"
    options = ["-std=gnu11", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror"]
    tools.run(["gcc", *options, "-o", program, _HERE / "peer.c"])
    with Network() as network:
        host, outside = network.namespace("host"), network.namespace("outside")
        ours, theirs = ([f"{address}/96"] for address in (_OWN, _PEER))
        network.connect(host, outside, ours, theirs)
        with (folder / "ready").open("wb") as ready:
            outside.popen([program, str(_PORT)], stdout=ready)
        wait.until(lambda: (folder / "ready").read_text() == "ready\n", "the peer")
        yield host


def _run(host: Namespace, folder: File, script: str, around: Sequence[str | File] = ()) -> str:
    """Run a script; return what QEMU writes."""
    path = folder / "script"
    path.write_text(script)
    device = f"virtio-vmrpc-pci,address6={_OWN},nat64-prefix={_PREFIX}/96"
    words = ["-accel", f"guestless,script={path}", "-machine", "q35", "-m", "64", "-nodefaults"]
    words += ["-display", "none", "-no-user-config", *qemu.firmware_options(), "-device", device]
    return host.run([*around, qemu.binary(), *words], timeout=600).stdout


def _nanoseconds(line: str) -> float:
    """Processor time of a unit."""
    found = json.loads(line)
    spent = ("user_ns", "system_ns", "others_user_ns", "others_system_ns")
    return float(sum(found[name] for name in spent)) / int(found["count"])


def _measure(plan: Plan, host: Namespace, folder: File) -> dict[str, dict[str, list[float]]]:
    values: dict[str, dict[str, list[float]]] = {}
    for index in range(plan.rounds):
        for load in plan.loads:
            turn = report.turned((_NATIVE, _VMRPC), index)
            out = _run(host, folder, "".join(load.line(path, load.count) for path in turn))
            of_load = values.setdefault(load.name, {_NATIVE: [], _VMRPC: []})
            for path, line in zip(turn, out.splitlines(), strict=True):
                of_load[path].append(_nanoseconds(line))
            shown = ", ".join(f"{path} {of_load[path][-1]:.0f} ns" for path in (_NATIVE, _VMRPC))
            print(f"  round {index + 1}, {load.name}: {shown}", flush=True)
    return values


def _publish(plan: Plan, values: dict[str, dict[str, list[float]]]) -> None:
    comparisons, rows = [], [["a unit, ns of processor time", "vmrpc", "native", "above native"]]
    for load in plan.loads:
        metric = Metric(load.name, "ns", False, load.title)
        ours, native = values[load.name][_VMRPC], values[load.name][_NATIVE]
        one = Comparison(metric, f"{load.name}-vs-native", _NATIVE, ours, native)
        above = report.spread([a - b for a, b in zip(ours, native, strict=True)])
        comparisons.append(one)
        cells = (report.spread(ours), report.spread(native), above)
        rows.append([load.title, *map(str, cells)])
    about = f"{plan.rounds} rounds; {conditions.machine()}"
    print(f"\n{about}\n\n{report.plain(rows)}")
    report.write_json(plan.output / "guestless.json", comparisons, {"conditions": about})
    (plan.output / "guestless.md").write_text(f"{about}.\n\n{report.markdown(rows)}")
    print(f"\nwritten: {plan.output / 'guestless.json'}, {plan.output / 'guestless.md'}")


# --- counts ---------------------------------------------------------------------


def _instructions(host: Namespace, folder: File, load: Load) -> int:
    """Instructions of a unit in user space, in all threads of QEMU."""
    out = folder / "callgrind"
    around = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    around += ["--toggle-collect=guestless_measured", "--quiet"]
    _run(host, folder, load.line(_VMRPC, _COUNTED), around)
    found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    assert found is not None
    return round(int(found[1]) / _COUNTED)


def _system_calls(host: Namespace, folder: File, load: Load) -> float:
    """System calls of a unit: what twice as many units need more."""
    totals = []
    for count in (_COUNTED, 2 * _COUNTED):
        out = folder / "strace"
        _run(host, folder, load.line(_VMRPC, count), ["strace", "-f", "-c", "-o", out])
        found = re.search(r"^100\.00 +\S+ +\S+ +(\d+) .*total$", out.read_text(), re.M)
        assert found is not None
        totals.append(int(found[1]))
    # The warm-up is a tenth.
    return round((totals[1] - totals[0]) / (1.1 * _COUNTED), 1)


def _count(plan: Plan, host: Namespace, folder: File) -> int:
    known = json.loads(_COUNTS.read_text()) if _COUNTS.exists() else {}
    rows, failed = [["load", "instructions", "before", "system calls", "before"]], False
    for load in plan.loads:
        before = known.get(load.name, {})
        now = {
            "instructions": _instructions(host, folder, load),
            "system calls": _system_calls(host, folder, load),
        }
        for name, value in now.items():
            failed |= name in before and value > before[name] * (1 + _TOLERANCE) + 0.1
        rows.append([load.name])
        for name, value in now.items():
            rows[-1] += [str(value), str(before.get(name, "-"))]
        known[load.name] = now
    print(report.plain(rows))
    if plan.write:
        _COUNTS.write_text(json.dumps(known, indent=1) + "\n")
        return 0
    if failed:
        print("more than in bench/guestless/counts.json: mend it, or say why and use --write")
    return int(failed)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    tools.require("ip", "gcc", *(("valgrind", "strace") if plan.check or plan.write else ()))
    net.reap_stale()
    with scratch.folder() as name, _bed(File(name)) as host:
        if plan.check or plan.write:
            return _count(plan, host, File(name))
        _publish(plan, _measure(plan, host, File(name)))
    return 0
