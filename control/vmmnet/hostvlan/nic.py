# SPDX-License-Identifier: GPL-2.0-or-later
"""What the eBPF twin asks of the network interfaces of this process's network namespace.

By ioctl and netlink, as /sys may show another namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from dataclasses import dataclass

_SIOCGIFHWADDR = 0x8927
_SIOCETHTOOL = 0x8946
_GDRVINFO = 3
_ARPHRD_ETHER = 1
_SO_NETNS_COOKIE = 71

_RTM_GETTFILTER = 46
_RTM_NEWTFILTER = 44
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_NLMSG = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BBHiIII")
#: Where filters of clsact are.
PARENTS = (0xFFFFFFF2, 0xFFFFFFF3)


@dataclass(frozen=True)
class Nic:
    """A network interface."""

    name: str
    index: int
    #: The kernel's: "tun" (a tap too), "veth", "macvlan" (a macvtap too), ...
    driver: str
    ethernet: bool
    #: Its own MAC address, as in ``mac``; 0 where it has none.
    mac: int


def namespace() -> int:
    """The cookie of the network namespace; no other one ever has the same."""
    with socket.socket() as any_socket:
        cookie = any_socket.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8)
    (number,) = struct.unpack("=Q", cookie)
    return int(number)


def look(name: str) -> Nic:
    """Look an interface up by its name; raises OSError if there is none."""
    index = socket.if_nametoindex(name)
    with socket.socket() as control:
        request = struct.pack("=16s24x", name.encode())
        kind, octets = struct.unpack_from("=16xH6s", fcntl.ioctl(control, _SIOCGIFHWADDR, request))
        driver = _driver(control, name)
    ethernet = kind == _ARPHRD_ETHER
    return Nic(name, index, driver, ethernet, int.from_bytes(octets) if ethernet else 0)


def _driver(control: socket.socket, name: str) -> str:
    answer = ctypes.create_string_buffer(struct.pack("=I192x", _GDRVINFO), 196)
    request = struct.pack("=16sQ16x", name.encode(), ctypes.addressof(answer))
    try:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    except OSError:
        return ""
    return answer.raw[4:36].split(b"\0")[0].decode()


def name_of(index: int) -> str | None:
    """The name that an interface has now; None: there is none with this index."""
    try:
        return socket.if_indextoname(index)
    except OSError:
        return None


def has_filters(index: int) -> bool:
    """Whether there is a filter, of anybody, in the clsact of an interface."""
    return any(_filters(index, parent) for parent in PARENTS)


def _filters(index: int, parent: int) -> bool:
    """Whether the kernel lists a filter of this parent."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        body = _TCMSG.pack(0, 0, 0, index, 0, parent, 0)
        length = _NLMSG.size + len(body)
        route.send(_NLMSG.pack(length, _RTM_GETTFILTER, _REQUEST_DUMP, 1, 0) + body)
        found = False
        while True:
            answer = route.recv(1 << 16)
            while len(answer) >= _NLMSG.size:
                length, kind, *_ = _NLMSG.unpack_from(answer)
                if kind in (_ERROR, _DONE):
                    return found
                found |= kind == _RTM_NEWTFILTER
                answer = answer[(length + 3) & ~3 :]
