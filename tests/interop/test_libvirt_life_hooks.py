# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks that fail at each event, domains that were edited, NICs that are plugged in and out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from lab.base import paths, tools, wait
from lab.base.net import Network
from lab.libvirt.life import BRIDGE, Site, Vm
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand

VM = Vm(1)
PLUGGED = "52:54:00:00:00:aa"
_FAIL = "echo planted >&2; exit 1"


def _long(event: str) -> Any:
    return pytest.param(event, marks=pytest.mark.long)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


@pytest.fixture(scope="module")
def one(network: Network) -> Iterator[Site]:
    with Site(network.namespace("one"), 1) as site:
        yield site


@pytest.fixture(scope="module")
def two(network: Network) -> Iterator[Site]:
    with Site(network.namespace("two"), 2) as site:
        yield site


@pytest.fixture
def site(one: Site) -> Iterator[Site]:
    """Host one, on which the VM is defined."""
    one.define(VM)
    yield one
    one.clear()
    one.has_nothing()


# Hooks of others that fail.  libvirt runs all of them, and fails if one does.


@pytest.mark.parametrize("event", ["prepare", _long("start"), _long("started")])
def test_fails_at_a_start(site: Site, event: str) -> None:
    with site.hook("zzz", event, _FAIL):
        assert "planted" in site.refuses("start", VM.name)
    assert site.said(VM, "prepare")[0] == f"/run/vmmnet/ports/{VM.name} has {VM.mac}"
    assert site.state(VM) == "shut off"
    site.has_nothing()


def test_fails_at_an_end(site: Site) -> None:
    """libvirt does not mind."""
    site.virsh("start", VM.name)
    with site.hook("aaa", "release", _FAIL), site.hook("aab", "stopped", _FAIL):
        site.virsh("destroy", VM.name)
    site.has_nothing()


@pytest.mark.long
def test_fails_at_a_restore(site: Site) -> None:
    """What is saved stays so, and comes the next time."""
    site.virsh("start", VM.name)
    site.virsh("managedsave", VM.name)
    with site.hook("zzz", "restore", _FAIL):
        assert "planted" in site.refuses("start", VM.name)
    assert (site.state(VM), site.addresses(), site.ports()) == ("shut off", set(), [])
    site.virsh("start", VM.name)
    assert site.said(VM, "restore") == ["it comes as it is"] * 2
    site.has(VM)


@pytest.mark.long
@pytest.mark.parametrize("event", ["migrate", "prepare", "start"])
def test_fails_at_a_migration(site: Site, two: Site, event: str) -> None:
    """The VM stays where it is, and the other host has nothing of it."""
    site.virsh("start", VM.name)
    with two.hook("zzz", event, _FAIL), two.way() as way:
        said = site.refuses("migrate", "--live", *way, VM.name, two.uri())
    assert "planted" in said
    site.has(VM)
    # Of a VM that was announced, libvirt tells no hook that it has refused it.
    assert two.notes() == ([VM.uuid] if event == "migrate" else [])
    assert (two.addresses(), two.ports(), two.helper.shown()) == (set(), [], [])


# Our own hook cannot do its work.


@contextlib.contextmanager
def _broken(site: Site) -> Iterator[None]:
    """As where the package is damaged."""
    script = site.path("/etc/libvirt/hooks/qemu.d/vmmnet")
    text = script.read_text()
    script.write_text(text.replace("-m vmmnet.libvirt.hook", "-m vmmnet.nothing"))
    try:
        yield
    finally:
        script.write_text(text)


def test_reconnect_never_ends_a_vm(site: Site) -> None:
    """Whatever is wrong: a file of ours, the helper, Python, the package."""
    site.virsh("start", VM.name)
    settings = site.path("/etc/vmmnet/host.conf")
    settings.write_text("uplnik br0 br1\n")
    site.helper.kill()
    site.restart_daemon(VM)
    assert "host.conf, line 1: 'uplnik' is none of" in site.said(VM, "reconnect")[-1]
    settings.unlink()
    site.restart_daemon(VM)
    assert "systemctl start vmmnet-hostd" in site.said(VM, "reconnect")[-1]

    with _broken(site):
        site.stop()
        site.start()
        line = f"vmmnet-hook: reconnect {VM.name}: the hook has failed (1)"
        wait.until(lambda: line in site.log(), "a line in the log")
    site.helper.restart()
    site.has(VM)


def test_a_hook_that_cannot_run_refuses(site: Site) -> None:
    """Else a VM would begin without what it must have."""
    with _broken(site):
        assert "No module named" in site.refuses("start", VM.name)
    site.has_nothing()


# 'virsh edit'


def _net(made: Any) -> Any:
    return made.find("metadata")[0]


def _wrong_attribute(made: Any) -> None:
    _net(made).set("colour", "red")


def _changed(made: Any) -> None:
    _net(made)[0].set("guest4", "192.0.0.3/29")


def _taken_out(made: Any) -> None:
    made.remove(made.find("metadata"))


def _remodelled(made: Any) -> None:
    made.find("devices/interface/model").set("type", "e1000e")


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_wrong_attribute, "there is no attribute 'colour' here"),
        (_changed, "<vmmnet:net> was changed since the domain was expanded"),
        (_taken_out, "it has no <vmmnet:net> any more"),
        (_remodelled, f"NIC {VM.mac}: the model is 'e1000e' instead of virtio's"),
    ],
)
def test_edited(site: Site, edit: Any, why: str) -> None:
    made = expand.expand(VM.domain())
    edit(made)
    site.define(VM, made)
    said = site.refuses("start", VM.name)
    assert why in said and "'vmmnet libvirt define'" in said
    assert any(why in line for line in site.said(VM, "prepare"))
    site.has_nothing()
    site.define(VM)


# NICs that come and go while the VM runs: libvirt runs no hook.


def _nic(mac: str) -> Any:
    return etree.fromstring(
        f"<interface type='bridge'><mac address='{mac}'/><source bridge='{BRIDGE}'/>"
        "<model type='virtio'/><rom enabled='no'/></interface>"
    )


def _nics(site: Site) -> list[str]:
    return [line.split()[4] for line in site.virsh("domiflist", VM.name).splitlines() if line]


def _unplug(site: Site, mac: str) -> None:
    """Nobody in the guest lets it go: a reset does."""
    # libvirt may tell that it waits, or not.
    with contextlib.suppress(tools.CommandFailed):
        site.virsh("detach-interface", VM.name, "bridge", "--mac", mac)
    site.virsh("reset", VM.name)
    wait.until(lambda: mac not in _nics(site), "the NIC is out")


def _check(site: Site) -> str:
    """What 'vmmnet libvirt check' says of the VM."""
    python = ["env", f"PYTHONPATH={paths.ROOT / 'control'}", "/usr/bin/python3", "-m", "vmmnet"]
    words = ["--connect", "qemu:///system", VM.name]
    return site.run(*python, "libvirt", "check", *words, check=False).stdout


@pytest.mark.long
def test_plugged_in_and_out(site: Site) -> None:
    """The agent of HostVLAN learns of it when libvirt's daemon is restarted."""
    site.virsh("start", VM.name)
    calls = len(site.log())
    site.virsh("attach-device", VM.name, site.write(_nic(PLUGGED)))
    assert len(site.log()) == calls and site.ports() == [VM.mac]
    site.restart_daemon(VM)
    assert site.ports() == sorted([VM.mac, PLUGGED])
    assert f"{PLUGGED}: the NIC was plugged in while the domain ran" in _check(site)
    _unplug(site, PLUGGED)
    site.restart_daemon(VM)
    site.has(VM)


@pytest.mark.long
def test_the_elements_own_nic_is_plugged_out(site: Site) -> None:
    """The VM goes on.  In again, it is past the filter, as 'check' tells, until a new start."""
    site.virsh("start", VM.name)
    live = etree.fromstring(site.virsh("dumpxml", VM.name))
    own = site.write(live.find("devices/interface"))
    assert "HostVLAN before it" not in _check(site)
    _unplug(site, VM.mac)
    assert site.state(VM) == "running"
    (port,) = site.monitor(VM.name, "query-hostvlan")
    assert "interface" not in port
    site.virsh("attach-device", VM.name, own)
    assert f"'vmmnet libvirt protect {VM.name} {VM.mac}'" in _check(site)
    site.virsh("destroy", VM.name)
    site.has_nothing()
    site.virsh("start", VM.name)
    site.has(VM)
    (port,) = site.monitor(VM.name, "query-hostvlan")
    assert port["interface"]
