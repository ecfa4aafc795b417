# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds a guest kernel's complaints in its console log."""

from __future__ import annotations

import re
from pathlib import Path

_COMPLAINT = re.compile(
    r"\b(?:"
    r"BUG:"
    r"|WARNING: "
    r"|INFO: task .* blocked for more than"
    r"|INFO: .* self-detected stall"
    r"|INFO: .* detected stalls"
    r"|KASAN:|KCSAN:|UBSAN:"
    r"|Kernel panic"
    r"|Oops"
    r"|general protection fault"
    r"|kernel BUG at"
    r"|refcount_t:"
    r"|soft lockup|hard LOCKUP"
    r"|unregister_netdevice: waiting"
    r"|Bad page state"
    r")"
)
_CONTEXT = 30


class KernelComplaint(AssertionError):
    """The guest's kernel reported a fault of its own."""


def complaints(log: Path) -> list[str]:
    """The lines of a console log that mean the kernel found a fault."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return [line for line in text.splitlines() if _COMPLAINT.search(line)]


def check(log: Path) -> None:
    """Raise KernelComplaint, with what follows the first one, if there is any."""
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if _COMPLAINT.search(line):
            excerpt = "\n".join(lines[index : index + _CONTEXT])
            raise KernelComplaint(f"the guest's kernel complained, see {log}:\n{excerpt}")
