# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a service, for systemd."""

from __future__ import annotations

import contextlib

import systemd.daemon


def notify(state: str) -> None:
    """Send lines such as READY=1; does nothing where systemd has not started us."""
    # A service that cannot tell systemd goes on.
    with contextlib.suppress(OSError):
        systemd.daemon.notify(state)
