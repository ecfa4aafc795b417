# SPDX-License-Identifier: GPL-2.0-or-later
"""Mobile IPv6 and neighbour discovery as scapy has them: each reads what the other builds."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator

import pytest
from lab.packages import programs
from scapy.compat import raw
from scapy.layers import inet6
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

HOME, CARE_OF, AGENT = "2001:db8:1::1234", "2001:db8:2::5678", "2001:db8:1::1"
ROUTER, NODE, MAC = "fe80::1", "fe80::2", "02:bb:00:00:00:01"


def away(message: Packet) -> Packet:
    """A message of a mobile node that is away from home."""
    option = inet6.IPv6ExtHdrDestOpt(options=[inet6.HAO(hoa=HOME)])
    return IPv6(src=CARE_OF, dst=AGENT) / option / message


def routed(message: Packet) -> Packet:
    """A message to a mobile node that is away from home."""
    routing = inet6.IPv6ExtHdrRouting(type=2, addresses=[HOME], segleft=1)
    return IPv6(src=AGENT, dst=CARE_OF) / routing / message


def straight(message: Packet) -> Packet:
    """A message from or to a node that is where its address is."""
    return IPv6(src=AGENT, dst=HOME) / message


def nd(message: Packet, src: str = ROUTER, dst: str = NODE) -> Packet:
    """A message of neighbour discovery."""
    return IPv6(src=src, dst=dst, hlim=255) / message


ALTERNATE = inet6.MIP6OptAltCoA(acoa=CARE_OF)
REFRESH = inet6.MIP6OptBRAdvice(rinter=300)
#: Four octets; scapy says sixteen, against RFC 6275 section 6.2.6.
NONCES = inet6.MIP6OptNonceIndices(olen=4, hni=258, coni=772)
PREFIX = inet6.ICMPv6NDOptPrefixInfo(
    prefixlen=64, L=1, A=1, R=1, validlifetime=7200, preferredlifetime=3600, prefix="2001:db8:3::1"
)
OTHER_PREFIX = inet6.ICMPv6NDOptPrefixInfo(
    prefixlen=48,
    L=0,
    A=0,
    R=0,
    validlifetime=0xFFFFFFFF,
    preferredlifetime=0,
    prefix="2001:db8:4::",
)
SLLA = inet6.ICMPv6NDOptSrcLLAddr(lladdr=MAC)
TLLA = inet6.ICMPv6NDOptDstLLAddr(lladdr=MAC)

CASES: dict[str, tuple[Packet, str]] = {
    "bu": (
        away(inet6.MIP6MH_BU(seq=54160, flags="AH", mhtime=21599, options=[ALTERNATE])),
        f"mh=5 flags=c000 sequence=54160 lifetime=21599 alternate={CARE_OF} hao={HOME}",
    ),
    "bu-flags": (
        away(inet6.MIP6MH_BU(seq=65535, flags="AHLK", mhtime=1, options=[])),
        f"mh=5 flags=f000 sequence=65535 lifetime=1 hao={HOME}",
    ),
    "bu-from-home": (
        IPv6(src=HOME, dst=AGENT) / inet6.MIP6MH_BU(seq=7, flags="AH", mhtime=0, options=[]),
        "mh=5 flags=c000 sequence=7 lifetime=0",
    ),
    "bu-nonces": (
        away(inet6.MIP6MH_BU(seq=7, flags="A", mhtime=9, options=[ALTERNATE, NONCES])),
        f"mh=5 flags=8000 sequence=7 lifetime=9 alternate={CARE_OF} home_nonce=258"
        f" care_of_nonce=772 hao={HOME}",
    ),
    "ba": (
        routed(inet6.MIP6MH_BA(status=0, flags="K", seq=54160, mhtime=21599, options=[])),
        f"mh=6 flags=80 status=0 sequence=54160 lifetime=21599 rh2={HOME}",
    ),
    "ba-refresh": (
        routed(inet6.MIP6MH_BA(status=135, flags=0, seq=3, mhtime=0, options=[REFRESH])),
        f"mh=6 flags=00 status=135 sequence=3 lifetime=0 refresh=300 rh2={HOME}",
    ),
    "ba-at-home": (
        straight(inet6.MIP6MH_BA(status=1, flags=0, seq=3, mhtime=150, options=[])),
        "mh=6 flags=00 status=1 sequence=3 lifetime=150",
    ),
    "be": (
        straight(inet6.MIP6MH_BE(status=2, ha=HOME, options=[])),
        f"mh=7 status=2 home={HOME}",
    ),
    "brr": (straight(inet6.MIP6MH_BRR(options=[])), "mh=0"),
    "hoti": (
        straight(inet6.MIP6MH_HoTI(cookie=b"\1\2\3\4\5\6\7\x08", options=[])),
        "mh=1 cookie=72623859790382856",
    ),
    "coti": (
        straight(inet6.MIP6MH_CoTI(cookie=b"\0\0\0\0\0\0\0\x08", options=[])),
        "mh=2 cookie=8",
    ),
    "hot": (
        straight(
            inet6.MIP6MH_HoT(
                index=258, cookie=b"\0" * 7 + b"\5", token=b"\0" * 7 + b"\6", options=[]
            )
        ),
        "mh=3 nonce_index=258 token=6 cookie=5",
    ),
    "rs": (nd(inet6.ICMPv6ND_RS() / SLLA, NODE, "ff02::2"), f"type=133 slla={MAC}"),
    "rs-unspecified": (nd(inet6.ICMPv6ND_RS(), "::", "ff02::2"), "type=133"),
    "ra": (
        nd(
            inet6.ICMPv6ND_RA(
                chlim=61,
                M=1,
                O=0,
                H=1,
                prf=1,
                routerlifetime=1800,
                reachabletime=30000,
                retranstimer=1000,
            )
            / SLLA
            / inet6.ICMPv6NDOptMTU(mtu=1480)
            / PREFIX
            / OTHER_PREFIX
            / inet6.ICMPv6NDOptAdvInterval(advint=600000)
            / inet6.ICMPv6NDOptHAInfo(pref=5, lifetime=900),
            dst="ff02::1",
        ),
        f"type=134 slla={MAC} hop_limit=61 flags=MH preference=1 lifetime=1800 reachable=30000"
        " retrans=1000 mtu=1480 interval=600000 ha_preference=5 ha_lifetime=900"
        " prefix=2001:db8:3::1/64:LAR:7200:3600 prefix=2001:db8:4::/48::4294967295:0",
    ),
    "ra-low": (
        nd(inet6.ICMPv6ND_RA(chlim=0, M=0, O=1, H=0, prf=3, routerlifetime=0), dst="ff02::1"),
        "type=134 hop_limit=0 flags=O preference=-1 lifetime=0 reachable=0 retrans=0 mtu=0"
        " interval=0",
    ),
    "ns": (
        nd(inet6.ICMPv6ND_NS(tgt=ROUTER) / SLLA, NODE, "ff02::1:ff00:1"),
        f"type=135 slla={MAC} target={ROUTER}",
    ),
    "dad": (
        nd(inet6.ICMPv6ND_NS(tgt=CARE_OF), "::", "ff02::1:ff00:5678"),
        f"type=135 target={CARE_OF}",
    ),
    "na": (
        nd(inet6.ICMPv6ND_NA(R=1, S=1, O=0, tgt=ROUTER) / TLLA),
        f"type=136 tlla={MAC} target={ROUTER} flags=RS",
    ),
    "na-unsolicited": (
        nd(inet6.ICMPv6ND_NA(R=0, S=0, O=1, tgt=CARE_OF), CARE_OF, "ff02::1"),
        f"type=136 target={CARE_OF} flags=O",
    ),
}


def ask(packets: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """What our cores find in packets, and what they build of it."""
    done = subprocess.run(
        [programs.built("mip6-peer")],
        input="".join(f"{packet.hex()}\n" for packet in packets),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    return zip(lines[::2], map(bytes.fromhex, lines[1::2]), strict=True)


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[str, bytes]]:
    """Our answers to scapy's packets."""
    return dict(zip(CASES, ask(raw(packet) for packet, _ in CASES.values()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_read(name: str, answers: dict[str, tuple[str, bytes]]) -> None:
    """Each field is found as scapy was told to write it."""
    assert answers[name][0] == CASES[name][1]


@pytest.mark.parametrize("name", CASES)
def test_built(name: str, answers: dict[str, tuple[str, bytes]]) -> None:
    """What we build, checksums included, is scapy's packet, and scapy reads it so."""
    packet, _ = CASES[name]
    built = answers[name][1]
    assert built.hex() == raw(packet).hex()
    assert IPv6(built).command() == IPv6(raw(packet)).command()


def test_damaged() -> None:
    """A packet with one bit changed is not believed: its checksum is wrong."""
    packets = []
    for packet, _ in CASES.values():
        octets = bytearray(raw(packet))
        octets[-1] ^= 1
        packets.append(bytes(octets))
    assert set(ask(packets)) == {("", b"")}
