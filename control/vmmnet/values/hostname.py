# SPDX-License-Identifier: GPL-2.0-or-later
"""The name of a host in a store."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


class BadHost(ValueError):
    """A text cannot be the name of a host; the message says why."""


def check(name: str) -> str:
    """Return ``name`` if it can be part of a key; raises BadHost."""
    if not _NAME.fullmatch(name):
        raise BadHost(
            f"'{name}' is not the name of a host: letters, digits, '.', '_' and '-', at most 64"
        )
    return name
