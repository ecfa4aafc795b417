# SPDX-License-Identifier: GPL-2.0-or-later
"""The data centre of the HostVLAN paper (its table 1), or one with fewer hosts: pure.

128 VMs a host and 64 a tenant. As in the paper, each VM of a host belongs to another tenant: each
host needs 128 tenants, 8,192 MACs, which is the worst case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vmmnet.hostvlan.table.entry import Entry

VMS_OF_HOST, VMS_OF_TENANT = 128, 64
#: MACs in the table of each host.
ENTRIES = VMS_OF_HOST * VMS_OF_TENANT
#: Hosts with real agents; they share no tenant.
REAL = (0, VMS_OF_TENANT)
_FIRST_MAC = 0x525400000000


@dataclass(frozen=True)
class Datacentre:
    """VMs are numbered from 0, host by host in turn; so are hosts."""

    #: A multiple of 64.
    hosts: int

    @property
    def vms(self) -> int:
        """How many there are."""
        return self.hosts * VMS_OF_HOST

    @property
    def tenants(self) -> int:
        """How many there are; each is an LNID."""
        return self.vms // VMS_OF_TENANT

    @property
    def others(self) -> list[int]:
        """The hosts without a real agent."""
        return [host for host in range(self.hosts) if host not in REAL]

    def name_of(self, host: int) -> str:
        """Name of a host in the store."""
        return f"host{host}"

    def vms_of(self, host: int) -> list[int]:
        """The VMs of a host."""
        return list(range(host, self.vms, self.hosts))

    def lnid_of(self, vm: int) -> int:
        """The LNID of a VM."""
        return 1 + vm // VMS_OF_TENANT

    def mac_of(self, vm: int) -> int:
        """The MAC address of a VM."""
        return _FIRST_MAC + vm

    def entry_of(self, vm: int) -> Entry:
        """Entry of a VM in the table."""
        return Entry(self.mac_of(vm), (self.lnid_of(vm),))

    def entries(self) -> Iterator[Entry]:
        """Entries of all VMs."""
        return map(self.entry_of, range(self.vms))
