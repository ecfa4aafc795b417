# SPDX-License-Identifier: GPL-2.0-or-later
"""Between a controller and what keeps its state: a file of its own, or etcd for several."""

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
    """What was asked for was not carried out; the message says why."""


@dataclass(frozen=True)
class Lead:
    """What a controller has to know that begins to program NICs."""

    #: OpenFlow's generation_id; None: there is no other controller.
    term: int | None
    #: What NICs may have from before.
    numbers: tuple[Number, ...]
    #: The number of an association behind which nobody has given any; None: there is none.
    number: int | None = None


@dataclass(frozen=True)
class File:
    """A file of tenants that has been read."""

    path: Path
    octets: bytes
    plan: Plan

    @classmethod
    def read(cls, path: Path) -> File:
        """Read it, and the keys that it names. Raises BadPlan."""
        path = path.absolute()
        try:
            octets = contents(path)
        except OSError as error:
            raise BadPlan(path, 1, 1, f"the file cannot be read: {error.strerror}") from None
        return cls(path, octets, read(path, octets))


class Led(Protocol):
    """What a keeper has the controller do."""

    plan_path: Path | None

    def set_plan(self, path: Path, plan: Plan) -> None:
        """Bring everything to another plan."""

    def lead(self, lead: Lead) -> None:
        """Program NICs from now on."""

    def stand_by(self, term: int) -> None:
        """Program none from now on; somebody else leads, in a term."""

    def make_keys(self) -> None:
        """Make all keys anew."""

    def numbers(self) -> Iterator[Number]:
        """What NICs may have."""

    @property
    def last_number(self) -> int:
        """The number that was given to an association last."""


class Keeper(Protocol):
    """What the controller asks of it."""

    def load(self, path: Path | None) -> None:
        """Begin, with a file of tenants if one is given. Raises BadPlan, StoreError."""

    def start(self) -> None:
        """The loop runs."""

    async def stop(self) -> None:
        """The controller ends."""

    def leads(self) -> bool:
        """Whether NICs may be told anything; what ends that, is told to the controller."""

    async def apply(self, file: File) -> None:
        """Have everything so. Raises NotDone."""

    async def rekey(self) -> None:
        """Have all keys made anew. Raises NotDone."""

    def save(self) -> None:
        """What NICs may have, or the plan, has changed: it is written soon."""

    def sharing(self) -> dict[str, Any] | None:
        """Who shares the work, as JSON can say it; None: nobody."""
