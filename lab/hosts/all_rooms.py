# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts, and one VM with VMRPC, HostVLAN, Mobile IPv6, CVSW and vmmnet-handoff.

Without a guest, the firmware looks for a disk.  QEMU is root's, as page faults of post-copy are not
everybody's to handle.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table
from vmmnet.qmp import Qmp, QmpError
from vmmnet.values import mac as macs

from ..base import scratch, wait
from ..base.net import Interface, Network
from ..cvsw import bed as cvsw
from ..guest import qemu
from ..guest.machine import DEFAULT
from ..guest.relay import Relay
from .hostd import Hostd, has_address, registration

VM = "0a7c1f3e-0000-4000-8000-00000000000a"
ADDRESS = "2001:db8:1::c0de"
CVSW_MAC, HOSTVLAN_MAC, MIP6_MAC = (f"52:54:00:00:00:0{n}" for n in (1, 2, 3))
#: Of the VM's peer, which is of its tenant.
PEER_MAC = "52:54:00:00:00:99"
HOME_ADDRESS = "2001:db8:2000::10"
#: Where guests reach IPv4 addresses by VMRPC.
NAT64 = "2001:db8:64::"
_NAT64 = f"nat64-prefix={NAT64}/96"
_AGENT = "2001:db8:2000::1"
#: Of CVSW's association, with aes-gcm-128.
SPI, KEY = 0x1001, bytes(range(20))
_SLOW = 1 << 14  # octets a second
_ENDED = ("completed", "failed", "cancelled")


@dataclass
class Host:
    """A host with its helper, and taps of one VM at a time."""

    helper: Hostd
    uplink: Interface
    bridge: Interface
    folder: Path
    _taps: Iterator[int] = field(default_factory=itertools.count)

    @property
    def has(self) -> bool:
        """Whether it has the VM's address."""
        assert self.helper.child is not None
        return has_address(self.helper.child.pid, ADDRESS)

    def devices(self) -> list[str]:
        """Return QEMU's options for the VM's devices on this host."""
        space = self.bridge.namespace
        cv, hv, mip = (space.tap(f"tap{next(self._taps)}", self.bridge) for _ in range(3))
        table = self.folder / "lnid.table"
        with Table.change(table) as change:
            change.replace([Entry.of(macs.parse(mac), [7]) for mac in (HOSTVLAN_MAC, PEER_MAC)])
        plain = "script=no,downscript=no,vhost=off"
        return [
            *("-device", f"virtio-vmrpc-pci,id=vmrpc0,address6={ADDRESS},{_NAT64}"),
            *cvsw.options(cv, CVSW_MAC, "miss=drop"),
            *("-netdev", f"tap,id=net1,ifname={hv.name},{plain}"),
            *("-netdev", f"hostvlan,id=hv0,netdev=net1,table={table}"),
            *("-device", f"virtio-net-pci,netdev=hv0,mac={HOSTVLAN_MAC},romfile="),
            *("-netdev", f"tap,id=net2,ifname={mip.name},{plain}"),
            "-netdev",
            f"mip6,id=mip0,netdev=net2,home-address={HOME_ADDRESS},home-prefix-length=64,"
            f"home-agent={_AGENT},location=home",
            *("-device", f"virtio-net-pci,netdev=mip0,mac={MIP6_MAC},romfile="),
        ]


@dataclass
class Vm:
    """A QEMU."""

    host: Host
    process: qemu.QemuProcess
    qmp: Qmp
    uri: str = ""

    def status(self) -> str:
        """How far its migration is."""
        status: str = self.qmp.command("query-migrate").get("status", "none")
        return status

    def await_status(self, *wanted: str) -> None:
        """Wait for one of these."""

        def there() -> bool:
            status = self.status()
            assert status in wanted or status not in _ENDED, (status, self.process.errors())
            return status in wanted

        wait.until(there, f"migration: {wanted}")

    def runs(self) -> bool:
        """Whether its CPUs run."""
        return bool(self.qmp.command("query-status")["running"])

    def run_state(self) -> str:
        """The name of its run state."""
        return str(self.qmp.command("query-status")["status"])

    def version(self) -> str:
        """The version of QEMU."""
        found = self.qmp.command("query-version")["qemu"]
        return "{major}.{minor}.{micro}".format_map(found)

    def numbers(self) -> int:
        """The number that CVSW's association seals with next; 0: it has none."""
        (nic,) = self.qmp.command("query-cvsw")
        return int(next((sa["next"] for sa in nic["associations"] if "next" in sa), 0))

    def owns(self) -> dict[str, str]:
        """What each room says it is."""
        (vmrpc,) = self.qmp.command("query-vmrpc")
        (mip6,) = self.qmp.command("query-mip6")
        return {
            "handoff": self.qmp.command("qom-get", path="/objects/handoff0", property="state"),
            "claim": vmrpc["address6-claim"],
            "mip6": mip6["state"],
            "cvsw": "sealing" if self.numbers() else "given away",
        }

    def kill(self) -> None:
        """End it as a host that fails does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(wait.PATIENCE)


HERE = {"handoff": "held", "claim": "held", "mip6": "home", "cvsw": "sealing"}
LEFT = {"handoff": "yielded", "claim": "waiting", "mip6": "left", "cvsw": "given away"}


@dataclass
class World:
    """The two hosts."""

    hosts: tuple[Host, Host]
    folder: Path
    #: Of the hosts' network.
    switch: Interface
    controller: cvsw.Controller
    machine: str = DEFAULT
    _serial: Iterator[int] = field(default_factory=itertools.count)

    def _register(self, host: Host) -> Path:
        """Register the VM for its next QEMU on a host; returns a folder with its file ``pid``."""
        folder = self.folder / str(next(self._serial))
        folder.mkdir()
        lines = registration(VM, folder / "pid", (ADDRESS, host.uplink))
        assert host.helper.ask(lines) == "ok\n"
        return folder

    @staticmethod
    def _options(host: Host) -> list[str]:
        handoff = f"vmmnet-handoff,id=handoff0,vm={VM},path={host.helper.path}"
        return ["-object", handoff, *host.devices()]

    def place(self, host: Host, binary: Path | None = None) -> dict[str, Any]:
        """The fields of GuestConfig of a VM with a guest, which is next on this host."""
        folder = self._register(host)
        script = folder / "qemu"
        script.write_text(
            f'#!/bin/sh\necho $$ >{folder}/pid\nexec {binary or qemu.binary()} "$@"\n'
        )
        script.chmod(0o755)
        netns = host.bridge.namespace.netns
        return {"qemu": script, "netns": netns, "arguments": tuple(self._options(host))}

    @contextlib.contextmanager
    def _vm(self, host: Host, binary: Path | None, *more: str) -> Iterator[Vm]:
        folder = self._register(host)
        pid_file = folder / "pid"
        # libvirt writes the file before QEMU makes its devices.
        written = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(pid_file))
        command: Sequence[str | Path] = [
            *written,
            binary or qemu.binary(),
            *(*qemu.firmware_options(), "-no-user-config"),
            *("-machine", f"{self.machine},accel=tcg", "-m", "32", "-nodefaults"),
            *("-display", "none", "-msg", "timestamp=on", "-S"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
            *self._options(host),
            *more,
        ]
        netns = host.bridge.namespace.netns
        process = qemu.QemuProcess(command, netns=netns, stderr=folder / "log")
        try:
            qmp = Qmp(process.connect(folder / "qmp"), oob=True)
            yield Vm(host, process, qmp, f"unix:{folder}/stream")
            qmp.close()
        finally:
            process.stop()

    @contextlib.contextmanager
    def source(self, host: int = 0, binary: Path | None = None) -> Iterator[Vm]:
        """A VM that runs on a host; its CVSW has an association."""
        with self._vm(self.hosts[host], binary) as vm:
            vm.qmp.command("cont")
            self.program()
            self.await_owner(vm)
            yield vm

    def program(self) -> None:
        """Give the CVSW of the VM that runs its association."""
        self.controller.hello()
        self.controller.meet()
        self.controller.set_sa(1, SPI, KEY, outbound=True)

    @contextlib.contextmanager
    def target(
        self, host: int = 1, *capabilities: str, binary: Path | None = None, uri: str = ""
    ) -> Iterator[Vm]:
        """A QEMU that waits for the VM, or loads it; it runs when it has arrived."""
        with self._vm(self.hosts[host], binary, "-incoming", "defer") as vm:
            enable(vm, *capabilities)
            vm.qmp.command("migrate-incoming", uri=uri or vm.uri)
            vm.qmp.command("cont")
            yield vm

    @contextlib.contextmanager
    def relay(self, target: Vm) -> Iterator[Relay]:
        """The network to a target."""
        here = self.folder / f"relay{next(self._serial)}"
        with Relay(here, Path(target.uri.removeprefix("unix:"))) as relay:
            yield relay

    def await_owner(self, vm: Vm) -> None:
        """Wait until a VM has all that is its own, and its host alone has the address.

        On a busy machine the other host's helper may answer late, but it does.
        """
        wait.until(
            lambda: vm.owns() == HERE and self.owners() == [vm.host],
            f"all that is the VM's: {vm.process.errors()}",
        )

    def owners(self) -> list[Host]:
        """Who has the address."""
        return [host for host in self.hosts if host.has]


def enable(vm: Vm, *capabilities: str) -> None:
    """Give its migration some capabilities."""
    wanted: list[Any] = [{"capability": name, "state": True} for name in capabilities]
    vm.qmp.command("migrate-set-capabilities", capabilities=wanted)


def begin(vm: Vm, uri: str) -> None:
    """Start a migration that does not end before hurry()."""
    slow: dict[str, Any] = {"max_bandwidth": _SLOW, "max_postcopy_bandwidth": _SLOW}
    # Otherwise memory of zeros is there at once.
    slow["zero_page_detection"] = "none"
    vm.qmp.command("migrate-set-parameters", **slow)
    vm.qmp.command("migrate", uri=uri)
    vm.await_status("active")


def hurry(vm: Vm) -> None:
    """Go on without a limit."""
    vm.qmp.command("migrate-set-parameters", max_bandwidth=0, max_postcopy_bandwidth=0)


def recovers(target: Vm, uri: str) -> bool:
    """Let it wait for its source again, as soon as it knows that it has lost it."""
    try:
        target.qmp.out_of_band("migrate-recover", uri=uri)
    except QmpError as error:
        assert "only be run when postcopy is paused" in str(error)
        return False
    return True


@contextlib.contextmanager
def world(network: Network, machine: str = DEFAULT) -> Iterator[World]:
    """Build the two hosts on one switch."""
    with contextlib.ExitStack() as stack:
        switch, *spaces = (network.namespace(name) for name in ("switch", "a", "b"))
        bridge = switch.bridge()
        folder = Path(stack.enter_context(scratch.folder()))
        hosts = []
        for number, space in enumerate(spaces, 1):
            (folder / space.name).mkdir()
            inside = space.bridge()
            uplink = network.connect(space, bridge, [f"2001:db8:1::{number}/64"]).a
            network.connect(inside, bridge)
            helper = stack.enter_context(Hostd(space, folder / space.name))
            hosts.append(Host(helper, uplink, inside, folder / space.name))
        controller = stack.enter_context(contextlib.closing(cvsw.Controller(bridge, CVSW_MAC)))
        yield World((hosts[0], hosts[1]), folder, bridge, controller, machine)
