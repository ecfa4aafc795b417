# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of the control plane: lines on the standard error.

``logger`` has what is rarer: warnings, and at the level debug, which is off, changes of states.
"""

from __future__ import annotations

import contextlib
import logging
import sys

logger = logging.getLogger("vmmnet")


def say(program: str, text: str) -> None:
    """Write a line of a daemon; any thread may call this."""
    # A full disk does not end a daemon.
    with contextlib.suppress(OSError):
        # In one piece: several threads log.
        sys.stderr.write(f"{program}: {text}\n")
        sys.stderr.flush()
