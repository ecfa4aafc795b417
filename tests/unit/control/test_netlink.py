# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of rtnetlink, and the kernel's own."""

from __future__ import annotations

import socket
import struct

from vmmnet import netlink

_NESTED = 0x8000
_GETLINK, _NEWLINK = 18, 16
_IFLA_IFNAME = 3


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def test_attributes() -> None:
    octets = _attribute(3, b"lo\0") + _attribute(18 | _NESTED, _attribute(1, b"vrf\0"))
    found = netlink.attributes(octets)
    assert found == {3: b"lo\0", 18: _attribute(1, b"vrf\0")}
    assert netlink.attributes(found[18]) == {1: b"vrf\0"}


def test_a_malformed_attribute_ends_them() -> None:
    good = _attribute(1, b"abcd")
    assert netlink.attributes(good + struct.pack("=HH", 3, 2) + b"more") == {1: b"abcd"}
    assert netlink.attributes(good + b"\x08") == {1: b"abcd"}
    assert netlink.attributes(b"") == {}


def test_messages() -> None:
    datagram = _message(20, b"abcde") + bytes(3) + _message(21, b"")
    assert list(netlink.messages(datagram)) == [(20, b"abcde"), (21, b"")]
    endless = struct.pack("=IHHII", 0, 20, 0, 1, 0)
    assert list(netlink.messages(_message(20, b"abcd") + endless)) == [(20, b"abcd")]


def test_the_kernel_lists_the_loopback() -> None:
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0)
    names = [
        netlink.attributes(answer[len(body) :])[_IFLA_IFNAME]
        for kind, answer in netlink.dump(_GETLINK, body)
        if kind == _NEWLINK
    ]
    assert b"lo\0" in names


def test_what_is_told_is_read_until_nothing_waits() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there, netlink.watch(1) as quiet:
        here.setblocking(False)
        there.send(b"one")
        there.send(b"two")
        assert list(netlink.told(here)) == [b"one", b"two"]
        assert list(netlink.told(here)) == []
        assert quiet.getblocking() is False
