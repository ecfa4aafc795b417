# SPDX-License-Identifier: GPL-2.0-or-later
"""Security associations of ESP, and how their keys travel to a NIC (vmmnet/cvsw.h)."""

from __future__ import annotations

import secrets
import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

#: Octets of keying material (RFC 4106 section 8.1): the key, and a salt of 4.
KEY_LEN = {"aes-gcm-128": 20, "aes-gcm-256": 36}
#: Size of the anti-replay window, packets (RFC 4303 section 3.4.3).
REPLAY_WINDOW = 1024
#: Numbers below are reserved as SPIs (RFC 4303 section 2.1).
NUMBER_MIN = 256

_SET_SA = struct.Struct(">IIBBH24s12sHxx")
_TAG_LEN = 16
_OUTBOUND, _INBOUND = 1, 2


@dataclass(frozen=True)
class Association:
    """An association from one NIC to another; its number is also its SPI."""

    number: int
    sender: bytes
    receiver: bytes
    cipher: str
    key: bytes = field(repr=False)

    @classmethod
    def make(cls, number: int, sender: bytes, receiver: bytes, cipher: str) -> Association:
        """A new one, with a random key."""
        key = secrets.token_bytes(KEY_LEN[cipher])
        return cls(number, sender, receiver, cipher, key)

    def sealed_for(self, mac: bytes, secret: bytes) -> bytes:
        """The payload of SET_SA to one of the two ends; ``secret`` is of its session."""
        is_inbound = mac == self.receiver
        iv = secrets.token_bytes(12)
        head = _SET_SA.pack(
            self.number,
            self.number,
            _INBOUND if is_inbound else _OUTBOUND,
            1,
            REPLAY_WINDOW if is_inbound else 0,
            self.cipher.encode(),
            iv,
            len(self.key) + _TAG_LEN,
        )
        return head + AESGCM(secret).encrypt(iv, self.key, head)
