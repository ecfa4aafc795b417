# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's table in a real etcd: commands, agents, and what happens when etcd does not help."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import io
import itertools
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lab.base import process, tools, wait
from lab.base.net import Namespace, Network
from lab.hosts import ebpf
from lab.hosts import etcd as bed
from lab.hosts.etcd import PORT, Etcd
from lab.packages import certificates
from vmmnet.__main__ import main
from vmmnet.etcd.errors import Denied
from vmmnet.etcd.place import parse_url
from vmmnet.hostvlan.bpf import bpf, twin
from vmmnet.hostvlan.command import options as command_options
from vmmnet.hostvlan.etcd.keys import Keys
from vmmnet.hostvlan.etcd.store import EtcdStore
from vmmnet.hostvlan.host import metrics
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.values import mac as macs

A, B, C, D = (f"52:54:00:00:00:0{digit}" for digit in "1234")
#: Versions that are built from Go modules, beside the system's: one of each series.
ETCDS = ("v3.5.33", "v3.6.16", "v3.7.3")
#: Of an agent that is to miss its etcd soon.
HASTY = ("--store-timeout", "1")
#: Of everybody else: a busy disk is no failure.
PATIENT = ("--store-timeout", f"{wait.PATIENCE:.0f}")

_libc = ctypes.CDLL(None, use_errno=True)
_prefixes = itertools.count(1)


@contextlib.contextmanager
def inside(space: Namespace) -> Iterator[None]:
    """Let this thread, and threads that it starts, make their sockets in a namespace."""
    own, other = Path("/proc/thread-self/ns/net"), Path("/run/netns") / space.netns
    with own.open() as home, other.open() as there:
        try:
            assert _libc.setns(there.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
            yield
        finally:
            assert _libc.setns(home.fileno(), 0) == 0


def hostvlan(space: Namespace, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``vmmnet hostvlan`` in a namespace, in this process: a new one takes longer."""
    out, err = io.StringIO(), io.StringIO()
    with inside(space), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(["hostvlan", *words])
        except SystemExit as error:
            status = int(error.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


class Agent(bed.Agent):
    """The agent of a host, with what A, B, C and D are to it."""

    def until(self, **entries: Sequence[int]) -> None:
        """Wait until the table says exactly this of A, B, C, D, and the agent is done with it.

        A table says so before its writer has closed it: a test that damages the
        file waits for what the agent reports afterwards.
        """
        wanted = {globals()[name]: tuple(lnids) for name, lnids in entries.items()}

        def done() -> bool:
            status = self.status()
            told = (status.get("state"), status.get("entries"))
            return told == ("following", len(wanted)) and self.entries() == wanted

        try:
            wait.until(done, f"the table says {wanted}")
        except wait.Timeout as error:
            ended = self.running.poll() if self.running else None
            raise AssertionError(
                f"{self.entries()}\n{self.status()}\nended: {ended}\n{self.log}"
            ) from error

    def until_state(self, state: str) -> None:
        """Wait until it says so."""
        wait.until(lambda: self.status().get("state") == state, f"{self.name} is {state}")

    def until_proven(self) -> None:
        """Wait until its watches have received a report after all that they have received."""

        def is_proven() -> bool:
            numbers = self.metrics()
            return numbers["held_revision"] > numbers["revision"]

        wait.until(is_proven, f"the watches of {self.name} receive its report")

    def has_said(self, line: str) -> bool:
        """Whether its log has this."""
        return line in self.log

    def metrics(self) -> dict[str, float]:
        """What Prometheus reads."""
        with inside(self.space):
            url = f"http://127.0.0.1:{self.metrics_port}/metrics"
            with urllib.request.urlopen(url, timeout=wait.PATIENCE) as answer:
                lines = answer.read().decode().splitlines()
        pairs = (line.split() for line in lines if not line.startswith("#"))
        return {name.removeprefix("vmmnet_hostvlan_"): float(value) for name, value in pairs}


def edit(store: EtcdStore, address: str, lnids: Sequence[int] | None) -> None:
    """Give a MAC other LNIDs; None: remove it."""
    mac = macs.parse(address)
    entry = Entry.of(mac, lnids) if lnids else None
    store.edit([mac], lambda _, __: entry)


@dataclass
class World:
    """An etcd, a prefix of a test's own in it, and hosts that reach it."""

    etcd: Etcd
    folder: Path
    prefix: str
    options: Sequence[str] = ()
    scheme: str = "etcd"

    @property
    def space(self) -> Namespace:
        """Where everything runs."""
        return self.etcd.space

    @property
    def url(self) -> str:
        """The store's name."""
        return f"{self.scheme}://127.0.0.1:{PORT}{self.prefix}"

    @property
    def store_options(self) -> list[str]:
        """How a command is told of it."""
        return ["--store", self.url, *self.options, *PATIENT]

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command on the store."""
        first, *rest = words
        done = hostvlan(self.space, first, *self.store_options, *rest)
        assert not check or done.returncode == 0, done
        return done

    @contextlib.contextmanager
    def opened(self) -> Iterator[EtcdStore]:
        """The store in this process."""
        parser = argparse.ArgumentParser()
        command_options.add_store_options(parser)
        config = command_options.store_config(parser.parse_args(self.store_options))
        with inside(self.space), EtcdStore(config) as store:
            yield store

    def set(self, **entries: Sequence[int] | None) -> None:
        """Change A, B, C, D."""
        with self.opened() as store:
            for name, lnids in entries.items():
                edit(store, globals()[name], lnids)

    def agent(self, name: str = "h1", *more: str) -> Agent:
        """A host, whose agent is not started yet; it may have more options of the store."""
        options = ["--store", self.url, *self.options, *more]
        return Agent(self.space, self.folder / name, options, name)


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    tools.require("etcd", "etcdctl")
    with Network() as network:
        server = Etcd(network.namespace("etcd"), tmp_path_factory.mktemp("etcd"))
        server.start()
        yield server


@pytest.fixture
def world(etcd: Etcd, tmp_path: Path) -> Iterator[World]:
    """A prefix of its own; the test's agents end with it."""
    yield World(etcd, tmp_path, f"/test{next(_prefixes)}")
    end_agents(etcd.space)


def end_agents(space: Namespace) -> None:
    for child in space.children:
        if b"agent" in b" ".join(map(os.fsencode, child.args)):  # type: ignore[arg-type]
            process.stop(child)


@pytest.fixture
def agent(world: World) -> Agent:
    """A host with port A in LNID 7, beside B in 7 and 8, C in 8; its agent follows."""
    world.set(A=[7], B=[7, 8], C=[8])
    result = world.agent()
    result.port("vm1", A)
    result.start()
    result.until(A=[7], B=[7, 8])
    return result


# Commands

SESSION = """
import {folder}/more.csv --dry-run
add 52:54:00:00:00:01 7 --address 192.0.2.1 --address 10.8.0.0/24 --address 2001:db8:1::/64
add 52:54:00:00:00:02 7 8
add 52:54:00:00:00:02 9
add 52:54:00:00:00:03 global
set 52:54:00:00:00:02 8 4294967295
show 52:54:00:00:00:01
show 52:54:00:00:00:01 --json
remove 52:54:00:00:00:02 8
list
list --json
import {folder}/more.csv
list
import {folder}/fewer.csv --replace --dry-run
import {folder}/fewer.csv --replace --dry-run --json
import {folder}/none.csv --replace
list
import {folder}/fewer.csv --replace
export --format json
remove 52:54:00:00:00:04
remove 52:54:00:00:00:04
import {folder}/none.csv
import {folder}/none.csv --replace --dry-run --allow-empty
import {folder}/none.csv --replace --allow-empty
list
show 52:54:00:00:00:02
add 52:54:00:00:00:0 7
""".strip().splitlines()


def test_commands_are_those_of_one_host(world: World) -> None:
    """Word by word: a session on etcd, and the same on a file."""
    (world.folder / "more.csv").write_text(f"mac,lnids,addresses\n{D},1 2,\n{A},7,192.0.2.1\n")
    (world.folder / "fewer.csv").write_text(f"mac,lnids,addresses\n{D},1 2,\n{C},5,\n")
    (world.folder / "none.csv").write_text("mac,lnids,addresses\n")
    file = world.folder / "lnid.table"

    def session(name: str, *place: str) -> list[str]:
        said = []
        for line in SESSION:
            first, *rest = line.format(folder=world.folder).split()
            done = hostvlan(world.space, first, *place, *rest)
            text = f"{line}\n{done.returncode}\n{done.stdout}{done.stderr}".replace(name, "TABLE")
            # A file that is near looks for a slip as well.
            text = text.partition("; near it")[0]
            said.append("\n".join(each for each in text.splitlines() if "made" not in each))
        return said

    in_etcd = session(world.url, *world.store_options)
    assert in_etcd == session(str(file), "--table", str(file))
    assert "\n0\n" in in_etcd[0]
    assert "\n1\n" in in_etcd[-2]
    assert "no fault found" in world.run("check").stdout


def test_nobodys_change_is_lost(world: World) -> None:
    """Eight writers give one MAC eight LNIDs each, and eight MACs one LNID each."""
    mac = macs.parse(A)
    failures = []

    def write(number: int) -> None:
        try:
            with world.opened() as store:
                for lnid in range(1 + 8 * number, 9 + 8 * number):
                    store.edit(
                        [mac, mac + lnid],
                        lambda each, before, lnid=lnid: Entry.of(  # type: ignore[misc]
                            each, {*(before.lnids if before else ()), lnid}
                        ),
                    )
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures
    with world.opened() as store:
        assert store.get(mac) == Entry.of(mac, range(1, 65))
        assert len(list(store.entries())) == 65
        assert [entry.mac for entry in store.entries(9)] == [mac, mac + 9]
        assert list(store.problems()) == []


def test_a_change_that_etcd_cannot_hold_is_refused(world: World) -> None:
    world.run("set", A, *map(str, range(1, 65)))
    done = world.run("set", A, *map(str, range(101, 165)), check=False)
    assert done.returncode == 1
    assert "remove it, then add it" in done.stderr
    with world.opened() as store:
        assert store.get(macs.parse(A)) == Entry.of(macs.parse(A), range(1, 65))


def test_check_finds_what_others_have_broken(world: World) -> None:
    world.set(A=[7], B=[7])
    keys = Keys(world.prefix)
    world.etcd.ctl("del", keys.member(7, macs.parse(A)).decode())
    world.etcd.ctl("put", keys.member(8, macs.parse(B)).decode(), '{"lnids":[8]}')
    world.etcd.ctl("put", keys.mac(macs.parse(C)).decode(), "nonsense")
    done = world.run("check", check=False)
    assert done.returncode == 3
    assert len([line for line in done.stdout.splitlines() if line.startswith("fault")]) == 3
    assert A in done.stdout
    assert "lnid/00000008/52:54:00:00:00:02" in done.stdout
    assert "nonsense" in done.stdout


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("etcd://127.0.0.1:1/p", "127.0.0.1:1: Connection refused: is it running"),
        ("etcds://127.0.0.1/p", "write etcd:// instead of etcds://"),
        ("etcd://127.0.0.1:80/p", "is it etcd 3.4 or newer"),
        ("etcd://127.0.0.1/nowhere", "there is no table below the prefix /nowhere: is it right?"),
    ],
)
def test_mistakes_are_explained(world: World, url: str, complaint: str) -> None:
    with inside(world.space):
        other = metrics.Server(("127.0.0.1", 80), str)
    done = hostvlan(world.space, "list", "--store", url)
    other.close()
    assert done.returncode == 1
    assert complaint in done.stderr


def test_a_prefix_that_was_forgotten_or_mistyped(world: World) -> None:
    """What is read is refused, and who makes a second table is told of the first."""
    where = f"etcd://127.0.0.1:{PORT}"
    first, second = f"{world.prefix}/hostvlan", world.prefix
    done = hostvlan(world.space, "add", A, "7", "--store", where + first)
    assert done.returncode == 0
    assert f"made the table {where}{first}: an agent follows it whose --store has" in done.stderr
    for words in (["list"], ["show", A], ["remove", A]):
        done = hostvlan(world.space, *words, "--store", where + second)
        assert done.returncode == 1
        assert f"no table below the prefix {second}: there is one at {first};" in done.stderr
    for prefix in (second, f"{second}/other"):
        done = hostvlan(world.space, "add", B, "8", "--store", where + prefix)
        assert f"made the table {where}{prefix}:" in done.stderr
        assert f"there is one at {first if prefix == second else second} already" in done.stderr
        done = hostvlan(world.space, "add", C, "8", "--store", where + prefix)
        assert done.stderr == ""


def test_another_endpoint_answers(world: World) -> None:
    world.set(A=[7])
    url = f"etcd://127.0.0.1:1,[::1]:1,127.0.0.1:{PORT}{world.prefix}"
    with inside(world.space), EtcdStore(parse_url(url)) as store:
        assert store.get(macs.parse(A)) == Entry.of(macs.parse(A), [7])


# What an agent mirrors


def test_a_host_has_what_its_ports_need(world: World, agent: Agent) -> None:
    world.set(D=[0])
    agent.until(A=[7], B=[7, 8], D=[0])
    world.set(A=[7, 8])
    agent.until(A=[7, 8], B=[7, 8], C=[8], D=[0])
    world.set(B=None)
    agent.until(A=[7, 8], C=[8], D=[0])
    agent.port("vm2", C)
    world.set(A=[7], B=[9])
    agent.until(A=[7], C=[8], D=[0])
    # A port in the global LNID hears everybody.
    world.set(A=[0])
    agent.until(A=[0], B=[9], C=[8], D=[0])
    (agent.ports / "vm1").unlink()
    agent.until(A=[0], C=[8], D=[0])


def test_a_host_has_prefixes(world: World, agent: Agent) -> None:
    router = Entry.of(macs.parse(B), [7], [8 << 32 | 0x0A080000], [64 << 128 | 0x20010DB8 << 96])
    with world.opened() as store:
        store.load([router], replace=False)

    def has() -> bool:
        with Table.open(agent.table) as table:
            return table.get(router.mac) == router

    wait.until(has, "the host's table has the prefixes")


def test_many_macs_come_in_pages_and_at_once(world: World, agent: Agent) -> None:
    many = [Entry.of(0x525401000000 + number, [7]) for number in range(4500)]
    with world.opened() as store:
        assert store.load(many, replace=False).added == 4500
    wait.until(lambda: len(agent.entries() or ()) == 4502, "4,502 entries")
    second = world.agent("h2")
    agent.stop()
    second.port("vm1", A)
    second.start()
    wait.until(lambda: len(second.entries() or ()) == 4502, "4,502 entries")
    with Table.open(second.table) as table:
        assert table.generation <= 2
    with world.opened() as store:
        loaded = store.load([Entry.of(macs.parse(A), [7])], replace=True)
        assert (loaded.removed, loaded.unchanged) == (4502, 1)
    second.until(A=[7])


def test_a_port_goes_through_many_lnids(world: World, agent: Agent) -> None:
    """Each is watched from then on, also one that was left and has changed meanwhile."""
    world.set(C=[8, *range(20, 40)])
    for lnid in (*range(20, 32), 7, 31, 7):
        world.set(A=[lnid])
        there: dict[str, Sequence[int]] = {"B": [7, 8]} if lnid == 7 else {"C": [8, *range(20, 40)]}
        agent.until(A=[lnid], **there)
    world.set(A=[8])
    agent.until(A=[8], B=[7, 8], C=[8, *range(20, 40)])
    world.set(B=[8], D=[7])
    agent.until(A=[8], B=[8], C=[8, *range(20, 40)])
    world.set(A=[7])
    agent.until(A=[7], D=[7])
    world.set(B=[7, 9])
    agent.until(A=[7], B=[7, 9], D=[7])


def test_a_folder_of_ports_that_goes_and_comes_back(world: World, agent: Agent) -> None:
    # At once: of one that is emptied first, the ports have gone.
    agent.ports.rename(agent.folder / "elsewhere")
    wait.until(lambda: "is gone" in agent.log, "the agent has seen it")
    world.set(D=[7])
    agent.until(A=[7], B=[7, 8], D=[7])
    agent.ports.mkdir(parents=True)
    agent.port("vm3", C)
    agent.until(B=[7, 8], C=[8])
    agent.port("vm3", C, "nonsense")
    wait.until(lambda: "'nonsense'" in agent.log, "the agent complains")
    agent.until(B=[7, 8], C=[8])


def test_values_that_nobody_can_read_let_nothing_pass(world: World, agent: Agent) -> None:
    world.etcd.ctl("put", Keys(world.prefix).member(7, macs.parse(B)).decode(), "nonsense")
    agent.until(A=[7])
    assert agent.metrics()["bad_values_total"] == 1
    assert "nonsense" in agent.log


def test_what_somebody_else_does_to_the_table_is_undone(world: World, agent: Agent) -> None:
    with Table.change(agent.table) as change:
        change.set(Entry.of(macs.parse(C), [7]))
    world.set(D=[7])
    agent.until(A=[7], B=[7, 8], D=[7])
    agent.table.write_bytes(b"damaged")
    world.set(D=None)
    agent.until(A=[7], B=[7, 8])
    agent.table.unlink()
    world.set(D=[7])
    agent.until(A=[7], B=[7, 8], D=[7])


def test_a_command_does_not_change_the_table_of_an_agent(world: World, agent: Agent) -> None:
    """The agent would undo it; when the agent has ended, the table is a file like others."""
    words = ["add", D, "7", "--table", str(agent.table)]
    done = hostvlan(world.space, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert agent.running is not None
    assert f"(process {agent.running.pid}) keeps it as {world.url} says" in done.stderr
    assert hostvlan(world.space, "list", "--table", str(agent.table)).returncode == 0
    second = world.agent("h2", *HASTY)
    second.table = agent.table
    second.start()
    wait.until(lambda: f"another agent (process {agent.running.pid})" in second.log, "it is told")
    second.stop()
    agent.kill()
    assert hostvlan(world.space, *words).returncode == 0


def test_a_table_that_cannot_be_written_is_written_later(world: World, agent: Agent) -> None:
    hidden = agent.folder.rename(agent.folder.with_name("hidden"))
    world.set(D=[7])
    wait.until(lambda: agent.metrics()["write_errors_total"], "a failure to write")
    hidden.rename(agent.folder)
    agent.until(A=[7], B=[7, 8], D=[7])
    wait.until(lambda: not agent.metrics()["table_unwritten"], "the agent knows")


def test_ebpf_that_could_not_have_the_table_has_it_later(world: World, agent: Agent) -> None:
    ebpf.compiled()
    pair = ["vm1", "type", "veth", "peer", "name", "vm1-in", "address", A]
    world.space.ip("link", "add", *pair)
    with inside(world.space):
        twin.attach("vm1", macs.parse(A), agent.table)
    try:
        tables = twin.folder_of(agent.table) / "tables"
        hidden = tables.rename(tables.with_name("hidden"))
        tables.mkdir()
        world.set(D=[7])
        wait.until(lambda: agent.metrics()["twin_errors_total"], "a failure to copy")
        tables.rmdir()
        hidden.rename(tables)
        wait.until(lambda: twin.is_synced(agent.table), "eBPF has the table")
        wait.until(lambda: "eBPF has the table again" in agent.log, "the agent to say so")
    finally:
        world.space.ip("link", "del", "vm1")


def tear(space: Namespace, interface: str) -> None:
    """Detach the program for frames to a VM, as a program may that cleans up."""
    with inside(space):
        (found,) = twin.status(interface)
    pin = twin.folder_of(found.table) / f"{found.netns}-{found.ifindex}" / "receive"
    with bpf.closing(bpf.pinned(pin)) as link:
        bpf.link_detach(link)


@pytest.fixture
def veths(world: World) -> Iterator[tuple[str, str]]:
    """Two interfaces of the host."""
    ebpf.compiled()
    names = ("vm1", "vm2")
    for name in names:
        world.space.ip("link", "add", name, "type", "veth", "peer", "name", f"{name}-in")
    yield names
    for name in names:
        world.space.ip("link", "del", name)


def test_a_hook_that_was_torn_off_is_mended(
    world: World, agent: Agent, veths: tuple[str, str]
) -> None:
    """Whether etcd answers or not; log and numbers tell, and another agent does it, too."""
    name, _ = veths
    with inside(world.space):
        twin.attach(name, macs.parse(A), agent.table)
    lost = f"eBPF: {name}: the program at tc egress was removed"
    mended = f"eBPF: {name}: attached again at tc egress"
    assert agent.metrics()["hooks_mended_total"] == 0
    world.etcd.kill()
    try:
        agent.until_state("store lost")
        tear(world.space, name)
        wait.until(lambda: lost in agent.log and mended in agent.log, "it is mended")
    finally:
        world.etcd.start()
    numbers = agent.metrics()
    told = ("hooks_missing", "hooks_preceded", "hooks_mended_total")
    assert [numbers[each] for each in told] == [0, 0, 1]
    agent.kill()
    tear(world.space, name)
    agent.start()
    wait.until(lambda: agent.log.count(mended) == 2, "the next agent mends it")
    agent.until(A=[7], B=[7, 8])
    assert agent.status()["interface_faults"] == []


def test_a_remade_interface_is_attached_again(
    world: World, agent: Agent, veths: tuple[str, str]
) -> None:
    """Even after a change of the table, which removes what belongs to one that is gone."""
    name, other = veths
    for each, mac in ((name, A), (other, B)):
        with inside(world.space):
            twin.attach(each, macs.parse(mac), agent.table)
        tear(world.space, each)
        line = f"{each}: attached again"
        wait.until(functools.partial(agent.has_said, line), "the agent knows it")
        world.space.ip("link", "del", each)
    world.set(D=[7])
    wait.until(lambda: not twin.status(table=agent.table), "nothing of it is left")
    for each in veths:
        world.space.ip("link", "add", each, "type", "veth", "peer", "name", f"{each}-in")
        world.space.ip("link", "set", each, "up")
    wait.until(lambda: f"{name} was made again: attached for {A}" in agent.log, "attached again")
    wait.until(lambda: f"{B} is not a port of this host" in agent.log, "no port is behind vm2")
    with inside(world.space):
        assert [each.interface for each in twin.status(table=agent.table)] == [name]
        twin.detach(name)
    wait.until(lambda: f"{name}: somebody has detached it" in agent.log, "the agent knows that")
    assert not twin.status(table=agent.table)


def test_a_hook_that_nobody_mends_is_told(
    world: World, agent: Agent, veths: tuple[str, str]
) -> None:
    """One of another table than the agent's: by its numbers, and by a check on this host."""
    name, _ = veths
    table = agent.folder / "other.table"
    Table.create(table)
    with inside(world.space):
        twin.attach(name, macs.parse(A), table)
    assert agent.metrics()["hooks_missing"] == 0
    tear(world.space, name)
    numbers = agent.metrics()
    assert (numbers["hooks_missing"], numbers["hooks_preceded"]) == (1, 0)
    done = world.run("check", check=False)
    assert done.returncode == 3
    assert f"fault: {name}: the programs are missing at tc egress" in done.stdout


def test_prometheus_has_what_ports_drop(world: World, agent: Agent) -> None:
    """By port and reason; of a port that is gone there is nothing more."""
    ebpf.compiled()
    # The system sends frames there too: they have the VM's address, so none of them is forged.
    inner_end = ["peer", "name", "vm1-in", "address", A]
    world.space.ip("link", "add", "vm1", "type", "veth", *inner_end)
    for name in ("vm1", "vm1-in"):
        world.space.ip("link", "set", name, "up")
    world.space.ip("address", "add", "192.0.2.1/24", "dev", "vm1-in")
    labels = f'direction="send",mac="{A}",port="vm1"'
    with inside(world.space):
        twin.attach("vm1", macs.parse(A), agent.table)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as system:
            system.sendto(b"", ("192.0.2.2", 9))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as inner:
            inner.bind(("vm1-in", 0))
            for address in (A, B, B):
                octets = bytes.fromhex("ff" * 6 + address.replace(":", "") + "88b5")
                inner.send(octets.ljust(60, b"\0"))
    try:
        numbers = agent.metrics()
        assert numbers[f'port_drops_total{{{labels},reason="spoofed"}}'] == 2
        assert numbers[f"port_passed_total{{{labels}}}"] >= 1
        assert numbers[f'port_drops_total{{{labels},reason="ra-guard"}}'] == 0
        assert (numbers["ports_left_out"], numbers["ports_unread"]) == (0, 0)
    finally:
        world.space.ip("link", "del", "vm1")
    assert not [name for name in agent.metrics() if "vm1" in name]


def test_an_agent_that_is_killed_leaves_a_whole_table(world: World, agent: Agent) -> None:
    """At any moment of a stream of changes; the next agent goes on from there."""
    over = threading.Event()
    others = [0x525402000000 + number for number in range(100)]

    def write() -> None:
        with world.opened() as store:
            for number in itertools.count(1):
                if over.is_set():
                    return
                lnids = [7] if number % 3 else [7, number]
                store.load([Entry.of(mac, lnids) for mac in others], replace=False)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            before = agent.entries()
            wait.until(lambda before=before: agent.entries() != before, "the table changes")  # type: ignore[misc]
            agent.kill()
            found = agent.entries()
            assert found[A] == (7,)
            assert found[B] == (7, 8)
            agent.start()
    finally:
        over.set()
        writer.join()
    with world.opened() as store:
        truth = {macs.text(entry.mac): entry.lnids for entry in store.entries(7)}
    wait.until(lambda: agent.entries() == truth, "the table is that of the store")


# Without etcd


def test_the_table_stays_in_force_without_etcd(world: World, agent: Agent) -> None:
    before = agent.entries()
    world.etcd.kill()
    try:
        agent.until_state("store lost")
        assert agent.metrics()["store_up"] == 0
        assert agent.entries() == before
        assert agent.stop() == 0
        # Nor does the end of the agent, or its start without etcd, change it.
        assert agent.entries() == before
        agent.notify = agent.folder / "notify"
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as service:
            service.bind(str(agent.notify))
            service.settimeout(wait.PATIENCE)
            agent.start()
            while service.recv(4096) != b"READY=1":
                pass
        agent.until_state("store lost")
        assert agent.entries() == before
        wait.until(lambda: agent.log.count("stays in force") == 2, "the agent to say so")
    finally:
        world.etcd.start()
    world.set(D=[7])
    agent.until(A=[7], B=[7, 8], D=[7])
    assert "is there again" in agent.log


def test_a_watch_goes_on_where_it_was(world: World, agent: Agent) -> None:
    """Killed and started again, etcd is asked for what has changed, not for everything."""
    agent.until_proven()
    generation = agent.status()["generation"]
    agent.signal(signal.SIGSTOP)
    try:
        world.etcd.kill()
        world.etcd.start()
        world.set(D=[7], B=[7])
    finally:
        agent.signal(signal.SIGCONT)
    agent.until(A=[7], B=[7], D=[7])
    numbers = agent.metrics()
    assert numbers["resyncs_total"] == 1
    assert numbers["disconnections_total"] == 1
    assert numbers["compactions_total"] == numbers["twin_errors_total"] == 0
    # Two entries; each of their keys is told by itself, or with others.
    assert 2 <= numbers["changes_total"] <= 4
    assert generation < numbers["generation"] <= generation + 2


def test_what_was_compacted_meanwhile_is_read_again_without_a_gap(
    world: World, agent: Agent
) -> None:
    agent.until_proven()
    agent.signal(signal.SIGSTOP)
    try:
        world.etcd.kill()
        world.etcd.start()
        for lnids in ([7], [8], [7, 9]):
            world.set(D=lnids, C=[7, *lnids[1:]])
        world.set(B=None)
        with world.opened() as store:
            revision = store.client.look(store.keys.format)[0]
        world.etcd.ctl("compact", str(revision))
    finally:
        seen = watched(agent, A)
        agent.signal(signal.SIGCONT)
    with seen:
        agent.until(A=[7], C=[7, 9], D=[7, 9])
    numbers = agent.metrics()
    assert numbers["compactions_total"] == 1
    assert numbers["resyncs_total"] == 2
    assert numbers["entries"] == 3


@contextlib.contextmanager
def watched(agent: Agent, address: str) -> Iterator[None]:
    """Look all the time whether the table still has an entry; it must."""
    over = threading.Event()
    missing = []

    def look() -> None:
        while not over.is_set():
            with Table.open(agent.table, verify=False) as table:
                if table.get(macs.parse(address)) is None:
                    missing.append(table.generation)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert not missing


def test_a_store_from_a_backup_is_read_again(network: Network, tmp_path: Path) -> None:
    """Its revisions are lower than those that the agent has seen; and an empty one is none."""
    etcd = Etcd(network.namespace("etcd"), tmp_path)
    etcd.start()
    world = World(etcd, tmp_path, "/t")
    for lnid in range(1, 20):
        world.set(A=[7], B=[lnid])
    world.set(B=[7])
    agent = world.agent()
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7], B=[7])
    etcd.kill()
    (tmp_path / "data").rename(tmp_path / "lost")
    etcd.start()
    wait.until(lambda: "there is no table" in agent.log, "the agent sees an empty store")
    assert agent.entries() == {A: (7,), B: (7,)}
    world.set(A=[7], C=[7])
    agent.until(A=[7], C=[7])
    assert agent.metrics()["resyncs_total"] == 2


def test_an_etcd_that_hangs_is_noticed(world: World) -> None:
    world.set(A=[7])
    agent = world.agent("h1", *HASTY)
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7])
    assert world.etcd.running is not None
    os.kill(world.etcd.running.pid, signal.SIGSTOP)
    try:
        agent.until_state("store lost")
        wait.until(lambda: "no answer in 1 s" in agent.log, "the agent to say why")
    finally:
        os.kill(world.etcd.running.pid, signal.SIGCONT)
    world.set(D=[7])
    agent.until(A=[7], D=[7])


# Moving a VM

# What moves a VM, of which the test sees what the two hosts' tables were.
COPY = "import shutil, sys; [shutil.copy(table, table + '.then') for table in sys.argv[1:]]"


@pytest.fixture
def two_hosts(world: World) -> tuple[Agent, Agent]:
    """VM A is on host one, which has been told so; host two has no VM."""
    world.set(A=[7], B=[7], C=[8])
    one, two = world.agent("one"), world.agent("two")
    with world.opened() as store:
        store.client.put(store.keys.assigned("one", macs.parse(A)), b"")
    one.start()
    one.until(A=[7], B=[7])
    return one, two


def read(table: Path) -> dict[str, tuple[int, ...]]:
    with Table.open(table) as found:
        return {macs.text(entry.mac): entry.lnids for entry in found}


def move(world: World, *more: str) -> subprocess.CompletedProcess[str]:
    return world.run("move", A, "--from", "one", "--to", "two", *more, check=False)


def test_a_move_makes_before_it_breaks(world: World, two_hosts: tuple[Agent, Agent]) -> None:
    one, two = two_hosts
    two.start()
    command = shlex.join([sys.executable, "-c", COPY, str(one.table), str(two.table)])
    done = move(world, "--run", command)
    assert done.returncode == 0, done.stderr
    assert "two was ready after" in done.stdout
    then = {A: (7,), B: (7,)}
    assert read(Path(f"{one.table}.then")) == read(Path(f"{two.table}.then")) == then
    two.until(A=[7], B=[7])
    one.until()
    assert two.status()["assigned"] == [A]
    # And back, to a host on which it says that its port is there already.
    one.port("vm1", A)
    one.until(A=[7], B=[7])
    done = world.run("move", A, "--from", "two", "--to", "one", "--json")
    assert json.loads(done.stdout)["lnids"] == [7]
    two.until()
    with world.opened() as store:
        assert store.client.get(store.keys.ready("one", macs.parse(A))) is not None
        gone = store.keys.ready("two", macs.parse(A))
        wait.until(lambda: store.client.get(gone) is None, "two takes its word back")


def test_a_move_that_cannot_be_leaves_all_as_it_was(
    world: World, two_hosts: tuple[Agent, Agent]
) -> None:
    one, two = two_hosts
    done = move(world, "--timeout", "0.5")
    assert done.returncode == 1
    assert "two has not reported in 0.5 s that it is ready" in done.stderr
    assert "is its agent running" in done.stderr
    two.start()
    two.until()
    done = move(world, "--run", "false")
    assert done.returncode == 1
    assert "--run 'false': ended with status 1: nothing is changed" in done.stderr
    two.until()
    one.until(A=[7], B=[7])
    done = world.run("move", D, "--from", "one", "--to", "two", check=False)
    assert done.returncode == 1
    assert f"{D} is not in" in done.stderr
    assert world.run("move", A, "--from", "one", "--to", "one", check=False).returncode == 2


def test_a_move_that_etcd_does_not_see_to_its_end(
    world: World, two_hosts: tuple[Agent, Agent]
) -> None:
    """The VM has moved, or has not: what is said is so, and doing it again ends it."""
    one, two = two_hosts
    two.start()
    two.until()
    assert world.etcd.running is not None
    kill = f"kill -9 {world.etcd.running.pid}"
    try:
        done = move(world, "--run", kill)
        assert done.returncode == 4, done
        assert "one may still be ready for 52:54:00:00:00:01: repeat" in done.stderr
        assert "told" not in done.stdout
        one.until_state("store lost")
        world.etcd.start()
        two.until_state("following")
        kill = f"sh -c 'kill -9 {world.etcd.running.pid}; exit 3'"
        move_b = ["move", B, "--from", "one", "--to", "two", "--run", kill]
        done = world.run(*move_b, check=False)
        assert done.returncode == 1
        assert (
            "ended with status 3; the destination may still be ready for the VM: etcd"
            in done.stderr
        )
    finally:
        world.etcd.kill()
        world.etcd.start()
    two.until(A=[7], B=[7])
    assert move(world).returncode == 0
    one.until()


# Who may do what


@pytest.fixture
def guarded(network: Network, tmp_path: Path) -> World:
    """An etcd with TLS on both sides, users and passwords: what a data centre has."""
    certificates.make(tmp_path, "one")
    files = {name: str(tmp_path / f"{name}.pem") for name in ("ca", "one")}
    key = str(tmp_path / "one.key")
    options = ["--cert-file", files["one"], "--key-file", key, "--client-cert-auth"]
    options += ["--trusted-ca-file", files["ca"], "--bcrypt-cost", "4"]
    etcd = Etcd(network.namespace("etcd"), tmp_path, *options, tls=True)
    etcd.start()
    tls = ["--store-ca", files["ca"], "--store-cert", files["one"], "--store-key", key]
    world = World(etcd, tmp_path, "/t", tls, "etcds")
    for words in (["agent", "h1"], ["agent", "h2"], ["writer", "operator"], ["enable"]):
        world.run("roles", *words, "--password-file", str(tmp_path / f"{words[-1]}.password"))
    return world


def known_as(world: World, user: str, file: str) -> World:
    words = ["--store-user", user, "--store-password-file", str(world.folder / file)]
    return replace(world, options=[*world.options, *words])


def test_an_agent_reads_and_cannot_change_the_table(guarded: World) -> None:
    operator = known_as(guarded, "operator", "operator.password")
    host = known_as(guarded, "vmmnet-agent-h1", "h1.password")
    operator.run("add", A, "7")
    operator.run("add", B, "7")
    agent = host.agent("h1")
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7], B=[7])
    file = guarded.folder / "more.csv"
    file.write_text(f"mac,lnids,addresses\n{C},7,\n")
    for words in (["add", C, "7"], ["set", A, "8"], ["remove", B], ["import", str(file)]):
        done = host.run(*words, check=False)
        assert done.returncode == 1, words
        assert "permission denied: the user has no role that allows it" in done.stderr
    assert host.run("show", A).returncode == 0
    # It says of itself that it is ready, and nothing of others.
    wrong = replace(host, prefix="/u").run("list", check=False)
    assert "is the prefix of --store, /u, right?" in wrong.stderr
    move = ["move", A, "--from", "h2", "--to", "h1"]
    assert "permission denied" in host.run(*move, check=False).stderr
    assert operator.run(*move).returncode == 0
    liar = known_as(guarded, "vmmnet-agent-h2", "h2.password").agent("h3")
    liar.start()
    with operator.opened() as store:
        store.client.put(store.keys.assigned("h3", macs.parse(A)), b"")
    wait.until(lambda: "cannot report for which MACs" in liar.log, "the other agent is refused")
    operator.run("add", C, "7")
    agent.until(A=[7], B=[7], C=[7])


def test_who_is_not_known_is_told_so(guarded: World) -> None:
    nobody = guarded.run("list", check=False)
    assert nobody.returncode == 1
    assert "give --store-user and --store-password-file" in nobody.stderr
    wrong = known_as(guarded, "operator", "h1.password").run("list", check=False)
    assert wrong.returncode == 1
    assert "does not accept --store-user 'operator'" in wrong.stderr
    no_ca = replace(guarded, options=[]).run("list", check=False)
    assert "--store-ca names who signs" in no_ca.stderr
    no_tls = replace(guarded, options=[], scheme="etcd").run("list", check=False)
    assert "write etcds:// instead of etcd://" in no_tls.stderr
    root = known_as(guarded, "root", "enable.password")
    shown = root.run("roles", "show").stdout
    assert "vmmnet-agent-h1: vmmnet-agent-h1\n" in shown
    assert "operator: vmmnet-writer\n" in shown
    assert (guarded.folder / "h1.password").stat().st_mode & 0o777 == 0o600


def test_a_token_that_has_ended_is_renewed(guarded: World) -> None:
    """By a restart, which forgets all tokens, and by a change of users."""
    operator = known_as(guarded, "operator", "operator.password")
    operator.run("add", A, "7")
    agent = known_as(guarded, "vmmnet-agent-h1", "h1.password").agent("h1")
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7])
    guarded.etcd.kill()
    guarded.etcd.start()
    operator.run("add", B, "7")
    agent.until(A=[7], B=[7])
    root = known_as(guarded, "root", "enable.password")
    new = ["--password-file", str(guarded.folder / "h3.password")]
    root.run("roles", "agent", "h3", *new)
    agent.port("vm2", C)
    operator.run("add", C, "8")
    agent.until(A=[7], B=[7], C=[8])


def test_an_agent_takes_a_new_password_and_new_certificates(guarded: World) -> None:
    """It is refused until the files have them, says so, and need not be started again."""
    operator = known_as(guarded, "operator", "operator.password")
    operator.run("add", A, "7")
    # etcd takes no CommonName beside users.
    with_name = guarded.folder / "name.pem"
    words = f"req -x509 -key one.key -CA ca.pem -CAkey ca.key -subj /CN=h1 -out {with_name}"
    tools.run(["openssl", *words.split()], cwd=guarded.folder)
    host = known_as(guarded, "vmmnet-agent-h1", "h1.password")
    own = guarded.folder / "own.pem"
    own.write_bytes(with_name.read_bytes())
    agent = host.agent("h1", "--store-cert", str(own), *HASTY)
    agent.port("vm1", A)
    agent.start()
    wait.until(lambda: "CommonName" in agent.log, "the agent is refused")
    replace_file(own, (guarded.folder / "one.pem").read_text())
    agent.until(A=[7])

    new = guarded.folder / "new.password"
    root = known_as(guarded, "root", "enable.password")
    root.run("roles", "agent", "h1", "--password-file", str(new))
    said = ("does not accept --store-user 'vmmnet-agent-h1'", str(guarded.folder / "h1.password"))

    def is_refused() -> bool:
        status, numbers = agent.status(), agent.metrics()
        told = status["refused"] and all(text in status["error"] for text in said)
        return told and (numbers["store_up"], numbers["store_refused"]) == (0, 1)

    wait.until(is_refused, "the agent is refused, and says so")
    operator.run("add", B, "7")
    replace_file(guarded.folder / "h1.password", new.read_text())
    agent.until(A=[7], B=[7])
    assert agent.metrics()["store_refused"] == 0

    guarded.etcd.kill()
    certificates.make(guarded.folder, "one")
    guarded.etcd.start()
    wait.until(
        lambda: "--store-cert" in (agent.status()["error"] or ""), "etcd knows the agent no more"
    )
    replace_file(own, (guarded.folder / "one.pem").read_text())
    operator.run("add", C, "7")
    agent.until(A=[7], B=[7], C=[7])


def replace_file(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}")
    new.write_text(text)
    new.rename(file)


@pytest.fixture
def version() -> str | None:
    """The version of etcd; None: the system's."""
    return None


#: Debian 12 has 3.4.
ALL_VERSIONS = pytest.mark.parametrize(
    "version",
    [None, *(pytest.param(each, marks=pytest.mark.long) for each in ETCDS)],
    ids=lambda each: each or "of the system",
)


@pytest.fixture
def restorable(network: Network, tmp_path: Path, version: str | None) -> World:
    """An etcd with users, and soon with another past."""
    etcd = Etcd(network.namespace("etcd"), tmp_path, "--bcrypt-cost", "4", version=version)
    etcd.start()
    world = World(etcd, tmp_path, "/t")
    for words in (["agent", "h1"], ["agent", "h2"], ["writer", "operator"], ["enable"]):
        world.run("roles", *words, "--password-file", str(tmp_path / f"{words[-1]}.password"))
    return world


def snapshot(world: World) -> Path:
    """What etcd has now."""
    file = world.folder / "snapshot"
    as_root(world, "snapshot", "save", str(file))
    return file


@ALL_VERSIONS
def test_a_restore_with_users_is_followed(restorable: World) -> None:
    """A token tells how much etcd must have done before it is looked at; this one has done less."""
    operator = known_as(restorable, "operator", "operator.password")
    operator.run("add", A, "7")
    operator.run("add", B, "7")
    agent = known_as(restorable, "vmmnet-agent-h1", "h1.password").agent("h1", *HASTY)
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7], B=[7])
    saved = snapshot(restorable)
    operator.run("add", C, "7")
    agent.until(A=[7], B=[7], C=[7])
    restorable.etcd.restore(saved)
    agent.until(A=[7], B=[7])
    operator.run("add", D, "7")
    agent.until(A=[7], B=[7], D=[7])


@ALL_VERSIONS
def test_a_restore_is_seen_also_when_others_have_written_since(restorable: World) -> None:
    """The cluster's identity is the same, and its revision has passed that of the agent.

    The agent's user may not ask etcd for its status, which needs root in some versions.
    """
    operator = known_as(restorable, "operator", "operator.password")
    with operator.opened() as store:
        for lnid in range(8, 50):
            edit(store, C, [7, lnid])
    operator.set(A=[7], B=[7])
    agent = known_as(restorable, "vmmnet-agent-h1", "h1.password").agent("h1", *HASTY)
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7], B=[7], C=[7, 49])
    saved = snapshot(restorable)
    operator.set(D=[7])
    agent.until(A=[7], B=[7], C=[7, 49], D=[7])
    agent.until_proven()
    agent.signal(signal.SIGSTOP)
    try:
        restorable.etcd.restore(saved)
        with operator.opened() as store:
            edit(store, B, [8])
            for lnid in (8, 9, 10, 11, 12, 7):
                edit(store, C, [lnid])
    finally:
        agent.signal(signal.SIGCONT)
    agent.until(A=[7], C=[7])
    assert agent.metrics()["resyncs_total"] == 2
    assert "may have been restored from a backup" in agent.log
    until_hosts(operator, h1="follows")
    operator.run("check")


def test_check_names_hosts_that_do_not_follow(restorable: World) -> None:
    operator = known_as(restorable, "operator", "operator.password")
    operator.run("add", A, "7")
    host = known_as(restorable, "vmmnet-agent-h1", "h1.password")
    agent = host.agent("h1", *HASTY)
    agent.start()
    agent.until()

    def faults() -> list[str]:
        found = json.loads(operator.run("check", "--json", check=False).stdout)["findings"]
        return [each["text"] for each in found if each["kind"] == "fault"]

    wait.until(lambda: alive(operator) and not faults(), "the agent has said that it follows")
    with operator.opened() as store:
        lease = store.client.grant(60)
        assert store.client.keep_alive(lease)
        assert not store.client.keep_alive(lease + 1)
    agent.signal(signal.SIGSTOP)
    try:
        (text,) = wait.until(faults, "the agent is missed")
    finally:
        agent.signal(signal.SIGCONT)
    assert text.startswith("h1: its agent does not follow the store")
    wait.until(lambda: not faults(), "the agent is back")
    assert agent.stop() == 0
    wait.until(lambda: not alive(operator), "the agent is no more")
    # One that follows, and cannot say that it is ready: nor that it follows, so it is to
    # have the time not to be missed.
    agent.store = [*agent.store, *PATIENT]
    agent.start()
    wait.until(lambda: alive(operator), "the agent has said that it follows")
    forbid_speaking(restorable, "h1")
    with operator.opened() as store:
        store.client.put(store.keys.assigned("h1", macs.parse(A)), b"")
    agent.until(A=[7])
    wait.until(lambda: agent.status()["unacknowledged"] == [A], "the agent says so itself")
    (text,) = faults()
    assert text.startswith(f"h1 has to be ready for {A} and has not reported that it is")


# How far hosts are, as they say


def hosts(world: World) -> dict[str, dict[str, Any]]:
    """What ``hosts`` tells programs, by host."""
    told = json.loads(world.run("hosts", "--json").stdout)
    return {each["host"]: {**each, "store": told["revision"]} for each in told["hosts"]}


def until_hosts(world: World, **states: str) -> dict[str, dict[str, Any]]:
    """Wait until hosts are so."""

    def found() -> dict[str, dict[str, Any]] | None:
        now = hosts(world)
        return now if {name: now[name]["state"] for name in now} == states else None

    return wait.until(found, f"hosts are {states}")


def test_hosts_tell_how_far_they_are(world: World) -> None:
    """One of two follows all changes, those that do not concern it too; one ends."""
    world.set(A=[7], B=[7], C=[8])
    assert "no host has had an agent" in world.run("hosts").stderr
    agents = {name: world.agent(name, *HASTY) for name in ("h1", "h2")}
    agents["h1"].port("vm1", A)
    for each in agents.values():
        each.start()
    now = until_hosts(world, h1="follows", h2="follows")
    assert (now["h1"]["entries"], now["h1"]["ports"]) == (2, 1)
    assert now["h1"]["errors"] == []
    world.set(C=[9])
    with world.opened() as store:
        changed = store.client.get(store.keys.changed)
    assert changed is not None
    for name in agents:
        wait.until(
            lambda name=name: hosts(world)[name]["revision"] >= changed.mod_revision,  # type: ignore[misc]
            f"{name} has said that it has the change",
        )
    agents["h2"].kill()
    now = until_hosts(world, h1="follows", h2="gone")
    assert now["h1"]["unheard"] is not None
    assert (now["h2"]["unheard"], now["h2"]["entries"]) == (None, 0)
    heads, *rows = world.run("hosts").stdout.splitlines()
    assert heads.split() == ["host", "state", "since", "heard", "revision", "MACs", "ports"]
    assert [row.split()[:2] for row in rows] == [["h1", "follows"], ["h2", "gone"]]


def test_a_host_that_is_stuck_is_found(world: World) -> None:
    """Its agent is there and follows, and its table cannot be written."""
    world.set(A=[7], B=[7])
    agent = world.agent("h1", *HASTY)
    agent.port("vm1", A)
    agent.start()
    agent.until(A=[7], B=[7])
    until_hosts(world, h1="follows")
    assert world.run("check", "--stuck-after", f"{wait.PATIENCE:.0f}").returncode == 0
    hidden = agent.folder.rename(agent.folder.with_name("hidden"))
    world.set(D=[7])
    wait.until(
        lambda: any("lnid.table" in each for each in hosts(world)["h1"]["errors"]),
        "the host says what it cannot do",
    )
    assert hosts(world)["h1"]["state"] == "behind"
    shown = world.run("hosts").stdout
    assert f" of {hosts(world)['h1']['store']} " in shown
    assert "h1: " in shown and "there is no folder" in shown
    done = world.run("check", "--stuck-after", "0.5", check=False)
    assert done.returncode == 3
    faults = [line for line in done.stdout.splitlines() if line.startswith("fault")]
    assert len(faults) == 1, done.stdout
    assert faults[0].startswith("fault: h1 is stuck: its table has the changes of the store up to")
    assert "there is no folder" in faults[0]
    # While 'check' waits for it, it comes.
    mended = threading.Timer(0.5, hidden.rename, [agent.folder])
    mended.start()
    done = world.run("check", "--stuck-after", f"{wait.PATIENCE:.0f}", check=False)
    mended.join()
    assert done.returncode == 0, done.stdout
    agent.until(A=[7], B=[7], D=[7])


def test_a_file_has_no_hosts(tmp_path: Path, world: World) -> None:
    done = hostvlan(world.space, "hosts", "--table", str(tmp_path / "t"))
    assert done.returncode == 1
    assert "is a table of this host alone" in done.stderr


def test_a_host_writes_its_own_keys_and_no_others(guarded: World) -> None:
    operator = known_as(guarded, "operator", "operator.password")
    operator.run("add", A, "7")
    host = known_as(guarded, "vmmnet-agent-h1", "h1.password")
    agent = host.agent("h1")
    agent.start()
    until_hosts(operator, h1="follows")
    with host.opened() as store:
        keys = store.keys
        store.client.put(keys.agent("h1"), b"")
        others = [keys.agent("h2"), keys.alive("h2"), keys.ready("h2", macs.parse(A))]
        for key in (*others, keys.changed, keys.format, keys.mac(macs.parse(A))):
            with pytest.raises(Denied):
                store.client.put(key, b"")
    # Who may only read sees all hosts.
    assert set(hosts(host)) == {"h1"}


def test_users_are_removed(restorable: World) -> None:
    root = known_as(restorable, "root", "enable.password")
    second = ["--password-file", str(restorable.folder / "second.password")]
    root.run("roles", "writer", "second", *second)
    as_root(restorable, "user", "add", "stranger:x")
    as_root(restorable, "role", "add", "other")
    as_root(restorable, "user", "grant-role", "second", "other")

    def remove(name: str) -> tuple[int, str]:
        done = root.run("roles", "remove", name, check=False)
        return done.returncode, done.stdout + done.stderr

    assert remove("vmmnet-agent-h2") == (
        0,
        "removed: user vmmnet-agent-h2, role vmmnet-agent-h2\n",
    )
    status, said = remove("vmmnet-agent-h2")
    assert status == 1 and "there is no user 'vmmnet-agent-h2'" in said
    status, said = remove("h1")
    assert status == 1 and "is it 'vmmnet-agent-h1'?; nothing is removed" in said
    status, said = remove("root")
    assert status == 1 and "'root' stays" in said
    status, said = remove("stranger")
    assert status == 1 and "its roles are none" in said
    # Another one has the role still; this one has another role.
    assert remove("operator") == (0, "removed: user operator\n")
    done = root.run("roles", "remove", "second", "--json")
    assert json.loads(done.stdout) == {"user": None, "roles": ["vmmnet-writer"], "kept": ["other"]}
    shown = root.run("roles", "show").stdout.splitlines()
    agent = "vmmnet-agent-h1: vmmnet-agent-h1"
    assert shown == ["root: root", "second: other", "stranger: no role", agent]
    gone = known_as(restorable, "operator", "operator.password").run("list", check=False)
    assert "does not accept --store-user 'operator'" in gone.stderr


def forbid_speaking(world: World, host: str) -> None:
    """Take from an agent's role what it may write."""
    where = ("--prefix=true", f"vmmnet-agent-{host}", f"{world.prefix}/status/{host}/")
    as_root(world, "role", "revoke-permission", *where)


def as_root(world: World, *words: str) -> None:
    password = (world.folder / "enable.password").read_text().strip()
    world.etcd.ctl("--user", f"root:{password}", *words)


def alive(world: World) -> bool:
    with world.opened() as store:
        return store.client.get(store.keys.alive("h1")) is not None


def test_an_agent_whose_role_is_mended_says_what_it_could_not(restorable: World) -> None:
    """That it is ready, and that it is not any more."""
    operator = known_as(restorable, "operator", "operator.password")
    operator.run("add", A, "7")
    agents = [
        known_as(restorable, f"vmmnet-agent-{name}", f"{name}.password").agent(name)
        for name in ("h1", "h2")
    ]
    for each in agents:
        each.start()
        each.until()
    agent = agents[1]
    ready = Keys("/t").ready("h2", macs.parse(A))
    root = known_as(restorable, "root", "enable.password")
    mend_role = ["agent", "h2", "--password-file", str(restorable.folder / "h2.password")]
    move = ["move", A, "--from", "h1", "--to", "h2"]
    with operator.opened() as store:
        for assigned in (True, False):
            forbid_speaking(restorable, "h2")
            if assigned:
                done = operator.run(*move, "--timeout", "0.5", check=False)
                assert "h2 has not reported in 0.5 s" in done.stderr
                store.client.put(store.keys.assigned("h2", macs.parse(A)), b"")
            else:
                store.client.delete(store.keys.assigned("h2", macs.parse(A)))
            wait.until(lambda: agent.status()["unacknowledged"] == [A], "the agent is refused")
            assert (store.client.get(ready) is None) == assigned
            root.run("roles", *mend_role)
            wait.until(
                lambda assigned=assigned: (store.client.get(ready) is None) != assigned,  # type: ignore[misc]
                "the agent says so",
            )
            wait.until(lambda: not agent.status()["unacknowledged"], "the agent is done")
    assert agent.metrics()["tell_errors_total"] > 0
    assert agent.metrics()["disconnections_total"] == 0
    assert operator.run(*move).returncode == 0
