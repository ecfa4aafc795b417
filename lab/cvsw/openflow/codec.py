# SPDX-License-Identifier: GPL-2.0-or-later
"""The NIC's own codec for FLOW_MODs and GROUP_MODs, in a program of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from ...packages import programs


def ask(messages: Iterable[bytes], *words: str | int) -> list[str]:
    """Return our program's answers to messages."""
    done = subprocess.run(
        [programs.built("cvsw-openflow-peer"), *map(str, words)],
        input="".join(f"{message.hex()}\n" for message in messages),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
