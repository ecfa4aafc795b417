# SPDX-License-Identifier: GPL-2.0-or-later
"""IP addresses of a port: IPv4 and IPv6, those that can be the source of a packet."""

from __future__ import annotations

import contextlib
import ipaddress
from ipaddress import IPv4Network, IPv6Network

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadAddress(ValueError):
    """A text or a number is not an address of a port; the message says why."""


def parse(spelled: str) -> Address:
    """Read an IPv4 or IPv6 address that a port can have; raises BadAddress."""
    result = parse_any(spelled)
    refuse_foreign(result)
    return result


def parse_any(spelled: str) -> Address:
    """Read an IPv4 or IPv6 address; raises BadAddress."""
    if "/" in spelled:
        raise BadAddress(f"'{spelled}' is a prefix: {_instead_of_prefix(spelled)}")
    if "%" in spelled:
        raise BadAddress(f"'{spelled}' names an interface: give {spelled.split('%')[0]} alone")
    try:
        return ipaddress.ip_address(spelled)
    except ValueError:
        raise BadAddress(
            f"'{spelled}' is not an IP address like 192.0.2.1 or 2001:db8::1"
        ) from None


def _instead_of_prefix(spelled: str) -> str:
    """What to give: the address before the slash may be that of the network, not of a host."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_network(spelled).num_addresses > 1:
            return "give single addresses"
    return f"give the address alone, {spelled.split('/')[0]}"


def refuse_foreign(address: Address) -> None:
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


#: What no prefix of a port may have in it.
_FOREIGN: dict[IPv4Network | IPv6Network, str] = {
    IPv4Network("0.0.0.0/8"): "addresses of 'this network'",
    IPv4Network("127.0.0.0/8"): "loopback addresses",
    IPv4Network("224.0.0.0/4"): "multicast addresses",
    IPv4Network("255.255.255.255"): "the broadcast address",
    IPv6Network("::"): "the unspecified address",
    IPv6Network("::1"): "the loopback address",
    IPv6Network("::ffff:0:0/96"): "IPv4 addresses as programs write them",
    IPv6Network("ff00::/8"): "multicast addresses",
}


def refuse_foreign_in(prefix: IPv4Network | IPv6Network) -> None:
    """Raise BadAddress for a prefix with addresses that cannot be the source of a frame."""
    for foreign, kind in _FOREIGN.items():
        if prefix.version == foreign.version and prefix.overlaps(foreign):
            raise BadAddress(
                f"'{prefix}' has {kind} in it ({foreign}); a port has a prefix like 192.0.2.0/24"
                " or 2001:db8:1::/64"
            )
