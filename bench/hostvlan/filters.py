# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters that isolate tenants on a port: HostVLAN in QEMU and in eBPF, and its peers.

All have the same policy: a VM sends with its own MAC address, and receives from members of its
logical network. Each is set up once and turned on for the time of a measurement; when it is off,
none of its hooks stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from lab.base import wait
from lab.base.net import Interface, Namespace
from vmmnet.hostvlan.bpf import twin
from vmmnet.values import mac as macs

from . import tenants
from .ports import PARTS, Port


class Filter(Protocol):
    """A filter that can be turned on."""

    #: Whether the filter refuses any frames.
    refuses: bool

    def on(self) -> contextlib.AbstractContextManager[None]:
        """Filter what passes its port for the time of a block."""


class Nothing:
    """No filter."""

    refuses = False

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Do nothing."""
        yield


class InQemu:
    """-netdev hostvlan with a table of one size; the netdev is always on its port."""

    refuses = True

    def __init__(
        self, query: Callable[[], dict[str, Any]], path: Path, table: Path, macs: int
    ) -> None:
        """``path`` is the link that QEMU reads; it shall point to ``table``.

        ``query`` returns the reply of query-hostvlan for the netdev.
        """
        self._query, self._path, self._table, self._macs = query, path, table, macs

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Put the table into force; it stays afterwards."""
        new = self._path.with_suffix(".new")
        new.symlink_to(self._table)
        new.rename(self._path)
        wait.until(self._in_force, f"{self._table} in force in QEMU")
        yield

    def _in_force(self) -> bool:
        info = self._query()
        return "error" not in info and info.get("macs") == self._macs


class InKernel:
    """The eBPF twin, by ``vmmnet hostvlan attach``."""

    refuses = True

    def __init__(self, port: Port, table: Path, sending: twin.Sending) -> None:
        self._port, self._table, self._sending = port, table, sending

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Attach it."""
        port = self._port
        with _attached(port.interface, port.mac, self._table, self._sending):
            yield


@contextlib.contextmanager
def kept(host: Namespace, table: Path) -> Iterator[None]:
    """Keep a table's copy in the kernel by means of an unused interface.

    Ports with the same table share the copy, so that attaching takes no time.
    """
    with _attached(host.tap(f"idle{table.stem}"), tenants.vm(0), table, "tc"):
        yield


@contextlib.contextmanager
def _attached(interface: Interface, mac: int, table: Path, sending: twin.Sending) -> Iterator[None]:
    with interface.namespace.entered():
        attached = twin.attach(interface.name, mac, table, sending=sending)
    try:
        if not attached.whole:
            raise RuntimeError(f"HostVLAN is not whole on {interface.name}: {attached.hooks}")
        yield
    finally:
        with interface.namespace.entered():
            twin.detach(interface.name)


# The best rules for nftables on a bridge, for any number of VMs on the host and in the network: a
# frame to a VM costs three look-ups in hashes, a frame from it two.
_NFTABLES = """\
table bridge {name} {{
    flags dormant
    map lnids {{
        type ether_addr : mark
        size {size}
        elements = {{ {lnids} }}
    }}
{chains}
    chain sent {{
        type filter hook prerouting priority -300
        iifname vmap {{ {sent} }}
    }}
    chain received {{
        type filter hook postrouting priority 300
        oifname vmap {{ {received} }}
    }}
}}
"""
_NFTABLES_PORT = """\
    chain from-{port} {{
        ether saddr {mac} accept
        drop
    }}
    chain to-{port} {{
        meta mark set ether saddr map @lnids meta mark {lnid} accept
        drop
    }}
"""


class Nftables:
    """nftables on the bridge, with a map from MAC addresses to LNIDs of one size."""

    refuses = True

    def __init__(self, host: Namespace, ports: Sequence[Port], size: int) -> None:
        self._host, self._name = host, f"tenants{size}"
        names = [port.interface.name for port in ports]
        machines = list(tenants.machines(size, PARTS))
        chains = [
            _NFTABLES_PORT.format(
                port=port.interface.name, mac=macs.text(port.mac), lnid=tenants.LNID
            )
            for port in ports
        ]
        rules = _NFTABLES.format(
            name=self._name,
            size=len(machines),
            lnids=",\n".join(f"{macs.text(mac)} : {lnid}" for mac, lnid in machines),
            chains="".join(chains),
            sent=", ".join(f"{name} : goto from-{name}" for name in names),
            received=", ".join(f"{name} : goto to-{name}" for name in names),
        )
        # The kernel takes half a minute for a million elements.
        host.run(["nft", "-f", "-"], input=rules, timeout=5 * wait.PATIENCE)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Clear the table's flag "dormant"; a dormant table has no hooks."""
        self._host.run(["nft", "add", "table", "bridge", self._name])
        try:
            yield
        finally:
            sleep = "{ flags dormant; }"
            self._host.run(["nft", "add", "table", "bridge", self._name, sleep])


class Nwfilter:
    """Chains of ebtables as libvirt's nwfilter makes them: a rule for each permitted MAC address.

    The names of the chains are libvirt's.  Debian's ebtables is a front end of nftables
    (ebtables-nft), and so this measures nftables.
    """

    refuses = True

    def __init__(self, host: Namespace, ports: Sequence[Port]) -> None:
        self._host = host
        self._rules = "\n".join(["*nat", *self._chains(ports), ""])

    @staticmethod
    def _chains(ports: Sequence[Port]) -> Iterator[str]:
        for port in ports:
            name = port.interface.name
            sent, received, own = f"libvirt-I-{name}", f"libvirt-O-{name}", f"I-{name}-mac"
            yield from (f":{chain} ACCEPT" for chain in (sent, received, own))
            yield f"-A PREROUTING -i {name} -j {sent}"
            yield f"-A POSTROUTING -o {name} -j {received}"
            yield f"-A {sent} -j {own}"
            yield f"-A {own} -s {macs.text(port.mac)} -j RETURN"
            yield f"-A {own} -j DROP"
            for mac in tenants.tenant():
                yield f"-A {received} -s {macs.text(mac)} -j ACCEPT"
            yield f"-A {received} -j DROP"

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Make the chains; then remove the whole table, as its hooks cost even without rules."""
        self._host.run(["ebtables-nft-restore"], input=self._rules)
        try:
            yield
        finally:
            self._host.run(["nft", "delete", "table", "bridge", "nat"])
