# SPDX-License-Identifier: GPL-2.0-or-later
"""A client's first datagram of QUIC version 1 (RFC 9001), with a hello of one's choice."""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hmac import HMAC

_SALT = bytes.fromhex("38762cf7f55934b34d179ae6a4c80cadccbb7f0a")
_SIZE = 1200
_TAG = 16


def _hmac(key: bytes, data: bytes) -> bytes:
    made = HMAC(key, hashes.SHA256())
    made.update(data)
    return made.finalize()


def _expand(secret: bytes, label: str, size: int) -> bytes:
    """HKDF-Expand-Label of TLS 1.3; no key here is longer than a hash."""
    text = b"tls13 " + label.encode()
    info = size.to_bytes(2, "big") + bytes([len(text)]) + text + b"\0"
    return _hmac(secret, info + b"\x01")[:size]


def initial(connection: bytes, hello: bytes) -> bytes:
    """The datagram: an Initial for this connection id, whose CRYPTO frame is ``hello``."""
    secret = _expand(_hmac(_SALT, connection), "client in", 32)
    key, iv = _expand(secret, "quic key", 16), _expand(secret, "quic iv", 12)
    frame = b"\x06\0" + (0x4000 | len(hello)).to_bytes(2, "big") + hello
    head = b"\xc3\0\0\0\x01" + bytes([len(connection)]) + connection + b"\0\0"
    # Length, a number of four octets, and PADDING up to the size that a first datagram has.
    padding = _SIZE - len(head) - 2 - 4 - len(frame) - _TAG
    rest = 4 + len(frame) + padding + _TAG
    head += (0x4000 | rest).to_bytes(2, "big") + bytes(4)
    sealed = AESGCM(key).encrypt(iv, frame + bytes(padding), head)
    encryptor = Cipher(algorithms.AES(_expand(secret, "quic hp", 16)), modes.ECB()).encryptor()
    mask = encryptor.update(sealed[:16])
    first = head[0] ^ mask[0] & 0x0F
    number = bytes(each ^ of for each, of in zip(head[-4:], mask[1:5], strict=True))
    return bytes([first]) + head[1:-4] + number + sealed
