# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a host's agent in the store: pure.

Another host has written it, so readers do not trust it: texts are shortened,
characters that cannot be printed are replaced, and numbers out of range are refused.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass

# The largest number of errors, and the largest number of characters of each.
_ERRORS, _LETTERS = 4, 300
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Report:
    """The last report of a host's agent."""

    #: When it began to follow the store, and when it wrote this: seconds since 1970, by
    #: its own clock.
    since: int
    at: int
    #: The host's table has all changes of the store up to this revision.
    revision: int
    #: MACs in the host's table, and ports on the host.
    entries: int
    ports: int
    #: Sentences about what it cannot do at present.
    errors: tuple[str, ...] = ()


def bounded(errors: Iterable[str]) -> tuple[str, ...]:
    """Sentences, shortened as a report needs them."""
    found = list(errors)[:_ERRORS]
    return tuple("".join(c if c.isprintable() else "?" for c in each[:_LETTERS]) for each in found)


def encode(report: Report) -> bytes:
    """The value of ``Keys.agent``; no two are the same, so that one proves its own revision."""
    said = {**asdict(report), "nonce": secrets.token_hex(8)}
    return json.dumps(said, separators=(",", ":")).encode("ascii")


def decode(value: bytes) -> Report | None:
    """Read the value of ``Keys.agent``; None: it is not valid."""
    try:
        found = json.loads(value)
        numbers = [found[name] for name in ("since", "at", "revision", "entries", "ports")]
        errors = found["errors"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(type(each) is int and 0 <= each <= _LARGEST for each in numbers):
        return None
    if not isinstance(errors, list) or not all(isinstance(each, str) for each in errors):
        return None
    since, at, revision, entries, ports = numbers
    return Report(since, at, revision, entries, ports, bounded(errors))
