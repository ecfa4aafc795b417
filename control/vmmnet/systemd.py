# SPDX-License-Identifier: GPL-2.0-or-later
"""Tell systemd how a service is: sd_notify(3) without its library."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send lines such as READY=1; does nothing where systemd has not started us."""
    name = os.environ.get("NOTIFY_SOCKET")
    if not name:
        return
    address = "\0" + name[1:] if name.startswith("@") else name
    # Nobody's table depends on it.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(state.encode(), address)
