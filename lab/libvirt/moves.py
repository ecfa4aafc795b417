# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM with an address6 that moves between two hosts with libvirt and vmmnet-hostd.

 node ---- switch ---- one, two: br0, 2001:db8:1::1, ::2

A VM without a system runs its firmware, which looks for a disk; its memory takes longer on the slow
stream than any wait.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]
from vmmnet.libvirt import expand

from ..base import scratch, tools, wait
from ..base.net import Interface, Namespace, Network
from ..guest import domain, qemu
from ..hosts import owners
from ..hosts.owners import Owners
from ..packages import certificates
from .libvirtd import Host
from .slow_stream import RATE, SlowStream

ADDRESS = "2001:db8:1::c0de"
NAME = "guest"
PID_FILE = f"/run/libvirt/qemu/{NAME}.pid"
_UUID = "00000000-0000-4000-9000-00000000000a"
_STREAM, _AGENT, _CONSOLE = Path("/run/moving"), Path("/run/agent"), Path("/run/console")
_MEMORY = int(RATE * wait.PATIENCE * 1.1)

DOMAIN = f"""
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{NAME}</name>
  <uuid>{_UUID}</uuid>
  <metadata>
    <vmmnet:net xmlns:vmmnet='https://vmmnet.example/net/1' handoff='on'>
      <vmmnet:sockets address6='{ADDRESS}'/>
    </vmmnet:net>
  </metadata>
  <memory unit='MiB'>512</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices><controller type='usb' model='none'/><memballoon model='none'/></devices>
</domain>
"""


@dataclass
class Move:
    """A running 'virsh migrate'."""

    child: subprocess.Popen[bytes]
    _stream: SlowStream | None

    @property
    def stream(self) -> SlowStream:
        """The stream of the migration, if libvirt does not carry it itself."""
        assert self._stream is not None
        return self._stream

    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.child.poll() is None

    def await_transfer(self) -> None:
        """Wait until a part of the memory is transferred."""
        wait.until(lambda: self.stream.passed > RATE or self.child.poll() is not None, "a transfer")
        assert self.is_under_way(), self.end()

    def end(self) -> str:
        """Wait for the end; returns virsh's errors, empty after success."""
        out, err = self.child.communicate(timeout=wait.PATIENCE)
        return (out + err).decode() if self.child.returncode else ""


@dataclass(frozen=True)
class World:
    """The network above; both hosts have their helpers."""

    one: Host
    two: Host
    macs: dict[str, str]
    node: Namespace
    node_interface: Interface
    #: Functions that stop a helper, by host; the helpers end with the world.
    helpers: dict[str, contextlib.ExitStack] = field(default_factory=dict)

    @contextlib.contextmanager
    def guest(self, *, system: bool = False) -> Iterator[None]:
        """Run the VM on host one, with its address; at the end remove it.

        With a ``system`` it serves a page at port 8080; without, its memory is filled.
        """
        wanted = etree.fromstring(DOMAIN)
        with contextlib.ExitStack() as stack:
            for host in (self.one, self.two):
                stack.callback(self._end, host)
            if system:
                places = domain.Places(self.one.folder / "initrd", _AGENT, _CONSOLE)
                domain.make_bootable(wanted, places)
                self.create(expand.expand(wanted))
                self._serve()
            else:
                domain.child(wanted.find("devices"), "emulator", str(qemu.binary()))
                self.create(self._filled(expand.expand(wanted)))
            wait.until(lambda: owners.has(self.one.space, ADDRESS), "the address")
            yield

    def create(self, made: etree._Element) -> None:
        """Start a domain that was expanded on host one."""
        file = self.one.folder / "guest.xml"
        file.write_bytes(etree.tostring(made))
        self.one.virsh("create", file)

    def _filled(self, made: etree._Element) -> etree._Element:
        """Fill the memory of an expanded domain."""
        ours = self.one.folder / "memory"
        if not ours.exists():
            ours.write_bytes(b"\xa5" * _MEMORY)
        line = made.find("{*}commandline")
        for word in ("-device", f"loader,file={ours},addr=0x1000000,force-raw=on"):
            domain.child(line, f"{{{line.nsmap['qemu']}}}arg", value=word)
        return made

    def _serve(self) -> None:
        with contextlib.closing(domain.connect(self.one.path(_AGENT))) as channel:
            domain.run(channel, f"insmod {domain.MODULE}")
            serve = "cd /srv && echo here >index.html && setsid python3 -m http.server 8080"
            domain.run(channel, f"{serve} >/dev/null 2>&1 &")
            domain.run(channel, "until curl -sf http://127.0.0.1:8080/; do :; done")

    def fetch(self) -> None:
        """Let the node fetch the page, as soon as it can."""
        words = ["curl", "-sS", "--fail", "--max-time", "5", f"http://[{ADDRESS}]:8080/"]
        wait.until(lambda: self.node.run(words, check=False).stdout == "here\n", "the page")

    def _end(self, host: Host) -> None:
        # The VM has moved to the other host.
        with contextlib.suppress(tools.CommandFailed):
            host.virsh("destroy", NAME)

    @contextlib.contextmanager
    def watched(self) -> Iterator[Owners]:
        """Check during a block that the address is never on both hosts."""
        with owners.watched(ADDRESS, self.one.space, self.two.space) as seen:
            assert seen.history[-1] == (self.one.name,)
            yield seen
        assert all(len(each) < 2 for each in seen.history) or self.late(), seen.history

    def check(self, seen: Owners, *states: tuple[str, ...]) -> None:
        """Check the sequence of hosts with the address, unless a helper was late."""
        assert tuple(seen.history[1:]) == states or self.late(), seen.history

    def late(self) -> bool:
        """Whether a helper answered too late, on a busy machine."""
        logs = (host.path(f"/var/log/libvirt/qemu/{NAME}.log") for host in (self.one, self.two))
        late = "no answer of vmmnet-hostd within"
        return any(late in log.read_text() for log in logs if log.exists())

    @contextlib.contextmanager
    def announced(self) -> Iterator[Iterator[str]]:
        """Yield the MAC addresses from which the node hears the address."""
        with owners.advertisements(self.node, self.node_interface, ADDRESS) as heard:
            yield heard

    @contextlib.contextmanager
    def move(self, *words: str, streams: bool = True) -> Iterator[Move]:
        """Migrate the VM from one to two, slowly if the stream goes through this process."""
        with contextlib.ExitStack() as stack:
            stream = None
            if streams:
                ends = [host.path(_STREAM) for host in (self.one, self.two)]
                for end in ends:
                    stack.callback(end.unlink, missing_ok=True)
                stream = stack.enter_context(SlowStream(*ends))
                words += ("--migrateuri", f"unix://{_STREAM}")
            virsh = ["virsh", "-q", "-c", "qemu:///system", "migrate", "--live", *words]
            child = stack.enter_context(
                self.one.space.started(
                    self.one.words(*virsh, NAME, self.two.uri()),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )
            yield Move(child, stream)

    @contextlib.contextmanager
    def without_helper(self, host: Host) -> Iterator[None]:
        """Stop a host's helper for the time of a block."""
        self.helpers[host.name].close()
        try:
            yield
        finally:
            self.helpers[host.name].enter_context(host.run_hostd())

    def kill(self, host: Host) -> None:
        """End the VM's QEMU of a host at once."""
        pid = host.path(PID_FILE).read_text().strip()
        host.run("kill", f"-{signal.SIGKILL}", pid)


@contextlib.contextmanager
def world() -> Iterator[World]:
    """The two hosts, whose QEMUs have certificates of one authority."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        switch = network.namespace("switch").bridge("sw")
        node = network.namespace("node")
        interface = network.connect(node, switch, ["2001:db8:1::9/64"]).a
        made = Path(stack.enter_context(scratch.folder()))
        certificates.make(made, "host")
        hosts, macs, helpers = [], {}, {}
        for number, name in enumerate(("one", "two"), 1):
            host = stack.enter_context(Host(network.namespace(name), number))
            _certify(host, made)
            bridge = host.space.bridge("br0")
            network.connect(bridge, switch)
            bridge.add_address(f"2001:db8:1::{number}/64")
            helpers[name] = stack.enter_context(contextlib.ExitStack())
            helpers[name].enter_context(host.run_hostd())
            hosts.append(host)
            macs[name] = bridge.mac
        yield World(hosts[0], hosts[1], macs, node, interface, helpers)


def _certify(host: Host, made: Path) -> None:
    """Put an authority's certificates into libvirt's folder for migrations."""
    place = host.path("/etc/pki/qemu")
    place.mkdir(parents=True)
    shutil.copy(made / "ca.pem", place / "ca-cert.pem")
    for role in ("client", "server"):
        shutil.copy(made / "host.pem", place / f"{role}-cert.pem")
        shutil.copy(made / "host.key", place / f"{role}-key.pem")
