# SPDX-License-Identifier: GPL-2.0-or-later
"""MAC addresses that a port uses as a source beside its own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from vmmnet.values import mac
from vmmnet.values.mac import BadMac, text

#: How many one port can have.
PER_MAC = 31


def check(number: int, also: Iterable[int]) -> tuple[int, ...]:
    """Return a port's further MACs sorted; raise BadMac for duplicates and more than 31."""
    if not also:
        return ()
    result = tuple(sorted(map(mac.check, also)))
    if len(result) > PER_MAC:
        raise BadMac(f"{len(result)} MAC addresses beside its own are too many: {PER_MAC} at most")
    if number in result:
        raise BadMac(f"{text(number)} is the port's own MAC address already")
    for one, other in pairwise(result):
        if one == other:
            raise BadMac(f"{text(one)} is given twice")
    return result
