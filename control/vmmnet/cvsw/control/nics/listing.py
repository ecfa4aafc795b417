# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a NIC's table, in as many answers as needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...wire.message import Ack, Type, list_entries
from ...wire.session import Answer
from ..table.entry import Entry, read_all
from ..table.flow import BadFlow
from . import errors

#: Sends a command to the NIC, and passes its answer to a function.
Order = Callable[[Type, bytes, Callable[[Answer], None]], None]


@dataclass
class Listing:
    """One reading; ``done`` gets the table, ``failed`` the reason of a failure."""

    order: Order
    #: Whether the NIC supports groups.
    groups: bool
    done: Callable[[dict[bytes, Entry]], None]
    failed: Callable[[str], None]

    def __post_init__(self) -> None:
        self._table: dict[bytes, Entry] = {}

    def ask(self, kind: Type = Type.LIST_ENTRIES, start: int = 0) -> None:
        """Read flows, or groups, from this number on."""
        self.order(kind, list_entries(start), lambda answer: self._listed(kind, start, answer))

    def _listed(self, kind: Type, start: int, answer: Answer) -> None:
        if not isinstance(answer, Ack):
            self.failed(errors.name(answer))
            return
        try:
            self._table.update((each.key, each) for each in read_all(answer.rest))
        except BadFlow as error:
            self.failed(str(error))
            return
        if answer.done and start + answer.done < answer.total:
            self.ask(kind, start + answer.done)
        elif kind == Type.LIST_ENTRIES and self.groups:
            self.ask(Type.LIST_GROUPS)
        else:
            self.done(self._table)
