# SPDX-License-Identifier: GPL-2.0-or-later
"""Network interfaces of this process's network namespace, for the eBPF twin.

They are read by ioctl and netlink: /sys may be that of another namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Self

from ... import netlink

_SIOCGIFHWADDR = 0x8927
_SIOCETHTOOL = 0x8946
_GDRVINFO = 3
_ARPHRD_ETHER, _ARPHRD_LOOPBACK = 1, 772
_SO_NETNS_COOKIE = 71

_RTM_NEWLINK, _RTM_GETLINK = 16, 18
_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_RTM_GETTFILTER = 46
_RTM_NEWTFILTER = 44
# RTMGRP_LINK and RTMGRP_TC: interfaces, qdiscs and filters that come, change and go.
_GROUPS = 0x1 | 0x8
_IFF_UP = 0x1
_TCMSG = struct.Struct("=BBHiIII")
_IFINFOMSG = struct.Struct("=BxHiII")
_IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_INFO_KIND = 3, 10, 18, 1
_TCA_KIND, _TCA_BLOCKS = 1, (13, 14)
#: The parent of the qdiscs that see what an interface receives.
_INGRESS = 0xFFFFFFF1
#: The parents of clsact's filters.
PARENTS = (0xFFFFFFF2, 0xFFFFFFF3)


@dataclass(frozen=True)
class Nic:
    """A network interface."""

    name: str
    index: int
    #: The kernel's name: "tun" (also a tap), "veth", "macvlan" (also a macvtap), ...
    driver: str
    ethernet: bool
    loopback: bool
    #: Its own MAC address, as in ``mac``; 0: it has none.
    mac: int


def namespace() -> int:
    """The cookie of the network namespace, which is unique until the next boot."""
    with socket.socket() as any_socket:
        cookie = any_socket.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8)
    (number,) = struct.unpack("=Q", cookie)
    return int(number)


def known_as(name: str) -> str:
    """The interface's name, also if ``name`` is an alternative one; ``name`` if there is none."""
    try:
        return socket.if_indextoname(socket.if_nametoindex(name))
    except OSError:
        return name


def look(name: str) -> Nic:
    """Look an interface up by its name; raises OSError if there is none."""
    index = socket.if_nametoindex(name)
    with socket.socket() as control:
        request = struct.pack("=16s24x", name.encode())
        kind, octets = struct.unpack_from("=16xH6s", fcntl.ioctl(control, _SIOCGIFHWADDR, request))
        driver = _driver(control, name)
    ethernet = kind == _ARPHRD_ETHER
    mac = int.from_bytes(octets) if ethernet else 0
    return Nic(name, index, driver, ethernet, kind == _ARPHRD_LOOPBACK, mac)


#: Kinds of interfaces that have the MAC address of the station behind them: the VM of a
#: macvtap, and the host at the bridge's own port.
OWN = ("macvlan", "bridge")


def own_mac(name: str) -> int | None:
    """The MAC address of such an interface; None: it has another kind, or is gone."""
    try:
        found = look(name)
    except OSError:
        return None
    return found.mac if found.driver in OWN else None


# The first octet of the MAC address of a tap that libvirt has made; the others are the VM's.
_OF_LIBVIRT = 0xFE


def is_of_libvirt(name: str) -> bool:
    """Whether an interface is a tap that libvirt has made for a VM."""
    try:
        found = look(name)
    except OSError:
        return False
    return found.driver == "tun" and found.mac >> 40 == _OF_LIBVIRT


def _driver(control: socket.socket, name: str) -> str:
    answer = ctypes.create_string_buffer(struct.pack("=I192x", _GDRVINFO), 196)
    request = struct.pack("=16sQ16x", name.encode(), ctypes.addressof(answer))
    try:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    except OSError:
        return ""
    return answer.raw[4:36].split(b"\0")[0].decode()


def name_of(index: int) -> str | None:
    """The present name of an interface; None: there is none with this index."""
    try:
        return socket.if_indextoname(index)
    except OSError:
        return None


def ingress_qdisc(index: int) -> str:
    """The qdisc that has an interface's hooks: "clsact", "ingress"; empty: there is none.

    Those with shared blocks are followed by "with shared blocks".
    """
    for kind, body in list(netlink.dump(_RTM_GETQDISC, _TCMSG.pack(0, 0, 0, index, 0, 0, 0))):
        _, _, _, ifindex, _, parent, _ = _TCMSG.unpack_from(body)
        if (kind, ifindex, parent) != (_RTM_NEWQDISC, index, _INGRESS):
            continue
        found = netlink.attributes(body[_TCMSG.size :])
        name = found.get(_TCA_KIND, b"").split(b"\0")[0].decode(errors="replace")
        shared = any(int.from_bytes(found.get(each, b""), sys.byteorder) for each in _TCA_BLOCKS)
        return f"{name} with shared blocks" if shared else name
    return ""


def has_filters(index: int) -> bool:
    """Whether the clsact of an interface has a filter, ours or another program's."""
    return any(_filters(index, parent) for parent in PARENTS)


def _filters(index: int, parent: int) -> bool:
    """Whether the kernel lists a filter of this parent."""
    body = _TCMSG.pack(0, 0, 0, index, 0, parent, 0)
    return any(kind == _RTM_NEWTFILTER for kind, _ in list(netlink.dump(_RTM_GETTFILTER, body)))


@dataclass(frozen=True)
class Link:
    """A network interface in a list."""

    index: int
    name: str
    #: The kernel's name: "bridge", "tun" (also a tap), "veth", ...; empty: hardware.
    kind: str
    #: The index of the bridge (or the like) of which it is a port; 0: there is none.
    master: int
    #: Whether it is set up.
    up: bool


def links() -> list[Link]:
    """All interfaces."""
    answers = netlink.dump(_RTM_GETLINK, _IFINFOMSG.pack(0, 0, 0, 0, 0))
    return [_link(body) for kind, body in answers if kind == _RTM_NEWLINK]


def _link(body: bytes) -> Link:
    _, _, index, flags, _ = _IFINFOMSG.unpack_from(body)
    found = netlink.attributes(body[_IFINFOMSG.size :])
    info = netlink.attributes(found.get(_IFLA_LINKINFO, b""))
    name, kind = (
        octets.split(b"\0")[0].decode(errors="replace")
        for octets in (found.get(_IFLA_IFNAME, b""), info.get(_IFLA_INFO_KIND, b""))
    )
    master = int.from_bytes(found.get(_IFLA_MASTER, b""), sys.byteorder)
    return Link(index, name, kind, master, bool(flags & _IFF_UP))


class Changes:
    """Waits for changes of interfaces, of their qdiscs and of their filters.

    A context manager.  What changed is not told: whoever waits looks at everything, so
    that nothing is missed when the kernel has more to tell than it can keep.
    """

    def __init__(self) -> None:
        self._socket = netlink.watch(_GROUPS)
        # stop() writes to it to end wait().
        self._end = os.eventfd(0, os.EFD_CLOEXEC)

    def wait(self, least: float, most: float) -> bool:
        """Wait for a change, between ``least`` and ``most`` seconds; False: stop() was called."""
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        if poll.poll(1000 * least):
            return False
        poll.register(self._socket, select.POLLIN)
        if self._end in [fd for fd, _ in poll.poll(1000 * max(0.0, most - least))]:
            return False
        for _ in netlink.told(self._socket):
            pass
        return True

    def stop(self) -> None:
        """End wait() in another thread."""
        os.eventfd_write(self._end, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        os.close(self._end)
