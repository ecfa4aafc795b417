# SPDX-License-Identifier: GPL-2.0-or-later
"""The netdevs between a NIC and libvirt's netdev, as arguments and properties of QEMU.

    guest --- NIC (cvsw) --- hostvlan --- mip6 --- libvirt's netdev (hostua-…)

HostVLAN is next to the guest, as it judges the guest's own frames; Mobile IPv6 is next to the
network, where it is a station of its own.
"""

from __future__ import annotations

from typing import Any

from .. import keys, names
from ..model import Interface, options
from .qemu import Property, Words

# By the type of libvirt's address for the NIC.
_SWITCHES = {"virtio-mmio": "virtio-net-cvsw-device"}
_SWITCH = "virtio-net-cvsw-pci"


def words(wanted: Interface, backend: str, vm: str) -> list[Words]:
    """The netdevs of a NIC and their keys; each comes before its user.

    ``vm`` is the UUID of the domain.
    """
    result = _secrets(wanted, vm)
    if wanted.mip6 is not None:
        given = options(wanted.mip6)
        given.update((name, ids) for name, ids in _ids(wanted).items() if name in given)
        backend = _add(result, "mip6", wanted.mac, backend, given)
    if wanted.table_of_qemu is not None:
        given = {"table": wanted.table_of_qemu}
        for name, value in (
            ("check-sender", wanted.check_sender),
            ("l2-control", wanted.l2_control),
            ("ra-guard", wanted.ra_guard),
            ("dhcp-guard", wanted.dhcp_guard),
        ):
            if value is not None:
                given[name] = value
        _add(result, "hostvlan", wanted.mac, backend, given)
    return result


def properties(wanted: Interface, address: str = "pci") -> dict[str, Property]:
    """The overridden properties of a NIC, whose ``address`` is of that type."""
    result = {}
    if wanted.cvsw is not None:
        given = options(wanted.cvsw)
        (given["control-secret"],) = _ids(wanted)["control-secret"]
        result["driver"] = Property("string", _SWITCHES.get(address, _SWITCH))
        for name, value in given.items():
            kind = "unsigned" if isinstance(value, int) else "string"
            result[name] = Property(kind, str(value))
    before = "hostvlan" if wanted.table_of_qemu is not None else "mip6" if wanted.mip6 else None
    if before is not None:
        result["netdev"] = Property("string", names.id_of(before, wanted.mac))
    return result


def _add(words: list[Words], kind: str, mac: str, backend: str, given: dict[str, Any]) -> str:
    """Add a netdev before another one; returns its ID."""
    number = names.id_of(kind, mac)
    words.append(_words("-netdev", kind, {"id": number, "netdev": backend, **given}))
    return number


def _secrets(wanted: Interface, vm: str) -> list[Words]:
    """QEMU's secret objects for key files."""
    return [
        _words("-object", "secret", {"id": each.id, **each.encoding(), "file": each.file(vm)})
        for each in keys.of(wanted)
    ]


def _ids(wanted: Interface) -> dict[str, tuple[str, ...]]:
    """QEMU's secret objects by the options that name them."""
    result: dict[str, tuple[str, ...]] = {}
    for each in keys.of(wanted):
        result[each.option] = (*result.get(each.option, ()), each.id)
    return result


def _words(option: str, kind: str, given: dict[str, Any]) -> Words:
    """``KIND,NAME=VALUE,…``; a list repeats its name for each value."""
    pairs = [
        (name, each)
        for name, value in given.items()
        for each in (value if isinstance(value, tuple) else (value,))
    ]
    return Words(option, ",".join([kind, *(f"{name}={_text(value)}" for name, value in pairs)]))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value).replace(",", ",,")
