# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time of frames, by process, and an estimate for a machine with more processors."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


def seconds(pid: int) -> float:
    """Return the processor time of a process so far, with the kernel's work for it."""
    total = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # A thread may end meanwhile.
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


class Meter:
    """Processor time of groups of processes since its creation."""

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
    """Return Jain's index: 1 when all values are equal, 1 / n when one has everything."""
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


@dataclass(frozen=True)
class Run:
    """Frames that pairs of VMs have carried, and processor seconds by group."""

    #: Frames of each pair that have arrived, and their octets, without tunnels.
    frames: tuple[int, ...]
    octets: int
    lost: int
    seconds: float
    #: Seconds of each VM.
    vms: tuple[float, ...]
    #: Seconds of the programs that VMs share, for each host: its switch and its encryption.
    switches: tuple[float, ...]
    crypts: tuple[float, ...]
    #: Seconds of the kernel's own threads.
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
        """Processor seconds of all groups."""
        return sum(self.vms) + sum(self.switches) + sum(self.crypts) + self.kernel

    @property
    def frame_ns(self) -> float:
        """Processor time of a frame from VM to VM; 0 if none has come."""
        return self._each(self.total)

    def _each(self, seconds: float) -> float:
        """Nanoseconds a frame."""
        frames = sum(self.frames)
        return seconds * 1e9 / frames if frames else 0.0

    @property
    def core(self) -> float:
        """Gbit/s for each busy processor."""
        return self.octets * 8 / 1e9 / self.total if self.total else 0.0

    @property
    def shared_ns(self) -> float:
        """Time of a frame in the shared programs, on the host where that is longer."""
        return self._each(max(map(sum, zip(self.switches, self.crypts, strict=True))))

    @property
    def vm_ns(self) -> float:
        """Time of a frame in the slowest VM, sender or receiver."""
        return self._each(max(self.vms)) * len(self.frames)

    @property
    def many_cores(self) -> float:
        """Estimated Gbit/s when each VM, each switch and its encryption have a processor each.

        The estimate is the rate of the slowest of them, and assumes no other bottleneck.
        """
        frames = sum(self.frames)
        slowest = max(self.vm_ns / len(self.frames), *map(self._each, self.switches + self.crypts))
        return self.octets / frames * 8 / slowest if frames and slowest else 0.0
