# SPDX-License-Identifier: GPL-2.0-or-later
"""When a NIC's table is looked at again, in case that somebody else has changed it."""

from __future__ import annotations

#: Between two looks at a table, seconds.
EVERY_MIN, EVERY_MAX = 150.0, 300.0


def interval(mac: bytes) -> float:
    """A NIC's own: those that begin at once are not looked at at once."""
    # The golden ratio, as a fraction of 32 bits (Knuth), spreads numbers that follow each other.
    spread = int.from_bytes(mac) * 0x9E3779B1 & 0xFFFFFFFF
    return EVERY_MIN + (EVERY_MAX - EVERY_MIN) * spread / (1 << 32)
