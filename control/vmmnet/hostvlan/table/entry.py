# SPDX-License-Identifier: GPL-2.0-or-later
"""What a table says of one MAC address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from . import address, lnid, mac, offer


class Entry(NamedTuple):
    """One MAC address with its LNIDs and, if its ARP and ND are checked, its IP addresses.

    All are numbers: a MAC as in ``mac``; LNIDs, 0 for the global one; IP
    addresses as the ``ipaddress`` module counts; what it may offer as in ``offer``;
    the MACs with which its port may send as well.  Made by ``of()``, the
    tuples are sorted and without duplicates, and equal entries compare so.
    """

    mac: int
    lnids: tuple[int, ...]
    ip4: tuple[int, ...] = ()
    ip6: tuple[int, ...] = ()
    offers: int = 0
    also: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        number: int,
        lnids: Iterable[int],
        ip4: Iterable[int] = (),
        ip6: Iterable[int] = (),
        offers: int = 0,
        also: Iterable[int] = (),
    ) -> Entry:
        """Check everything and sort it.

        Raises BadMac, BadLnid, BadAddress or BadOffer, all of them ValueError.
        """
        families = address.check(ip4, ip6)
        mac.check(number)
        more = (offer.check(offers), mac.check_also(number, also))
        return cls(number, lnid.check(lnids), *families, *more)

    @property
    def addresses(self) -> tuple[address.Address, ...]:
        """The IP addresses, IPv4 first."""
        return address.join(self.ip4, self.ip6)
