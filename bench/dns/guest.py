# SPDX-License-Identifier: GPL-2.0-or-later
"""Processor time in QEMU's code for an answer on a guest's queue, from a zone image.

Under TCG, the time of QEMU's thread is the guest's own as well, and there is no telling
them apart. So it is the server of virtio-vmrpc that is measured, with the guest that its
unit tests play, compiled as QEMU is: two calls, one that asks and one that takes the answer.
Without the queue itself; what two calls take that only look at a socket is shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vmmnet.testbed import dns_room, programs, tools

ZONE, IDLE = "zone", "idle"
TITLES = {
    ZONE: "A asked for and taken, made from AAAA of a zone image",
    IDLE: "two calls that only look at a socket",
}
_NAMES = 1000


@dataclass
class Found:
    """Microseconds of each round, by what was measured."""

    answers: dict[str, list[float]] = field(default_factory=dict)


def _zone() -> Iterator[str]:
    yield "$TTL 300"
    yield "@ SOA ns h 1 3600 900 86400 60"
    yield "@ NS ns"
    yield "ns AAAA 2001:db8::53"
    yield from (f"n{number} AAAA 2001:db8:1::{number + 1:x}" for number in range(_NAMES))


def read(text: str) -> dict[str, list[float]]:
    """Microseconds out of the lines of dns-queue."""
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
