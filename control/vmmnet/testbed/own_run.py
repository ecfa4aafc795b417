# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose /run is theirs alone and empty, so that this machine keeps nothing of them."""

from __future__ import annotations

from pathlib import Path

_ENTER = 'mount -t tmpfs -o mode=755 run /run && exec "$@"'


def words(*command: str | Path) -> list[str | Path]:
    """A command that runs another one so."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _ENTER, "sh", *command]
