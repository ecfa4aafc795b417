# SPDX-License-Identifier: GPL-2.0-or-later
"""The IPv6 addresses of this host, and the interface for another one."""

from __future__ import annotations

import ipaddress
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path

from ... import netlink

_ROUTES = Path("/proc/net/ipv6_route")
_ADDRESSES = Path("/proc/net/if_inet6")
# Flags of that file (linux/if_addr.h).
_TENTATIVE, _DUPLICATE = 0x40, 0x08
# Groups of rtnetlink: RTMGRP_LINK, _IPV6_IFADDR, _IPV6_ROUTE.
_CHANGES = 0x1 | 0x100 | 0x400
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


def duplicate(address: str, addresses: str | None = None) -> str | None:
    """The interface on which another node of the link has the address; None: there is none.

    ``addresses`` is the text of /proc/net/if_inet6.
    """
    flags, device = _held(address, addresses)
    return device if flags & _DUPLICATE else None


def missing(address: str, addresses: str | None = None) -> str:
    """Say why an address that is not here is not."""
    flags, device = _held(address, addresses)
    if flags & _DUPLICATE:
        return f"is on {device}, but another node of that link has it"
    if flags & _TENTATIVE:
        return f"is on {device}, but tentative: its duplicate address detection has not ended"
    return "is no address of this host"


def _held(address: str, addresses: str | None) -> tuple[int, str]:
    """The flags of the address and its interface; 0 and nothing: it is none of the host's."""
    wanted = f"{int(ipaddress.IPv6Address(address)):032x}"
    for line in (_ADDRESSES.read_text() if addresses is None else addresses).splitlines():
        words = line.split()
        if words[0] == wanted:
            return int(words[4], 16), words[5]
    return 0, ""


def exists(device: str) -> bool:
    """Whether the host has an interface of that name."""
    return any(name == device for _, name in socket.if_nameindex())


def wait_for(there: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``there()``, for so long at most; returns whether it is.

    It is asked again whenever the host's interfaces, IPv6 addresses or routes have changed.
    """
    end = time.monotonic() + seconds
    with netlink.watch(_CHANGES) as watch:
        while not there():
            left = end - time.monotonic()
            if left <= 0:
                return False
            if select.select([watch], [], [], left)[0]:
                for _ in netlink.told(watch):
                    pass
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
