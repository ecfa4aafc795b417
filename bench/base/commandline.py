# SPDX-License-Identifier: GPL-2.0-or-later
"""Common parts of the benchmarks' command lines."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from lab.base import paths, tools


def parser(
    name: str,
    about: str | None,
    *,
    quick: str,
    rounds: int | None = None,
    kinds: str = "json and .md",
) -> argparse.ArgumentParser:
    """Return a parser with --quick and --output, and with --rounds if there is a default.

    ``quick`` and ``kinds`` are help texts: the meaning of --quick, and the files that a run writes.
    """
    result = argparse.ArgumentParser(
        prog=f"bench/run {name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if rounds is not None:
        text = f"rounds (default {rounds})"
        result.add_argument("--rounds", type=_positive, default=rounds, help=text)
    result.add_argument("--quick", action="store_true", help=quick)
    result.add_argument(
        "--output",
        type=Path,
        default=paths.BUILD / "bench",
        metavar="DIR",
        help=f"where {name}.{kinds} go (default build/bench)",
    )
    return result


def add_both(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --both: peers of this machine beside those of the newest Debian."""
    text = f"{what} also of this machine's Debian, {tools.OWN_SUITE}"
    parser.add_argument("--both", action="store_true", help=text)


def add_only(parser: argparse.ArgumentParser, known: Sequence[str], what: str) -> None:
    """Add --only, some of ``known``; by default all.  ``what`` is one of them, such as part."""
    parser.add_argument(
        "--only",
        type=names(known, f"{what}s"),
        default=tuple(known),
        metavar=f"{what.upper()},…",
        help=f"only these of {', '.join(known)}",
    )


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def names(
    known: Collection[str], what: str, *, prefixes: bool = False
) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of comma separated names or prefixes; it keeps the order of ``known``."""

    def parse(text: str) -> tuple[str, ...]:
        chosen: set[str] = set()
        for word in text.split(","):
            found = {name for name in known if name == word or (prefixes and name.startswith(word))}
            if not word or not found:
                raise argparse.ArgumentTypeError(f"{word}: the {what} are {', '.join(known)}")
            chosen |= found
        return tuple(name for name in known if name in chosen)

    return parse
