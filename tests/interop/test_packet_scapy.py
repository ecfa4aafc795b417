# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames as scapy has them: what we find in them, build of them, and put together."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

import pytest
from lab.packages import programs
from scapy.compat import raw
from scapy.layers import inet6
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet

MACS = {"dst": "02:00:00:00:00:01", "src": "02:00:00:00:00:02"}
ETH = Ether(**MACS)
IP4 = IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB9, ttl=61)
IP6 = IPv6(src="fe80::1", dst="fe80::2", tc=0xB9, hlim=60, fl=74565)
V4, V6 = "src=10.0.0.1 dst=10.0.0.2", "src=fe80::1 dst=fe80::2 label=74565"
NONE = "00:00:00:00:00:00"


def _v4(proto: int) -> str:
    return f"type=0800 {V4} proto={proto} tos=185 ttl=61"


def _v6(proto: int, ext: int = 0) -> str:
    return f"type=86dd {V6} ext={ext:03x} proto={proto} tos=185 ttl=60"


FLOWS: dict[str, tuple[Packet, str]] = {
    "tcp4": (
        ETH / IP4 / TCP(sport=4000, dport=80, flags="SAEC"),
        f"{_v4(6)} sport=4000 dport=80 flags=0d2",
    ),
    "tcp6": (
        ETH / IP6 / TCP(sport=4000, dport=80, flags="FN", options=[("MSS", 9)]),
        f"{_v6(6)} sport=4000 dport=80 flags=101",
    ),
    "udp4": (ETH / IP4 / UDP(sport=1, dport=2), f"{_v4(17)} sport=1 dport=2"),
    "sctp6": (ETH / IP6 / SCTP(sport=3, dport=4), f"{_v6(132)} sport=3 dport=4"),
    "icmp4": (ETH / IP4 / ICMP(type=3, code=4), f"{_v4(1)} icmp=3/4"),
    "later": (
        ETH / IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB9, ttl=61, frag=3, proto=6) / b"12345678",
        f"{_v4(6)} fragment=later",
    ),
    "fragment6": (
        ETH / IP6 / inet6.IPv6ExtHdrFragment(m=1) / UDP(sport=1, dport=2),
        f"{_v6(17, 0x10)} fragment=first sport=1 dport=2",
    ),
    "extensions": (
        ETH
        / IP6
        / inet6.IPv6ExtHdrHopByHop()
        / inet6.IPv6ExtHdrDestOpt(options=[inet6.HAO(hoa="::9")])
        / inet6.IPv6ExtHdrRouting(addresses=["::1"])
        / UDP(sport=1, dport=2),
        f"{_v6(17, 0x68)} sport=1 dport=2",
    ),
    "ns": (
        ETH
        / IP6
        / inet6.ICMPv6ND_NS(tgt="fe80::9")
        / inet6.ICMPv6NDOptSrcLLAddr(lladdr=MACS["src"]),
        f"{_v6(58)} icmp=135/0 target=fe80::9 sll={MACS['src']} tll={NONE}",
    ),
    "na": (
        ETH
        / IP6
        / inet6.ICMPv6ND_NA(tgt="fe80::9")
        / inet6.ICMPv6NDOptDstLLAddr(lladdr=MACS["dst"]),
        f"{_v6(58)} icmp=136/0 target=fe80::9 sll={NONE} tll={MACS['dst']}",
    ),
    "arp": (
        ETH / ARP(op=2, psrc="10.0.0.1", pdst="10.0.0.2", hwsrc=MACS["src"], hwdst=MACS["dst"]),
        f"type=0806 op=2 spa=10.0.0.1 tpa=10.0.0.2 sha={MACS['src']} tha={MACS['dst']}",
    ),
    "tags": (
        ETH / Dot1AD(prio=3, vlan=5) / Dot1Q(prio=7, vlan=7) / IP4 / UDP(sport=1, dport=2),
        f"type=0800 tci=6005 tci=e007 {V4} proto=17 tos=185 ttl=61 sport=1 dport=2",
    ),
    "snap": (
        Dot3(**MACS) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=0x800) / IP4 / UDP(sport=1),
        f"{_v4(17)} sport=1 dport=53",
    ),
    "llc": (Dot3(**MACS) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / b"stp", "type=05ff"),
}

REBUILT = {
    "udp4": ETH / IP4 / UDP(sport=1, dport=2) / b"odd",
    "udp6": ETH / IP6 / UDP(sport=1, dport=2) / b"odd",
    # Its checksum comes out as 0.
    "zero": ETH / IP(src="0.0.0.0", dst="0.0.0.0") / UDP(sport=0, dport=0) / b"\xff\xda",
    "fragment": ETH / IP(src="10.0.0.1", dst="10.0.0.2", id=9, flags="MF", frag=7, proto=6) / b"x",
    "arp": ETH / ARP(op=1, psrc="0.0.0.0", pdst="10.0.0.2", hwsrc=MACS["src"]),
}


def ask(what: str, frames: Iterable[Packet]) -> list[str]:
    """Our program's answer to frames."""
    done = subprocess.run(
        [programs.built("packet-peer"), what],
        input="".join(f"{raw(frame).hex()}\n" for frame in frames),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_flow() -> None:
    """Each field is found as scapy was told to write it."""
    found = ask("flow", (frame for frame, _ in FLOWS.values()))
    assert dict(zip(FLOWS, found, strict=True)) == {name: want for name, (_, want) in FLOWS.items()}


def test_rebuilt() -> None:
    """The headers that we build, checksums included, are scapy's."""
    built = ask("rebuild", REBUILT.values())
    assert dict(zip(REBUILT, built, strict=True)) == {
        name: raw(frame).hex() for name, frame in REBUILT.items()
    }


def _tcp(ip: Packet, seq: int, payload: bytes, flags: str = "A") -> Packet:
    stamps = [("NOP", None), ("NOP", None), ("Timestamp", (7, 8))]
    tcp = TCP(sport=4000, dport=80, seq=seq, ack=5, window=99, flags=flags, options=stamps)
    return ETH / ip / tcp / payload


@pytest.mark.parametrize("family", ["ip4", "ip6"])
def test_coalesced_tcp(family: str) -> None:
    """Segments become the frame that scapy would have made of all their octets."""
    payload = bytes(range(256)) * 4
    cut = [payload[at : at + 300] for at in range(0, len(payload), 300)]

    def ip(number: int) -> Packet:
        return IP(src="10.0.0.1", dst="10.0.0.2", id=40 + number) if family == "ip4" else IP6.copy()

    frames = [
        _tcp(ip(number), 300 * number, part, "A" if number < len(cut) - 1 else "PA")
        for number, part in enumerate(cut)
    ]
    (line,) = ask("coalesce", frames)
    size, octets = line.split()
    got, want = Ether(bytes.fromhex(octets)), _tcp(ip(0), 0, payload, "PA")
    assert size == "300"
    # The checksum is the receiver's matter.
    got[TCP].chksum = None
    assert raw(got).hex() == raw(want).hex()


@pytest.mark.parametrize("ip", [IP(src="10.0.0.1", dst="10.0.0.2", flags="DF"), IP6])
def test_coalesced_udp(ip: Packet) -> None:
    """So do datagrams of one length, and a shorter one ends it."""
    frames = [
        ETH / ip.copy() / UDP(sport=1, dport=2) / (bytes([number]) * size)
        for number, size in enumerate((100, 100, 40, 100))
    ]
    first, second = ask("coalesce", frames)
    size, octets = first.split()
    got = Ether(bytes.fromhex(octets))
    want = ETH / ip.copy() / UDP(sport=1, dport=2) / (b"\0" * 100 + b"\1" * 100 + b"\2" * 40)
    got[UDP].chksum = None
    assert (size, raw(got).hex()) == ("100", raw(want).hex())
    assert second == f"0 {raw(frames[3]).hex()}"
