# SPDX-License-Identifier: GPL-2.0-or-later
"""The contents of a plan: tenants, their NICs, and stations without CVSW.

All are immutable values. MAC addresses are six octets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from vmmnet.cvsw.wire.message import Offload

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

#: UDP's port of VXLAN (RFC 7348 section 8). A NIC opens tunnels of no other.
VXLAN_PORT = 4789
#: The ESP ciphers of tenants, and the octets of their keying material: the key, and the salt of
#: RFC 4106 section 4.
CIPHERS = {"aes-gcm-128": 20, "aes-gcm-256": 36}


@dataclass(frozen=True)
class Endpoint:
    """A tunnel end: a station of the underlay."""

    mac: bytes
    address: Address
    #: The network reached without a router; None: everything, or nothing with a ``next_hop``.
    network: Network | None = None
    #: The router's MAC address.
    next_hop: bytes | None = None

    def reaches(self, address: Address) -> bool:
        """Whether it can reach an address."""
        return self.next_hop is not None or self.is_beside(address)

    def is_beside(self, address: Address) -> bool:
        """Whether an address is on its own layer 2 network."""
        return self.next_hop is None if self.network is None else address in self.network

    def hop(self, peer: Endpoint) -> bytes:
        """The destination MAC address of frames for a peer."""
        if self.next_hop is None or self.is_beside(peer.address):
            return peer.mac
        return self.next_hop


@dataclass(frozen=True)
class Nic:
    """A virtio-net-cvsw of a VM."""

    name: str
    mac: bytes
    key: bytes = field(repr=False)
    tunnel: Endpoint
    tenant: str
    #: Offloads that the network may use; None: all that the guest negotiated.
    offloads: Offload | None = None

    @property
    def macs(self) -> tuple[bytes, ...]:
        """The MAC addresses behind its tunnel end."""
        return (self.mac,)


@dataclass(frozen=True)
class Station:
    """A peer without CVSW, such as a Linux vxlan device or a router."""

    name: str
    macs: tuple[bytes, ...]
    tunnel: Endpoint
    tenant: str


@dataclass(frozen=True)
class Tenant:
    """A virtual network of layer 2."""

    name: str
    vni: int
    #: The tenant's number in HostVLAN.
    lnid: int | None
    #: One of CIPHERS; None: not encrypted.
    cipher: str | None
    nics: tuple[Nic, ...]
    stations: tuple[Station, ...] = ()
    #: The underlay's multicast group for broadcast; None: a copy to each peer.
    group: Address | None = None

    @property
    def members(self) -> tuple[Nic | Station, ...]:
        """All of them, NICs first."""
        return self.nics + self.stations

    @cached_property
    def shape(self) -> Tenant:
        """What its NICs' flows follow from: without names, keys and what a NIC has for itself."""
        nics = (replace(nic, name="", key=b"", tenant="", offloads=None) for nic in self.nics)
        stations = (replace(each, name="", tenant="") for each in self.stations)
        return replace(self, name="", lnid=None, nics=tuple(nics), stations=tuple(stations))

    @cached_property
    def has_askers(self) -> bool:
        """Whether stations or routers resolve the MAC addresses of tunnel ends.

        NICs do not, as the plan has all of them.
        """
        return bool(self.stations) or any(nic.tunnel.next_hop for nic in self.nics)


@dataclass(frozen=True)
class Plan:
    """A file of tenants, read."""

    tenants: tuple[Tenant, ...]
    #: The longest IP packet of the underlay, octets.
    underlay_mtu: int
    port: int = VXLAN_PORT

    @cached_property
    def _nics(self) -> dict[bytes, Nic]:
        return {nic.mac: nic for nic in self.nics()}

    @cached_property
    def _tenants(self) -> dict[str, Tenant]:
        return {tenant.name: tenant for tenant in self.tenants}

    def nics(self) -> Iterator[Nic]:
        """All NICs, in the file's order."""
        return (nic for tenant in self.tenants for nic in tenant.nics)

    def nic(self, mac: bytes) -> Nic | None:
        """The NIC with a MAC address."""
        return self._nics.get(mac)

    def tenant(self, member: Nic | Station) -> Tenant:
        """The tenant of a NIC; KeyError if it is of another plan."""
        return self._tenants[member.tenant]

    def peers(self, nic: Nic) -> tuple[Nic | Station, ...]:
        """The other members of its tenant."""
        return tuple(each for each in self.tenant(nic).members if each != nic)
