# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames between VMs without guests, and their processor time.

A sender has no more frames in flight than fit into the sockets on the path (Open vSwitch reads a
port by a socket with room for about 90 long frames). So no work goes into lost frames, as with a
guest's TCP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .bed import Bed
from .rules import Pair
from .spent import Meter, Run
from .station import Sent, Station

# Octets of such a socket, with a reserve, and the kernel's overhead of a frame.
_ROOM, _MORE = 160_000, 700


@dataclass(frozen=True)
class Talk:
    """A pair of VMs; the first one sends."""

    pair: Pair
    sender: Station
    receiver: Station
    #: File with the receiver's count, which the sender reads.
    counted: Path

    def begin(self, octets: int, seconds: float, window: int) -> None:
        """Start both VMs."""
        self.receiver.ask("receive", self.counted)
        self.sender.ask("send", octets, seconds, window, self.counted)

    def end(self) -> tuple[Sent, Sent]:
        """Return the reports of sender and receiver."""
        sent = self.sender.answer()
        self.receiver.ask()
        return sent, self.receiver.answer()


def run(sent: Sequence[Sent], lost: int, seconds: float, spent: Mapping[str, float]) -> Run:
    """Return the frames, and the times that a Meter has read of ``Bed.groups`` and of VMs."""

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
    """Let all pairs send frames of one length at the same time."""
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
