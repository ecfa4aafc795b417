# SPDX-License-Identifier: GPL-2.0-or-later
"""When a NIC's table is read again, in case someone else has changed it."""

from __future__ import annotations

#: Seconds between two reads of a table.
EVERY_MIN, EVERY_MAX = 150.0, 300.0


def interval(mac: bytes) -> float:
    """A NIC's own interval: NICs that begin together are not read together."""
    # The golden ratio, as a fraction of 32 bits (Knuth), spreads consecutive numbers.
    spread = int.from_bytes(mac) * 0x9E3779B1 & 0xFFFFFFFF
    return EVERY_MIN + (EVERY_MAX - EVERY_MIN) * spread / (1 << 32)
