# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys and values of several controllers in etcd.

Values are JSON. They contain no key of ESP or of a NIC: the file of tenants has the paths of
its keys.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..plan.document import SIZE_MAX
from .state import Number

#: etcd's default limit of a request is 1.5 MiB.
VALUE_MAX = 1 << 20


class BadRecord(ValueError):
    """A value that no controller writes."""


class TooLarge(ValueError):
    """A value that is larger than etcd accepts."""


@dataclass(frozen=True)
class Names:
    """Keys below a prefix."""

    prefix: str

    def _key(self, text: str) -> bytes:
        return f"{self.prefix}/{text}".encode()

    @property
    def leader(self) -> bytes:
        """The leader's key; it ends with the lease."""
        return self._key("live/leader")

    @property
    def members(self) -> bytes:
        """Prefix of members' keys."""
        return self._key("live/members/")

    def member(self, lease: int) -> bytes:
        """One controller's key; it ends with the lease."""
        return self.members + f"{lease:x}".encode()

    @property
    def term(self) -> bytes:
        """Key of the last term, and of the last number that was given out."""
        return self._key("term")

    @property
    def plan(self) -> bytes:
        """Key of the file of tenants in force."""
        return self._key("plan")

    @property
    def associations(self) -> bytes:
        """Prefix of associations' keys."""
        return self._key("associations/")

    def association(self, mac: bytes) -> bytes:
        """Key of the associations that a NIC seals with."""
        return self.associations + mac.hex(":").encode()

    @property
    def orders(self) -> bytes:
        """Prefix of orders' keys; an order ends when it is carried out, or with its lease."""
        return self._key("orders/")

    def order(self, name: str) -> bytes:
        """Key of an order of a controller on standby to the leader."""
        return self.orders + name.encode()

    def answers(self, lease: int) -> bytes:
        """Prefix of the keys of answers to one controller."""
        return self._key(f"answers/{lease:x}-")

    def answer(self, name: str) -> bytes:
        """The answer to an order."""
        return self._key(f"answers/{name}")


def _pack(value: dict[str, Any]) -> bytes:
    octets = json.dumps(value, ensure_ascii=False).encode()
    if len(octets) > VALUE_MAX:
        raise TooLarge(f"{len(octets):,} octets, packed, are more than etcd takes: {VALUE_MAX:,}")
    return octets


@dataclass(frozen=True)
class _Record:
    """A value with the members of its JSON."""

    @classmethod
    def of(cls, octets: bytes) -> Self:
        """Raises BadRecord."""
        try:
            value = json.loads(octets)
            return cls(**{name: value[name] for name in cls.__dataclass_fields__})
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(f"no {cls.__name__.lower()} of a controller: {error!r}") from None

    def octets(self) -> bytes:
        """The value for etcd. Raises TooLarge."""
        return _pack(vars(self))


@dataclass(frozen=True)
class Leader(_Record):
    """The leader."""

    name: str
    lease: int
    #: OpenFlow's generation_id: later leaders have higher ones.
    term: int


@dataclass(frozen=True)
class Member(_Record):
    """A present controller."""

    name: str
    #: Why it cannot lead; None: it can.
    fault: str | None


@dataclass(frozen=True)
class Term(_Record):
    """The last leader's term, and the last number of an association that may be used."""

    term: int
    numbers: int


@dataclass(frozen=True)
class Stored(_Record):
    """A file of tenants."""

    #: Its path on the host where it was applied: paths of keys may be relative to it.
    file: str
    #: The controller by which it was applied.
    by: str
    #: Its text: deflated, in base64.
    packed: str

    @classmethod
    def pack(cls, path: Path, by: str, octets: bytes) -> Self:
        """From the file's contents. Raises TooLarge."""
        made = cls(str(path), by, base64.b64encode(zlib.compress(octets)).decode())
        made.octets()
        return made

    def text(self) -> bytes:
        """The file's contents. Raises BadRecord."""
        try:
            inflater = zlib.decompressobj()
            # One octet more than the limit, so that the reader sees that it is too large.
            return inflater.decompress(base64.b64decode(self.packed), SIZE_MAX + 1)
        except (zlib.error, binascii.Error, TypeError) as error:
            raise BadRecord(f"the text of {self.file} is damaged: {error}") from None


@dataclass(frozen=True)
class Order(_Record):
    """An order: apply a file, or without one replace keys."""

    lease: int
    plan: dict[str, Any] | None

    @classmethod
    def apply(cls, lease: int, plan: Stored) -> Self:
        """An order to apply a file."""
        return cls(lease, vars(plan))

    def stored(self) -> Stored | None:
        """The file. Raises BadRecord."""
        try:
            return None if self.plan is None else Stored(**self.plan)
        except TypeError as error:
            raise BadRecord(f"no file of tenants: {error}") from None


@dataclass(frozen=True)
class Answer(_Record):
    """The answer to an order."""

    by: str
    #: Why it failed; None: it is done.
    error: str | None


def numbers_by_sender(numbers: Iterable[Number]) -> dict[bytes, bytes]:
    """Values of associations, by the sealing NIC's MAC address."""
    rows: dict[bytes, list[list[Any]]] = {}
    for sender, receiver, number, is_used in numbers:
        rows.setdefault(sender, []).append([receiver.hex(":"), number, is_used])
    return {sender: json.dumps(each).encode() for sender, each in rows.items()}


def numbers_of(sender: bytes, value: bytes) -> Iterator[Number]:
    """The associations of a value. Raises BadRecord."""
    try:
        for receiver, number, is_used in json.loads(value):
            yield sender, bytes.fromhex(receiver.replace(":", "")), int(number), bool(is_used)
    except (ValueError, TypeError, AttributeError) as error:
        raise BadRecord(f"associations of {sender.hex(':')} are damaged: {error}") from None
