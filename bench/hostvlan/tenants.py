# SPDX-License-Identifier: GPL-2.0-or-later
"""The data centre of the HostVLAN paper (table 1): its machines and their networks.

1,048,576 VMs, 64 of each tenant, each in one logical network. A host with 128 VMs of 128 tenants
needs the 8,192 VMs of these tenants. This number and that of all VMs are the sizes of the tables.
The smallest table has only the machines of the benchmark, which all belong to the first tenant.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vmmnet.hostvlan.table.entry import Entry
from vmmnet.hostvlan.table.table import Table

#: Size 0: only the machines of the benchmark.
SIZES = (0, 8192, 1 << 20)
#: VMs of a tenant.
TENANT = 64
LNID = 1
_FIRST = 0x020000000000
# VMs under test are the first ones of the tenant, their peers are in the middle, so that a linear
# search visits half of the tenant's VMs.
_PEERS = TENANT // 2


def vm(number: int) -> int:
    """The MAC address of a VM under test."""
    return _FIRST + number


def peer(number: int) -> int:
    """The MAC address of the VM's peer."""
    return _FIRST + _PEERS + number


def tenant() -> list[int]:
    """The MAC addresses of all VMs of the benchmark's tenant."""
    return [_FIRST + number for number in range(TENANT)]


def machines(size: int, parts: int) -> Iterator[tuple[int, int]]:
    """Yield MAC address and LNID of each machine; ``parts``: number of VMs under test (size 0)."""
    if not size:
        numbers = range(parts)
        yield from ((mac, LNID) for of in (vm, peer) for mac in map(of, numbers))
    for number in range(size):
        yield _FIRST + number, LNID + number // TENANT


def make_table(folder: Path, size: int, parts: int) -> Path:
    """Make an LNID table of a size."""
    path = folder / f"{size}.table"
    with Table.change(path) as change:
        change.replace(Entry(mac, (lnid,)) for mac, lnid in machines(size, parts))
    return path
