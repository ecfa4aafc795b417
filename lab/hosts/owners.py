# SPDX-License-Identifier: GPL-2.0-or-later
"""The host that has an IPv6 address, at every moment, as the hosts' kernels report it."""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vmmnet import netlink

from ..base import wait
from ..base.net import Interface, Namespace

# linux/rtnetlink.h
_NEWADDR, _DELADDR, _GROUP_IPV6_IFADDR = 20, 21, 0x100
_IFADDRMSG = struct.Struct("=BBBBI")
_IFA_ADDRESS = 1
_ETH_P_IPV6 = 0x86DD
# Offsets in an IPv6 frame: the type of ICMPv6, and the target of a neighbour advertisement.
_TYPE, _TARGET = slice(54, 55), slice(62, 78)
_NEIGHBOUR_ADVERTISEMENT = bytes([136])


@dataclass
class Owners:
    """The history of an address since the watch began."""

    address: bytes
    names: Sequence[str]
    #: The hosts with the address, state by state.
    history: list[tuple[str, ...]] = field(default_factory=lambda: [()])

    def heard(self, name: str, has: bool) -> None:
        """A host has got or lost the address."""
        now = set(self.history[-1]) - {name} | ({name} if has else set())
        state = tuple(each for each in self.names if each in now)
        if state != self.history[-1]:
            self.history.append(state)

    def await_owner(self, *names: str) -> None:
        """Wait until exactly these hosts have the address."""
        wait.until(lambda: self.history[-1] == names, f"an address of {names}: {self.history}")


def _changes(datagram: bytes, address: bytes) -> Iterator[bool]:
    """Yield, for each rtnetlink message about the address, whether the host has it."""
    for kind, body in netlink.messages(datagram):
        found = netlink.attributes(body[_IFADDRMSG.size :])
        if kind in (_NEWADDR, _DELADDR) and found.get(_IFA_ADDRESS) == address:
            yield kind == _NEWADDR


@contextlib.contextmanager
def watched(address: str, first: Namespace, second: Namespace) -> Iterator[Owners]:
    """Follow the address from its first host to a second one, for the time of a block.

    Each host's messages wait in a socket. All messages of the first host are read before earlier
    ones of the second, so that a release before a claim is never recorded in the wrong order.
    """
    owners = Owners(ipaddress.IPv6Address(address).packed, (first.name, second.name))
    with contextlib.ExitStack() as stack:
        ears = []
        for space in (first, second):
            with space.entered():
                ears.append(stack.enter_context(netlink.watch(_GROUP_IPV6_IFADDR)))
        owners.heard(first.name, has(first, address))
        owners.heard(second.name, has(second, address))
        done, ending = socket.socketpair()
        stack.enter_context(done)
        stack.enter_context(ending)

        def drain(ear: socket.socket) -> list[bool]:
            return [each for one in netlink.told(ear) for each in _changes(one, owners.address)]

        def follow() -> None:
            while done not in select.select([*ears, done], [], [])[0]:
                later = drain(ears[1])
                for each in drain(ears[0]):
                    owners.heard(first.name, each)
                for each in later:
                    owners.heard(second.name, each)

        thread = threading.Thread(target=follow, name="owners", daemon=True)
        thread.start()
        try:
            yield owners
        finally:
            ending.send(b".")
            thread.join()


def has(space: Namespace, address: str) -> bool:
    """Return whether a host has the address."""
    return bool(space.ip("-6", "-o", "address", "show", "to", f"{address}/128"))


@contextlib.contextmanager
def advertisements(node: Namespace, interface: Interface, address: str) -> Iterator[Iterator[str]]:
    """Yield the source MAC addresses of the address's neighbour advertisements, at a node."""
    with node.entered():
        seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_IPV6))
    with seen:
        seen.bind((interface.name, _ETH_P_IPV6))
        seen.settimeout(wait.PATIENCE)
        wanted = ipaddress.IPv6Address(address).packed

        def heard() -> Iterator[str]:
            while True:
                frame = seen.recv(2048)
                if frame[_TYPE] == _NEIGHBOUR_ADVERTISEMENT and frame[_TARGET] == wanted:
                    yield frame[6:12].hex(":")

        yield heard()
