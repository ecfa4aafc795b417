# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent of a host says of itself in the store: pure.

It is text of another host, which a reader does not believe further than it must:
what is too long, out of range or not to be printed is not taken as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

# Of these so many at most, and of each so many letters.
_ERRORS, _LETTERS = 4, 300
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Word:
    """What a host's agent has said last."""

    #: Since when it follows, and when it said this: seconds since 1970, by its own clock.
    since: int
    at: int
    #: The host's table has all changes of the store up to this revision.
    revision: int
    #: MACs in the host's table, and ports on the host.
    entries: int
    ports: int
    #: What it cannot do at present, in sentences.
    errors: tuple[str, ...] = ()


def bounded(errors: Iterable[str]) -> tuple[str, ...]:
    """Sentences as a word can have them."""
    found = list(errors)[:_ERRORS]
    return tuple("".join(c if c.isprintable() else "?" for c in each[:_LETTERS]) for each in found)


def encode(word: Word) -> bytes:
    """What the key of a host's agent holds."""
    return json.dumps(asdict(word), separators=(",", ":")).encode("ascii")


def decode(value: bytes) -> Word | None:
    """Read it; None: it is nobody's of this version, or it is no word."""
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
    return Word(since, at, revision, entries, ports, bounded(errors))
