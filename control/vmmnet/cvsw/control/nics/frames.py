# SPDX-License-Identifier: GPL-2.0-or-later
"""A frame as a line of text. It may be anything, and be truncated anywhere.

The text has only our words and numbers, so it is safe on a terminal.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

Part = Iterator[str]

_ETHERNET_MIN = 1536  # below it is a length (IEEE 802.3)
_TAGS = {0x8100, 0x88A8}
_TAGS_MAX, _EXTENSIONS_MAX = 2, 8
_ARP = struct.Struct(">HHBBH6s4s6s4s")
_ETHERNET_IP4 = (1, 0x0800, 6, 4)
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _DESTINATION = 0, 43, 44, 60
_TCP_FLAGS = "FSRPAUEC"
_ICMP = {0: "echo reply", 3: "unreachable", 5: "redirect", 8: "echo request", 11: "time exceeded"}
_ICMP6 = {
    1: "unreachable", 2: "packet too big", 3: "time exceeded", 4: "parameter problem",
    128: "echo request", 129: "echo reply", 130: "listener query", 131: "listener report",
    132: "listener done", 133: "router solicitation", 134: "router advertisement",
    135: "neighbour solicitation", 136: "neighbour advertisement", 137: "redirect",
    143: "listener report",
}  # fmt: skip
_SOLICITATION, _ADVERTISEMENT = 135, 136


def describe(frame: bytes) -> str:
    """Describe a frame by its first octets."""
    parts = []
    try:
        for part in _ethernet(frame):
            parts.append(part)
    except (struct.error, IndexError):
        parts.append("cut")
    return ", ".join(parts)


def _ethernet(frame: bytes) -> Part:
    destination, source, kind = struct.unpack_from(">6s6sH", frame)
    yield f"{source.hex(':')} > {destination.hex(':')}"
    at = 14
    for _ in range(_TAGS_MAX):
        if kind in _TAGS:
            tci, kind = struct.unpack_from(">HH", frame, at)
            yield f"VLAN {tci & 0xFFF}"
            at += 4
    reader = _KINDS.get(kind)
    if reader:
        yield from reader(frame, at)
    elif kind < _ETHERNET_MIN:
        yield f"802.3 of {kind} octets"
    else:
        yield f"EtherType {kind:#06x}"


def _arp(frame: bytes, at: int) -> Part:
    *form, operation, sha, spa, _, tpa = _ARP.unpack_from(frame, at)
    if tuple(form) != _ETHERNET_IP4:
        yield "ARP of another network"
    elif operation == 1:
        yield f"ARP who has {IPv4Address(tpa)}? tell {IPv4Address(spa)}"
    elif operation == 2:
        yield f"ARP {IPv4Address(spa)} is at {sha.hex(':')}"
    else:
        yield f"ARP operation {operation}"


def _ip4(frame: bytes, at: int) -> Part:
    first, fragment, protocol, source, destination = struct.unpack_from(">B5xHxB2x4s4s", frame, at)
    yield f"IPv4 {IPv4Address(source)} > {IPv4Address(destination)}"
    if first >> 4 != 4 or first & 15 < 5:
        yield "malformed"
    elif fragment & 0x1FFF:
        yield "a later fragment"
    else:
        yield from _upper(frame, at + 4 * (first & 15), protocol)


def _ip6(frame: bytes, at: int) -> Part:
    protocol, source, destination = struct.unpack_from(">6xBx16s16s", frame, at)
    yield f"IPv6 {IPv6Address(source)} > {IPv6Address(destination)}"
    at += 40
    for _ in range(_EXTENSIONS_MAX):
        if protocol == _FRAGMENT:
            protocol, offset = struct.unpack_from(">BxH", frame, at)
            if offset >> 3:
                yield "a later fragment"
                return
            at += 8
        elif protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION):
            protocol, length = struct.unpack_from(">BB", frame, at)
            at += 8 * (length + 1)
        else:
            break
    yield from _upper(frame, at, protocol)


def _upper(frame: bytes, at: int, protocol: int) -> Part:
    reader = _PROTOCOLS.get(protocol)
    if reader:
        yield from reader(frame, at)
    else:
        yield f"protocol {protocol}"


def _tcp(frame: bytes, at: int) -> Part:
    source, destination, flags = struct.unpack_from(">HH9xB", frame, at)
    letters = "".join(letter for bit, letter in enumerate(_TCP_FLAGS) if flags >> bit & 1)
    yield f"TCP {source} > {destination} [{letters or '-'}]"


def _ports(name: str) -> Callable[[bytes, int], Part]:
    def read(frame: bytes, at: int) -> Part:
        source, destination = struct.unpack_from(">HH", frame, at)
        yield f"{name} {source} > {destination}"

    return read


def _icmp(frame: bytes, at: int) -> Part:
    kind, code = struct.unpack_from(">BB", frame, at)
    yield f"ICMP {_ICMP.get(kind, f'type {kind}')}" + (f" ({code})" if code else "")


def _icmp6(frame: bytes, at: int) -> Part:
    kind, code = struct.unpack_from(">BB", frame, at)
    name = f"ICMPv6 {_ICMP6.get(kind, f'type {kind}')}"
    if kind in (_SOLICITATION, _ADVERTISEMENT):
        (target,) = struct.unpack_from(">8x16s", frame, at)
        name += f" of {IPv6Address(target)}"
    yield name + (f" ({code})" if code else "")


def _esp(frame: bytes, at: int) -> Part:
    (spi,) = struct.unpack_from(">I", frame, at)
    yield f"ESP {spi:#x}"


_KINDS = {0x0800: _ip4, 0x0806: _arp, 0x86DD: _ip6}
_PROTOCOLS = {1: _icmp, 6: _tcp, 17: _ports("UDP"), 50: _esp, 58: _icmp6, 132: _ports("SCTP")}
