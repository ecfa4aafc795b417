# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose processor time frames take, and what follows from it for a machine with more of them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


def seconds(pid: int) -> float:
    """Processor time of a process so far, the kernel's for it included."""
    total = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may end meanwhile.
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


class Meter:
    """What groups of processes take from now on."""

    def __init__(self, groups: Mapping[str, Sequence[int]]) -> None:
        self._groups = groups
        self._begin = self._now()

    def _now(self) -> dict[str, float]:
        return {name: sum(map(seconds, pids)) for name, pids in self._groups.items()}

    def read(self) -> dict[str, float]:
        """Seconds of each."""
        now = self._now()
        return {name: now[name] - before for name, before in self._begin.items()}


def fairness(shares: Sequence[float]) -> float:
    """Jain's index: 1 when all have the same, 1 / n when one has everything."""
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


@dataclass(frozen=True)
class Run:
    """What pairs of VMs have carried, and processor seconds by who has had them."""

    #: Frames of each pair that have arrived, and their octets, without tunnels.
    frames: tuple[int, ...]
    octets: int
    lost: int
    seconds: float
    #: Of each VM.
    vms: tuple[float, ...]
    #: What VMs of a host share, of each host: its switch, and what encrypts for that.
    switches: tuple[float, ...]
    crypts: tuple[float, ...]
    #: Of the kernel's own threads.
    kernel: float

    @property
    def gbit(self) -> float:
        """Gbit/s of all pairs together."""
        return self.octets * 8 / self.seconds / 1e9

    @property
    def rate(self) -> float:
        """Thousands of frames a second."""
        return sum(self.frames) / self.seconds / 1e3

    @property
    def fairness(self) -> float:
        """Jain's index of the pairs."""
        return fairness(self.frames)

    @property
    def total(self) -> float:
        """Processor seconds of all."""
        return sum(self.vms) + sum(self.switches) + sum(self.crypts) + self.kernel

    @property
    def frame_ns(self) -> float:
        """Processor time of a frame, on its way from VM to VM; 0 if none has come."""
        return self._each(self.total)

    def _each(self, seconds: float) -> float:
        """Nanoseconds a frame."""
        frames = sum(self.frames)
        return seconds * 1e9 / frames if frames else 0.0

    @property
    def core(self) -> float:
        """Gbit/s for each processor that is busy."""
        return self.octets * 8 / 1e9 / self.total if self.total else 0.0

    @property
    def shared_ns(self) -> float:
        """Time of a frame in what VMs share, on the host where that is longer."""
        return self._each(max(map(sum, zip(self.switches, self.crypts, strict=True))))

    @property
    def vm_ns(self) -> float:
        """Time of a frame in the VM that takes longest: to send it, or to receive it."""
        return self._each(max(self.vms)) * len(self.frames)

    @property
    def many_cores(self) -> float:
        """Gbit/s when every VM, every switch and what encrypts for it have a processor each.

        What is reckoned is the pace of the slowest of them; nothing else is to be scarce.
        """
        frames = sum(self.frames)
        slowest = max(self.vm_ns / len(self.frames), *map(self._each, self.switches + self.crypts))
        return self.octets / frames * 8 / slowest if frames and slowest else 0.0
