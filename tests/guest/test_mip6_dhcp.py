# SPDX-License-Identifier: GPL-2.0-or-later
"""Foreign links with DHCPv6 only: a VM's care-of address is a lease of dhcpd or of dnsmasq."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest
from lab.base import wait
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import FOREIGN_PREFIX, Site, World
from lab.packages import kernel

_SETTINGS: dict[str, Any] = {
    "name": "leased",
    "kernel": kernel.MAIN,
    "memory": "128M",
    "devices": (mobility.DEVICE,),
}
#: Of dhcpd: a client prolongs its lease after five seconds.
_DHCPD = """\
default-lease-time 600;
preferred-lifetime 500;
option dhcp-renewal-time 5;
option dhcp-rebinding-time 400;
subnet6 {prefix}::/64 {{ range6 {prefix}::1000 {prefix}::1fff; }}
"""


def _managed(prefix: str) -> tuple[str, ...]:
    """The lines of an advertiser: servers have the addresses."""
    line = f"prefix {prefix}::/64 {{ AdvOnLink on; AdvAutonomous off; }};"
    return ("AdvManagedFlag on;", line)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with mobility.world() as built, built.agent():
        built.foreign.advertiser.change(*_managed(FOREIGN_PREFIX))
        yield built


@dataclass(frozen=True)
class Server:
    """A DHCPv6 server: its command, and what it logs."""

    command: Callable[[Site, Path], list[str]]
    ready: str
    request: str
    renew: str
    release: str


def _dhcpd(site: Site, folder: Path) -> list[str]:
    config, leases = folder / "dhcpd.conf", folder / "dhcpd.leases"
    config.write_text(_DHCPD.format(prefix=site.prefix))
    leases.write_text("")
    return [
        *("dhcpd", "-6", "-f", "-d", "-cf", str(config), "-lf", str(leases)),
        *("-pf", str(folder / "dhcpd.pid"), site.link.name),
    ]


def _dnsmasq(site: Site, folder: Path) -> list[str]:
    leases = folder / "dnsmasq.leases"
    leases.unlink(missing_ok=True)
    return [
        *("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root"),
        *(f"--pid-file={folder / 'dnsmasq.pid'}", f"--dhcp-leasefile={leases}", "--log-dhcp"),
        *("--log-facility=-", f"--interface={site.link.name}"),
        f"--dhcp-range={site.prefix}::1000,{site.prefix}::1fff,64,600",
    ]


#: It answers a Solicit with the four messages of RFC 8415 section 5.
DHCPD = Server(
    *(_dhcpd, "Server starting service"),
    *("Request message from", "Renew message from", "Release message from"),
)
#: It answers with Rapid Commit.
DNSMASQ = Server(_dnsmasq, "DHCPv6, IP range", "DHCPREQUEST(", "DHCPRENEW(", "DHCPRELEASE(")


@contextlib.contextmanager
def _serving(world: World, server: Server) -> Iterator[Path]:
    """Run a server on the foreign site's router; yields its log."""
    log = world.folder / "dhcp.log"
    command = server.command(world.foreign, world.folder)
    with (
        log.open("wb") as out,
        world.foreign.router.started(command, stdout=out, stderr=out) as child,
    ):

        def listens() -> bool:
            assert child.poll() is None, log.read_text()
            return server.ready in log.read_text()

        wait.until(listens, command[0])
        yield log


def _place(site: Site, name: str) -> dict[str, Any]:
    arguments = mobility.arguments(site.tap(name))
    return {"netns": site.host.netns, "arguments": tuple(arguments)}


def _is_leased(address: str) -> bool:
    low, high = (IPv6Address(f"{FOREIGN_PREFIX}::{end}") for end in ("1000", "1fff"))
    return low <= IPv6Address(address) <= high


def _says(log: Path, word: str) -> int:
    return log.read_text().count(word)


def _check_lease(guest: Guest) -> None:
    """Its care-of address is a lease, and it says so."""
    shown = roaming.info(guest)
    assert _is_leased(shown["care-of"])
    assert shown["dhcpv6"]["address"] == shown["care-of"]
    assert shown["dhcpv6"]["status"] == 0
    assert shown["dhcpv6"]["remaining"] <= 600
    text = guest.qmp("human-monitor-command", **{"command-line": "info mip6"})
    assert re.search(rf"dhcpv6   \w+, {shown['care-of']} for \d+ s", text)


def test_arrives(world: World) -> None:
    """A VM that arrives has an address before it runs: by the four messages."""
    with (
        _serving(world, DHCPD) as log,
        Guest(**_place(world.home, "at-home"), **_SETTINGS) as guest,
    ):
        roaming.configure(guest)
        roaming.pings(guest)
        assert "dhcpv6" not in roaming.info(guest)
        with migrated(
            guest,
            ready=lambda target: "care-of" in roaming.info(target),
            **_place(world.foreign, "arrived"),
        ) as away:
            roaming.await_bound(away, FOREIGN_PREFIX)
            roaming.pings(away)
            _check_lease(away)
            assert _says(log, DHCPD.request) == 1
            away.check_kernel()


def test_leaves(world: World) -> None:
    """A lease, by two messages, is released when the VM has left, and none is taken at home."""
    with (
        _serving(world, DNSMASQ) as log,
        Guest(**_place(world.foreign, "leaves"), **_SETTINGS) as guest,
    ):
        roaming.configure(guest)
        roaming.await_bound(guest, FOREIGN_PREFIX)
        roaming.pings(guest)
        _check_lease(guest)
        assert _says(log, DNSMASQ.request) == 0
        with migrated(
            guest,
            ready=lambda target: roaming.info(target)["location-known"],
            **_place(world.home, "has-left"),
        ) as back:
            wait.until(lambda: roaming.state(back) == "home", "the end of the binding")
            assert "dhcpv6" not in roaming.info(back)
            wait.until(lambda: _says(log, DNSMASQ.release), "a release")
            assert "dhcpv6" not in roaming.info(guest)
            back.check_kernel()


def test_no_server(world: World) -> None:
    """Without a server people are told; when there is one, the VM has its network."""
    with Guest(**_place(world.foreign, "silent"), **_SETTINGS) as guest:
        roaming.configure(guest)
        wait.until(lambda: "no server has answered" in guest.stderr_path.read_text(), "a warning")
        shown = roaming.info(guest)
        assert (shown["state"], shown["reason"]) == ("acquiring", "no-care-of-address")
        assert shown["dhcpv6"]["state"] == "soliciting"
        with _serving(world, DHCPD):
            roaming.await_bound(guest, FOREIGN_PREFIX)
            roaming.pings(guest)
        guest.check_kernel()


def test_renewed(world: World) -> None:
    """A lease is prolonged, and outlives its server."""
    with Guest(**_place(world.foreign, "renewed"), **_SETTINGS) as guest:
        with _serving(world, DHCPD) as log:
            roaming.configure(guest)
            roaming.await_bound(guest, FOREIGN_PREFIX)
            care_of = roaming.info(guest)["care-of"]
            wait.until(lambda: _says(log, DHCPD.renew) > 1, "renewals")
        wait.until(
            lambda: roaming.info(guest)["dhcpv6"]["state"] == "renewing", "a server that is gone"
        )
        roaming.pings(guest)
        assert roaming.info(guest)["care-of"] == care_of
        guest.check_kernel()
