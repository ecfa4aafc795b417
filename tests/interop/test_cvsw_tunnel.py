# SPDX-License-Identifier: GPL-2.0-or-later
"""Large segments in tunnels, by way of the kernel: its cutting against the NIC's.

    tap1 ---+ bridge
    tap2 ---+

``cvsw-tunnel-peer.c`` has both taps, and the cores of two NICs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from lab.base.net import Network
from lab.hosts.bridged import QUIET
from lab.packages import programs

Peer = Callable[[str], str]


@pytest.fixture
def peer() -> Iterator[Peer]:
    """What starts the program, on taps that a bridge joins; returns what it says."""
    with Network() as network:
        host = network.namespace("host")
        host.sysctl(QUIET)
        bridge, taps = host.bridge(), ("tap1", "tap2")
        for name in taps:
            host.tap(name, bridge)
        program = programs.built("cvsw-tunnel-peer")

        def run(what: str) -> str:
            return host.run([program, what, *taps]).stdout

        if host.run([program, "probe", *taps], check=False).returncode:
            pytest.skip("this kernel's taps take no tunnels: it is before 6.17")
        yield run


def test_cut(peer: Peer) -> None:
    """The kernel makes the frames that the NIC would have made, of each size."""
    assert re.search(r"frames$", peer("cut"))


def test_whole(peer: Peer) -> None:
    """Who takes them gets what was sent, and makes the same frames if it has to."""
    assert re.search(r"frames$", peer("whole"))
