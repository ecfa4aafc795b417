# SPDX-License-Identifier: GPL-2.0-or-later
"""What a controller is to a switch (OpenFlow 1.3.5 section 6.3.5)."""

from __future__ import annotations

import enum


class Role(enum.Enum):
    """One of these, for each switch."""

    NONE = "none"  # it has not answered yet, or another controller of ours leads
    SOLE = "sole"  # no roles are used
    MASTER = "master"
    EQUAL = "equal"  # a foreign controller is the master, or was
    SLAVE = "slave"  # a foreign controller is the master, and ours may not program NICs
