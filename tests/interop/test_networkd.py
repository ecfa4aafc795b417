# SPDX-License-Identifier: GPL-2.0-or-later
"""The real systemd-networkd beside what our module sets up by itself in a guest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.base import paths, wait
from lab.base.net import Network
from lab.hosts.booted import Booted

NETWORKD = "systemd-networkd.service"
OURS = paths.ROOT / "guest-linux/vmrpc/10-vmrpc.network"
CATCH_ALL = "[Match]\nName=*\n[Network]\nDHCP=yes\n"
ADDRESS, ROUTER = "192.0.0.2/29", "192.0.0.1"


@pytest.fixture
def guest(network: Network, tmp_path: Path) -> Iterator[Booted]:
    """A system with an interface like the module's, and a .network file for all."""
    files = tmp_path / "files"
    networks = files / "etc/systemd/network"
    networks.mkdir(parents=True)
    (networks / "99-all.network").write_text(CATCH_ALL)
    space, other = network.namespace("guest"), network.namespace("other")
    peer = ("peer", "name", "end", "netns", other.netns)
    space.ip("link", "add", "vmrpc0", "type", "veth", *peer)
    other.ip("link", "set", "end", "up")
    with Booted(space, files) as booted:
        # networkd spares what it finds where /sys is read-only. Then it asks udev, which is not
        # there, for each interface: this is its database.
        booted.run("mount", "-o", "remount,rw", "/sys")
        script = "mkdir -p /run/udev/data; for i in /sys/class/net/*/ifindex; do"
        script += " echo I:1 >/run/udev/data/n$(cat $i); done"
        booted.run("sh", "-c", script)
        booted.run("rm", f"/etc/systemd/system/{NETWORKD}")
        booted.run("systemctl", "daemon-reload")
        yield booted


def _set_up(guest: Booted) -> None:
    """What the module does."""
    guest.space.ip("address", "replace", ADDRESS, "dev", "vmrpc0")
    guest.space.ip("link", "set", "vmrpc0", "up")
    guest.space.ip("route", "replace", "default", "via", ROUTER, "dev", "vmrpc0")


def test_a_catch_all_file_leaves_our_interface_alone(guest: Booted) -> None:
    """Ours comes first: address and route stay, and nobody waits for the network."""
    _set_up(guest)
    guest.run("systemctl", "start", NETWORKD)
    addresses = ("-4", "address", "show", "dev", "vmrpc0")
    wait.until(lambda: ADDRESS not in guest.space.ip(*addresses), "it is removed without ours")
    # Its socket unit starts it again at any change of an interface.
    guest.run("cp", OURS, "/etc/systemd/network/")
    guest.run("systemctl", "stop", NETWORKD)
    _set_up(guest)
    guest.run("systemctl", "start", NETWORKD)
    guest.run("/lib/systemd/systemd-networkd-wait-online", "--interface=vmrpc0")
    assert ADDRESS in guest.space.ip(*addresses)
    assert f"default via {ROUTER} dev vmrpc0" in guest.space.ip("route")
