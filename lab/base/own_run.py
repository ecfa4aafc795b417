# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with an empty /run of their own, so that they leave nothing on this machine."""

from __future__ import annotations

from pathlib import Path

_ENTER = 'mount -t tmpfs -o mode=755 run /run && exec "$@"'


def words(*command: str | Path) -> list[str | Path]:
    """Return a command that runs another one with its own /run."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _ENTER, "sh", *command]
