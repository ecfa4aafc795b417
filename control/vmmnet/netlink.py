# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists and changes of the kernel's network objects, by rtnetlink(7).

It is all that the control plane needs of pyroute2, which a root agent would import as some
thousand lines.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator

_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_MESSAGE = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
#: Without the flags of nested attributes and of byte order.
_TYPE_MASK = 0x3FFF
_DATAGRAM = 1 << 16


def attributes(octets: bytes) -> dict[int, bytes]:
    """Attributes by their types; a malformed one ends them."""
    found = {}
    while len(octets) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(octets)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _TYPE_MASK] = octets[_ATTRIBUTE.size : length]
        octets = octets[(length + 3) & ~3 :]
    return found


def messages(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """Messages of a datagram: the type of each and the octets after its header."""
    while len(octets) >= _MESSAGE.size:
        length, kind, *_ = _MESSAGE.unpack_from(octets)
        if length < _MESSAGE.size:
            break
        yield kind, octets[_MESSAGE.size : length]
        octets = octets[(length + 3) & ~3 :]


def dump(request: int, body: bytes) -> Iterator[tuple[int, bytes]]:
    """Messages of a list, as those of ``messages``; ``request``: RTM_GETLINK, ..."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        length = _MESSAGE.size + len(body)
        route.send(_MESSAGE.pack(length, request, _REQUEST_DUMP, 1, 0) + body)
        while True:
            for kind, answer in messages(route.recv(_DATAGRAM)):
                if kind in (_ERROR, _DONE):
                    return
                yield kind, answer


def watch(groups: int) -> socket.socket:
    """A socket that is readable after changes; ``groups``: RTMGRP_LINK | ..."""
    kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    watching = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
    watching.bind((0, groups))
    return watching


def told(watching: socket.socket) -> Iterator[bytes]:
    """The datagrams that wait in it.  What the kernel could not keep is left out."""
    while True:
        try:
            yield watching.recv(_DATAGRAM)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
