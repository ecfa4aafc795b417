# SPDX-License-Identifier: GPL-2.0-or-later
"""Control frames between a controller and the switch in a NIC.

``include/vmmnet/cvsw.h`` defines them.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import struct
from dataclasses import dataclass

ETHERTYPE = 0x88B5
CONTROLLER_MAC = bytes.fromhex("035653570001")
NICS_MAC = bytes.fromhex("035653570002")
TAG_LEN, NONCE_LEN, KEY_LEN_MIN = 16, 16, 32
#: Commands that may wait for an answer at a time.
WINDOW = 8

_MAGIC, _VERSION = 0x43565357, 1
_ETHERNET = struct.Struct(">6s6sH")
_HEAD = struct.Struct(">IBBHQ6s10x")
PAYLOAD_MAX = 1500 - _HEAD.size - TAG_LEN

_REGISTER = struct.Struct(f">{NONCE_LEN}sIIIHH")
_ACK = struct.Struct(">II")
_ERROR = struct.Struct(">HxxI")
_LIST = struct.Struct(">IB3x")
_SET_MTU = struct.Struct(">Hxx")
_SET_OFFLOAD = struct.Struct(">II")
_DELETE_SA = struct.Struct(">I")
_OPENFLOW_13 = 4


class Type(enum.IntEnum):
    """Types of messages: the paper's table 3, and our additions."""

    HELLO = 1
    REGISTER = 2
    SET_ENTRY = 3
    DELETE_ENTRY = 4
    LIST_ENTRIES = 5
    SET_MTU = 6
    SET_OFFLOAD = 7
    ACCEPT = 8
    ACK = 9
    ERROR = 10
    EVENT = 11
    SET_SA = 12
    DELETE_SA = 13
    LIST_GROUPS = 14


class Status(enum.IntEnum):
    """Errors of commands."""

    UNKNOWN = 1
    LENGTH = 2
    OPENFLOW = 3
    VALUE = 4
    UNABLE = 5
    SECRET = 6
    FULL = 7


class Offload(enum.IntFlag):
    """Receive offloads of a guest: partial checksums, and large frames."""

    CSUM = 1 << 0
    TSO4 = 1 << 1
    TSO6 = 1 << 2
    ECN = 1 << 3
    UFO = 1 << 4
    USO4 = 1 << 5
    USO6 = 1 << 6


#: All offloads.
OFFLOADS = Offload((1 << 7) - 1)


class Malformed(ValueError):
    """A frame is not a control message, or is truncated."""


@dataclass(frozen=True)
class Message:
    """A control message; ``mac`` is the NIC's, zeros in a HELLO."""

    type: int
    mac: bytes = bytes(6)
    sequence: int = 0
    payload: bytes = b""


def build(message: Message, source: bytes, destination: bytes, key: bytes | None) -> bytes:
    """Build a frame; without a key its tag is zeros, as in a HELLO."""
    if len(message.payload) > PAYLOAD_MAX:
        raise ValueError(f"a payload of {len(message.payload)} octets, more than {PAYLOAD_MAX}")
    head = _HEAD.pack(
        _MAGIC, _VERSION, message.type, len(message.payload), message.sequence, message.mac
    )
    frame = _ETHERNET.pack(destination, source, ETHERTYPE) + head + message.payload
    return frame + (_tag(key, frame) if key else bytes(TAG_LEN))


def parse(frame: bytes) -> tuple[Message, bytes]:
    """Parse a frame; returns the message and the octets that its tag covers.

    Raises Malformed. The tag is not checked: see is_signed().
    """
    start = _ETHERNET.size + _HEAD.size
    if len(frame) < start + TAG_LEN or _ETHERNET.unpack_from(frame)[2] != ETHERTYPE:
        raise Malformed(f"{len(frame)} octets are no control frame")
    magic, version, kind, length, sequence, mac = _HEAD.unpack_from(frame, _ETHERNET.size)
    if magic != _MAGIC or version != _VERSION:
        raise Malformed(f"magic number {magic:#x}, version {version}")
    if length > PAYLOAD_MAX or len(frame) < start + length + TAG_LEN:
        raise Malformed(f"a payload of {length} octets in a frame of {len(frame)}")
    covered = frame[: start + length]
    return Message(kind, mac, sequence, covered[start:]), covered


def type_of(frame: bytes) -> int:
    """The type of a message in a frame of build()."""
    return frame[_ETHERNET.size + 5]


def is_signed(frame: bytes, covered: bytes, key: bytes) -> bool:
    """Whether the tag is right."""
    tag = frame[len(covered) : len(covered) + TAG_LEN]
    return hmac.compare_digest(tag, _tag(key, covered))


def _tag(key: bytes, covered: bytes) -> bytes:
    return hmac.digest(key, covered, hashlib.sha256)[:TAG_LEN]


def _derive(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, hashlib.sha256)


@dataclass(frozen=True)
class Keys:
    """The keys of one session."""

    to_nic: bytes
    from_nic: bytes
    secrets: bytes

    @staticmethod
    def registration(key: bytes, mac: bytes) -> bytes:
        """The key of a NIC's registrations."""
        return _derive(_base(key, mac), b"nic")

    @classmethod
    def session(cls, key: bytes, mac: bytes, nic: bytes, controller: bytes) -> Keys:
        """The keys of the session of two nonces."""
        session = _derive(_base(key, mac), b"session" + nic + controller)
        return cls(
            _derive(session, b"controller"), _derive(session, b"nic"), _derive(session, b"secrets")
        )


def _base(key: bytes, mac: bytes) -> bytes:
    return _derive(key, b"vmmnet-cvsw-1" + mac)


@dataclass(frozen=True)
class Registration:
    """A NIC's registration."""

    nonce: bytes
    entries_max: int
    masks_max: int
    entries: int
    mtu: int
    #: Maximum number of groups; 0: not supported.
    groups_max: int

    @classmethod
    def parse(cls, payload: bytes) -> Registration:
        """Raises Malformed."""
        if len(payload) != _REGISTER.size:
            raise Malformed(f"a registration of {len(payload)} octets, not {_REGISTER.size}")
        return cls(*_REGISTER.unpack(payload))


@dataclass(frozen=True)
class Ack:
    """A command was carried out; ``rest`` is the requested data."""

    done: int
    total: int
    rest: bytes

    @classmethod
    def parse(cls, payload: bytes) -> Ack:
        """An empty one answers an ACCEPT. Raises Malformed."""
        if not payload:
            return cls(0, 0, b"")
        if len(payload) < _ACK.size:
            raise Malformed(f"an acknowledgement of {len(payload)} octets")
        done, total = _ACK.unpack_from(payload)
        return cls(done, total, payload[_ACK.size :])


@dataclass(frozen=True)
class Refusal:
    """A command was not carried out, or only its first ``done`` messages."""

    status: int
    done: int
    openflow: bytes

    @classmethod
    def parse(cls, payload: bytes) -> Refusal:
        """Raises Malformed."""
        if len(payload) < _ERROR.size:
            raise Malformed(f"an error of {len(payload)} octets")
        status, done = _ERROR.unpack_from(payload)
        return cls(status, done, payload[_ERROR.size :])

    def __str__(self) -> str:
        """For people."""
        try:
            name = Status(self.status).name.lower()
        except ValueError:
            name = f"status {self.status}"
        if self.openflow:
            kind, code = struct.unpack_from(">HH", self.openflow, 8)
            name += f" error, type {kind} code {code}"
        return f"{name}, behind {self.done} that were carried out"


def list_entries(start: int) -> bytes:
    """The payload of LIST_ENTRIES, LIST_GROUPS: the first one; in OpenFlow 1.3."""
    return _LIST.pack(start, _OPENFLOW_13)


def set_mtu(mtu: int) -> bytes:
    """The payload of SET_MTU; octets of an IP packet."""
    return _SET_MTU.pack(mtu)


def set_offload(on: Offload, mask: Offload) -> bytes:
    """The payload of SET_OFFLOAD: sets the offloads of ``mask`` on or off."""
    return _SET_OFFLOAD.pack(on, mask)


def delete_sa(number: int) -> bytes:
    """The payload of DELETE_SA."""
    return _DELETE_SA.pack(number)
