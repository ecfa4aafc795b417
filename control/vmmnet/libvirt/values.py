# SPDX-License-Identifier: GPL-2.0-or-later
"""Parsers of attributes' values. Each raises ValueError with what would be right."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address
from pathlib import Path
from uuid import UUID

from vmmnet.values import mac as macs

_PREFIXES = (32, 40, 48, 56, 64, 96)
_ADDRESS6 = "is no address that a VM can have: write a global or unique local unicast one"
_SPI_MIN, _SPI_MAX = 256, 0xFFFFFFFF


def on(text: str) -> bool:
    """``on`` or ``off``."""
    return text == "on"


def address6(text: str) -> IPv6Address:
    """An IPv6 address of a VM."""
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError("is no IPv6 address: write one like 2001:db8:1::c0de") from None
    bad = (address.is_unspecified, address.is_loopback, address.is_link_local)
    if any(bad) or address.is_multicast or address.ipv4_mapped:
        raise ValueError(_ADDRESS6)
    return address


def unicast4(text: str) -> IPv4Address:
    """An IPv4 address of a station."""
    try:
        address = IPv4Address(text)
    except ValueError:
        raise ValueError("is no IPv4 address: write one like 192.0.0.1") from None
    first = int(address) >> 24
    if first in (0, 127) or first >= 224:
        raise ValueError("is no unicast address: write one like 192.0.0.1")
    return address


def guest4(text: str) -> IPv4Interface:
    """The guest's own address, by default with QEMU's prefix length."""
    unicast4(text.partition("/")[0])
    try:
        return IPv4Interface(text if "/" in text else f"{text}/29")
    except ValueError:
        raise ValueError("has a wrong prefix length: write one like 192.0.0.2/29") from None


def pool4(text: str) -> IPv4Network:
    """A prefix of virtual addresses."""
    try:
        network = IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"is no IPv4 prefix ({error}): write one like 198.18.0.0/15") from None
    if not 12 <= network.prefixlen <= 31:
        raise ValueError("has not 2 to 1,048,576 addresses: write one of /12 to /31")
    return network


def _server(text: str) -> None:
    """One server of ``dns``: its address, zone and port."""
    scoped, at, port = text.partition("@")
    plain, percent, zone = scoped.partition("%")
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        raise ValueError(f"'{plain}' is no IP address: write one like 2001:db8::53") from None
    link_local = address.version == 6 and address.is_link_local
    if percent and not link_local and zone.isdigit():
        raise ValueError(f"'{text}' has its port behind '%': write {plain}@{zone}")
    if percent and not link_local:
        raise ValueError(f"'{text}' names an interface: link-local addresses alone have one")
    if link_local and not percent:
        raise ValueError(f"'{text}' does not say on which link: write one like fe80::1%eth0")
    if at and not 1 <= int(port) <= 65535:
        raise ValueError(f"'{port}' is no port: write one from 1 to 65535")


def dns(text: str) -> str:
    """Servers in QEMU's form."""
    for server in text.split("+"):
        _server(server)
    return text


def nat64(text: str) -> str:
    """``off``, ``auto`` or a prefix of RFC 6052."""
    if text in ("off", "auto"):
        return text
    try:
        prefix = ipaddress.IPv6Network(text)
    except ValueError:
        raise ValueError("is no IPv6 prefix: write one like 64:ff9b::/96") from None
    if prefix.prefixlen not in _PREFIXES:
        lengths = ", ".join(map(str, _PREFIXES))
        raise ValueError(f"is no NAT64 prefix: their lengths are {lengths} (RFC 6052)")
    return text


def mac(text: str) -> str:
    """The MAC address of a port, in lower case."""
    return macs.text(macs.parse(text))


def addresses6(text: str) -> tuple[IPv6Address, ...]:
    """Addresses separated by blanks."""
    return tuple(map(address6, text.split()))


def auto_or_address6(text: str) -> IPv6Address | str:
    """``auto`` or an address."""
    return text if text == "auto" else address6(text)


def spi(text: str) -> int:
    """An SPI of ESP, decimal or hexadecimal."""
    number = int(text, 0)
    if not _SPI_MIN <= number <= _SPI_MAX:
        raise ValueError(f"is no SPI: write a number from {_SPI_MIN} to {_SPI_MAX}")
    return number


def spis(text: str) -> tuple[int, ...]:
    """SPIs separated by blanks."""
    return tuple(map(spi, text.split()))


def paths(text: str) -> tuple[Path, ...]:
    """Absolute paths separated by blanks."""
    return tuple(map(Path, text.split()))


def uuids(text: str) -> tuple[UUID, ...]:
    """UUIDs of libvirt's secrets separated by blanks."""
    return tuple(map(UUID, text.split()))


def window(text: str) -> int:
    """The size of ESP's anti-replay window."""
    number = int(text)
    if number % 64:
        raise ValueError("is no window: write 0, 64, 128, … 1024")
    return number
