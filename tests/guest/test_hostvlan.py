# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN as a whole: the experiment of its paper (section 5.1), and more of that kind.

Three hosts with three kinds of switch, seven VMs of three tenants.  Whatever
arrives at a guest's NIC is judged by who sent it (tenants/judge.py), after all
that was sent has arrived or was refused.  The runs are written to
build/hostvlan/experiment.md.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.rough import ROUGH

sys.path.insert(0, str(Path(__file__).parent))

from tenants import bed
from tenants.bed import LNIDS, MTU, OPEN, Bed, Round, Vm
from tenants.judge import GLOBAL, Report, gaps, wrong

ETHERNET = 14
VLAN = b"\x81\0\0\x64"
SERVICE = b"\x88\xa8\0\xc8"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed.bed(tmp_path_factory.mktemp("hosts"), ROUGH) as made:
        yield made


@pytest.fixture(scope="module")
def report() -> Report:
    return Report()


def run(world: Bed) -> Round:
    """Everybody greets and pings everybody; their friends have answered."""
    world.hush()
    world.greet()
    answers = world.ping_all()
    done = world.result()
    # Whoever hears another can be heard: who has answered is a friend.  Those
    # who hear others are told of by the rows.
    for name in world.vms.keys() - wrong(done.rows).keys():
        assert answers[name] == {each.address for each in world.friends(world.vms[name])}
    said = {name: [f"{name}/{text}" for text in bed.GREETINGS] for name in world.vms}
    assert not gaps(world.places(), done.heard, said)
    return done


def hears(done: Round, name: str) -> set[str]:
    """Whose frames a VM has received."""
    (row,) = (row for row in done.rows if row.place.name == name)
    return {*row.own, *row.others}


def test_the_experiment(world: Bed, report: Report) -> None:
    """Broadcasts, ARP and broadcast pings reach the own tenant, whole, and nobody else."""
    done = run(world)
    report.add("As in the paper", done.rows)
    assert not wrong(done.rows)
    for name, lnids in LNIDS.items():
        others = {other for other in LNIDS if other != name and LNIDS[other] & lnids}
        assert hears(done, name) == others


def test_an_lnid_is_added_while_vms_run(world: Bed, report: Report) -> None:
    vm, *added = (world.vms[name] for name in ("1-1", "2-3", "3-3"))
    world.manage("add", vm, 3)
    world.lnids["1-1"] = frozenset({1, 3})
    try:
        for other in added:
            vm.pings(other.address)
            other.pings(vm.address)
        done = run(world)
    finally:
        world.manage("remove", vm, 3)
        world.lnids["1-1"] = LNIDS["1-1"]
    report.add("LNID 3 is added to VM 1-1", done.rows)
    assert not wrong(done.rows)
    assert hears(done, "1-1") == {"2-1", "2-3", "3-3"}
    assert hears(done, "2-1") == {"1-1"}
    after = run(world)
    assert not wrong(after.rows)
    assert hears(after, "1-1") == {"2-1"}


def test_forged_frames(world: Bed, report: Report) -> None:
    """With another VM's address nothing leaves a VM, whoever it is for."""
    vms = world.vms.values()
    world.hush()
    expected: dict[str, int] = {}
    forged = 0
    for vm in vms:
        victims = [other for other in vms if other is not vm]
        frames = [vm.frame("forged", source=victim) for victim in victims]
        frames += [
            vm.frame("forged", source=victim, to=friend)
            for victim in victims
            for friend in world.friends(victim)
        ]
        expected[vm.name] = vm.counters("send")["spoofed"] + len(frames)
        vm.send(frames)
        forged += len(frames)
    done = world.result()
    # What a VM has sent later has passed by now.
    counted = {vm.name: vm.counters("send")["spoofed"] for vm in vms}
    remark = f"{forged} frames with the addresses of other VMs were sent"
    remark += ", and counted as spoofed." if counted == expected else "."
    report.add("Forged frames", done.rows, remark)
    assert not wrong(done.rows)
    assert counted == expected


def test_tags_and_jumbo_frames_of_tenants(world: Bed) -> None:
    """They arrive as they were sent, at the own tenant only."""
    world.hush()
    largest = MTU + ETHERNET
    shapes = {
        "jumbo": (b"", largest),
        "tagged": (VLAN, 64),
        "tagged jumbo": (VLAN, largest + len(VLAN)),
        "tagged twice": (SERVICE + VLAN, 68),
        "jumbo tagged twice": (SERVICE + VLAN, largest),
    }
    for vm in world.vms.values():
        plain = {text: vm.frame(text) for text in shapes}
        vm.send(
            (plain[text][:12] + tags + plain[text][12:]).ljust(size, b"\0")
            for text, (tags, size) in shapes.items()
        )
    done = world.result()
    assert not wrong(done.rows)
    said = {name: [f"{name}/{text}" for text in shapes] for name in world.vms}
    assert not gaps(world.places(), done.heard, said)
    for frames in done.heard.values():
        for frame in frames:
            _, _, text = frame.text.partition("/")
            if text in shapes:
                tags, size = shapes[text]
                spelled = {SERVICE: "88a8:200", VLAN: "8100:100"}
                kinds = [spelled[tags[at : at + 4]] for at in range(0, len(tags), 4)]
                assert (frame.kind.split(), frame.size) == ([*kinds, "88b5"], size)


@contextlib.contextmanager
def on_vlan(vm: Vm, address: str) -> Iterator[None]:
    """Give a guest an address on its tenant's VLAN 100."""
    vm.guest.run(
        f"ip link add link {vm.interface} name tagged type vlan id 100 &&"
        f" ip link set tagged up && ip address add {address}/24 dev tagged"
    )
    try:
        yield
    finally:
        vm.guest.run("ip link delete tagged")


def test_two_tenants_use_one_vlan_id(world: Bed) -> None:
    """With the same IP addresses: each has the answer of its own VM, in jumbo frames too."""
    pairs = [(world.vms["1-1"], world.vms["2-1"]), (world.vms["1-2"], world.vms["3-2-1"])]
    world.hush()
    with contextlib.ExitStack() as stack:
        for pair in pairs:
            for number, vm in enumerate(pair, 1):
                stack.enter_context(on_vlan(vm, f"198.51.100.{number}"))
        for asking, asked in pairs:
            for size in (56, MTU - 28):
                asking.pings("198.51.100.2", "-M", "do", "-s", str(size))
            known = asking.guest.run("ip neighbour show dev tagged").stdout
            assert f"{asked.mac:012x}" in known.replace(":", "")
        done = world.result()
    assert not wrong(done.rows)


def test_a_vm_in_two_lnids(world: Bed, report: Report) -> None:
    """It is with both tenants, who stay apart."""
    with world.assigned("3-2-1", 1, 2):
        done = run(world)
    report.add("VM 3-2-1 in two LNIDs", done.rows)
    assert not wrong(done.rows)
    assert hears(done, "3-2-1") == {"1-1", "2-1", "1-2", "3-2-2"}
    assert hears(done, "2-1") == {"1-1", "3-2-1"}
    assert hears(done, "1-2") == {"3-2-1", "3-2-2"}


@contextlib.contextmanager
def routed(router: Vm, vm: Vm, network: str, far: str) -> Iterator[str]:
    """Give a VM a network of its own behind a router, with a way to the other one."""
    pairs = ((router, f"{network}.1"), (vm, f"{network}.2"))
    for each, address in pairs:
        each.guest.run(f"ip address add {address}/24 dev {each.interface}")
    vm.guest.run(f"ip route add {far}.0/24 via {network}.1")
    try:
        yield f"{network}.2"
    finally:
        vm.guest.run(f"ip route delete {far}.0/24")
        for each, address in pairs:
            each.guest.run(f"ip address delete {address}/24 dev {each.interface}")


def test_a_router_in_the_global_lnid(world: Bed, report: Report) -> None:
    """All hear it and it hears all; tenants reach each other through it, and only so."""
    east, west = "198.51.100", "203.0.113"
    with world.assigned("2-1", GLOBAL) as router:
        for name in ("all", router.interface):
            router.guest.run(["sysctl", "-qw", f"net.ipv4.conf.{name}.send_redirects=0"])
        router.guest.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
        done = run(world)
        with (
            routed(router, world.vms["1-2"], east, west) as here,
            routed(router, world.vms["2-3"], west, east) as there,
        ):
            world.hush()
            world.vms["1-2"].pings(there)
            world.vms["2-3"].pings(here)
            through = world.result()
        router.guest.run(["sysctl", "-qw", "net.ipv4.ip_forward=0"])
    report.add("VM 2-1 is a router in the global LNID", done.rows)
    assert not wrong(done.rows)
    assert not wrong(through.rows)
    assert hears(done, "2-1") == set(LNIDS) - {"2-1"}
    assert hears(through, "2-3") == {"2-1", "3-3"}


def test_without_hostvlan_wrong_frames_are_found(world: Bed, report: Report) -> None:
    """The same run with HostVLAN taken from one VM: these tests would notice."""
    vm = world.vms[OPEN]
    with vm.opened():
        done = run(world)
        world.hush()
        victim = world.vms["1-1"]
        vm.send([vm.frame("forged", source=victim)])
        forged = world.result()
    report.add(f"HostVLAN is taken from VM {OPEN}", done.rows)
    report.add(f"VM {OPEN} forges a frame without HostVLAN", forged.rows)
    trunks = {sender for sender in wrong(done.rows)[OPEN] if sender.startswith("unknown ")}
    others = {"1-1", "2-1", "2-3", "3-3", *trunks}
    assert len(trunks) == 2
    assert wrong(done.rows) == {OPEN: others}
    fooled = {f"{OPEN} as 1-1"}
    assert wrong(forged.rows) == {OPEN: others, "1-1": fooled, "2-1": fooled}
