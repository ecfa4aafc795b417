# SPDX-License-Identifier: GPL-2.0-or-later
"""How what ``make`` starts ends, where the user's system is the reason."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable

from ..base import net, paths, process, tools
from . import debian

_FULL = (errno.ENOSPC, errno.EDQUOT)


def conclude(name: str, work: Callable[[], object]) -> int:
    """Run what a target of make is for; returns the exit status.

    What the system lacks, a disk that is full, and Ctrl-C are told without a traceback.
    """
    process.unwind_on_signals()
    try:
        net.reap_stale()
        work()
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted; all started programs have ended.", file=sys.stderr)
        return 130
    except (tools.CommandFailed, tools.MissingTool, debian.Unavailable, OSError) as error:
        if not (said := _reason(error)):
            raise
        print(f"\n{name}: {said}", file=sys.stderr)
        return 1
    return 0


def _reason(error: Exception) -> str:
    """What to tell of an error; nothing: it is a fault of ours."""
    is_full = any(os.strerror(number) in str(error) for number in _FULL)
    if is_full or (isinstance(error, OSError) and error.errno in _FULL):
        free = shutil.disk_usage(paths.ROOT).free >> 20
        return f"the disk is full ({paths.ROOT} has {free} MiB free): make room and run it again"
    return "" if isinstance(error, OSError) else str(error)
