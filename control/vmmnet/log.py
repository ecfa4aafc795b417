# SPDX-License-Identifier: GPL-2.0-or-later
"""The logger of the control plane.

Warnings go to the standard error.  Transitions of states are at the level debug, which is off.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("vmmnet")
