# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts with ports in eBPF, tables by etcd or by hand, and traffic between all of them.

    VMs --- bridge of host one  ---+
    VMs --- bridge of host two  ---+ switch       etcd: agents of one, two, three
    VMs --- bridge of host ...  ---+

The VMs' ends of the wires are in one namespace, where traffic.py is.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.base import process, wait
from lab.base.net import Interface, Namespace, Network
from lab.hosts import bridged
from lab.hosts.etcd import ENVIRONMENT, PORT, VMMNET, Agent, Etcd
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.bpf import twin
from vmmnet.hostvlan.etcd.store import EtcdStore
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

from . import policy
from .policy import ALONE, FOLLOWING, HOSTS, MOVING, VMS, Policy

URL = f"etcd://127.0.0.1:{PORT}/kills"
STORE = ("--store", URL)
_PROGRAMS = {"PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{Path(__file__).parents[1]}"}


@dataclass
class Host:
    """A host: its bridge with ports, and its table."""

    name: str
    space: Namespace
    bridge: Interface
    table: Path
    ports: dict[int, Interface] = field(default_factory=dict)

    def lnids(self) -> Policy:
        """What the table says, after a look at all of it."""
        with Table.open(self.table) as table:
            return {entry.mac: frozenset(entry.lnids) for entry in table}

    def attach(self) -> None:
        """Put HostVLAN on all ports."""
        with self.space.entered():
            for mac, port in self.ports.items():
                twin.attach(port.name, mac, self.table)

    def detach(self) -> None:
        """Take it off."""
        with self.space.entered():
            for each in twin.status(table=self.table):
                twin.detach(each.interface)

    def has(self, wanted: Policy) -> bool:
        """Whether table and eBPF say this of the VMs that move; those who have none have no key."""
        with Table.open(self.table, verify=False) as table:
            for vm in MOVING:
                entry = table.get(vm.mac)
                if frozenset(entry.lnids if entry else ()) != wanted.get(vm.mac, frozenset()):
                    return False
        return twin.is_synced(self.table)

    def check(self) -> None:
        """``vmmnet hostvlan check`` finds no fault, and the kernel's copy is the table."""
        words = [*VMMNET, "check", "--table", self.table, "--qmp", f"{self.table.parent}/*.qmp"]
        child = self.space.popen_with_sys(
            [*words, "--json"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said = child.communicate(timeout=wait.PATIENCE)[0].decode()
        assert child.returncode == 0, f"{self.name}: {said}"
        assert twin.is_synced(self.table), self.name
        left = {path.name for path in self.table.parent.glob(f"{self.table.name}*")}
        # An agent's file stays (see table.kept); a host without an agent has none.
        left.discard(f"{self.table.name}.agent")
        assert left == {self.table.name, f"{self.table.name}.lock"}, left


class Traffic:
    """The program that sends and judges."""

    def __init__(self, space: Namespace, interfaces: list[Interface]) -> None:
        words = [sys.executable, "-m", "kills.traffic", *(each.name for each in interfaces)]
        self._child = space.popen(
            words, env=_PROGRAMS, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def window(self, frames: int, now: Policy) -> dict[str, Any]:
        """Have so many frames judged by the whole policy; returns all that was found so far."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        request = {
            "frames": frames,
            "policy": {vm.mac: sorted(now.get(vm.mac, ())) for vm in MOVING},
        }
        self._child.stdin.write(json.dumps(request).encode() + b"\n")
        self._child.stdin.flush()
        if not select.select([self._child.stdout], [], [], wait.PATIENCE)[0]:
            raise wait.Timeout("the traffic is not judged")
        answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        assert not answer["wrong"], answer
        assert not answer["dropped"], "the test itself was too slow"
        return answer

    def stop(self) -> None:
        """End it."""
        process.stop(self._child)


@dataclass
class Bed:
    """Everything."""

    folder: Path
    etcd: Etcd
    hosts: dict[str, Host]
    agents: dict[str, Agent]
    ends: list[Interface]
    traffic: Traffic | None = None

    @property
    def alone(self) -> Host:
        """The host without agent."""
        return self.hosts[ALONE]

    @contextlib.contextmanager
    def store(self) -> Iterator[EtcdStore]:
        """The store in etcd; agents know it by the same name."""
        with self.etcd.space.entered(), EtcdStore(parse_url(URL)) as store:
            yield store

    def begin(self, first: Policy) -> Traffic:
        """Bring a policy into force, then the ports, then the traffic."""
        entries = [Entry.of(mac, lnids) for mac, lnids in first.items()]
        self.etcd.start()
        with self.store() as store:
            store.load(entries, replace=False)
        with Table.change(self.alone.table) as change:
            change.replace(entries)
        for agent in self.agents.values():
            agent.port("vms", *map(macs.text, self.hosts[agent.name].ports))
            agent.start()
        for name in FOLLOWING:
            self.until(name, policy.mirrored(name, first))
        for host in self.hosts.values():
            host.attach()
        self.traffic = Traffic(self.ends[0].namespace, self.ends)
        return self.traffic

    def end(self) -> None:
        """End it all, and leave nothing in the kernel."""
        if self.traffic is not None:
            self.traffic.stop()
        for agent in self.agents.values():
            if agent.running is not None:
                agent.stop()
        for host in self.hosts.values():
            host.detach()

    def until(self, name: str, wanted: Mapping[int, frozenset[int]]) -> None:
        """Wait until the table of a host with an agent says this, and all of this."""
        host, agent = self.hosts[name], self.agents[name]
        try:
            wait.until(
                lambda: host.table.exists() and host.lnids() == wanted, f"the table of {name}"
            )
        except wait.Timeout as error:
            raise AssertionError(f"{error}\n{agent.status()}\n{agent.log}") from error

    def writer(self, log: Path, seed: int) -> subprocess.Popen[bytes]:
        """Start a program that changes the table in etcd."""
        words = [sys.executable, "-m", "kills.writer", URL, str(seed)]
        with log.open("ab") as out:
            return self.etcd.space.popen(words, env=_PROGRAMS, stdout=out)

    def command(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start ``vmmnet hostvlan``: where etcd is if it is to change that."""
        streams = {"env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        if "--store" in words:
            return self.etcd.space.popen([*VMMNET, *words], **streams)
        return process.start([*VMMNET, *words], **streams)  # type: ignore[arg-type]


@contextlib.contextmanager
def bed(network: Network, folder: Path) -> Iterator[Bed]:
    """A bed in which nothing runs yet; it leaves nothing in the kernel."""
    (folder / "etcd").mkdir()
    (folder / ALONE).mkdir()
    etcd = Etcd(network.namespace("etcd"), folder / "etcd")
    agents = {name: Agent(etcd.space, folder / name, STORE, name) for name in FOLLOWING}
    switch, vms = network.namespace("switch"), network.namespace("vms")
    for space in (switch, vms):
        space.sysctl(bridged.QUIET)
    uplink = switch.bridge()
    hosts = {}
    for name in HOSTS:
        space = network.namespace(name)
        space.sysctl(bridged.QUIET)
        host = hosts[name] = Host(name, space, space.bridge(), folder / name / "lnid.table")
        network.connect(host.bridge, uplink)
    ends = []
    for vm in VMS:
        link = network.connect(vms, hosts[vm.host].bridge)
        hosts[vm.host].ports[vm.mac] = link.b
        ends.append(link.a)
    made = Bed(folder, etcd, hosts, agents, ends)
    try:
        yield made
    finally:
        made.end()
