# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of isolating tenants: HostVLAN in QEMU and in eBPF, and its peers.

One guest with three NICs, a process without QEMU, and processes behind a QEMU without a guest, each
on a port of its own (ports.py), exchange traffic with peers of the same tenant. Each measurement
puts another filter on the port (filters.py):

    nothing             the base of the comparisons
    nothing-again       the same port again: the noise of this run
    nothing-other       another NIC of the guest: differences between NICs
    qemu-SIZE           -netdev hostvlan, with a table of SIZE MAC addresses
    ebpf-SIZE           the eBPF twin in its best form for a Linux bridge (--sending tc)
    ebpf-xdp-SIZE       the eBPF twin as it is attached by default
    nftables-SIZE       a map of nftables with SIZE MAC addresses
    nwfilter            chains as libvirt makes them: a rule for each of a tenant's 64 VMs

SIZE 0: only the machines of the benchmark. Before the measurement each filter is tested with a
machine of another tenant, which it has to refuse. A round measures each load with each filter, each
round beginning with another one, and round trips on one processor (measure.py). Look-ups are also
measured alone (lookup.py).
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from lab.base import net, scratch, tools
from vmmnet.hostvlan.bpf import twin

from ..base import commandline, loads, measure
from ..base.loads import LOADS, Load, LoadError, Metric, Values
from ..base.paths import Path
from ..base.report import Samples, turned
from . import filters, lookup, ports, tenants
from . import report as hostvlan_report
from .filters import Filter
from .ports import Port, Ports
from .report import GUEST, PROCESS, WIRE, Case, Results

Query = Callable[[], dict[str, Any]]

_WEB = "web"
_LOADS = (loads.LATENCY, "send-1MiB", "receive-1MiB", _WEB)
_USUAL = 8192
# Connections of ab; enough that one always waits for nginx.
_CONNECTIONS = 8
_WARM_UP = 1


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    rounds: int
    seconds: int
    loads: tuple[str, ...]
    output: File


@dataclass(frozen=True)
class Set:
    """A case with its port and filter."""

    case: Case
    port: Port
    filter: Filter

    def measure(self, load: Load, seconds: int) -> Values:
        """Measure once."""
        with self.filter.on():
            return loads.measure_small(load, self.port.path, seconds)

    def check(self) -> None:
        """Check that the filter refuses a stranger; raises RuntimeError."""
        with self.filter.on():
            if not self.filter.refuses:
                self.port.await_stranger()
            elif self.port.admits_stranger():
                raise RuntimeError(f"{self.case.name} lets everybody pass")


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser(
        "hostvlan", __doc__, rounds=12, quick="1 round", kinds="json, .md and .svg"
    )
    commandline.add_only(parser, _LOADS, "load")
    options = parser.parse_args(arguments)
    rounds = 1 if options.quick else options.rounds
    # Many short measurements show a small difference better than few long ones.
    return Plan(rounds, 1, options.only, options.output)


def _web(of: Sequence[Port]) -> Load:
    """Requests for a page of 1 KB, each with a new connection, by ApacheBench on the peer."""
    urls = {port.path.name: port.url for port in of}

    def run(path: Path, seconds: int) -> Values:
        limits = ["-t", str(seconds), "-n", "1000000", "-c", str(_CONNECTIONS)]
        with measure.cost() as cost:
            text = path.server.run(["ab", "-q", *limits, urls[path.name]]).stdout
        found = dict(re.findall(r"^([\w -]+):\s+([\d.]+)", text, re.MULTILINE))
        if found.get("Failed requests") != "0" or "Non-2xx responses" in found:
            raise LoadError(f"ab: requests failed:\n{text}")
        return {_WEB: float(found["Requests per second"]), "others": cost.others}

    return Load(_WEB, (Metric(_WEB, "1/s", True, "Web pages of 1 KB"),), run)


def _called(size: int) -> str:
    return f"{size:,}" if size else "nobody else"


def _in_qemu(port: Port, query: Query, link: File, tables: Mapping[int, File]) -> Iterator[Set]:
    for size, table in tables.items():
        case = Case(f"qemu-{size}", f"HostVLAN in QEMU, {_called(size)}", ours=True, size=size)
        macs = size or 2 * ports.PARTS
        yield Set(case, port, filters.InQemu(query, link, table, macs))


def _in_kernel(port: Port, tables: Mapping[int, File]) -> Iterator[Set]:
    sendings: tuple[tuple[str, twin.Sending, tuple[int, ...]], ...] = (
        ("ebpf", "tc", tuple(tables)),
        ("ebpf-xdp", "xdp", (_USUAL,)),
    )
    for name, sending, sizes in sendings:
        for size in sizes:
            title = f"HostVLAN in eBPF ({sending}), {_called(size)}"
            case = Case(f"{name}-{size}", title, ours=True, size=size)
            yield Set(case, port, filters.InKernel(port, tables[size], sending))


def _peers(made: Ports) -> list[tuple[Case, Filter]]:
    filtered = [made.filtered, made.process]
    found: list[tuple[Case, Filter]] = [
        (
            Case(f"nftables-{size}", f"nftables, {size:,}", size=size),
            filters.Nftables(made.host, filtered, size),
        )
        for size in tenants.SIZES
        if size
    ]
    title = f"nwfilter, a rule for each of {tenants.TENANT}"
    return [*found, (Case("nwfilter", title), filters.Nwfilter(made.host, filtered))]


def _sets(made: Ports, link: File, tables: Mapping[int, File]) -> dict[str, list[Set]]:
    """Return the cases, by place."""
    nothing, again = Case("nothing", "nothing"), Case("nothing-again", "nothing, again")
    other = Case("nothing-other", "nothing, another NIC")
    peers = _peers(made)
    both = []
    for port in (made.filtered, made.process):
        sets = [Set(case, port, filters.Nothing()) for case in (nothing, again)]
        sets += _in_kernel(port, tables)
        sets += [Set(case, port, each) for case, each in peers]
        both.append(sets)
    guest, process = both
    guest.insert(2, Set(other, made.other, filters.Nothing()))
    guest[3:3] = _in_qemu(made.hostvlan, functools.partial(_of_guest, made), link, tables)
    wire = [Set(case, made.wire, filters.Nothing()) for case in (nothing, again)]
    wire.append(Set(Case("nothing-other", "nothing, another"), made.wire_other, filters.Nothing()))
    wire += _in_qemu(made.wire_hostvlan, functools.partial(_of_wire, made), link, tables)
    empty = Case("stage", "a stage that passes everything", ours=True)
    wire.append(Set(empty, made.wire_stage, filters.Nothing()))
    return {GUEST: guest, WIRE: wire, PROCESS: process}


def _of_guest(made: Ports) -> dict[str, Any]:
    (info,) = made.guest.qmp("query-hostvlan", id=ports.NETDEV)
    return dict(info)


def _of_wire(made: Ports) -> dict[str, Any]:
    (info,) = made.forwarder.command("query-hostvlan", id=ports.WIRE_NETDEV)
    return dict(info)


def _warm_up(plan: Plan, guest: Sequence[Set], known: Mapping[str, Load]) -> None:
    """Let QEMU translate the guest's code for each port."""
    for each in {each.port.path.name: each for each in guest}.values():
        for name in plan.loads:
            with contextlib.suppress(RuntimeError, OSError):
                each.measure(known[name], _WARM_UP)


def _rounds(plan: Plan, made: Ports, sets: Mapping[str, Sequence[Set]]) -> Samples:
    known = {**LOADS, _WEB: _web([made.filtered, made.hostvlan, made.other])}
    samples = Samples(plan.rounds)
    for where in sets.values():
        for each in where:
            each.check()
    _warm_up(plan, sets[GUEST], known)
    for index in range(plan.rounds):
        for place, there in sets.items():
            for name in plan.loads if place == GUEST else (loads.LATENCY,):
                for each in turned(there, index):
                    once = functools.partial(each.measure, known[name], plan.seconds)
                    samples.record(index, place + each.case.name, known[name], once)
    return samples


def _run(plan: Plan, folder: File) -> Results:
    """Measure everything; publish before the guest ends, as that may fail."""
    print("making the tables", flush=True)
    tables = {size: tenants.make_table(folder, size, ports.PARTS) for size in tenants.SIZES}
    sizes = [size for size in tenants.SIZES if size]
    lookups = lookup.measure(lookup.build(folder), sizes)
    programs = lookup.in_kernel(list(tables.values()))
    link = folder / "lnid.table"
    link.symlink_to(tables[0])
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(ports.opened(loads.build_pingpong(folder), folder, link))
        for table in tables.values():
            stack.enter_context(filters.kept(made.host, table))
        sets = _sets(made, link, tables)
        samples = _rounds(plan, made, sets)
        octets = {size: table.stat().st_size for size, table in tables.items()}
        cases = {where: [each.case for each in there] for where, there in sets.items()}
        results = Results(plan.seconds, samples, cases, lookups, programs, octets)
        hostvlan_report.publish(results, plan.output)
    return results


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 1 when a measurement failed."""
    plan = parse(arguments)
    tools.require("ab", "ebtables-nft-restore", "gcc", "ip", "iperf3", "nft", "ping", "pkg-config")
    if not twin.OBJECT.exists():
        raise tools.MissingTool(f"{twin.OBJECT} is not there: run 'make bpf'")
    net.reap_stale()
    with scratch.folder() as folder:
        results = _run(plan, File(folder))
    return 1 if results.samples.failures else 0
