# SPDX-License-Identifier: GPL-2.0-or-later
"""IP addresses that a port may send from, single ones and prefixes: the paper has none.

In tables an address is a number: the address as the ``ipaddress`` module has it, and
above its bits the number of host bits.  A single address has none; 192.0.2.0/24 is
``8 << 32 | 0xC0000200``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import TypeVar

from vmmnet.values import address
from vmmnet.values.address import Address, BadAddress

#: How many of each family, prefixes included, one MAC can have.
PER_FAMILY = 16

#: A single address, or a prefix of several.
Claim = Address | IPv4Network | IPv6Network

Families = tuple[tuple[int, ...], tuple[int, ...]]

_BITS = (32, 128)
_Of = TypeVar("_Of")


def parse(spelled: str) -> Claim:
    """Read an address or a prefix that a port can have; raises BadAddress."""
    if "/" not in spelled:
        return address.parse(spelled)
    result = parse_any(spelled)
    if isinstance(result, IPv4Network | IPv6Network):
        address.refuse_foreign_in(result)
    else:
        address.refuse_foreign(result)
    return result


def parse_any(spelled: str) -> Claim:
    """Read an address or a prefix; one of all bits is an address.  Raises BadAddress."""
    if "/" not in spelled:
        return address.parse_any(spelled)
    first, _, length = spelled.partition("/")
    start = address.parse_any(first)
    bits = start.max_prefixlen
    if not re.fullmatch("[0-9]{1,3}", length) or int(length) > bits:
        raise BadAddress(
            f"'{spelled}': '{length}' is not the length of a prefix: of IPv{start.version} it is"
            f" 1 to {bits}"
        )
    if int(length) == bits:
        return start
    if int(length) == 0:
        raise BadAddress(
            f"'{spelled}' is every IPv{start.version} address: a MAC address without any --address"
            " may send from all"
        )
    network = ipaddress.ip_network((start, int(length)), strict=False)
    if network.network_address != start:
        raise BadAddress(
            f"'{spelled}' has bits behind the prefix: give the prefix, {network},"
            f" or the address alone, {start}"
        )
    return network


def split(claims: Iterable[Claim]) -> Families:
    """Return the IPv4 and the IPv6 addresses, as numbers."""
    given = tuple(claims)
    return (
        tuple(number(each) for each in given if each.version == 4),
        tuple(number(each) for each in given if each.version == 6),
    )


def number(claim: Claim) -> int:
    """The number of an address or a prefix."""
    if isinstance(claim, IPv4Network | IPv6Network):
        bits = claim.max_prefixlen
        return (bits - claim.prefixlen) << bits | int(claim.network_address)
    return int(claim)


def join(ip4: Iterable[int], ip6: Iterable[int]) -> tuple[Claim, ...]:
    """The inverse of split(): the addresses, IPv4 first, each family in its order."""
    return (
        *(_spell(each, ipaddress.IPv4Address, IPv4Network) for each in ip4),
        *(_spell(each, ipaddress.IPv6Address, IPv6Network) for each in ip6),
    )


def _spell(
    number: int,
    single: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address],
    prefix: type[IPv4Network] | type[IPv6Network],
) -> Claim:
    bits = 32 if single is ipaddress.IPv4Address else 128
    host_bits, first = number >> bits, number & (1 << bits) - 1
    return prefix((first, bits - host_bits)) if host_bits else single(first)


def check(ip4: Iterable[int], ip6: Iterable[int]) -> Families:
    """Return both families sorted.

    Raises BadAddress for numbers out of range, for addresses that are given twice or are
    in a prefix that is given, and for more than 16 of one family.
    """
    if not ip4 and not ip6:
        return (), ()
    families: Families = (tuple(sorted(ip4)), tuple(sorted(ip6)))
    for bits, numbers in zip(_BITS, families, strict=True):
        family = "IPv4" if bits == 32 else "IPv6"
        for each in numbers:
            if not is_valid(each, bits):
                raise BadAddress(f"{each:#x} is not the number of an {family} address")
        if len(numbers) > PER_FAMILY:
            raise BadAddress(
                f"{len(numbers)} {family} addresses are too many: a MAC address has"
                f" {PER_FAMILY} at most"
            )
        _refuse_overlap(numbers, bits)
    return families


def is_valid(number: int, bits: int) -> bool:
    """Whether a number has fewer host bits than the family has bits, and these are 0."""
    host_bits = number >> bits
    return 0 <= host_bits < bits and not number & (1 << host_bits) - 1


def covers(outer: int, inner: int, bits: int) -> bool:
    """Whether an address or prefix is another one, or in it."""
    host_bits = outer >> bits
    different = (outer ^ inner) & (1 << bits) - 1
    return inner >> bits <= host_bits and not different >> host_bits


def _refuse_overlap(numbers: tuple[int, ...], bits: int) -> None:
    for inner, outer in overlaps(((each, each) for each in numbers), bits):
        pair = (inner, outer)
        one, other = join(pair, ()) if bits == 32 else join((), pair)
        if inner == outer:
            raise BadAddress(f"the address {one} is given twice")
        raise BadAddress(f"the address {one} is in {other}, which is given, too")


def overlaps(numbered: Iterable[tuple[int, _Of]], bits: int) -> Iterator[tuple[_Of, _Of]]:
    """Pairs of which the first one's address is that of the second one, or in its prefix.

    Each address comes with what it is of.  One prefix is in another or beside it: so those
    around an address are the ones that have begun and not ended.
    """
    around: list[tuple[int, _Of]] = []
    for first, host_bits, inner in sorted(
        ((number & (1 << bits) - 1, number >> bits, of) for number, of in numbered),
        key=lambda each: (each[0], -each[1]),
    ):
        while around and around[-1][0] < first:
            around.pop()
        yield from ((inner, outer) for _, outer in around)
        around.append((first + (1 << host_bits) - 1, inner))
