# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet-hostd is killed at each step of a VM's start, run and end.

A hook of somebody else's, whose name sorts before ours or behind it, does it at that step.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.base import wait
from lab.base.net import Network
from lab.libvirt.libvirtd import HELPER_PID_FILE
from lab.libvirt.life import Site, Vm
from vmmnet.libvirt import expand

ONE, TWO = Vm(1), Vm(2)
_KILL = f"kill -KILL $(cat {HELPER_PID_FILE})"
_REMEDY = "/run/vmmnet/hostd.sock: nothing listens there: 'systemctl start vmmnet-hostd'"


@pytest.fixture(scope="module")
def host() -> Iterator[Site]:
    with Network() as network, Site(network.namespace("one"), 1) as one:
        yield one


@pytest.fixture
def site(host: Site) -> Iterator[Site]:
    """The host, on which VM 1 is defined, and no other."""
    host.define(ONE)
    yield host
    host.clear()
    host.has_nothing()


def _next_event(site: Site) -> None:
    """One that the hook refuses, of a VM that was never expanded."""
    site.define(TWO, TWO.domain())
    assert "never expanded" in site.refuses("start", TWO.name)


@pytest.mark.parametrize(
    ("event", "name", "why"),
    [
        ("prepare", "aaa", _REMEDY),
        # QEMU asks for the VM's addresses by its object.
        ("prepare", "zzz", "cannot connect to vmmnet-hostd"),
        pytest.param(*("start", "zzz", "cannot connect to vmmnet-hostd"), marks=pytest.mark.long),
    ],
)
def test_killed_before_qemu_begins(site: Site, event: str, name: str, why: str) -> None:
    """The VM does not start, the error says why, and nothing stays."""
    with site.hook(name, event, _KILL):
        said = site.refuses("start", ONE.name)
    assert why in said and "/run/vmmnet/hostd.sock" in said
    assert not site.ports()
    site.helper.restart()
    _next_event(site)
    site.has_nothing()
    site.virsh("start", ONE.name)
    site.has(ONE)


def test_killed_while_qemu_begins(site: Site) -> None:
    """The VM runs, and the next helper goes on where this one ended."""
    with site.hook("zzz", "started", _KILL):
        site.virsh("start", ONE.name)
    assert site.addresses() == {ONE.address}
    site.helper.restart()
    site.has(ONE)


@pytest.mark.long
def test_killed_while_the_vm_runs(site: Site) -> None:
    site.virsh("start", ONE.name)
    site.helper.kill()
    assert site.addresses() == {ONE.address}
    site.helper.restart()
    site.has(ONE)
    site.helper.kill()
    site.run("kill", "-KILL", site.pid(ONE))
    wait.until(lambda: site.state(ONE) == "shut off", "libvirt has noticed")
    site.helper.restart()
    assert not site.addresses()
    _next_event(site)


@pytest.mark.parametrize(
    ("event", "name"),
    [("release", "aaa"), pytest.param("stopped", "zzz", marks=pytest.mark.long)],
)
def test_killed_before_its_release(site: Site, event: str, name: str) -> None:
    """A VM that is gone keeps its address from no other one."""
    site.virsh("start", ONE.name)
    with site.hook(name, event, _KILL):
        site.virsh("destroy", ONE.name)
    assert site.said(ONE, "release")[-1] == f"vmmnet-hostd cannot be told: {_REMEDY}"
    assert not site.ports() and site.notes() == [ONE.uuid]
    site.helper.restart()
    assert not site.addresses()
    site.define(TWO, expand.expand(TWO.domain(address=ONE.address)))
    site.virsh("start", TWO.name)
    site.has(TWO, address=ONE.address)


@pytest.mark.long
def test_killed_behind_its_release(site: Site) -> None:
    site.virsh("start", ONE.name)
    with site.hook("zzz", "release", _KILL):
        site.virsh("destroy", ONE.name)
    site.helper.restart()
    site.has_nothing()


@pytest.mark.long
def test_restarted_by_root(site: Site) -> None:
    """As 'systemctl restart' does it: what is here stays."""
    site.virsh("start", ONE.name)
    site.helper.stop()
    assert site.addresses() == {ONE.address}
    site.helper.start()
    site.has(ONE)
