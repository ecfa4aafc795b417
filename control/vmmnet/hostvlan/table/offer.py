# SPDX-License-Identifier: GPL-2.0-or-later
"""What a member may offer to others: routes and IP addresses; bits, as a record has them."""

from __future__ import annotations

from collections.abc import Iterable

#: It may send router advertisements, and messages of a DHCP server.
ROUTER, DHCP_SERVER = 1, 2
#: In files, options and answers.
WORDS = {"router": ROUTER, "dhcp-server": DHCP_SERVER}
_ALL = ROUTER | DHCP_SERVER


class BadOffer(ValueError):
    """A word or a number is none of the offers; the message says which there are."""


def parse(words: Iterable[str]) -> int:
    """Read words; raises BadOffer."""
    result = 0
    for word in words:
        if word not in WORDS:
            raise BadOffer(f"'{word}' is nothing that a member may be: {' or '.join(WORDS)}")
        result |= WORDS[word]
    return result


def check(offers: int) -> int:
    """Return ``offers`` if they are some that there are; raise BadOffer if not."""
    if offers & ~_ALL:
        raise BadOffer(f"{offers:#x} is no set of offers")
    return offers


def words(offers: int) -> list[str]:
    """The opposite of parse()."""
    return [word for word, bit in WORDS.items() if offers & bit]
