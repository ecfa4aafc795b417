# SPDX-License-Identifier: GPL-2.0-or-later
"""A program with our ESP that encrypts and decrypts packets on request."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from ..packages import programs

SPI = 0x20101


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with our name and scapy's, and the lengths of its keys."""

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


class Ours:
    """A process of this program."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [programs.built("esp-peer")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, verb: str, a: Algorithm, esn: bool, number: int, *words: str) -> list[str]:
        """Send it a packet; return the words of its answer."""
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
        """Return protocol and payload, or the reason of the failure."""
        answer = self.ask("open", a, esn, number, packet.hex())
        if len(answer) == 1:
            return answer[0]
        return int(answer[0]), bytes.fromhex(answer[1].replace("-", ""))

    def close(self) -> None:
        """End it."""
        self.process.communicate()
        assert self.process.returncode == 0
