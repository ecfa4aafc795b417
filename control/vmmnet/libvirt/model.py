# SPDX-License-Identifier: GPL-2.0-or-later
"""The contents of ``<vmmnet:net>``. None means QEMU's default of that option."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address
from pathlib import Path
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Sockets:
    """The options of virtio-vmrpc; None means QEMU's default."""

    address6: IPv6Address | None = None
    guest4: IPv4Interface | None = None
    pool4: IPv4Network | None = None
    resolver4: IPv4Address | None = None
    dns: str | None = None
    dnssec: str | None = None
    #: The socket of a vmmnet-validate; None: the hook starts one.
    validator: Path | None = None
    trust_anchor: Path | None = None
    #: Names, separated by "+".
    insecure: str | None = None
    nat64_prefix: str | None = None
    translate: bool | None = None
    policy: Path | None = None
    #: The file of the audit log; in QEMU, a character device.
    audit: Path | None = None
    audit_full: str | None = None
    #: Images, separated by "+".
    zone: str | None = None
    alg: bool | None = None
    happy_eyeballs: bool | None = None
    guest_clock: bool | None = None
    long_values: bool | None = None
    ipv6: bool | None = None
    max_sockets: int | None = None
    num_queues: int | None = None
    iothread: str | None = None
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Mip6:
    """Mobile IPv6 behind a NIC; a key is a file, in base64, or a secret of libvirt."""

    home_address: IPv6Address
    more_home_address: tuple[IPv6Address, ...] = ()
    heard_addresses: bool | None = None
    early_registration: bool | None = None
    home_prefix_length: int
    home_agent: IPv6Address | str
    guest_mac: str | None = None
    router_mac: str | None = None
    care_of: IPv6Address | str | None = None
    care_of_mac: str | None = None
    location: str | None = None
    mtu: int | None = None
    ipsec: str | None = None
    esp_cipher: str | None = None
    esp_payload: bool | None = None
    signal_out_spi: int | None = None
    signal_out_key: Path | UUID | None = None
    signal_in_spi: int | None = None
    signal_in_key: Path | UUID | None = None
    tunnel_out_spi: int | None = None
    tunnel_out_key: Path | UUID | None = None
    tunnel_in_spi: int | None = None
    tunnel_in_key: Path | UUID | None = None
    replay_window: int | None = None
    # For each further home address, in their order.
    more_signal_out_spi: tuple[int, ...] = ()
    more_signal_out_key: tuple[Path | UUID, ...] = ()
    more_signal_in_spi: tuple[int, ...] = ()
    more_signal_in_key: tuple[Path | UUID, ...] = ()
    more_tunnel_out_spi: tuple[int, ...] = ()
    more_tunnel_out_key: tuple[Path | UUID, ...] = ()
    more_tunnel_in_spi: tuple[int, ...] = ()
    more_tunnel_in_key: tuple[Path | UUID, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cvsw:
    """The switch in a NIC."""

    #: The file, or libvirt's secret, with the key that the controller knows.
    control_secret: Path | UUID
    miss: str | None = None
    flows: int | None = None
    masks: int | None = None
    link_mtu: int | None = None
    tunnel_gso: str | None = None


@dataclass(frozen=True)
class Interface:
    """A NIC by its MAC address, in lower case, and the elements before it."""

    mac: str
    #: HostVLAN's table; None: no HostVLAN.
    hostvlan: Path | None = None
    check_sender: bool | None = None
    l2_control: bool | None = None
    ra_guard: bool | None = None
    dhcp_guard: bool | None = None
    mip6: Mip6 | None = None
    cvsw: Cvsw | None = None
    #: HostVLAN is at the host's interface, by the hook, and not in QEMU.
    ebpf: bool | None = None
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)

    @property
    def table_of_qemu(self) -> Path | None:
        """The table of HostVLAN in QEMU; None: there is none."""
        return None if self.ebpf else self.hostvlan


@dataclass(frozen=True)
class Net:
    """The whole element."""

    sockets: Sockets | None = None
    interfaces: tuple[Interface, ...] = ()
    #: QEMU hands the VM's address to the next host.
    handoff: bool = False
    #: Digest of the last expansion, written by 'define'.
    digest: str | None = field(default=None, compare=False)
    #: Where it is in the file; 0: unknown.
    line: int = field(default=0, compare=False)


def options(part: Sockets | Mip6 | Cvsw) -> dict[str, Any]:
    """The options of a part that are given, by their names in QEMU."""
    found = {
        each.name.replace("_", "-"): getattr(part, each.name)
        for each in dataclasses.fields(part)
        if each.name != "line"
    }
    return {name: value for name, value in found.items() if value not in (None, ())}
