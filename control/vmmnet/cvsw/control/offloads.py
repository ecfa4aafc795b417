# SPDX-License-Identifier: GPL-2.0-or-later
"""One NIC's offloads: what the network may use of what the guest takes.

A NIC does not tell which are off, so all is said once in each session: first what is to be
off, which no NIC refuses, and then what may be on. What the guest's driver has not asked for
cannot be on. Such an offload stays as it was, and is asked for again at times, as the driver
may come later; nothing is wrong with the NIC meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from ..wire.message import OFFLOADS, Ack, Offload, Status, set_offload
from ..wire.session import Answer

#: Gives a SET_OFFLOAD to the NIC, and its answer to a function.
Order = Callable[[bytes, Callable[[Answer], None]], None]


class Offloads:
    """Those of one NIC; ``note`` is told what is refused for another reason, and what is not."""

    def __init__(self, order: Order, note: Callable[[Answer], None]) -> None:
        self._order, self._note = order, note
        #: What the NIC has been told in this session.
        self._told: Offload | None = None
        #: Once the file has said something, this has to be undone when it says nothing.
        self._is_ours = False
        #: Those that may be on, and that the guest has not asked for.
        self.lacking = Offload(0)
        self._turn = 0  # answers to what was wanted before do not count

    def begin(self) -> None:
        """In a new session it is not known what the NIC has."""
        self._told, self.lacking = None, Offload(0)
        self._turn += 1

    def want(self, offloads: Offload | None) -> None:
        """Have these on as far as the guest takes them, and no others; None: all, as without us.

        A NIC that nobody has ever told anything is left alone then.
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
        """Have those that the guest had not asked for, if it has meanwhile."""
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
            # One of them is enough for that; others stand on the first.
            for each in which:
                self._allow(each)
        else:
            self.lacking |= which
