# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames between VMs without guests, and what they take.

A sender has no more frames on their way than fit into the sockets between them (Open vSwitch
reads a port by a socket with room for about 90 long ones), so that nothing is done for frames
that are lost, as a guest's TCP would have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .bed import Bed
from .rules import Pair
from .spent import Meter, Run
from .station import Sent, Station

# Octets of such a socket, of which some is to spare, and what a frame takes beside its own.
_ROOM, _MORE = 160_000, 700


@dataclass(frozen=True)
class Talk:
    """A pair whose first VM sends."""

    pair: Pair
    sender: Station
    receiver: Station
    #: What the receiver has counted, for the sender to see.
    counted: Path

    def begin(self, octets: int, seconds: float, window: int) -> None:
        """Have both begin."""
        self.receiver.ask("receive", self.counted)
        self.sender.ask("send", octets, seconds, window, self.counted)

    def end(self) -> tuple[Sent, Sent]:
        """What was sent, and what came."""
        sent = self.sender.answer()
        self.receiver.ask()
        return sent, self.receiver.answer()


def run(sent: Sequence[Sent], lost: int, seconds: float, spent: Mapping[str, float]) -> Run:
    """What has come, and what a Meter has read of ``Bed.groups`` and of VMs."""

    def of(kind: str) -> tuple[float, ...]:
        return tuple(value for name, value in spent.items() if name.startswith(kind))

    return Run(
        frames=tuple(each.frames for each in sent),
        octets=sum(each.octets for each in sent),
        lost=lost,
        seconds=seconds,
        vms=of("vm"),
        switches=of("switch"),
        crypts=of("crypt"),
        kernel=spent["kernel"],
    )


def together(bed: Bed, talks: Sequence[Talk], octets: int, seconds: float) -> Run:
    """Let pairs send frames of so many octets for a time, all at once."""
    vms = {}
    for index, talk in enumerate(talks):
        vms[f"vm{index}-sends"] = [talk.sender.pid]
        vms[f"vm{index}-receives"] = [talk.receiver.pid]
    meter = Meter({**bed.groups(), **vms})
    window = max(1, _ROOM // (octets + _MORE) // len(talks))
    for talk in talks:
        talk.begin(octets, seconds, window)
    ends = [talk.end() for talk in talks]
    lost = sum(sent.lost for sent, _ in ends)
    took = max(sent.seconds for sent, _ in ends)
    return run([received for _, received in ends], lost, took, meter.read())
