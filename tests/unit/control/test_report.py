# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/run counts, and the table that ends its output."""

from __future__ import annotations

from vmmnet.testbed.base.report import Counts, Took, from_tap, table


def test_table_has_builds_and_layers() -> None:
    parts = [Took("qemu-lean", 404.4), Took("unit", 61.7, Counts(1234, 1, 20))]
    assert table(parts).splitlines() == [
        "                  passed   failed  skipped  seconds",
        "build qemu-lean                                 404",
        "unit                1234        1       20       62",
    ]


def test_case_that_was_planned_and_never_ran_has_failed() -> None:
    assert from_tap("1..3\nok 1 a\nok 2 b # SKIP no tap\n", 0) == Counts(1, 1, 1)


def test_program_that_fails_after_its_cases_has_failed() -> None:
    assert from_tap("1..1\nok 1 a\n", 139) == Counts(1, 1, 0)
