# SPDX-License-Identifier: GPL-2.0-or-later
"""Interfaces of a controller and the keeper of its state: a file, or etcd for several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..plan.document import contents
from ..plan.model import Plan
from ..plan.read import BadPlan, read
from .state import Number


class NotDone(ValueError):
    """A request was not carried out; the message says why."""


@dataclass(frozen=True)
class Lead:
    """What a controller must know before it programs NICs."""

    #: OpenFlow's generation_id; None: there is no other controller.
    term: int | None
    #: Associations that NICs may have from before.
    numbers: tuple[Number, ...]
    #: The last number given to an association; None: none yet.
    number: int | None = None


@dataclass(frozen=True)
class Again:
    """A controller that led last leads again: no other one has led since."""

    term: int


@dataclass(frozen=True)
class File:
    """A file of tenants that has been read."""

    path: Path
    octets: bytes
    plan: Plan

    @classmethod
    def read(cls, path: Path) -> File:
        """Read a file, and the keys that it names. Raises BadPlan."""
        path = path.absolute()
        try:
            octets = contents(path)
        except OSError as error:
            raise BadPlan(path, 1, 1, f"the file cannot be read: {error.strerror}") from None
        return cls(path, octets, read(path, octets))


class Led(Protocol):
    """The controller, as its keeper calls it."""

    plan_path: Path | None

    def set_plan(self, path: Path, plan: Plan) -> None:
        """Put another plan into force."""

    def lead(self, lead: Lead | Again) -> None:
        """Program NICs from now on."""

    def stand_by(self, term: int) -> None:
        """Program none from now on; another one leads unless it is the last term."""

    def make_keys(self) -> None:
        """Replace all keys."""

    def numbers(self) -> Iterator[Number]:
        """The associations that NICs may have."""

    @property
    def last_number(self) -> int:
        """The last number given to an association."""


class Keeper(Protocol):
    """The keeper, as its controller calls it."""

    def load(self, path: Path | None) -> None:
        """Begin, with the given file of tenants if any. Raises BadPlan, StoreError."""

    def start(self) -> None:
        """Called when the loop runs."""

    async def stop(self) -> None:
        """Called when the controller ends."""

    def leads(self) -> bool:
        """Whether NICs may be programmed; the keeper tells the controller when that ends."""

    async def apply(self, file: File) -> str | None:
        """Put a file into force; returns the other controller that did. Raises NotDone."""

    async def rekey(self) -> str | None:
        """Have all keys replaced; returns the other controller that does. Raises NotDone."""

    def save(self) -> None:
        """Associations or the plan have changed: write them soon."""

    def sharing(self) -> dict[str, Any] | None:
        """All controllers, for JSON; None: there is one only."""
