# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's log."""

from __future__ import annotations

from vmmnet import log


def say(text: str) -> None:
    """Write a line to the log."""
    log.say("vmmnet cvsw", text)
