# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in eBPF under an Open vSwitch whose datapath is in user space.

It reads its ports by packet sockets, ahead of tc, and floods by sending one
frame after another: a refusal that looks like an error costs other ports theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base.net import Network
from lab.cvsw.openvswitch import Switch
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Port
from vmmnet.values import mac as macs

STRANGER = 0x525400ABCDEF
# As many as the switch takes at a time.
BURST, BURSTS = 32, 20


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


@pytest.fixture
def switch(host: Bed) -> Iterator[Switch]:
    with Switch.running(host.space) as made:
        yield made


@pytest.fixture
def ports(host: Bed, switch: Switch) -> list[Port]:
    """Five, of LNIDs 1, 2, 1, 2 and 1: who is refused is among the others."""
    made = [host.veth(name, bridged=False) for name in "abcde"]
    for number, port in enumerate(made):
        host.put(port.mac, 1 + number % 2)
        host.attach(port)
        switch.set("add-port", "sw", port.end.name)
    return made


def test_a_refused_frame_costs_nobody_else_theirs(host: Bed, ports: list[Port]) -> None:
    a, b, c, d, e = ports
    for burst in range(BURSTS):
        texts = [f"{burst}-{number}" for number in range(BURST)]
        for text in texts:
            a.say(text)
        for friend in (c, e):
            assert friend.hears(texts[-1]) == texts
    for stranger in (b, d):
        host.refuses(stranger, "other-tenant", BURSTS * BURST)


def test_a_spoofed_frame_is_not_even_seen(host: Bed, switch: Switch, ports: list[Port]) -> None:
    a, _, c, *_ = ports
    a.say("spoofed", source=STRANGER)
    a.say("end")
    assert c.hears("end") == ["end"]
    assert macs.text(a.mac) in switch.learned()
    assert macs.text(STRANGER) not in switch.learned()
    assert host.status(a).send["spoofed"] == 1
