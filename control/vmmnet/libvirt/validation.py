# SPDX-License-Identifier: GPL-2.0-or-later
"""Who validates names for a VM: a unit that the hook starts, or a socket that is named."""

from __future__ import annotations

from pathlib import Path

from .host import validator
from .model import Sockets


def is_wanted(sockets: Sockets) -> bool:
    """Whether names are validated."""
    return sockets.dnssec not in (None, "off")


def is_by_unit(sockets: Sockets) -> bool:
    """Whether the hook starts the validator."""
    return is_wanted(sockets) and sockets.validator is None


def options(sockets: Sockets) -> list[tuple[str, object]]:
    """The options of vmmnet-validate; None: not given."""
    return [
        ("dns", sockets.dns),
        ("address6", sockets.address6),
        ("trust-anchor", sockets.trust_anchor),
        ("insecure", sockets.insecure),
    ]


def socket(sockets: Sockets, uuid: str) -> Path | None:
    """What QEMU is told; None: nothing is validated."""
    return sockets.validator or (validator.socket(uuid) if is_wanted(sockets) else None)
