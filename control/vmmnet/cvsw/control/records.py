# SPDX-License-Identifier: GPL-2.0-or-later
"""What controllers that share the work keep in etcd: names of keys, and what is in them.

Values are JSON. No key of ESP and none of a NIC is in them: the file of tenants has the
paths of its keys.
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

#: etcd takes no request of more than 1.5 MiB unless it is told to.
VALUE_MAX = 1 << 20


class BadRecord(ValueError):
    """A value is none that a controller writes."""


class TooLarge(ValueError):
    """A value is more than etcd takes."""


@dataclass(frozen=True)
class Names:
    """Keys below a prefix."""

    prefix: str

    def _key(self, text: str) -> bytes:
        return f"{self.prefix}/{text}".encode()

    @property
    def leader(self) -> bytes:
        """Who leads; it ends with the lease."""
        return self._key("live/leader")

    @property
    def members(self) -> bytes:
        """What keys of members begin with."""
        return self._key("live/members/")

    def member(self, lease: int) -> bytes:
        """One controller; it ends with the lease."""
        return self.members + f"{lease:x}".encode()

    @property
    def term(self) -> bytes:
        """How often there was a leader, and up to where numbers are given out."""
        return self._key("term")

    @property
    def plan(self) -> bytes:
        """The file of tenants, as it was applied last."""
        return self._key("plan")

    @property
    def associations(self) -> bytes:
        """What keys of associations begin with."""
        return self._key("associations/")

    def association(self, mac: bytes) -> bytes:
        """Those that a NIC seals with."""
        return self.associations + mac.hex(":").encode()

    @property
    def orders(self) -> bytes:
        """What keys of orders begin with; one ends when it is carried out, or with its lease."""
        return self._key("orders/")

    def order(self, name: str) -> bytes:
        """What a controller that stands by wants of the one that leads."""
        return self.orders + name.encode()

    def answers(self, lease: int) -> bytes:
        """What keys of answers to one controller begin with."""
        return self._key(f"answers/{lease:x}-")

    def answer(self, name: str) -> bytes:
        """What has become of an order."""
        return self._key(f"answers/{name}")


def _pack(value: dict[str, Any]) -> bytes:
    octets = json.dumps(value, ensure_ascii=False).encode()
    if len(octets) > VALUE_MAX:
        raise TooLarge(f"{len(octets):,} octets, packed, are more than etcd takes: {VALUE_MAX:,}")
    return octets


@dataclass(frozen=True)
class _Record:
    """A value whose members are those of the JSON."""

    @classmethod
    def of(cls, octets: bytes) -> Self:
        """Raises BadRecord."""
        try:
            value = json.loads(octets)
            return cls(**{name: value[name] for name in cls.__dataclass_fields__})
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(f"no {cls.__name__.lower()} of a controller: {error!r}") from None

    def octets(self) -> bytes:
        """What etcd keeps. Raises TooLarge."""
        return _pack(vars(self))


@dataclass(frozen=True)
class Leader(_Record):
    """Who leads."""

    name: str
    lease: int
    #: OpenFlow's generation_id: later leaders have higher ones.
    term: int


@dataclass(frozen=True)
class Member(_Record):
    """One controller that is there."""

    name: str
    #: Why it cannot lead; None: it can.
    fault: str | None


@dataclass(frozen=True)
class Term(_Record):
    """The last leader's, and the last number of an association that may be given."""

    term: int
    numbers: int


@dataclass(frozen=True)
class Stored(_Record):
    """A file of tenants."""

    #: Its path, where it was applied: paths of keys may begin in its folder.
    file: str
    #: The controller by which it was applied.
    by: str
    #: Its text: deflated, in base64.
    packed: str

    @classmethod
    def pack(cls, path: Path, by: str, octets: bytes) -> Self:
        """From what the file has. Raises TooLarge."""
        made = cls(str(path), by, base64.b64encode(zlib.compress(octets)).decode())
        made.octets()
        return made

    def text(self) -> bytes:
        """What the file has. Raises BadRecord."""
        try:
            inflater = zlib.decompressobj()
            # One octet more shows that it is too large, to whoever reads it.
            return inflater.decompress(base64.b64decode(self.packed), SIZE_MAX + 1)
        except (zlib.error, binascii.Error, TypeError) as error:
            raise BadRecord(f"the text of {self.file} is damaged: {error}") from None


@dataclass(frozen=True)
class Order(_Record):
    """What somebody wants: a file to be applied, or without one, new keys."""

    lease: int
    plan: dict[str, Any] | None

    @classmethod
    def apply(cls, lease: int, plan: Stored) -> Self:
        """Have a file applied."""
        return cls(lease, vars(plan))

    def stored(self) -> Stored | None:
        """The file. Raises BadRecord."""
        try:
            return None if self.plan is None else Stored(**self.plan)
        except TypeError as error:
            raise BadRecord(f"no file of tenants: {error}") from None


@dataclass(frozen=True)
class Answer(_Record):
    """What has become of an order."""

    by: str
    #: Why nothing; None: it is done.
    error: str | None


def numbers_by_sender(numbers: Iterable[Number]) -> dict[bytes, bytes]:
    """Values of associations, by the MAC address of who seals."""
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
