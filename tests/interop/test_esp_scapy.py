# SPDX-License-Identifier: GPL-2.0-or-later
"""ESP as scapy has it, over Python's cryptography: each opens what the other seals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lab.cvsw.esp import ALGORITHMS, SPI, Algorithm, Ours
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Packet, Raw

HOST, AGENT = "2001:db8:2::5678", "2001:db8:1::1"
GUEST, PEER = "2001:db8:1::1234", "2001:db8:3::1"
#: With payloads on both sides of a block's end, and none.
SIZES = (0, 1, 2, 3, 13, 14, 15, 16, 17, 100, 1200, 1399)
#: The first, the last without ESN, and around a step of the upper half.
NUMBERS = {False: (1, 0x7FFFFFFF, 0xFFFFFFFF), True: (1, 0xFFFFFFFF, 0x100000000, 0x5FFFFFFC1)}


#: scapy 2.5 leaves the upper half of the number out of an HMAC, against RFC 4303
#: section 2.2.1. tests/unit/test-esp-seal.c has packets of another maker for that.
CASES = [
    pytest.param(algorithm, esn, id=f"{algorithm.name}{'-esn' if esn else ''}")
    for algorithm in ALGORITHMS
    for esn in (False, True)
    if not (esn and algorithm.auth_key)
]


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    """Run our core for all tests."""
    peer = Ours()
    yield peer
    peer.close()


def theirs(a: Algorithm, tunnel: bool, number: int, esn: bool) -> SecurityAssociation:
    """Make scapy's association; its next packet has ``number``."""
    crypt_key, auth_key = a.keys()
    return SecurityAssociation(
        ESP,
        spi=SPI,
        seq_num=number & 0xFFFFFFFF,
        crypt_algo=a.crypt,
        crypt_key=crypt_key,
        auth_algo=a.auth,
        auth_key=auth_key,
        tunnel_header=IPv6(src=HOST, dst=AGENT) if tunnel else None,
        esn_en=esn,
        esn=number >> 32,
    )


def packets(tunnel: bool) -> Iterator[tuple[int, Packet]]:
    """Return what stands behind ESP's header, and its protocol."""
    for size in SIZES:
        data = Raw(bytes(i & 0xFF for i in range(size)))
        if tunnel:
            yield 41, IPv6(src=GUEST, dst=PEER) / TCP(sport=80, dport=40000) / data
        else:
            yield 17, UDP(sport=4000, dport=53) / data
            yield 58, ICMPv6EchoRequest(id=7) / data


def whole(tunnel: bool, inner: Packet) -> Packet:
    """Return the packet as it is before ESP."""
    packet = inner if tunnel else IPv6(src=HOST, dst=AGENT) / inner
    return IPv6(bytes(packet))


@pytest.mark.parametrize("tunnel", [False, True], ids=["transport", "tunnel"])
@pytest.mark.parametrize(("algorithm", "esn"), CASES)
def test_scapy_opens_ours(ours: Ours, algorithm: Algorithm, tunnel: bool, esn: bool) -> None:
    """What we seal is what was there before, to scapy."""
    for number in NUMBERS[esn]:
        for proto, inner in packets(tunnel):
            before = whole(tunnel, inner)
            payload = bytes(before) if tunnel else bytes(before)[40:]
            sealed = ours.seal(algorithm, esn, number, proto, payload)
            association = theirs(algorithm, tunnel, number, esn)
            outer = IPv6(bytes(IPv6(src=HOST, dst=AGENT, nh=50) / sealed))
            assert bytes(association.decrypt(outer)) == bytes(before)


@pytest.mark.parametrize("tunnel", [False, True], ids=["transport", "tunnel"])
@pytest.mark.parametrize(("algorithm", "esn"), CASES)
def test_we_open_scapys(ours: Ours, algorithm: Algorithm, tunnel: bool, esn: bool) -> None:
    """What scapy seals is what was there before, to us; and not with a bit changed."""
    for number in NUMBERS[esn]:
        for proto, inner in packets(tunnel):
            before = whole(tunnel, inner)
            payload = bytes(before) if tunnel else bytes(before)[40:]
            association = theirs(algorithm, tunnel, number, esn)
            sealed = bytes(association.encrypt(before, esn_en=esn, esn=number >> 32)[ESP])
            assert ours.open(algorithm, esn, number, sealed) == (proto, payload)
            forged = sealed[:-20] + bytes([sealed[-20] ^ 1]) + sealed[-19:]
            assert ours.open(algorithm, esn, number, forged) == "icv"
