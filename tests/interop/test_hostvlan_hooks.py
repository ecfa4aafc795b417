# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF while others remove its programs and interfaces: the agent's thread mends."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab.base import tools, wait
from lab.base.net import Network
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Three
from vmmnet.hostvlan.bpf import bpf, twin
from vmmnet.hostvlan.host.hooks import CONTESTED, Hooks, Paces
from vmmnet.values import mac as macs

A, B = (0x525400000000 + number for number in (0xA, 0xB))


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


@pytest.fixture
def tenants(host: Bed) -> Three:
    return bridged.three_tenants(host)


@dataclass
class Keeper:
    """What the agent runs, with the ports of its host and its log."""

    host: Bed
    ports: set[int] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    running: Hooks | None = None
    paces: Paces = field(default_factory=Paces)

    def start(self) -> Hooks:
        """Start it in the host's network namespace."""
        with self.host.space.entered():
            self.running = Hooks(self.host.table, lambda: frozenset(self.ports), self.log.append)
            self.running.paces = self.paces
            self.running.start()
        return self.running

    def until_said(self, *parts: str) -> None:
        """Wait for a line with all of these."""
        wait.until(
            lambda: any(all(part in line for part in parts) for line in list(self.log)),
            f"{parts} in {self.log}",
        )

    def until_whole(self, interface: str) -> None:
        """Wait until an interface is attached, with all hooks first."""

        def whole() -> bool:
            found = self.attached(interface)
            return found is not None and found.whole and not found.overtaken

        wait.until(whole, f"{interface} is whole; {self.log}")

    def attached(self, interface: str) -> twin.Attachment | None:
        """The attachment of an interface that is there."""
        with self.host.space.entered():
            found = twin.status(table=self.host.table)
            index = {each.ifindex for each in found} & {self.index(interface)}
        return next((each for each in found if each.ifindex in index), None)

    def index(self, interface: str) -> int:
        """The index of an interface; 0: there is none."""
        links = twin.nic.links()
        return next((link.index for link in links if link.name == interface), 0)

    def looks_again(self) -> None:
        """Wait until it has looked at everything as it is now."""
        assert self.running is not None
        looks = 0
        original = self.running.look

        def counted() -> None:
            nonlocal looks
            original()
            looks += 1

        self.running.look = counted  # type: ignore[method-assign]
        # The first one may have begun before.
        wait.until(lambda: looks >= 2, "two looks")
        self.running.look = original  # type: ignore[method-assign]


@pytest.fixture
def keeper(host: Bed) -> Iterator[Keeper]:
    result = Keeper(host)
    yield result
    if result.running is not None:
        result.running.stop()


def told_by_the_kernel_only(keeper: Keeper) -> None:
    """Without looks from time to time: what is mended then, the kernel has told of."""
    keeper.paces.idle = 10 * wait.PATIENCE


def filtered(patched: pytest.MonkeyPatch) -> None:
    """As on a kernel older than Linux 6.6, which has no links at tc."""
    patched.setattr(bpf, "tcx_programs", lambda *_: None)


def pin_of(host: Bed, interface: str) -> Path:
    """The name in bpffs of the program for frames to a station."""
    with host.space.entered():
        (found,) = twin.status(interface, host.table)
    (pin,) = twin.ROOT.glob(f"*/{found.netns}-{found.ifindex}/receive")
    return pin


def tear(host: Bed, interface: str) -> None:
    """Detach the link at tc, as a program may that cleans up."""
    with bpf.closing(bpf.pinned(pin_of(host, interface))) as link:
        bpf.link_detach(link)


def test_a_link_that_was_detached(host: Bed, tenants: Three, keeper: Keeper) -> None:
    """The kernel does not tell of it; log and numbers do, and tenants are apart again."""
    a, b, c = tenants
    running = keeper.start()
    assert (running.faults, running.mended) == ((), 0)
    name = c.end.name
    tear(host, name)
    keeper.until_said(f"eBPF: {name}: attached again at tc egress")
    assert keeper.log[0] == (
        f"eBPF: {name}: the program at tc egress was removed: frames pass there unjudged"
    )
    assert (len(keeper.log), running.mended) == (2, 1)
    keeper.until_whole(name)
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)


def test_all_at_once(
    host: Bed, tenants: Three, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has to be loaded, and no table to be there; XDP, too."""
    running = keeper.start()
    monkeypatch.setattr(bpf, "Object", None)
    hidden = host.table.rename(host.table.with_name("hidden"))
    pins = [pin_of(host, port.end.name) for port in tenants]
    with twin.locked():
        for pin in (each.with_name(name) for each in pins for name in ("receive", "xdp")):
            with bpf.closing(bpf.pinned(pin)) as link:
                bpf.link_detach(link)
    wait.until(lambda: running.mended == 2 * len(tenants), f"all are mended; {keeper.log}")
    hidden.rename(host.table)
    for port in tenants:
        assert host.status(port).whole
    tenants[0].say("not for the last one")
    host.refuses(tenants[2], "other-tenant", 1)


@pytest.mark.parametrize("torn", [["qdisc", "del", "clsact"], ["filter", "del", "egress"]])
def test_what_tc_deletes(
    host: Bed, tenants: Three, keeper: Keeper, monkeypatch: pytest.MonkeyPatch, torn: list[str]
) -> None:
    """Before Linux 6.6, whose kernel tells of it."""
    a, b, c = tenants
    name = c.end.name
    host.detach(c)
    filtered(monkeypatch)
    told_by_the_kernel_only(keeper)
    host.attach(c)
    keeper.start()
    with host.space.entered():
        tools.run(["tc", *torn[:2], "dev", name, *torn[2:]])
    keeper.until_said(name, "attached again at tc egress")
    assert "tc egress was removed" in keeper.log[0]
    a.say("not for c")
    assert b.hears("not for c") == ["not for c"]
    host.refuses(c, "other-tenant", 1)


def test_what_was_removed_before_the_agent_began(host: Bed, tenants: Three, keeper: Keeper) -> None:
    name = tenants[2].end.name
    tear(host, name)
    assert keeper.start().mended == 1
    assert host.status(tenants[2]).whole


def test_what_is_detached_stays_so(host: Bed, tenants: Three, keeper: Keeper) -> None:
    _, b, c = tenants
    keeper.start()
    host.detach(c)
    keeper.until_said(f"{c.end.name}: somebody has detached it")
    keeper.looks_again()
    assert keeper.attached(c.end.name) is None
    assert host.status(b).whole
    # In the middle of a look, too: it mends what it has seen missing.
    with host.space.entered():
        assert twin.mend(keeper.index(c.end.name)) is None


def make(host: Bed, name: str, mac: int) -> None:
    """A veth as of a container, with the host's end at the bridge at last."""
    host.space.ip("link", "add", name, "type", "veth", "peer", f"{name}-in", "address", spell(mac))
    host.space.ip("link", "set", name, "master", host.bridge.name)


def spell(mac: int) -> str:
    return macs.text(mac)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """State of this process alone: others' attach() would remove that of what is gone."""
    folder = twin.ROOT.with_name(f"{twin.ROOT.name}-{os.getpid()}")
    monkeypatch.setattr(twin, "ROOT", folder)
    yield
    with contextlib.suppress(OSError):
        folder.rmdir()


@pytest.fixture
def remade(host: Bed, keeper: Keeper) -> Keeper:
    """vm1 is attached for A, and is looked after."""
    host.put(A, 1)
    make(host, "vm1", A)
    keeper.ports.add(A)
    with host.space.entered():
        twin.attach("vm1", A, host.table, sending="tc", check_sender=True)
    keeper.start()
    return keeper


def test_an_interface_that_is_made_again(
    alone: None, host: Bed, remade: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the options of before, and its programs, which are not verified again.

    A change of the table between removes its folder, and them.
    """
    loads, load = [], bpf.Object.load

    def counted(loaded: bpf.Object) -> None:
        loads.append(loaded)
        load(loaded)

    monkeypatch.setattr(bpf.Object, "load", counted)
    remade.looks_again()
    told_by_the_kernel_only(remade)
    for time in range(2):
        host.space.ip("link", "del", "vm1")
        if time:
            host.put(B, 1)
        make(host, "vm1", A)
        remade.until_whole("vm1")
        remade.until_said("vm1 was made again: attached for 52:54:00:00:00:0a")
        found = remade.attached("vm1")
        assert found is not None and found.check_sender
        assert [hook.place for hook in found.hooks] == ["tc egress", "tc ingress"]
        assert remade.running is not None and remade.running.mended == 2 * (time + 1)
        assert len(loads) == time
        remade.log.clear()


def test_an_interface_of_the_name_for_no_port(host: Bed, remade: Keeper) -> None:
    """It is attached when its MAC address is that of a port again."""
    remade.ports.clear()
    host.space.ip("link", "del", "vm1")
    make(host, "vm1", B)
    remade.until_said("vm1 was made again", "52:54:00:00:00:0a is not a port of this host")
    remade.looks_again()
    assert remade.attached("vm1") is None
    assert len(remade.log) == 1
    remade.ports.add(A)
    remade.until_whole("vm1")


def test_an_interface_of_the_name_while_the_port_is_elsewhere(host: Bed, remade: Keeper) -> None:
    host.space.ip("link", "del", "vm1")
    make(host, "vm2", A)
    with host.space.entered():
        twin.attach("vm2", A, host.table)
    make(host, "vm1", B)
    remade.until_said("vm1 was made again", "52:54:00:00:00:0a is attached at vm2")


def test_a_tap_that_libvirt_made_for_another_nic(host: Bed, keeper: Keeper) -> None:
    """Its MAC address is that of the NIC but for the first octet."""
    host.put(A, 1)
    keeper.ports.update((A, B))
    tap = ["tuntap", "add", "vnet0", "mode", "tap"]

    def made(mac: int) -> None:
        host.space.ip(*tap)
        host.space.ip("link", "set", "vnet0", "address", f"fe{spell(mac)[2:]}")
        host.space.ip("link", "set", "vnet0", "up")

    made(A)
    with host.space.entered():
        twin.attach("vnet0", A, host.table)
    keeper.start()
    host.space.ip("link", "del", "vnet0")
    made(B)
    keeper.until_said("vnet0 was made again", "libvirt has made it for another NIC")
    assert keeper.attached("vnet0") is None
    host.space.ip("link", "del", "vnet0")
    made(A)
    keeper.until_whole("vnet0")


def test_a_bridge_with_another_address(host: Bed, keeper: Keeper) -> None:
    host.put(A, 1)
    keeper.ports.add(A)
    bridge = ["link", "add", "br7", "type", "bridge"]

    def made(mac: int) -> None:
        host.space.ip(*bridge[:3], "address", spell(mac), *bridge[3:])
        host.space.ip("link", "set", "br7", "up")

    made(A)
    with host.space.entered():
        twin.attach("br7", None, host.table)
    keeper.start()
    host.space.ip("link", "del", "br7")
    made(B)
    keeper.until_said("br7 was made again", "it has the MAC address 52:54:00:00:00:0b, not")
    host.space.ip("link", "del", "br7")
    made(A)
    keeper.until_whole("br7")


def test_an_interface_that_was_detached_while_it_was_gone(
    host: Bed, remade: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, remade.running = remade.running, None
    assert running is not None
    running.stop()
    # No other process forgets it meanwhile.
    with twin.locked(), monkeypatch.context() as patched, host.space.entered():
        patched.setattr(twin, "locked", contextlib.nullcontext)
        host.space.ip("link", "del", "vm1")
        running.look()
        twin.detach("vm1")
    with host.space.entered():
        running.look()
        assert remade.log == ["eBPF: vm1: somebody has detached it; it stays so"]
        make(host, "vm1", A)
        running.look()
    assert remade.attached("vm1") is None


def chained(host: Bed, interface: str, folder: Path) -> int:
    """A program of others that lets everything pass comes first; the caller closes the link."""
    source, compiled = folder / "pass.c", folder / "pass.o"
    source.write_text('__attribute__((section("tc"), used)) int tc_(void *c) { return 0; }\n')
    tools.run(["clang", "-target", "bpf", "-O2", "-c", source, "-o", compiled])
    with bpf.Object(compiled) as theirs, host.space.entered():
        theirs.load()
        index = twin.nic.look(interface).index
        return bpf.link_create_tcx(theirs.program("tc_"), index, bpf.EGRESS)


def test_a_program_of_others_that_comes_first(
    host: Bed, tenants: Three, keeper: Keeper, tmp_path: Path
) -> None:
    a, b, c = tenants
    keeper.start()
    with bpf.closing(chained(host, c.end.name, tmp_path)):
        keeper.until_said(f"{c.end.name}: attached again at tc egress")
        keeper.until_whole(c.end.name)
        assert "a program of others comes first at tc egress" in keeper.log[0]
        a.say("not for c")
        assert b.hears("not for c") == ["not for c"]
        host.refuses(c, "other-tenant", 1)


def more_mended(running: Hooks, before: int) -> bool:
    return running.mended > before


def test_a_program_that_removes_ours_again_and_again(
    host: Bed, tenants: Three, keeper: Keeper
) -> None:
    """The pauses become longer, and the log ends; it says when ours stays."""
    name = tenants[2].end.name
    running = keeper.start()
    keeper.paces.first_pause, keeper.paces.held = 0.001, 10 * wait.PATIENCE
    for _ in range(CONTESTED + 2):
        before = running.mended
        tear(host, name)
        wait.until(functools.partial(more_mended, running, before), "it is mended")
    assert running.pause_of(name) == 0.001 * 2 ** (CONTESTED + 1)
    assert len(keeper.log) == 2 * CONTESTED
    assert "again and again" in keeper.log[-1]
    keeper.paces.calm = 0.0
    keeper.until_said(f"{name}: it stays attached again")


def test_what_cannot_be_mended_yet(host: Bed, tenants: Three, keeper: Keeper) -> None:
    """It is a fault for the agent's report, and it is tried until it is possible."""
    name = tenants[2].end.name
    running = keeper.start()
    hidden = host.table.rename(host.table.with_name("hidden"))
    # As an older version attaches: the programs must be loaded again, which needs the table.
    pin_of(host, name).with_name("receive_program").unlink()
    tear(host, name)
    keeper.until_said(name, "tried again until it is possible")
    wait.until(lambda: running.faults, "it is a fault")
    (told,) = running.faults
    assert name in told and "frames pass there unjudged" in told
    hidden.rename(host.table)
    keeper.until_said(f"{name}: attached again")
    wait.until(lambda: not running.faults, "there is no fault")
