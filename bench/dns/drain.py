# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers at saturation, without a load generator that takes their processors.

A server is stopped, its sockets are filled with queries, and it answers them while nothing else
runs (drain.c). So a server with two threads has two whole processors even on a machine with only
two, and the gain over one thread is measured in replies a second. The servers take turns, some 50 a
second, so that a slow phase of a virtual machine affects both.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base.net import Namespace

#: Socket buffer for some 2,500 queries, as the kernel counts: they and their replies fit into the
#: cache, and 40 batches are long enough to measure.
_OCTETS = 1 << 20
#: Fewer answers make no valid measurement.
_ANSWERED_MIN = 1000
_SLACK = 120


@dataclass(frozen=True)
class Server:
    """A server to drain."""

    port: int
    pids: Sequence[int]


@dataclass(frozen=True)
class Drained:
    """Result of a server: answers, microseconds of processor time of each, answers a second."""

    replies: int
    cost: float
    user: float
    rate: float


def read(text: str, number: int) -> Drained:
    """Parse the numbers of one server in drain.c's output."""
    found = re.search(
        rf"^{number} replies (\d+) wrong (\d+) user ([\d.]+) system ([\d.]+)$", text, re.M
    )
    rates = [float(rate) for rate in re.findall(rf"^{number} (\d+)$", text, re.M)]
    if not found or int(found[1]) < _ANSWERED_MIN or not rates:
        raise RuntimeError(f"drain: no measurement\n{text[-500:]}")
    replies, wrong, user, system = int(found[1]), int(found[2]), float(found[3]), float(found[4])
    if wrong:
        raise RuntimeError(f"drain: {wrong} of {replies} replies are no answers of a root server")
    return Drained(
        replies,
        1e6 * (user + system) / replies,
        1e6 * user / replies,
        statistics.median(rates),
    )


def drain(
    space: Namespace, program: Path, asked: Path, servers: Sequence[Server], seconds: int
) -> list[Drained]:
    """Let servers answer queries for some seconds of their time, each with all its processes."""
    words: list[str | Path] = [program, asked, str(seconds), str(_OCTETS)]
    words += [f"{each.port}:{','.join(map(str, each.pids))}" for each in servers]
    done = space.run(words, timeout=_SLACK + 10 * seconds * len(servers))
    return [read(done.stdout, number) for number in range(len(servers))]
