# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/run counts, and the table that ends its output."""

from __future__ import annotations

from pathlib import Path

from lab.base.report import (
    Counts,
    Failure,
    Took,
    from_junit,
    from_tap,
    summary,
    table,
    to_junit,
)


def test_table_has_builds_and_layers() -> None:
    parts = [Took("qemu-lean", 404.4), Took("unit", 61.7, Counts(1234, 20, (Failure("a", "b"),)))]
    assert table(parts).splitlines() == [
        "                  passed   failed  skipped  seconds",
        "build qemu-lean                                 404",
        "unit                1234        1       20       62",
    ]


def test_case_that_was_planned_and_never_ran_has_failed() -> None:
    counts = from_tap("wire", "1..3\nok 1 a\nok 2 b # SKIP no tap\n", 139)
    lost = Failure("wire", "it ended with status 139, before this case ended")
    assert counts == Counts(1, 1, (lost,))


def test_program_that_fails_after_its_cases_has_failed() -> None:
    counts = from_tap("wire", "1..1\nok 1 a\n", 139)
    assert counts == Counts(1, 0, (Failure("wire", "it ended with status 139"),))


def test_case_that_is_not_ok_has_failed() -> None:
    counts = from_tap("wire", "1..1\nnot ok 1 /wire/a\n", 1)
    assert counts.failures == (Failure("wire 1 /wire/a", "not ok"),)


def test_assertion_is_the_reason() -> None:
    """GLib's g_assert() ends the program, and says why in the stream."""
    counts = from_tap("wire", "1..2\nok 1 /a\nBail out! ERROR:wire.c:12:test_b: 1 == 2\n", -6)
    (failure,) = counts.failures
    assert failure.reason.startswith("ERROR:wire.c:12:test_b: 1 == 2")


def test_junit_tells_cases_and_reasons(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuite><testcase classname="test_a" name="one"/>'
        '<testcase classname="test_a" name="two"><skipped/></testcase>'
        '<testcase classname="test_a" name="three"><error message="none&#10;at all"/></testcase>'
        '<testcase name="four"><failure>status 3</failure></testcase></testsuite>'
    )
    failures = (Failure("test_a::three", "none at all"), Failure("four", "status 3"))
    assert from_junit(report) == Counts(1, 1, failures)


def test_long_reason_keeps_its_ends() -> None:
    counts = Counts.of_failure("case", f"python3 ended with 1\n{'x ' * 5000}\nKeyError")
    (failure,) = counts.failures
    assert failure.reason.startswith("python3 ended with 1 x x")
    assert failure.reason.endswith("x x KeyError")
    assert len(failure.reason) < 500


def test_summary_has_a_line_for_each_reason() -> None:
    of_one = [Failure(f"case {n}", "the guest is gone") for n in range(956)]
    assert summary([*of_one, Failure("other", "5 instead of 4")]).splitlines() == [
        "case 0 and 955 more: the guest is gone",
        "other: 5 instead of 4",
    ]


def test_summary_is_bounded() -> None:
    lines = summary([Failure("case", f"reason {n}") for n in range(100)]).splitlines()
    assert len(lines) < 30
    assert lines[-1] == "and for 80 other reasons"


def test_junit_that_is_written_reads_the_same(tmp_path: Path) -> None:
    counts = Counts(2, 1, (Failure("test_a::two", "1 < 2 & more"),))
    to_junit(counts, tmp_path / "report.xml")
    assert from_junit(tmp_path / "report.xml") == counts
