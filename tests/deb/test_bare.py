# SPDX-License-Identifier: GPL-2.0-or-later
"""A bare Debian 12, with the packages at hand, comes to a guest in few commands.

What is typed, and what is seen, is in build/packages.md.  No init system runs there, so
the services that the packages enable are started by the test.

 client ---- br0: the machine
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.base import conditions, paths, wait
from lab.base.net import Namespace, Network
from lab.guest import domain
from lab.hosts.machine import Machine
from lab.libvirt import bare
from lab.packages.debs import EMULATOR
from vmmnet.libvirt import names

pytestmark = pytest.mark.long

MOST_COMMANDS = 5
VM, MAC = "2001:db8:1::c0de", "52:54:00:12:34:56"

_DOMAIN = f"""
<domain type='qemu'>
  <name>guest</name>
  <metadata>
    <vmmnet:net xmlns:vmmnet='{names.NET}' handoff='on'>
      <vmmnet:sockets address6='{VM}'/>
      <vmmnet:interface mac='{MAC}' hostvlan='/var/lib/vmmnet/lnid.table'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>512</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <emulator>/usr/bin/{EMULATOR}</emulator>
    <interface type='bridge'>
      <mac address='{MAC}'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
"""


@dataclass
class Terminal:
    """What somebody types on a machine, and sees."""

    machine: Machine
    shown: list[str] = field(default_factory=list)
    typed: int = 0

    def type(self, command: str, only: str = "") -> None:
        """Run a command; of what it says, lines with ``only`` in them are noted."""
        line = f"cd /root && {command}"
        said = self.machine.shell(line, timeout=4 * wait.PATIENCE).splitlines()
        kept = [line for line in said if only in line]
        self.shown += [f"# {command}", *(["…"] if len(kept) < len(said) else []), *kept]
        self.typed += 1


@pytest.fixture
def client() -> Iterator[tuple[Namespace, Namespace]]:
    """The machine's network, and a neighbour of it."""
    with Network() as network:
        host, outside = network.namespace("bare"), network.namespace("client")
        bridge = host.bridge("br0")
        bridge.add_address("2001:db8:1::1/64")
        network.connect(outside, bridge, ["2001:db8:1::2/64", "192.0.2.2/24"])
        yield host, outside


@pytest.fixture
def machine(packages: Mapping[str, Path], client: tuple[Namespace, Namespace]) -> Iterator[Machine]:
    """A Debian that has nothing, but packages, and the guest's disks, in its folders."""
    wanted = ElementTree.fromstring(_DOMAIN)
    with bare.machine(client[0], bare.system(packages), packages) as made:
        bare.put_guest(made, wanted)
        ElementTree.register_namespace("vmmnet", names.NET)
        made.put("/root/guest.xml", ElementTree.tostring(wanted, encoding="unicode"))
        yield made


def test_from_nothing_to_a_guest(machine: Machine, client: tuple[Namespace, Namespace]) -> None:
    terminal = Terminal(machine)
    files = " ".join(f"./{name}_*.deb" for name in bare.OURS)
    install = f"apt install --yes --no-install-recommends {files} {' '.join(bare.DEBIANS)}"
    terminal.type(install, "Setting up vmmnet")
    with bare.services(machine):
        terminal.type(f"vmmnet hostvlan add {MAC} 7")
        terminal.type("vmmnet libvirt define guest.xml")
        terminal.type("virsh start guest")
        assert terminal.typed <= MOST_COMMANDS
        with contextlib.closing(domain.connect(machine.path(bare.AGENT))) as channel:
            domain.run(channel, f"insmod {domain.MODULE}")
            serve = "cd /srv && echo here >index.html && setsid python3 -m http.server 8080"
            domain.run(channel, f"{serve} >/dev/null 2>&1 &")
            fetch = ["curl", "-sS", "--fail", f"http://[{VM}]:8080/"]
            wait.until(
                lambda: client[1].run(fetch, check=False).stdout == "here\n", "the guest's page"
            )
            terminal.type("vmmnet libvirt show guest")
            terminal.type("vmmnet-hostd show")
        machine.run("virsh", "destroy", "guest")
        assert VM not in client[0].run(["ip", "-6", "address"]).stdout
    text = "\n".join(f"    {line}" for line in terminal.shown)
    (paths.BUILD / "packages.md").write_text(f"{conditions.machine()}\n\n{text}\n")
