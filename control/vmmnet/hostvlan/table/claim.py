# SPDX-License-Identifier: GPL-2.0-or-later
"""IP addresses that a port may use in ARP and ND: optional; the paper does not have them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from itertools import pairwise

from vmmnet.values.address import Address, BadAddress

#: How many of each family one MAC can have.
PER_FAMILY = 16

Families = tuple[tuple[int, ...], tuple[int, ...]]


def split(addresses: Iterable[Address]) -> Families:
    """Return the IPv4 and the IPv6 addresses, as integers."""
    given = tuple(addresses)
    return (
        tuple(int(each) for each in given if each.version == 4),
        tuple(int(each) for each in given if each.version == 6),
    )


def join(ip4: Iterable[int], ip6: Iterable[int]) -> tuple[Address, ...]:
    """The inverse of split(): the addresses, IPv4 first."""
    return (*map(ipaddress.IPv4Address, ip4), *map(ipaddress.IPv6Address, ip6))


def check(ip4: Iterable[int], ip6: Iterable[int]) -> Families:
    """Return both families sorted; raise BadAddress for duplicates and more than 16 of one."""
    if not ip4 and not ip6:
        return (), ()
    families: Families = (tuple(sorted(ip4)), tuple(sorted(ip6)))
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
