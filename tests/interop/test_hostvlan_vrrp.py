# SPDX-License-Identifier: GPL-2.0-or-later
"""Two VRRP routers (keepalived) on ports that check senders, in eBPF, as docs/hostvlan.md says.

guest/test_hostvlan_vrrp.py has the same with routers in guests.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import commandline, process
from lab.base.net import Interface, Network
from lab.hosts import bridged
from lab.hosts.bridged import Bed, Port
from lab.peers import keepalived
from lab.peers.keepalived import ADDRESSES, LNID, MACS
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs


@pytest.fixture
def host(network: Network, tmp_path: Path) -> Iterator[Bed]:
    with bridged.bed(network, tmp_path / "table") as made:
        yield made


class Router:
    """keepalived in a namespace."""

    def __init__(self, end: Interface, number: int, folder: Path) -> None:
        self._end, self._folder = end, folder
        folder.mkdir()
        (folder / "conf").write_text(keepalived.configuration(end.name, number))
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its log is in the folder."""
        with (self._folder / "log").open("ab") as log:
            self._running = self._end.namespace.popen(
                keepalived.command(str(self._folder)), stdout=log, stderr=log
            )

    def stop(self) -> None:
        """It ends with an advertisement of priority 0."""
        assert self._running
        process.stop(self._running)

    def addresses(self) -> str:
        """What it has."""
        return self._end.namespace.ip("-json", "address")


def stations(host: Bed, network: Network) -> list[tuple[Interface, Port]]:
    """Two routers and a client: their own ends, and their ports."""
    made = []
    for number, (mac, own) in enumerate(zip(MACS, ADDRESSES, strict=True)):
        link = network.connect(network.namespace(f"s{number}"), host.bridge)
        # Its link-local address follows.
        link.a.down()
        link.a.namespace.ip("link", "set", link.a.name, "address", mac)
        link.up()
        for each, length in zip(own, (24, 64), strict=True):
            link.a.add_address(f"{each}/{length}")
        made.append((link.a, Port(link.b, host.listen(link.a), macs.parse(mac))))
    return made


@pytest.mark.parametrize(
    "times", [4, pytest.param(20, marks=pytest.mark.long)], ids=["brief", "long"]
)
@pytest.mark.parametrize("sending", ["xdp", "tc"])
def test_routers_take_turns(
    host: Bed, network: Network, tmp_path: Path, sending: twin.Sending, times: int
) -> None:
    """Both families have one master each, which clients reach; and check finds no fault."""
    where = ["--table", str(host.table)]
    for words in keepalived.documented():
        assert commandline.run("hostvlan", *words, *where).status == 0
    own = [word for each in ADDRESSES[2] for word in ("--address", each)]
    assert commandline.run("hostvlan", "add", MACS[2], str(LNID), *own, *where).status == 0
    made = stations(host, network)
    with host.space.entered():
        for _, port in made:
            twin.attach(port.end.name, port.mac, host.table, sending=sending, check_sender=True)
        answer = commandline.run("hostvlan", "check", *where)
    assert (answer.status, "fault: " in answer.out) == (0, False), answer.out
    routers = [
        Router(end, number, tmp_path / str(number)) for number, (end, _) in enumerate(made[:2])
    ]
    client = made[2][0]
    for each in routers:
        each.start()
    pair = keepalived.Pair(routers, client.namespace, client.name)
    pair.master(0)
    pair.fail_over(times)
