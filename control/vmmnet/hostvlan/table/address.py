# SPDX-License-Identifier: GPL-2.0-or-later
"""IP addresses that a port may use in ARP and ND: optional; the paper does not have them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from itertools import pairwise

#: How many of each family one MAC can have.
PER_FAMILY = 16

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Addresses = tuple[tuple[int, ...], tuple[int, ...]]


class BadAddress(ValueError):
    """A text or a number is not an address of a port; the message says why."""


def parse(spelled: str) -> Address:
    """Read an IPv4 or IPv6 address that a port can have; raises BadAddress."""
    result = parse_any(spelled)
    _refuse_foreign(result)
    return result


def parse_any(spelled: str) -> Address:
    """Read an IPv4 or IPv6 address; raises BadAddress."""
    if "/" in spelled:
        alone = spelled.split("/")[0]
        raise BadAddress(f"'{spelled}' is a prefix: give the address alone, {alone}")
    if "%" in spelled:
        raise BadAddress(f"'{spelled}' names an interface: give {spelled.split('%')[0]} alone")
    try:
        return ipaddress.ip_address(spelled)
    except ValueError:
        raise BadAddress(
            f"'{spelled}' is not an IP address like 192.0.2.1 or 2001:db8::1"
        ) from None


def _refuse_foreign(address: Address) -> None:
    """Raise BadAddress for an address that cannot be the source of a frame."""
    inside = address.ipv4_mapped if address.version == 6 else None
    if inside is not None:
        raise BadAddress(
            f"'::ffff:{inside}' is an IPv4 address as programs write it, and never in a packet:"
            f" give {inside}"
        )
    kinds = {
        "a loopback address, which never leaves a host": address.is_loopback,
        "of 'this network' (0.0.0.0/8)": address.version == 4 and 0 < int(address) < 1 << 24,
        "a multicast address": address.is_multicast,
        "the unspecified address": address.is_unspecified,
        "the broadcast address": int(address) == 0xFFFFFFFF and address.version == 4,
    }
    for kind, it_is in kinds.items():
        if it_is:
            raise BadAddress(f"'{address}' is {kind}; a port has one like 192.0.2.1 or 2001:db8::1")


def split(addresses: Iterable[Address]) -> Addresses:
    """Return the IPv4 and the IPv6 addresses, as integers."""
    given = tuple(addresses)
    return (
        tuple(int(each) for each in given if each.version == 4),
        tuple(int(each) for each in given if each.version == 6),
    )


def join(ip4: Iterable[int], ip6: Iterable[int]) -> tuple[Address, ...]:
    """The inverse of split(): the addresses, IPv4 first."""
    return (*map(ipaddress.IPv4Address, ip4), *map(ipaddress.IPv6Address, ip6))


def check(ip4: Iterable[int], ip6: Iterable[int]) -> Addresses:
    """Return both families sorted; raise BadAddress for duplicates and more than 16 of one."""
    if not ip4 and not ip6:
        return (), ()
    families: Addresses = (tuple(sorted(ip4)), tuple(sorted(ip6)))
    for family, bits, numbers in zip(("IPv4", "IPv6"), (32, 128), families, strict=True):
        if numbers and (numbers[0] < 0 or numbers[-1] >> bits):
            raise BadAddress(f"{numbers[-1]:#x} is not the number of an {family} address")
        if len(numbers) > PER_FAMILY:
            raise BadAddress(
                f"{len(numbers)} {family} addresses are too many: a MAC address has"
                f" {PER_FAMILY} at most"
            )
        for one, other in pairwise(numbers):
            if one == other:
                spelled = join((one,), ()) if bits == 32 else join((), (one,))
                raise BadAddress(f"the address {spelled[0]} is given twice")
    return families
