# SPDX-License-Identifier: GPL-2.0-or-later
"""One NIC's offloads: which of the guest's receive offloads the network may use.

A NIC does not report them, so all are set once in each session: first those to be off, which
no NIC refuses, then those that may be on. An offload that the guest's driver has not
negotiated cannot be on. It keeps its state and is tried again at intervals, as a driver may
come later; this is no fault.
"""

from __future__ import annotations

from collections.abc import Callable

from ...wire.message import OFFLOADS, Ack, Offload, Status, set_offload
from ...wire.session import Answer

#: Sends a SET_OFFLOAD to the NIC, and passes its answer to a function.
Order = Callable[[bytes, Callable[[Answer], None]], None]


class Offloads:
    """Offloads of one NIC; ``note`` gets other refusals, and their end."""

    def __init__(self, order: Order, note: Callable[[Answer], None]) -> None:
        self._order, self._note = order, note
        #: What was set in this session.
        self._told: Offload | None = None
        #: Whether the file has set something that must be undone when it no longer does.
        self._is_ours = False
        #: Offloads that may be on but are not negotiated by the guest.
        self.lacking = Offload(0)
        self._turn = 0  # answers to former requests are ignored

    def begin(self) -> None:
        """A new session: the NIC's state is unknown."""
        self._told, self.lacking = None, Offload(0)
        self._turn += 1

    def want(self, offloads: Offload | None) -> None:
        """Allow these offloads only; None: all, the default.

        With None, a NIC that was never restricted gets no command.
        """
        if offloads is None and not self._is_ours:
            return
        self._is_ours = True
        wanted = OFFLOADS if offloads is None else offloads
        if wanted == self._told:
            return
        self._told, self.lacking = wanted, Offload(0)
        self._turn += 1
        off = OFFLOADS ^ wanted
        if off:
            self._order(set_offload(Offload(0), off), self._note)
        if wanted:
            self._allow(wanted)

    def ask_again(self) -> None:
        """Try again those that the guest had not negotiated."""
        for each in self.lacking:
            self._allow(each)

    def _allow(self, which: Offload) -> None:
        turn = self._turn

        def answered(answer: Answer) -> None:
            if turn == self._turn:
                self._allowed(which, answer)

        self._order(set_offload(which, which), answered)

    def _allowed(self, which: Offload, answer: Answer) -> None:
        if isinstance(answer, Ack):
            self.lacking &= ~which
            self._note(answer)
        elif answer.status != Status.UNABLE:
            self._note(answer)
        elif len(which) > 1:
            # One is enough for that; the others depend on it.
            for each in which:
                self._allow(each)
        else:
            self.lacking |= which
