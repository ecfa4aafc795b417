# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of one test."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_COUNTER = Path("/sys/module/detour/parameters/translated")


def translations() -> int:
    """How many addresses the module ``detour`` has translated so far."""
    return int(_COUNTER.read_text()) if _COUNTER.exists() else 0


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    ``kind`` is passed, skipped, failed, hangs or crashes; ``detail`` says how or
    why.  ``seconds`` is how long it took.  ``outside`` tells that, while it ran,
    addresses were translated: it had to do with outsourced sockets.  ``attempts``
    is 2 when it did not get through with the others.
    """

    test: str
    kind: str
    detail: str = ""
    seconds: float = 0.0
    outside: bool = False
    attempts: int = 1

    def to_line(self) -> str:
        """Write it as a line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_line(line: str) -> Outcome:
        """Read what ``to_line`` wrote."""
        return Outcome(**json.loads(line))
