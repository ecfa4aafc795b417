# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of one test, and where its traffic went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_SNMP = Path("/proc/net/snmp")
_SOCKETS = Path("/sys/module/detour/parameters/sockets")
#: What a program does natively that has a peer: Linux's own counters.
_INSIDE = {"Tcp": "ActiveOpens", "Udp": "OutDatagrams"}


@dataclass(frozen=True)
class Traffic:
    """Where traffic goes, counted since the guest was booted.

    ``inside`` counts connections and datagrams of the guest's own IPv4 stack,
    ``outside`` what was asked of the host to have sockets there: to make, accept,
    bind or connect one.
    """

    inside: int
    outside: int

    @staticmethod
    def now() -> Traffic:
        """What the guest has counted so far."""
        outside = int(_SOCKETS.read_text()) if _SOCKETS.exists() else 0
        return Traffic(connections_and_datagrams(_SNMP.read_text()), outside)

    def __sub__(self, before: Traffic) -> Traffic:
        return Traffic(self.inside - before.inside, self.outside - before.outside)


def connections_and_datagrams(snmp: str) -> int:
    """Those that the guest's own IPv4 stack has sent, by its /proc/net/snmp."""
    lines = [line.split() for line in snmp.splitlines()]
    count = 0
    # Each protocol has a line of names and one of numbers.
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        wanted = _INSIDE.get(names[0].rstrip(":"))
        if wanted:
            count += int(numbers[names.index(wanted)])
    return count


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    ``kind`` is passed, skipped, failed, hangs or crashes; ``detail`` says how or
    why.  ``seconds`` is how long it took.  ``inside`` and ``outside`` are the
    traffic while it ran.  ``attempts`` is more than 1 when it did not get
    through with the others.
    """

    test: str
    kind: str
    detail: str = ""
    seconds: float = 0.0
    inside: int = 0
    outside: int = 0
    attempts: int = 1

    def to_line(self) -> str:
        """Write it as a line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_line(line: str) -> Outcome:
        """Read what ``to_line`` wrote."""
        return Outcome(**json.loads(line))
