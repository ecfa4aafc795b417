# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN before the passt that libvirt starts for a NIC; Debian 12's libvirt knows none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.base import paths, wait
from lab.libvirt import session as libvirt_session
from lab.libvirt.session import Session, bootable, connect, run
from lab.peers.lab import Lab, lab
from lxml import etree  # type: ignore[import-untyped]
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.libvirt import expand, names
from vmmnet.values import mac as macs

MAC, GATEWAY = "52:54:00:00:00:01", "9a:55:9a:55:9a:55"
HOST, ROUTER, SERVER = "192.0.2.1", "192.0.2.2", "192.0.2.3"
PORT = 8080
#: The guest's address is that of the host, as passt has it.
DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='{names.NET}'>
      <vmmnet:interface mac='{MAC}' hostvlan='{{table}}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>256</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <interface type='user'>
      <mac address='{MAC}'/>
      <backend type='passt'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
"""


@pytest.fixture
def session() -> Iterator[Session]:
    with lab() as world, libvirt_session.session(world, 1) as made:
        world.link.a.add_address(f"{HOST}/24")
        # passt takes the interface that has a route to everywhere; the router's address is to it
        # that of the host itself.
        for address in (ROUTER, SERVER):
            world.link.b.add_address(f"{address}/24")
        world.host.route("default", ROUTER)
        yield made


def _serves(world: Lab, folder: Path) -> None:
    (folder / "index.html").write_text("a page\n")
    words = ["python3", "-m", "http.server", str(PORT), "--bind", SERVER]
    server = world.peer.popen(words, cwd=folder)
    wait.listening(server.pid, PORT)


def _put(table: Path, mac: str) -> None:
    with Table.change(table) as change:
        change.set(Entry.of(macs.parse(mac), [7]))
    table.chmod(0o644)


def test_a_page_by_passt(session: Session, tmp_path: Path) -> None:
    """Its gateway's MAC address is passt's own, and is in the tenant or is not."""
    _serves(session.world, tmp_path)
    table = session.folder / "lnid.table"
    _put(table, MAC)
    made = expand.expand(etree.fromstring(DOMAIN.format(table=table)))
    file = session.folder / "guest.xml"
    file.write_text(bootable(ElementTree.fromstring(etree.tostring(made)), session))
    session.virsh("define", file)
    check = ["python3", "-m", "vmmnet", "libvirt", "check", "guest"]
    words = session.command("env", f"PYTHONPATH={paths.ROOT / 'control'}", *check)
    told = session.world.host.run([*words, "--connect", "qemu:///session"], check=False)
    assert "passt" not in told.stdout + told.stderr, told
    session.virsh("start", "guest")
    with contextlib.closing(connect(session.folder / "agent")) as channel:
        run(channel, "modprobe virtio_net; until ip link show eth0; do :; done")
        run(channel, f"ip link set eth0 up; ip address add {HOST}/24 dev eth0")
        fetch = f"curl -sS --max-time {{}} http://{SERVER}:{PORT}/"
        assert run(channel, fetch.format(5)).stdout == ""
        (port,) = session.monitor("query-hostvlan")
        assert port["receive"]["unknown-source"] > 0, port
        _put(table, GATEWAY)
        assert run(channel, f"until {fetch.format(5)}; do :; done").stdout == "a page\n"
