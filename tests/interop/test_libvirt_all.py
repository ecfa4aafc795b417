# SPDX-License-Identifier: GPL-2.0-or-later
"""One element with all devices: each of them works, where its VM begins and where it goes.

The tests are steps of one VM's life, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.base.net import Namespace
from lab.cvsw import bed as cvsw
from lab.cvsw.bed import GUEST, flow
from lab.guest import domain
from lab.libvirt import whole
from lab.libvirt.libvirtd import Host
from lab.libvirt.whole import MOBILE, TENANT, Bed
from lab.mip6 import mobility

_IPV6 = 0x86DD


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with whole.bed() as made:
        said = made.define()
        devices = f"HostVLAN and MIP6 and CVSW at {MOBILE}, HostVLAN and CVSW at {TENANT}"
        assert said == f"guest: defined, VMRPC with {whole.ADDRESS6}, handed off, {devices}\n"
        made.home.virsh("start", "guest")
        made.prepare()
        yield made


def _answers(space: Namespace, address: str) -> bool:
    """Whether an address answers one question."""
    ping = ["ping", "-n", "-c1", "-W1", address]
    return space.run(ping, check=False).returncode == 0


def _is_reached(space: Namespace, address: str) -> None:
    wait.until(lambda: _answers(space, address), f"an answer of {address} to {space.name}")


def _only_friend_reaches(bed: Bed, address: str) -> None:
    _is_reached(bed.friend, address)
    assert not _answers(bed.stranger, address)
    _is_reached(bed.friend, address)


def _ipv4_program_has_the_page(bed: Bed, host: Host) -> None:
    """Its server has IPv6 only."""
    with bed.talk(host) as channel:
        done = domain.run(channel, f"curl -sS --fail -4 http://{whole.NAME}/")
    assert done.stdout == whole.PAGE, done.stderr


def _tunnel_works(bed: Bed, host: Host) -> None:
    before = bed.switch(host, TENANT)
    _is_reached(bed.friend, whole.INNER[0])
    after = bed.switch(host, TENANT)
    for cookie in (whole.INTO, whole.OUT):
        assert cvsw.packets(after, cookie) > cvsw.packets(before, cookie)


def test_sockets(bed: Bed) -> None:
    _ipv4_program_has_the_page(bed, bed.home)


@pytest.mark.parametrize("address", [mobility.HOME_ADDRESS, whole.TENANT_ADDRESS])
def test_tenants(bed: Bed, address: str) -> None:
    """Through HostVLAN behind both switches; the first goes through Mobile IPv6 as well."""
    _only_friend_reaches(bed, address)


def test_switches(bed: Bed) -> None:
    """Both NICs register, one of them through HostVLAN and Mobile IPv6; flows are obeyed."""
    bed.meet()
    mobile = bed.controllers[MOBILE]
    mobile.set(flow(in_port=GUEST, dl_type=_IPV6))
    assert not _answers(bed.friend, mobility.HOME_ADDRESS)
    mobile.clear()
    _is_reached(bed.friend, mobility.HOME_ADDRESS)
    bed.set_flows()
    _tunnel_works(bed, bed.home)
    _only_friend_reaches(bed, whole.TENANT_ADDRESS)


def test_moves(bed: Bed) -> None:
    """On the foreign link the home agent has its binding, and all else is as it was."""
    bed.migrate(bed.home, bed.foreign)
    wait.until(lambda: bed.mip6(bed.foreign)["state"] == "bound", "a binding")
    binding = bed.world.agent_host.ip("-6", "route", "show", "dev", "mip6ha")
    assert mobility.HOME_ADDRESS in binding
    assert bed.mip6(bed.foreign)["care-of"].startswith(mobility.FOREIGN_PREFIX)
    sent = cvsw.packets(bed.switch(bed.foreign, MOBILE), whole.SENT)
    _is_reached(bed.world.correspondent, mobility.HOME_ADDRESS)
    assert cvsw.packets(bed.switch(bed.foreign, MOBILE), whole.SENT) > sent
    # As docs/libvirt-element.md has it: what the home agent brings is the home router's.
    _is_reached(bed.stranger, mobility.HOME_ADDRESS)
    _tunnel_works(bed, bed.foreign)
    _only_friend_reaches(bed, whole.TENANT_ADDRESS)
    _ipv4_program_has_the_page(bed, bed.foreign)
