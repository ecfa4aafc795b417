# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time in QEMU's code for an answer on a guest's queue, from a zone image.

Under TCG, the time of QEMU's thread contains the guest's own time. So this part measures the server
of virtio-vmrpc with the guest of its unit tests, compiled with QEMU's optimization: two calls, one
with the question and one for the answer. The queue itself is not included. For comparison, two
calls that only query a socket are measured, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.base import tools
from lab.dns import room as dns_room
from lab.packages import programs

ZONE, IDLE = "zone", "idle"
TITLES = {
    ZONE: "A asked for and taken, made from AAAA of a zone image",
    IDLE: "two calls that only look at a socket",
}
_NAMES = 1000


@dataclass
class Found:
    """Microseconds of each round, by case."""

    answers: dict[str, list[float]] = field(default_factory=dict)


def _zone() -> Iterator[str]:
    yield "$TTL 300"
    yield "@ SOA ns h 1 3600 900 86400 60"
    yield "@ NS ns"
    yield "ns AAAA 2001:db8::53"
    yield from (f"n{number} AAAA 2001:db8:1::{number + 1:x}" for number in range(_NAMES))


def read(text: str) -> dict[str, list[float]]:
    """Return the microseconds in the output of dns-queue."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        what, nanoseconds = line.split()
        found.setdefault(what, []).append(float(nanoseconds) / 1000)
    return found


def measure(rounds: int, folder: Path) -> Found:
    """Run queue.c."""
    image = folder / "vm.vzi"
    dns_room.compile_zone("vm.test", "\n".join(_zone()) + "\n", image)
    program = programs.built("dns-queue", as_in_qemu=True)
    return Found(read(tools.run([program, image, str(_NAMES), str(rounds)])))
