# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command lines of benchmarks have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection


def positive(text: str) -> int:
    """Parse a number of rounds."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def names(known: Collection[str], what: str) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of comma separated names."""

    def parse(text: str) -> tuple[str, ...]:
        chosen = tuple(dict.fromkeys(text.split(",")))
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word}: the {what} are {', '.join(known)}")
        return chosen

    return parse
