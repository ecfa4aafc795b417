# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a guest leaves to the host for a socket call: with virtio-vmrpc, and with vhost-net.

KVM's tracepoints count the exits, which no processor's speed changes.  A program in the guest makes
the calls of bench/guestless.  Counted is what one more call costs: exits by access to a device
(nested page faults and ports), which a call makes itself, and exits to wait (HLT).  Interrupts of
timers depend on the time that a run takes, and are left out.  The table is in
build/logs/exits.md, of an emulated host in build/kvm.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab.base import paths, wait
from lab.guest.guest import Guest
from lab.peers.lab import HOST_ADDRESS, PEER_ADDRESS, Lab, lab

from bench.base.report import markdown
from bench.guestless import bed

_EVENT = Path("/sys/kernel/tracing/events/kvm/kvm_exit")
_HIST = "hist:keys=exit_reason"
#: Of AMD's SVM.
_DEVICE, _HALT = (0x400, 0x7B), (0x78,)
_PROGRAM = "/usr/lib/vmmnet/guestless-native"
_COUNT = 1000
_LOADS = {
    "send": bed.Load("send", 1, _COUNT, 0, "a send of 1 octet"),
    "receive": bed.Load("receive", 1, _COUNT, 1, "a receive of 1 octet that is there"),
    "bulk": bed.Load("send", 65536, 200, 0, "a send of 64 KiB"),
    "echo": bed.Load("echo", 1, 200, 2, "a round trip of 1 octet"),
    "connect": bed.Load("connect", 0, 200, 3, "a connection, made and closed"),
}


@dataclass(frozen=True)
class Exits:
    """Exits of a unit of a load."""

    device: float
    halt: float


def _exits() -> dict[int, int]:
    text = (_EVENT / "hist").read_text()
    found = re.findall(r"\{ exit_reason: +(\d+) \} hitcount: +(\d+)", text)
    return {int(reason): int(hits) for reason, hits in found}


@contextlib.contextmanager
def _counting() -> Iterator[None]:
    (_EVENT / "trigger").write_text(_HIST)
    try:
        yield
    finally:
        (_EVENT / "trigger").write_text(f"!{_HIST}")


def _measure(guest: Guest, load: bed.Load) -> Exits:
    """What three times as many units need more."""
    found = []
    for count in (load.count, 3 * load.count):
        guest.put(load.line(bed.NATIVE, count, PEER_ADDRESS).encode(), "/tmp/script")
        before = _exits()
        guest.run([_PROGRAM, "/tmp/script"], timeout=300)
        after = _exits()
        more = {reason: hits - before.get(reason, 0) for reason, hits in after.items()}
        found.append([sum(more.get(one, 0) for one in of) for of in (_DEVICE, _HALT)])
    units = 2 * load.count * 1.1
    # What a call does not make differs from run to run.
    return Exits(*(max(0.0, b - a) / units for a, b in zip(*found, strict=True)))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> bed.Programs:
    return bed.build(tmp_path_factory.mktemp("programs"), static=True)


@pytest.fixture(scope="module")
def world(programs: bed.Programs) -> Iterator[Lab]:
    with lab() as built:
        child = built.peer.popen([programs.peer, str(bed.PORT)], stdout=subprocess.DEVNULL)
        wait.listening(child.pid, bed.PORT + 3)
        yield built


@contextlib.contextmanager
def _vmrpc(world: Lab, programs: bed.Programs) -> Iterator[Guest]:
    with world.guest(files={_PROGRAM: programs.native}) as guest:
        yield guest


@contextlib.contextmanager
def _vhost(world: Lab, programs: bed.Programs) -> Iterator[Guest]:
    tap = world.host.tap("tap0")
    tap.add_address("2001:db8:5::1/64")
    world.host.sysctl({"net.ipv6.conf.all.forwarding": 1})
    world.peer.route("2001:db8:5::/64", HOST_ADDRESS)
    with Guest(
        netns=world.host,
        devices=["virtio-net-pci,netdev=net0"],
        arguments=["-netdev", "tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=on"],
        files={_PROGRAM: programs.native},
    ) as guest:
        guest.run("modprobe virtio_net")
        guest.wait_for("ip link show dev eth0")
        guest.run("ip address add 2001:db8:5::2/64 dev eth0 nodad && ip link set dev eth0 up")
        guest.run("ip -6 route add default via 2001:db8:5::1")
        guest.wait_for(f"ping -n -c1 -W5 {PEER_ADDRESS}")
        yield guest


def test_exits(world: Lab, programs: bed.Programs) -> None:
    """One exit a call that finds what it needs, four a connection; half of vhost-net's, or less."""
    found: dict[str, dict[str, Exits]] = {}
    with _counting():
        for name, opened in (("vmrpc", _vmrpc), ("vhost-net", _vhost)):
            with opened(world, programs) as guest:
                found[name] = {kind: _measure(guest, load) for kind, load in _LOADS.items()}
    rows = [["exits to a device + to wait", *found]]
    for kind, load in _LOADS.items():
        cells = (found[name][kind] for name in found)
        rows.append([load.title, *(f"{one.device:.2f} + {one.halt:.2f}" for one in cells)])
    (paths.BUILD / "logs" / "exits.md").write_text(markdown(rows))
    ours = found["vmrpc"]
    assert ours["send"].device < 1.1
    assert ours["receive"].device < 1.1
    assert ours["connect"].device < 4.1
