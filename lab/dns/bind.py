# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between the versions of BIND that the tests meet."""

from __future__ import annotations

import re
from functools import cache

from ..base import tools


@cache
def version() -> tuple[int, int]:
    """Of the ``named`` that tests run."""
    found = re.match(r"BIND (\d+)\.(\d+)", tools.run(["named", "-V"]))
    assert found
    return int(found[1]), int(found[2])


def lock() -> str:
    """The option that lets several run on a machine; BIND 9.20 has no lock, and no option."""
    return "lock-file none;" if version() < (9, 20) else ""
