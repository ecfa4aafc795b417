# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that sends forged packets to a mobile node, and these packets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address

from ..base import wait
from ..base.net import Interface, Network
from ..guest.guest import Guest
from . import mobile, roaming
from .mobility import HOME_ADDRESS


@dataclass
class Stranger:
    """Sends packets with forged sources to the care-of address of a guest."""

    guest: Guest
    node: mobile.Node

    def refused(self, reason: str, packet: bytes) -> None:
        """Send a packet that must be counted as dropped and have no effect."""
        before = roaming.dropped(self.guest, reason)
        self.node.send(packet)
        wait.until(lambda: roaming.dropped(self.guest, reason) > before, f"a drop: {reason}")
        assert roaming.state(self.guest) == "bound"


@contextlib.contextmanager
def standing(network: Network, link: Interface, to_mac: str, guest: Guest) -> Iterator[Stranger]:
    """Join a link; all packets go to one neighbour."""
    space = network.namespace("stranger")
    try:
        node = mobile.Node(network.connect(space, link).a, to_mac)
        yield Stranger(guest, node)
        node.close()
    finally:
        space.close()


def acknowledgement(source: str, care_of: str, sequence: int, status: int = 0) -> bytes:
    """A Binding Acknowledgement with a type 2 routing header."""
    body = status.to_bytes(2, "little") + sequence.to_bytes(2, "big") + b"\0\1"
    message = mobile.mobility_header(source, HOME_ADDRESS, mobile.BINDING_ACK, body)
    routing = bytes((mobile.MOBILITY, 2, 2, 1)) + bytes(4) + IPv6Address(HOME_ADDRESS).packed
    return mobile.ip6(source, care_of, mobile.ROUTING, routing + message)


def binding_error(source: str, care_of: str, home: str = HOME_ADDRESS) -> bytes:
    """A Binding Error: there is no binding of ``home``."""
    body = bytes((1, 0)) + IPv6Address(home).packed
    message = mobile.mobility_header(source, care_of, mobile.BINDING_ERROR, body)
    return mobile.ip6(source, care_of, mobile.MOBILITY, message)


def advertisement(
    source: str, hops: int, limit: int, lifetime: int, prefix: str, destination: str = "ff02::1"
) -> bytes:
    """A router advertisement with a prefix."""
    body = bytes((limit, 0)) + lifetime.to_bytes(2, "big") + bytes(8)
    body += bytes((3, 4, 64, 0xC0)) + (3600).to_bytes(4, "big") * 2 + bytes(4)
    body += IPv6Address(f"{prefix}::").packed
    return mobile.icmp6(source, destination, 134, body, hops)
