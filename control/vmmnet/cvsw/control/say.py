# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's log."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write a line to the log."""
    print(f"vmmnet cvsw: {text}", file=sys.stderr, flush=True)
