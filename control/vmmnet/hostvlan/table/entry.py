# SPDX-License-Identifier: GPL-2.0-or-later
"""What a table says of one MAC address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vmmnet.values import mac

from . import claim, further, lnid, offer


class Entry(NamedTuple):
    """One MAC address with its LNIDs and, if its ARP and ND are checked, its IP addresses.

    All fields are integers or tuples of integers: ``mac`` as in ``vmmnet.values.mac``;
    LNIDs, where 0 is the global LNID; IP addresses and prefixes as in the module
    ``claim``; ``offers`` as in the module ``offer``; ``also``, further source MACs that
    the port may use.  ``of()`` sorts the tuples and removes no duplicates: it refuses
    them.  Entries that say the same are therefore equal.
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
        """Check all values and sort them.

        Raises BadMac, BadLnid, BadAddress or BadOffer, all of them ValueError.
        """
        families = claim.check(ip4, ip6)
        mac.check(number)
        more = (offer.check(offers), further.check(number, also))
        return cls(number, lnid.check(lnids), *families, *more)

    @property
    def addresses(self) -> tuple[claim.Claim, ...]:
        """The IP addresses and prefixes, IPv4 first."""
        return claim.join(self.ip4, self.ip6)
