# SPDX-License-Identifier: GPL-2.0-or-later
"""A tenant's VM moves between two hosts with Open vSwitch, and its controller follows it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import wait
from lab.cvsw import switched
from lab.cvsw.switched import Bed, Host, Vm
from lab.guest.guest import Guest
from lab.guest.migration import Move
from lab.mip6 import pair

CIPHER = "aes-gcm-256"


def inside(vm: Vm) -> str:
    """An IPv6 address within the tunnels."""
    return f"2001:db8:5::{vm.number}"


@contextlib.contextmanager
def moved(bed: Bed, vm: Vm, guest: Guest, host: Host, number: int) -> Iterator[Guest]:
    """A VM at its new place, which its controller has found."""
    tap = bed.tap(host, number)
    words = [re.sub(r"ifname=\w+", f"ifname={tap.name}", word) for word in guest.config.arguments]
    before = bed.controller.outbound(vm.name)
    with Move(guest, netns=host.space.netns, arguments=words) as move:
        move.begin()
        target = move.complete()
        switch = host.switch.number()
        wait.until(lambda: bed.controller.nics()[vm.name]["switch"] == switch, "a new place")
        bed.controller.awaits_new_keys(vm.name, before)
        bed.controller.settled()
        yield target


@pytest.mark.long
def test_moves_between_hosts(tmp_path: Path) -> None:
    """There and back under traffic: the wire sees nothing but ESP, and no nonce twice."""
    with switched.bed() as bed:
        one, two = bed.hosts
        mover = bed.vm("red1", "red", 1, one, ipv6=True)
        here, there = bed.vm("red2", "red", 2, one, ipv6=True), bed.vm("red3", "red", 3, two)
        vms = [mover, here, there]
        bed.start_controller()
        with switched.started(vms):
            bed.apply(vms, {"red": CIPHER})
            for vm in (mover, here):
                vm.guest.run(f"ip address add {inside(vm)}/64 dev eth0 nodad")
            mover.guest.wait_for(f"ping -n -c1 -W1 {inside(here)}")
            with bed.capture(tmp_path / "wire.pcap") as file:
                talk = pair.Talk(here.guest, mover.guest, inside(mover), pause=0.02)
                with moved(bed, mover, mover.guest, two, 11) as target:
                    talk.goes_on()
                    target.wait_for(f"ping -n -c1 -W1 {there.address}")
                    with moved(bed, mover, target, one, 12) as returned:
                        talk.goes_on()
                        returned.wait_for(f"ping -n -c1 -W1 {there.address}")
                        talk.answers()
                        talk.end()
        seen = switched.nonces(file)
        assert len(set(seen)) == len(seen) > 1000
