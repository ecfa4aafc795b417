# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's control plane with all VMs of the data centre of its paper.

A real etcd holds 1,048,576 VMs of 16,384 tenants on 8,192 hosts.  Two of the hosts have the real
agent, each in a network namespace of its own. The other agents are simulated by connections with
the watches of an agent, as many as the machine can hold.

    load       'vmmnet hostvlan import' of all VMs, by the command's own library
    first      a host's agent starts without a table: until its file is complete
    change     one VM gets other LNIDs, by the command's own library: until the
               file that QEMU maps has them
    move       'vmmnet hostvlan move' to a host that does not know the tenant yet
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.base import conditions, net, paths, process, scratch, tools, wait
from lab.base.net import Interface, Namespace, Network
from lab.hosts.etcd import ENVIRONMENT, PORT, VMMNET, Agent, Etcd
from vmmnet.etcd.errors import StoreError
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.etcd.store import EtcdStore
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table, TableError
from vmmnet.inotify import FolderWatch
from vmmnet.values import mac as macs

from ..base import commandline, report
from .datacentre import ENTRIES, REAL, VMS_OF_TENANT, Datacentre

_HOSTS, _QUICK_HOSTS = 8192, 128
_ADDRESS = "192.0.2.1"
_STORE = "/vmmnet"
_QUOTA = 8 << 30
# Seconds for an answer of etcd: long, so that slow answers appear in the numbers.
_TIMEOUT = 120.0
# Number of processes for simulated agents, and seconds until all have started.
_PROCESSES, _SECONDS = 2, 300
# Interval of polling the file, as changes of a mapped file cause no event.
_LOOK = 0.0002
# The LNID that a VM gets and loses.
_OTHER = 1 << 31
# Published numbers of other projects, on other machines.
_ACHELOUS = "Achelous, 1.5 M VMs, SIGCOMM '23"
_SONIC = "SONiC EVPN, 132 K MACs in 4 min"


@dataclass(frozen=True)
class Plan:
    """Options of the command line."""

    hosts: int
    agents: int
    starts: int
    changes: int
    moves: int
    output: Path


@dataclass
class Row:
    """One metric."""

    name: str
    title: str
    unit: str
    values: Sequence[float]
    goal: str = ""
    peer: float | None = None
    peer_name: str | None = None
    #: Number of measurements, if there is not one for each value.
    runs: int = 0

    @property
    def ours(self) -> float:
        """The median."""
        return statistics.median(self.values)

    def entry(self) -> dict[str, object]:
        """Return the JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": float(f"{self.ours:.5g}"),
            "peer": self.peer,
            "peer_name": self.peer_name,
            "ratio": float(f"{self.ours / self.peer:.5g}") if self.peer else None,
            "runs": self.runs or len(self.values),
        }

    def cells(self) -> list[str]:
        """Return the line of the table."""
        ours = report.spread(self.values) if len(self.values) > 1 else report.number(self.ours)
        peer = f"{report.number(self.peer)} ({self.peer_name})" if self.peer else "-"
        runs = str(self.runs or len(self.values))
        return [self.title, self.unit, str(ours), self.goal or "-", peer, runs]


HEAD = ["", "unit", "measured", "goal", "published", "runs"]


@dataclass
class Bed:
    """etcd, the two hosts, and the operator."""

    plan: Plan
    datacentre: Datacentre
    etcd: Etcd
    agents: list[Agent]
    operator: Namespace
    #: The interface of each namespace.
    ends: dict[str, Interface]
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def store(self) -> Iterator[EtcdStore]:
        """Yield the store; this thread is in the operator's namespace meanwhile."""
        config = replace(parse_url(url(_ADDRESS)), timeout=_TIMEOUT)
        with self.operator.entered(), EtcdStore(config) as store:
            yield store

    def octets(self, space: Namespace) -> int:
        """Return the octets that have passed the interface of a namespace, both ways."""
        folder = f"/sys/class/net/{self.ends[space.name].name}/statistics"
        files = [f"{folder}/{way}_bytes" for way in ("rx", "tx")]
        return sum(map(int, space.run(["cat", *files]).stdout.split()))

    def ports(self, agent: Agent, vms: Sequence[int]) -> None:
        """Set the VMs of a host."""
        agent.port("vms", *(macs.text(self.datacentre.mac_of(vm)) for vm in vms))


def url(address: str) -> str:
    """Return the URL of the store for an address."""
    return f"etcd://{address}:{PORT}{_STORE}"


def parse(arguments: Sequence[str]) -> Plan:
    """Read the command line."""
    parser = commandline.parser("hostvlan-control", __doc__, quick="a sixty-fourth of it")
    parser.add_argument(
        "--agents", type=int, metavar="N", help="simulated agents (default: one for each host)"
    )
    given = parser.parse_args(arguments)
    hosts = _QUICK_HOSTS if given.quick else _HOSTS
    most = hosts - len(REAL)
    agents = most if given.agents is None else min(given.agents, most)
    starts, changes, moves = (3, 200, 3) if given.quick else (9, 2000, 10)
    return Plan(hosts, agents, starts, changes, moves, given.output)


# The bed


@contextlib.contextmanager
def _bed(plan: Plan, folder: Path) -> Iterator[Bed]:
    with Network() as network:
        middle = network.namespace("etcd")
        bridge = middle.bridge()
        bridge.add_address(f"{_ADDRESS}/24")
        (folder / "etcd").mkdir()
        everywhere = f"http://0.0.0.0:{PORT}"
        options = ["--listen-client-urls", everywhere, "--quota-backend-bytes", str(_QUOTA)]
        etcd = Etcd(middle, folder / "etcd", *options)
        spaces = [network.namespace(name) for name in ("one", "two", "operator")]
        ends = {}
        for number, space in enumerate(spaces, 2):
            ends[space.name] = network.connect(space, bridge, [f"192.0.2.{number}/24"]).a
        datacentre = Datacentre(plan.hosts)
        store = ("--store", url(_ADDRESS), "--store-timeout", str(_TIMEOUT))
        agents = [
            Agent(space, folder / space.name, store, datacentre.name_of(host))
            for host, space in zip(REAL, spaces, strict=False)
        ]
        etcd.start()
        yield Bed(plan, datacentre, etcd, agents, spaces[2], ends)
        for agent in agents:
            if agent.running is not None:
                agent.stop()


def _memory(child: subprocess.Popen[bytes] | None) -> float:
    """Return the resident memory of a process, in MB."""
    assert child is not None
    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1000


def _until(agent: Agent, done: Callable[[], bool]) -> None:
    """Wait until a condition holds in the agent's folder."""
    with FolderWatch(agent.folder) as watch:
        timer = threading.Timer(wait.PATIENCE, watch.stop)
        timer.start()
        while not done():
            if not watch.wait():
                raise wait.Timeout(f"{agent.name}: {agent.status()}\n{agent.log}")
        timer.cancel()


def _has(agent: Agent, entries: int) -> bool:
    """Return whether the table of a host has ``entries`` MACs."""
    try:
        with Table.open(agent.table, verify=False) as table:
            return len(table) == entries
    except TableError:
        return False


def _follows(agent: Agent, entries: int) -> bool:
    """Return whether the agent, too, reports so many entries, and that it watches."""
    status = agent.status()
    return status.get("state") == "following" and status["entries"] == entries


# What is measured


def _load(bed: Bed) -> None:
    with bed.store() as store:
        began = time.monotonic()
        store.load(bed.datacentre.entries(), replace=False)
        seconds = time.monotonic() - began
    vms = bed.datacentre.vms
    bed.rows += [
        Row("load-seconds", f"load: {vms:,} VMs into etcd", "s", [seconds]),
        Row(
            "load-rate", "load: VMs per second", "1/s", [vms / seconds], "", 132_000 / 240.0, _SONIC
        ),
        Row("etcd-memory", "load: etcd's memory", "MB", [_memory(bed.etcd.running)]),
        Row("etcd-database", "load: etcd's database", "MB", [_database(bed.etcd)]),
    ]


def _database(etcd: Etcd) -> float:
    (status,) = json.loads(etcd.ctl("endpoint", "status", "-w", "json"))
    return float(status["Status"]["dbSize"]) / 1e6


def _first(bed: Bed) -> None:
    """Start the real agents: the first one several times, then both permanently."""
    seconds, octets, memory = [], [], []
    for host, agent in zip(REAL, bed.agents, strict=True):
        bed.ports(agent, bed.datacentre.vms_of(host))
    first = bed.agents[0]
    for _ in range(bed.plan.starts):
        if first.running is not None:
            first.stop()
            first.table.unlink()
        before, began = bed.octets(first.space), time.monotonic()
        first.start()
        _until(first, lambda: _has(first, ENTRIES))
        seconds.append(time.monotonic() - began)
        _until(first, lambda: _follows(first, ENTRIES))
        octets.append((bed.octets(first.space) - before) / 1e6)
        memory.append(_memory(first.running))
    bed.agents[1].start()
    _until(bed.agents[1], lambda: _follows(bed.agents[1], ENTRIES))
    title = f"first: {ENTRIES:,} entries of a host"
    bed.rows += [
        Row("first-seconds", f"{title}, from the start of the agent", "s", seconds, "<= 1"),
        Row("first-octets", f"{title}, on the wire, until all is watched", "MB", octets),
        Row("agent-memory", "first: the agent's memory", "MB", memory),
    ]


@contextlib.contextmanager
def _watching(bed: Bed) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start simulated agents for the other hosts, as many as possible."""
    before, began = _memory(bed.etcd.running), time.monotonic()
    wanted, first, children = bed.plan.agents, 0, []
    for left in range(_PROCESSES, 0, -1):
        count = wanted // left
        place = (url("127.0.0.1"), bed.plan.hosts, first, count, _SECONDS)
        words = [sys.executable, "-m", "bench.agents", *map(str, place)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        env = {"PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{paths.ROOT}"}
        children.append(bed.etcd.space.popen(words, env=env, **pipes))
        wanted, first = wanted - count, first + count
    try:
        reached = sum(_number(child) for child in children)
        each = (_memory(bed.etcd.running) - before) / max(1, reached)
        bed.rows.append(
            Row("watching-memory", "etcd's memory for one agent's watches", "MB", [each])
        )
        hosts = bed.plan.hosts
        bed.remarks.append(
            f"{reached:,} simulated agents and 2 real ones watch, after"
            f" {time.monotonic() - began:.0f} s. For all {hosts:,} etcd would need"
            f" {before:.0f} MB + {hosts:,} * {each:.3f} MB = {before + hosts * each:.0f} MB."
        )
        yield children
    finally:
        for child in children:
            process.stop(child)


def _number(child: subprocess.Popen[bytes]) -> int:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise RuntimeError("the simulated agents have ended")
    return int(line)


def _events(children: Sequence[subprocess.Popen[bytes]]) -> int:
    """Return the events that all simulated agents have received."""
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
    return sum(map(_number, children))


def _change(bed: Bed, children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Add and remove an LNID of VMs on other hosts that this host knows."""
    agent, datacentre = bed.agents[0], bed.datacentre
    tenants = [datacentre.lnid_of(vm) for vm in datacentre.vms_of(0)]
    told, before = _events(children), bed.octets(agent.space)
    waited = []
    with bed.store() as store:
        for number in range(bed.plan.changes):
            # The second VM of the tenant, on host 1 or 65 or ...
            vm = (tenants[number // 2 % len(tenants)] - 1) * VMS_OF_TENANT + 1
            wanted = datacentre.entry_of(vm)
            if number % 2 == 0:
                wanted = Entry.of(wanted.mac, {*wanted.lnids, _OTHER})
            began = time.monotonic()
            store.edit([wanted.mac], lambda _, __, wanted=wanted: wanted)  # type: ignore[misc]
            while not _says(agent.table, wanted):
                time.sleep(_LOOK)
            waited.append(1000 * (time.monotonic() - began))
    count = len(waited)
    octets = (bed.octets(agent.space) - before) / count
    cuts = statistics.quantiles(waited, n=100)
    title = "change: from the write to another host's table"
    achelous = (1000.0, _ACHELOUS)
    bed.rows += [
        Row("change-p50", f"{title}, median", "ms", [cuts[49]], runs=count),
        Row(
            "change-p99",
            f"{title}, 99th percentile",
            "ms",
            [cuts[98]],
            "<= 100",
            *achelous,
            runs=count,
        ),
        Row("change-octets", "change: on the wire to one host", "octets", [octets], runs=count),
    ]
    told = _events(children) - told
    bed.remarks.append(f"The simulated agents were told {told / count:.1f} events a change.")


def _says(path: Path, wanted: Entry) -> bool:
    with Table.open(path, verify=False) as table:
        return table.get(wanted.mac) == wanted


def _move(bed: Bed) -> None:
    """Move VMs from the first host to the second."""
    one, two = bed.agents
    here, there = map(bed.datacentre.vms_of, REAL)
    ready, whole, keys, octets, command = [], [], [], [], []
    for number in range(bed.plan.moves):
        vm = here.pop()
        store_before, before = _revision(bed), bed.octets(two.space)
        asked = bed.octets(bed.operator)
        words = [*VMMNET, "move", macs.text(bed.datacentre.mac_of(vm)), "--json"]
        words += ["--from", one.name, "--to", two.name, "--store", url(_ADDRESS)]
        began = time.monotonic()
        child = bed.operator.popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE)
        answer = json.loads(child.communicate(timeout=wait.PATIENCE)[0])
        whole.append(1000 * (time.monotonic() - began))
        ready.append(1000 * answer["ready_seconds"])
        command.append(bed.octets(bed.operator) - asked)
        there.append(vm)
        bed.ports(two, there)
        bed.ports(one, here)
        moved = VMS_OF_TENANT * (number + 1)
        for agent, entries in ((one, ENTRIES - moved), (two, ENTRIES + moved)):
            _until(agent, lambda agent=agent, entries=entries: _follows(agent, entries))  # type: ignore[misc]
        octets.append((bed.octets(two.space) - before) / 1000)
        keys.append(_revision(bed) - store_before)
    bed.rows += [
        Row("move-keys", "move: keys written, each a revision of etcd", "", keys),
        Row("move-ready", "move: until the destination is ready", "ms", ready),
        Row("move-command", "move: the whole command", "ms", whole),
        Row("move-octets-command", "move: on the wire, the command", "octets", command),
        Row("move-octets-host", "move: on the wire, the destination's agent", "kB", octets),
    ]


def _revision(bed: Bed) -> int:
    with bed.store() as store:
        return store.client.look(store.keys.format)[0]


def _publish(bed: Bed) -> None:
    centre, plan = bed.datacentre, bed.plan
    about = (
        f"{centre.vms:,} VMs, {centre.tenants:,} tenants, {centre.hosts:,} hosts;"
        f" {conditions.machine()}"
    )
    cells = [row.cells() for row in bed.rows]
    widths = [max(map(len, column)) for column in zip(HEAD, *cells, strict=True)]
    layout = "  ".join(f"{{:{width}}}" for width in widths)
    table = "\n".join(layout.format(*row).rstrip() for row in (HEAD, *cells))
    remarks = "\n".join(bed.remarks + bed.failures)
    print(f"\n{about}\n\n{table}\n\n{remarks}")
    plan.output.mkdir(parents=True, exist_ok=True)
    name = plan.output / "hostvlan-control"
    found = {"metrics": [row.entry() for row in bed.rows], "conditions": about}
    found |= {"remarks": bed.remarks, "failures": bed.failures}
    name.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    text = f"{about}.\n\n{report.markdown([HEAD, *cells])}\n{remarks}\n"
    name.with_suffix(".md").write_text(text)
    print(f"\nwritten: {name}.json, {name}.md")


def _measure(bed: Bed) -> None:
    for step in (_load, _first):
        print(f"  {step.__name__.strip('_')}", flush=True)
        step(bed)
    with _watching(bed) as children:
        print("  change", flush=True)
        _change(bed, children)
        print("  move", flush=True)
        _move(bed)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark."""
    plan = parse(arguments)
    tools.require("ip", "etcd", "etcdctl")
    net.reap_stale()
    # A connection each.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with scratch.folder() as folder, _bed(plan, Path(folder)) as bed:
        try:
            _measure(bed)
        except (StoreError, RuntimeError, OSError) as error:
            # Keep the earlier results.
            bed.failures.append(f"Failed: {error}")
        _publish(bed)
        return 1 if bed.failures else 0
