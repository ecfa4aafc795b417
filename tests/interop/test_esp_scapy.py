# SPDX-License-Identifier: GPL-2.0-or-later
"""ESP as scapy has it, over Python's cryptography: each opens what the other seals."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Packet, Raw
from vmmnet.testbed import programs

SPI = 0x20101
HOST, AGENT = "2001:db8:2::5678", "2001:db8:1::1"
GUEST, PEER = "2001:db8:1::1234", "2001:db8:3::1"
#: With payloads on both sides of a block's end, and none.
SIZES = (0, 1, 2, 3, 13, 14, 15, 16, 17, 100, 1200, 1399)
#: The first, the last without ESN, and around a step of the upper half.
NUMBERS = {False: (1, 0x7FFFFFFF, 0xFFFFFFFF), True: (1, 0xFFFFFFFF, 0x100000000, 0x5FFFFFFC1)}


@dataclass(frozen=True)
class Algorithm:
    """One algorithm, in our name and in scapy's, with its keys' lengths."""

    name: str
    crypt: str
    key: int
    auth: str
    auth_key: int

    def keys(self) -> tuple[bytes, bytes]:
        """Return the key of the cipher, a salt included, and of the HMAC."""
        octets = bytes(7 * i & 0xFF for i in range(1, self.key + self.auth_key + 1))
        return octets[: self.key], octets[self.key :]


ALGORITHMS = (
    Algorithm("aes-gcm-128", "AES-GCM", 20, "NULL", 0),
    Algorithm("aes-gcm-256", "AES-GCM", 36, "NULL", 0),
    Algorithm("aes-cbc-128-hmac-sha1", "AES-CBC", 16, "HMAC-SHA1-96", 20),
    Algorithm("aes-cbc-128-hmac-sha256", "AES-CBC", 16, "SHA2-256-128", 32),
    Algorithm("aes-cbc-256-hmac-sha1", "AES-CBC", 32, "HMAC-SHA1-96", 20),
    Algorithm("aes-cbc-256-hmac-sha256", "AES-CBC", 32, "SHA2-256-128", 32),
    Algorithm("null-hmac-sha1", "NULL", 0, "HMAC-SHA1-96", 20),
    Algorithm("null-hmac-sha256", "NULL", 0, "SHA2-256-128", 32),
)
#: scapy 2.5 leaves the upper half of the number out of an HMAC, against RFC 4303
#: section 2.2.1. tests/unit/test-esp-seal.c has packets of another maker for that.
CASES = [
    pytest.param(algorithm, esn, id=f"{algorithm.name}{'-esn' if esn else ''}")
    for algorithm in ALGORITHMS
    for esn in (False, True)
    if not (esn and algorithm.auth_key)
]


class Ours:
    """Our core: a program that seals and opens what it is told to."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [programs.built("esp-peer")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, verb: str, a: Algorithm, esn: bool, number: int, *words: str) -> list[str]:
        """Give it a packet; return the words of its answer."""
        assert self.process.stdin and self.process.stdout
        key = b"".join(a.keys()).hex()
        words = (verb, a.name, key, str(SPI), str(int(esn)), str(number), *words)
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().split()

    def seal(self, a: Algorithm, esn: bool, number: int, proto: int, payload: bytes) -> bytes:
        """Return the packet."""
        (packet,) = self.ask("seal", a, esn, number, str(proto), payload.hex() or "-")
        return bytes.fromhex(packet)

    def open(self, a: Algorithm, esn: bool, number: int, packet: bytes) -> tuple[int, bytes] | str:
        """Return protocol and payload, or why there are none."""
        answer = self.ask("open", a, esn, number, packet.hex())
        if len(answer) == 1:
            return answer[0]
        return int(answer[0]), bytes.fromhex(answer[1].replace("-", ""))

    def close(self) -> None:
        """End it."""
        self.process.communicate()
        assert self.process.returncode == 0


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
