# SPDX-License-Identifier: GPL-2.0-or-later
"""The IPv6 addresses of this host, and the interface for another one."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

_ROUTES = Path("/proc/net/ipv6_route")
# Flags of that file (linux/route.h, linux/ipv6_route.h).
_UP, _GATEWAY, _REJECT = 0x1, 0x2, 0x200
_BITS = 128


def is_here(address: str) -> bool:
    """Whether a program of this host can bind the address, as QEMU does."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _prefix_length(address: int, words: list[str]) -> int:
    """The prefix length of an on-link route to the address, else -1."""
    flags, length = int(words[8], 16), int(words[1], 16)
    if not flags & _UP or flags & (_GATEWAY | _REJECT) or words[9] == "lo" or not length:
        return -1
    shift = _BITS - length
    return length if int(words[0], 16) >> shift == address >> shift else -1


def device(address: str, routes: str | None = None) -> str | None:
    """The interface with the longest on-link prefix of the address; None: there is none.

    ``routes`` is the text of /proc/net/ipv6_route.
    """
    wanted = int(ipaddress.IPv6Address(address))
    found: tuple[int, str] = (-1, "")
    for line in (_ROUTES.read_text() if routes is None else routes).splitlines():
        words = line.split()
        length = _prefix_length(wanted, words)
        if length > found[0]:
            found = (length, words[9])
    return found[1] or None
