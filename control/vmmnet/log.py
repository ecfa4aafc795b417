# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of the control plane: lines on the standard error, with the levels of docs/control.md.

Python's ``logging`` does the work: ``logger`` may be used anywhere, ``say`` names the daemon.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys

#: A level includes those before it.
LEVELS = {"error": 40, "warning": 30, "notice": 25, "debug": 10}
# Of syslog(3), which the journal reads at the beginning of a line.
_PRIORITIES = {40: 3, 30: 4, 25: 5, 10: 7}

logger = logging.getLogger("vmmnet")


@functools.cache
def _is_journal() -> bool:
    """Whether the standard error is the journal: the variable may be that of a parent."""
    try:
        at = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{at.st_dev}:{at.st_ino}"


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        priority = f"<{_PRIORITIES.get(record.levelno, 5)}>" if _is_journal() else ""
        # A full disk does not end a daemon.
        with contextlib.suppress(OSError):
            # In one piece: several threads log.
            sys.stderr.write(f"{priority}{record.getMessage()}\n")
            sys.stderr.flush()


for _name, _number in LEVELS.items():
    logging.addLevelName(_number, _name)
logger.addHandler(_Lines())
logger.setLevel(LEVELS["notice"])


def say(program: str, text: str, level: str = "notice") -> None:
    """Write a line of a daemon; any thread may call this."""
    logger.log(LEVELS[level], "%s", text if _is_journal() else f"{program}: {text}")


def level() -> str:
    """The level of the log."""
    return logging.getLevelName(logger.level)


def set_level(name: str) -> None:
    """Change it, to one of LEVELS."""
    logger.setLevel(LEVELS[name])
