# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP sockets that listen at addresses which the host may get later.

At boot an address is tentative, a virtual one is on another host, an interface is not there: a
daemon that ended would be started again and again. A socket is bound all the same (ip(7),
IP_FREEBIND), and takes connections once the address is there.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from dataclasses import dataclass
from typing import Any

# Not in Python's socket module.
_IP_FREEBIND, _IPV6_FREEBIND = 15, 78
_BACKLOG = 100


class NotYet(Exception):
    """What is missing on this host before the socket can be bound."""


@dataclass(frozen=True)
class Listeners:
    """Listening sockets, one for each address of a host's name."""

    sockets: tuple[socket.socket, ...]
    #: The index of the interface, if the place names one.
    index: int

    def missing(self) -> tuple[str, ...]:
        """The addresses that this host does not have at present; nobody connects to them."""
        places = [(each.family, each.getsockname()) for each in self.sockets]
        return tuple(str(where[0]) for family, where in places if not _is_here(family, where))

    def close(self) -> None:
        """Close them."""
        for each in self.sockets:
            each.close()


def place(host: str, port: int) -> str:
    """A place as it is spelled: [::1]:6653."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def index(host: str) -> int:
    """The index of the interface in an address such as fe80::1%eth0; 0: none is named, or there."""
    _, percent, name = host.partition("%")
    try:
        return socket.if_nametoindex(name) if percent else 0
    except OSError:
        return 0


def bound(host: str, port: int) -> Listeners:
    """Bind to all addresses of a host. Raises NotYet, OSError."""
    address, percent, name = host.partition("%")
    scope = index(host)
    if percent and not scope:
        raise NotYet(f"interface {name} is not there")
    try:
        kind, flags = socket.SOCK_STREAM, socket.AI_PASSIVE
        found = dict.fromkeys(
            (each[0], each[4]) for each in socket.getaddrinfo(address, port, type=kind, flags=flags)
        )
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise NotYet(f"{host} has no address: {error.strerror}") from None
        raise
    sockets = list[socket.socket]()
    try:
        for family, where in found:
            made = socket.socket(family, socket.SOCK_STREAM)
            sockets.append(made)
            where = (*where[:3], scope) if scope else where
            _bind(made, where)
    except OSError as error:
        for each in sockets:
            each.close()
        if error.errno == errno.ENODEV:
            raise NotYet(f"interface {name} is not there") from None
        raise
    return Listeners(tuple(sockets), scope)


def _is_here(family: int, where: tuple[Any, ...]) -> bool:
    """Whether this host has an address, which is not tentative."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((where[0], 0, *where[2:]))
        except OSError:
            return False
    return True


def _bind(made: socket.socket, where: tuple[Any, ...]) -> None:
    """Bind it and listen, whether the host has the address or not. Raises OSError."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    six = made.family == socket.AF_INET6
    if six:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if ipaddress.ip_address(str(where[0])).is_multicast:
        raise OSError(errno.EADDRNOTAVAIL, "a multicast address is no place to listen at")
    option = _IPV6_FREEBIND if six else _IP_FREEBIND
    made.setsockopt(socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP, option, 1)
    made.bind(where)
    made.listen(_BACKLOG)
