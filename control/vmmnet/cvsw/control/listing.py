# SPDX-License-Identifier: GPL-2.0-or-later
"""A NIC's table, read in as many answers as it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..session import Answer
from ..wire import Ack, list_entries
from . import errors
from .flow import BadFlow, Flow, read_all

#: Gives a LIST_ENTRIES to the NIC, and its answer to a function.
Order = Callable[[bytes, Callable[[Answer], None]], None]


@dataclass
class Listing:
    """One reading; ``done`` is told the table, ``failed`` why there is none."""

    order: Order
    done: Callable[[dict[bytes, Flow]], None]
    failed: Callable[[str], None]

    def __post_init__(self) -> None:
        self._table: dict[bytes, Flow] = {}

    def ask(self, start: int = 0) -> None:
        """Read from a flow on."""
        self.order(list_entries(start), lambda answer: self._listed(start, answer))

    def _listed(self, start: int, answer: Answer) -> None:
        if not isinstance(answer, Ack):
            self.failed(errors.name(answer))
            return
        try:
            self._table.update((flow.key, flow) for flow in read_all(answer.rest))
        except BadFlow as error:
            self.failed(str(error))
            return
        if answer.done and start + answer.done < answer.total:
            self.ask(start + answer.done)
        else:
            self.done(self._table)
