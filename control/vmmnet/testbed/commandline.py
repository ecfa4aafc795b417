# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the command ``vmmnet`` in this process, for tests of what it says."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass

from vmmnet.__main__ import main


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it said."""

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
