# SPDX-License-Identifier: GPL-2.0-or-later
"""VMs without a system on hosts with libvirt and vmmnet-hostd, which start and end at once.

with Network() as net, Host(net.namespace("one"), 1) as one, Helper(one) as helper:
    vm = Vm(1)
    vm.define(one)
    one.virsh("start", vm.name)
    assert vm.claims(one) == Claimed(...)
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, Self

from lxml import etree  # type: ignore[import-untyped]
from vmmnet.hostvlan.host import hostports
from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.libvirt import expand, names
from vmmnet.values import mac as macs

from ..base import tools, wait
from ..base.net import Namespace
from ..guest import qemu
from ..hosts import hostd
from .libvirtd import HELPER_PID_FILE, Host

#: Path of HostVLAN's table on these hosts.
TABLE = "/var/lib/vmmnet/lnid.table"
BRIDGE = "br0"
_PREFIX = "2001:db8:1::"

_DOMAIN = """
<domain type='qemu'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='{net}' handoff='on'>
      <vmmnet:sockets address6='{address}'/>
      <vmmnet:interface mac='{mac}' hostvlan='{table}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <emulator>{emulator}</emulator>
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='{bridge}'/>
      <model type='virtio'/>
      <rom enabled='no'/>
    </interface>
    <memballoon model='none'/>
  </devices>
</domain>
"""


class Helper:
    """vmmnet-hostd of a host with libvirt; a context manager.  It may be killed and started."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stack = contextlib.ExitStack()
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._child = self._stack.enter_context(self._host.run_hostd())

    def stop(self) -> None:
        """End it, as systemd does; it may have ended before."""
        self._stack.close()

    def restart(self) -> None:
        """Start it again after kill(), whose end the kernel may not have reported yet."""
        if self._child is not None:
            self._child.wait(wait.PATIENCE)
        self.stop()
        self.start()

    def kill(self) -> None:
        """End it at once."""
        self.signal("KILL")
        assert self._child is not None
        self._child.wait(wait.PATIENCE)
        self.stop()

    def signal(self, name: str) -> None:
        """Send it a signal."""
        pid = self._host.path(HELPER_PID_FILE).read_text().strip()
        self._host.run("kill", f"-{name}", pid)

    def shown(self) -> list[str]:
        """Return its registrations, one in a line."""
        *lines, end = hostd.ask(self._host.path(hostd.SOCKET), "show\n").splitlines()
        assert end == "ok"
        return lines


@dataclass(frozen=True)
class Vm:
    """One VM: HostVLAN on its NIC, and an address6 that is handed off."""

    number: int

    @property
    def name(self) -> str:
        """Its domain."""
        return f"vm{self.number}"

    @property
    def uuid(self) -> str:
        """UUID of the domain."""
        return f"00000000-0000-4000-9000-{self.number:012}"

    @property
    def mac(self) -> str:
        """The MAC address of its NIC."""
        return f"52:54:00:00:00:{self.number:02x}"

    @property
    def address(self) -> str:
        """Its address6."""
        return f"{_PREFIX}c0de:{self.number:x}"

    def domain(self, **changes: str) -> Any:
        """Return the domain, not expanded; ``changes`` replace address, table and other parts."""
        given = {
            "name": self.name,
            "uuid": self.uuid,
            "net": names.NET,
            "address": self.address,
            "mac": self.mac,
            "table": TABLE,
            "bridge": BRIDGE,
            "emulator": qemu.binary(),
        }
        return etree.fromstring(_DOMAIN.format(**{**given, **changes}))


class Site(Host):
    """A host with a bridge, a table, libvirt's daemon and vmmnet-hostd.  A context manager."""

    def __init__(self, space: Namespace, number: int, daemon: str = "libvirtd") -> None:
        super().__init__(space, number, daemon=daemon)
        self.helper = Helper(self)
        self._address = f"{_PREFIX}{number:x}"

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.space.bridge(BRIDGE).add_address(f"{self._address}/64")
            self.make_table(TABLE)
            self._stack.enter_context(self.helper)
        except BaseException:
            self._stack.close()
            raise
        return self

    def make_table(self, name: str) -> None:
        """Make a table of HostVLAN's with one entry."""
        table = self.path(name)
        table.parent.mkdir(parents=True, exist_ok=True)
        with Table.change(table) as change:
            change.set(Entry.of(macs.parse("52:54:00:00:00:ff"), [7]))

    def write(self, made: Any) -> Path:
        """Write an XML element into a file."""
        file = self.folder / f"{made.findtext('name') or made.tag}.xml"
        file.write_bytes(etree.tostring(made))
        return file

    def define(self, vm: Vm, domain: Any = None) -> None:
        """Define a VM, expanded, or a given domain."""
        made = expand.expand(vm.domain()) if domain is None else domain
        self.virsh("define", self.write(made))

    def refuses(self, *words: str | Path) -> str:
        """Return the error of a virsh command, which must fail."""
        try:
            self.virsh(*words)
        except tools.CommandFailed as error:
            return str(error)
        raise AssertionError(f"virsh {' '.join(map(str, words))} has succeeded")

    def state(self, vm: Vm) -> str:
        """The state of a VM by virsh."""
        return self.virsh("domstate", vm.name).strip()

    def pid(self, vm: Vm) -> str:
        """Process id of a VM's QEMU, inside this host."""
        return self.path(f"/run/libvirt/qemu/{vm.name}.pid").read_text().strip()

    def said(self, vm: Vm, event: str) -> list[str]:
        """Return the hook's actions for a VM's events of a kind, from the log."""
        begin = f"]: {event} {vm.name}: "
        return [line.partition(begin)[2] for line in self.log() if begin in line]

    def restart_daemon(self, vm: Vm, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Restart libvirt's daemon, and wait for its hook call for a running VM."""
        before = len(self.said(vm, "reconnect"))
        self.stop()
        meanwhile()
        self.start()
        wait.until(lambda: len(self.said(vm, "reconnect")) > before, "the hook is asked")
        # The daemon answers when it has handled the VM.
        self.state(vm)

    def addresses(self) -> set[str]:
        """IPv6 addresses of the host, without its own one and link-local ones."""
        shown = json.loads(self.space.ip("-6", "-j", "address", "show", "scope", "global"))
        found = [each for nic in shown for each in nic.get("addr_info", ()) if each]
        return {str(IPv6Address(each["local"])) for each in found} - {self._address}

    def ports(self) -> list[str]:
        """The MAC addresses that HostVLAN's agent would find here."""
        found = hostports.read(self.path("/run/vmmnet/ports"))
        return sorted(map(macs.text, found.macs)) if found else []

    def notes(self) -> list[str]:
        """UUIDs of VMs with notes of the hook."""
        folder = self.path("/run/vmmnet/libvirt")
        return sorted(each.name for each in folder.iterdir()) if folder.exists() else []

    def has(self, *vms: Vm, address: str | None = None) -> None:
        """Wait until the host has exactly the claims of these running VMs.

        After a migration, the VM's QEMU requests the address when it runs. ``address`` is that of
        the only VM.
        """
        wanted = {address} if address else {vm.address for vm in vms}
        wait.until(lambda: self.addresses() == wanted, f"{self.name} has {wanted}")
        assert self.ports() == sorted(vm.mac for vm in vms)
        assert self.notes() == sorted(vm.uuid for vm in vms)
        heads = [line.split()[:3] for line in self.helper.shown() if line.startswith("vm ")]
        assert heads == sorted(["vm", vm.uuid, "here"] for vm in vms)
        assert {self.state(vm) for vm in vms} == {"running"}

    def has_nothing(self) -> None:
        """Fail if any claim of a VM is left."""
        left = (self.addresses(), self.ports(), self.notes(), self.helper.shown())
        assert left == (set(), [], [], []), left

    def clear(self) -> None:
        """End and undefine all VMs."""
        for name in self.virsh("list", "--name").split():
            self.virsh("destroy", name)
        for name in self.virsh("list", "--all", "--name").split():
            self.virsh("undefine", name, "--managed-save", "--snapshots-metadata")

    @contextlib.contextmanager
    def hook(self, name: str, event: str, script: str) -> Iterator[None]:
        """Install another hook script for events of a kind."""
        file = self.path(f"/etc/libvirt/hooks/qemu.d/{name}")
        file.write_text(f'#!/bin/sh\ncat >/dev/null\n[ "$2" != {event} ] || {{ {script}; }}\n')
        file.chmod(0o755)
        try:
            yield
        finally:
            file.unlink()
