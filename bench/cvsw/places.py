# SPDX-License-Identifier: GPL-2.0-or-later
"""VMs without guests: four pairs with a switch in the NIC, and four without."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.cvsw.bed import Controller

from . import bed, rules
from .bed import Bed
from .rules import Pair
from .station import End, Station
from .traffic import Talk

PAIRS = 4
#: The side that does the work.
CVSW, OVS = "cvsw", "ovs"
KINDS = (CVSW, OVS)


@dataclass
class Places:
    """All pairs, at their hosts."""

    bed: Bed
    talks: dict[str, list[Talk]]
    #: Controllers of the NICs with a switch.
    controllers: list[tuple[Controller, Pair, End, End]]

    def pairs(self, kind: str) -> list[Pair]:
        """Return the pairs of a kind."""
        return [talk.pair for talk in self.talks[kind]]

    def set(self, case: str) -> None:
        """Set the actions of both kinds."""
        for controller, pair, me, other in self.controllers:
            rules.set_nic(controller, case, me, other, pair.vni)
        self.bed.obey(case, self.pairs(OVS), self.pairs(CVSW))


def _talk(stack: contextlib.ExitStack, program: Path, folder: Path, pair: Pair, kind: str) -> Talk:
    ends = [
        stack.enter_context(Station.running(program, folder, me, other, is_cvsw=kind == CVSW))
        for me, other in pair.both
    ]
    return Talk(pair, ends[0], ends[1], folder / f"counted-{kind}-{pair.first.number}")


def _control(stack: contextlib.ExitStack, me: End, other: End) -> Controller:
    controller = stack.enter_context(contextlib.closing(Controller(me.tap, me.mac)))
    controller.hello()
    controller.meet()
    rules.set_keys(controller, me, other)
    return controller


@contextlib.contextmanager
def opened(program: Path, folder: Path) -> Iterator[Places]:
    """Start them."""
    with bed.opened() as made, contextlib.ExitStack() as stack:
        talks: dict[str, list[Talk]] = {}
        for kind in KINDS:
            pairs = [made.pair(number, is_cvsw=kind == CVSW) for number in range(1, PAIRS + 1)]
            talks[kind] = [_talk(stack, program, folder, pair, kind) for pair in pairs]
        controllers = [
            (_control(stack, *ends), talk.pair, *ends)
            for talk in talks[CVSW]
            for ends in talk.pair.both
        ]
        yield Places(made, talks, controllers)
