# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers at saturation, without a load generator that takes their processors.

A server is stopped, its sockets are filled with queries, and it works them off while
nobody else runs (drain.c).  So both one with one thread and one with two have whole
processors, on a machine that has no more than two, and what two give against one is
measured in replies a second.  The two take turns, some 50 a second: a machine that is slower
for a while, as virtual ones are, is so for both.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmnet.testbed.net import Namespace

#: What the kernel counts for some 2,500 queries in a socket: they and their replies are in
#: the cache then, and 40 batches are long enough to be timed.
_OCTETS = 1 << 20
#: Fewer answers are no measurement.
_ANSWERED_MIN = 1000
_SLACK = 120


@dataclass(frozen=True)
class Server:
    """One that is drained."""

    port: int
    pids: Sequence[int]


@dataclass(frozen=True)
class Drained:
    """What a server did: answers, microseconds of processor time of each, answers a second."""

    replies: int
    cost: float
    user: float
    rate: float


def read(text: str, number: int) -> Drained:
    """Take the numbers of one server out of what drain.c prints."""
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
    """Let servers, all of their processes, work off queries for some seconds of their time."""
    words: list[str | Path] = [program, asked, str(seconds), str(_OCTETS)]
    words += [f"{each.port}:{','.join(map(str, each.pids))}" for each in servers]
    done = space.run(words, timeout=_SLACK + 10 * seconds * len(servers))
    return [read(done.stdout, number) for number in range(len(servers))]
