# SPDX-License-Identifier: GPL-2.0-or-later
"""What a port may offer to others, routes or IP addresses: the bits of a record."""

from __future__ import annotations

from collections.abc import Iterable

#: The port may send router advertisements; it may send messages of a DHCP server.
ROUTER, DHCP_SERVER = 1, 2
#: The words for them in files, options and answers.
WORDS = {"router": ROUTER, "dhcp-server": DHCP_SERVER}
_ALL = ROUTER | DHCP_SERVER


class BadOffer(ValueError):
    """A word or a number is not an offer; the message lists the offers."""


def parse(words: Iterable[str]) -> int:
    """Read words; raises BadOffer."""
    result = 0
    for word in words:
        if word not in WORDS:
            raise BadOffer(f"'{word}' is not an offer: it is {' or '.join(WORDS)}")
        result |= WORDS[word]
    return result


def check(offers: int) -> int:
    """Return ``offers`` if all of their bits are known; raise BadOffer if not."""
    if offers & ~_ALL:
        raise BadOffer(f"{offers:#x} is not a set of offers")
    return offers


def words(offers: int) -> list[str]:
    """The inverse of parse()."""
    return [word for word, bit in WORDS.items() if offers & bit]
