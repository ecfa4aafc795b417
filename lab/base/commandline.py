# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the command ``vmmnet`` in this process, for tests of its output."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from vmmnet.__main__ import completer, main, parser
from vmmnet.command.completion import Finder


@dataclass(frozen=True)
class Answer:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


Command = Callable[..., Answer]


def run(*words: str) -> Answer:
    """Run a command line to its end."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as error:
            status = int(error.code or 0)
    return Answer(status, out.getvalue(), err.getvalue())


def offered(*words: str) -> list[str]:
    """Return a shell's completions of the last word, which may be empty."""
    finder = Finder(parser(), default_completer=completer())
    before = "".join(f"{shlex.quote(word)} " for word in words[:-1])
    found: list[str] = []
    while (each := finder.rl_complete(before + words[-1], len(found))) is not None:
        found.append(each)
    return [each.removeprefix(before) for each in found]
