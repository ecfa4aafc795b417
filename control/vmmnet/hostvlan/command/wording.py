# SPDX-License-Identifier: GPL-2.0-or-later
"""What sub-commands say of MAC addresses and entries."""

from __future__ import annotations

from vmmnet.values import mac

from ..table import offer
from ..table.entry import Entry


def macs(count: int) -> str:
    """A number of MAC addresses as text."""
    return f"{count:,} MAC address{'' if count == 1 else 'es'}"


def more(entry: Entry) -> str:
    """Offers and further MACs as text: ``router, also as 00:00:5e:00:01:0a``."""
    also = [f"also as {mac.text(each)}" for each in entry.also]
    return ", ".join([*offer.words(entry.offers), *also])
