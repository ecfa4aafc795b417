# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of checkpatch's findings count."""

from __future__ import annotations

from lab import lint


def test_only_errors_count_and_those_that_are_none_do_not() -> None:
    error = "net/esp/sa.c:1: ERROR: trailing whitespace"
    lines = [
        error,
        "net/esp/sa.c:2: WARNING: line over 80 characters",
        "tests/fuzz/fuzz-esp.c:20: ERROR: externs should be avoided in .c files",
    ]
    assert lint.unexcused(lines) == [error]


def test_excuse_is_for_its_files() -> None:
    line = "net/esp/sa.c:20: ERROR: externs should be avoided in .c files"
    assert lint.unexcused([line]) == [line]
