# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's router: another one after the VM's return, and one where none was ever heard."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from lab.base import wait
from lab.base.net import Interface
from lab.base.rough import Rough
from lab.guest.guest import Guest
from lab.guest.migration import migrated
from lab.mip6 import mobility, roaming
from lab.mip6.mobility import HOME_PREFIX, Site, World, prefix_line
from lab.packages import kernel

_SETTINGS: dict[str, Any] = {
    "name": "routed",
    "kernel": kernel.MAIN,
    "memory": "128M",
    "devices": (mobility.DEVICE,),
}
#: Made of the NIC's MAC address (RFC 4291 appendix A).
_OWN_ADDRESS = f"{HOME_PREFIX}:0:5054:ff:fe6d:6970"
_NEW_MAC = "02:00:00:00:00:77"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Its routers advertise rarely: no guest is told by chance."""
    with (
        mobility.world(Rough(slow_adverts=True)) as built,
        built.agent(60, f"allow {_OWN_ADDRESS}"),
    ):
        yield built


def _place(site: Site, name: str, home: str = mobility.HOME_ADDRESS) -> dict[str, Any]:
    arguments = mobility.arguments(site.tap(name), home=home)
    return {"netns": site.host.netns, "arguments": tuple(arguments)}


def _has_care_of(target: Guest) -> bool:
    return "care-of" in roaming.info(target)


def _is_home(target: Guest) -> bool:
    return bool(roaming.info(target)["location-known"])


def _link_local(router: Interface) -> str:
    """Return the router's address as the guest shows it."""
    words = router.namespace.ip("-6", "-o", "address", "show", "dev", router.name, "scope", "link")
    return words.split("inet6 ")[1].split("/")[0]


@contextlib.contextmanager
def _replaced(site: Site, address: str) -> Iterator[None]:
    """Give a site's router another MAC address, and a link-local address."""
    lan, mac, old = site.link, site.link.mac, _link_local(site.link)

    def become(mac: str, before: str, after: str) -> None:
        lan.namespace.ip("link", "set", lan.name, "address", mac)
        if after != before:
            lan.remove_address(f"{before}/64")
            lan.add_address(f"{after}/64")
        site.advertiser.change(prefix_line(site.prefix))

    become(_NEW_MAC, old, address)
    try:
        yield
    finally:
        become(mac, address, old)


@pytest.mark.parametrize("is_same", [True, False], ids=["same-address", "other-address"])
def test_router_is_replaced(world: World, is_same: bool) -> None:
    """Back at home, the guest knows the router that has come meanwhile, before it asks."""
    old = _link_local(world.home.link)
    new = old if is_same else "fe80::77"
    name = "same" if is_same else "new"
    with Guest(**_place(world.home, f"home-{name}"), **_SETTINGS) as guest:
        roaming.configure(guest)
        guest.wait_for("ip -6 route show default | grep -q via")
        # It does not look for itself whether its router is there.
        guest.run("sysctl -w net.ipv6.neigh.eth0.delay_first_probe_time=3600")
        roaming.pings(guest)
        with migrated(guest, ready=_has_care_of, **_place(world.foreign, f"away-{name}")) as away:
            roaming.await_bound(away)
            roaming.pings(away)
            with contextlib.ExitStack() as stack:
                stack.enter_context(_replaced(world.home, new))

                def hears_no_more(target: Guest) -> bool:
                    """Only the VM's host has heard the new router, not the guest."""
                    if _is_home(target):
                        stack.enter_context(world.home.advertiser.silent())
                        return True
                    return False

                place = _place(world.home, f"back-{name}")
                back = stack.enter_context(migrated(away, ready=hears_no_more, **place))
                wait.until(lambda: roaming.state(back) == "home", "the end of the binding")
                shown = roaming.info(back)
                assert (shown["router"], shown["router-mac"]) == (new, _NEW_MAC)
                back.wait_for(f"ip -6 neigh show {new} dev eth0 | grep -q {_NEW_MAC}")
                back.wait_for(f"ip -6 route show default | grep -q {new}")
                if not is_same:
                    back.wait_for(f"! ip -6 route show default | grep -q {old}")
                roaming.pings(back)
                back.check_kernel()


def test_started_away(world: World) -> None:
    """QEMU starts on a foreign link: the guest gets its home link's prefix and a router."""
    with Guest(**_place(world.foreign, "started", _OWN_ADDRESS), **_SETTINGS) as guest:
        guest.run("modprobe virtio_net; until ip link show eth0; do :; done")
        guest.run("sysctl -w net.ipv6.conf.eth0.accept_dad=0; ip link set eth0 up")
        roaming.await_bound(guest)
        guest.wait_for(f"ip -6 address show dev eth0 | grep -q {_OWN_ADDRESS}")
        guest.wait_for("ip -6 route show default | grep -q via")
        roaming.pings(guest)
        # Nothing of the foreign link has reached it.
        assert mobility.FOREIGN_PREFIX not in guest.run("ip -6 address show dev eth0").stdout
        assert "router-mac" not in roaming.info(guest)
        made = roaming.info(guest)["router"]
        assert f"{made}, made up" in guest.qmp(
            "human-monitor-command", **{"command-line": "info mip6"}
        )
        place = _place(world.home, "settled", _OWN_ADDRESS)
        with migrated(guest, ready=_is_home, **place) as back:
            wait.until(lambda: roaming.state(back) == "home", "the end of the binding")
            back.wait_for(f"! ip -6 route show default | grep -q {made}")
            back.wait_for("ip -6 route show default | grep -q via")
            roaming.pings(back)
            back.check_kernel()
