# SPDX-License-Identifier: GPL-2.0-or-later
"""VMs with the element come, are saved, restored, and end: hosts have for them what they must.

No guest runs; the firmware looks for a disk.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.base import paths, wait
from lab.base.net import Network
from lab.guest import domain
from lab.libvirt.life import TABLE, Site, Vm
from vmmnet.libvirt import expand

ONE, TWO = Vm(1), Vm(2)
OTHER_TABLE = "/var/lib/vmmnet/other.table"
OTHER_ADDRESS = "2001:db8:1::c0de:99"


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[Site, Site]]:
    with Network() as network, contextlib.ExitStack() as stack:
        # libvirt's daemon takes it for snapshots of what does not run.
        path = f"{os.environ['PATH']}:{paths.BUILD / 'qemu-lean'}"
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("PATH", path)
        one, two = (
            stack.enter_context(Site(network.namespace(name), number))
            for number, name in enumerate(("one", "two"), 1)
        )
        for each in one, two:
            each.make_table(OTHER_TABLE)
        yield one, two


@pytest.fixture
def site(sites: tuple[Site, Site]) -> Iterator[Site]:
    """Host one, on which VM 1 runs."""
    one = sites[0]
    one.define(ONE)
    one.virsh("start", ONE.name)
    yield one
    one.clear()
    one.has_nothing()


def _port(site: Site) -> Any:
    (port,) = site.monitor(ONE.name, "query-hostvlan")
    return port


def test_managed_save(site: Site) -> None:
    """A VM in a file has nothing, and all again when it is started."""
    site.has(ONE)
    site.virsh("managedsave", ONE.name)
    site.has_nothing()
    site.virsh("start", ONE.name)
    assert site.said(ONE, "restore") == ["it comes as it is"]
    site.has(ONE)


def test_restored_as_somebody_else_says(site: Site) -> None:
    """'--xml' names another table and another address: what is restored is that."""
    file = site.folder / "saved"
    site.virsh("save", ONE.name, file)
    made = expand.expand(ONE.domain(table=OTHER_TABLE, address=OTHER_ADDRESS))
    site.virsh("restore", file, "--xml", site.write(made))
    site.has(ONE, address=OTHER_ADDRESS)
    assert _port(site)["table"] == OTHER_TABLE


@pytest.mark.long
def test_restored_with_an_xml_that_nobody_expanded(site: Site) -> None:
    file = site.folder / "saved"
    site.virsh("save", ONE.name, file)
    made = expand.expand(ONE.domain())
    made.find("metadata")[0][0].set("address6", OTHER_ADDRESS)
    said = site.refuses("restore", file, "--xml", site.write(made))
    assert OTHER_ADDRESS in said and "'vmmnet libvirt define --print FILE >NEW'" in said
    site.has_nothing()


def test_restored_on_another_host(site: Site, sites: tuple[Site, Site]) -> None:
    """The file has the table of the host that wrote it."""
    two, file = sites[1], site.folder / "saved"
    site.virsh("save", ONE.name, file)
    settings = two.path("/etc/vmmnet/host.conf")
    settings.write_text(f"hostvlan-table {OTHER_TABLE}\n")
    two.path(TABLE).unlink()
    two.virsh("restore", file)
    assert two.said(ONE, "restore") == [f"the table of {ONE.mac} is {OTHER_TABLE}, not {TABLE}"]
    assert _port(two)["table"] == OTHER_TABLE
    two.has(ONE)
    site.has_nothing()
    two.virsh("destroy", ONE.name)
    two.has_nothing()


def _with_disk(site: Site) -> Any:
    disk = Path("/run/disk.qcow2")
    image = paths.BUILD / "qemu-lean/qemu-img"
    site.run(image, "create", "-q", "-f", "qcow2", disk, "64M")
    made = ONE.domain()
    node = domain.child(made.find("devices"), "disk", type="file", device="disk")
    domain.child(node, "driver", name="qemu", type="qcow2")
    domain.child(node, "source", file=str(disk))
    domain.child(node, "target", dev="vda", bus="virtio")
    return expand.expand(made)


@pytest.mark.long
def test_snapshots(site: Site) -> None:
    """Reverted to, a VM has what its state then has, whatever it is now."""
    site.virsh("destroy", ONE.name)
    site.define(ONE, _with_disk(site))
    site.virsh("snapshot-create-as", ONE.name, "off")
    site.virsh("start", ONE.name)
    site.virsh("snapshot-create-as", ONE.name, "on")
    site.has(ONE)
    site.virsh("snapshot-revert", ONE.name, "on")
    site.has(ONE)
    site.virsh("snapshot-revert", ONE.name, "off")
    assert site.state(ONE) == "shut off"
    site.has_nothing()
    site.virsh("snapshot-revert", ONE.name, "on")
    site.has(ONE)


def test_daemon_restarted(site: Site) -> None:
    """Of two guests one ends while the daemon is down."""
    site.define(TWO)
    site.virsh("start", TWO.name)
    site.has(ONE, TWO)

    def end() -> None:
        site.run("kill", "-KILL", site.pid(TWO))
        wait.until(lambda: TWO.address not in site.addresses(), "vmmnet-hostd has noticed")

    site.restart_daemon(ONE, end)
    wait.until(lambda: site.state(TWO) == "shut off", "libvirt has noticed")
    assert site.said(ONE, "reconnect")[0] == f"/run/vmmnet/ports/{ONE.name} has {ONE.mac}"
    wait.until(lambda: TWO.uuid not in site.notes(), "the hook has released it")
    site.has(ONE)


@pytest.mark.parametrize("way", ["kill", pytest.param("quit", marks=pytest.mark.long)])
def test_ended_by_another_tool(site: Site, way: str) -> None:
    """libvirt learns it from its monitor."""
    if way == "kill":
        site.run("kill", "-KILL", site.pid(ONE))
    else:
        site.run("virsh", "qemu-monitor-command", ONE.name, "--hmp", "quit", check=False)
    wait.until(lambda: site.state(ONE) == "shut off", "libvirt has noticed")
    wait.until(lambda: not site.notes(), "the hook has released it")
    site.has_nothing()


@pytest.mark.long
def test_daemon_killed_before_the_vm_began(site: Site) -> None:
    """No hook is told of it, and another VM's makes up for it."""
    site.define(TWO)
    with site.hook("zzz", "prepare", "kill -KILL $(cat /run/libvirtd.service); sleep 60"):
        site.run("virsh", "start", TWO.name, check=False)
    site.restart_daemon(ONE)
    assert site.state(TWO) == "shut off" and TWO.uuid in site.notes()
    note = site.path("/run/vmmnet/libvirt") / TWO.uuid
    # It might begin, until some minutes have passed.
    old = json.loads(note.read_text())
    note.write_text(json.dumps({**old, "since": old["since"] - 3600}))
    site.virsh("managedsave", ONE.name)
    assert f"of {TWO.name}, left behind: vmmnet-hostd has forgotten it" in site.said(ONE, "release")
    site.has_nothing()
