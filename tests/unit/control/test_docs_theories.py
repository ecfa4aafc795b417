# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of the theories of operation names them all."""

from __future__ import annotations

from lab import theories


def test_the_index_is_what_the_sources_say() -> None:
    assert theories.PAGE.read_text() == theories.page(), "run: python3 -m lab.theories"


def test_what_a_file_is_about() -> None:
    c = "/* SPDX-License-Identifier: X */\n/*\n * Seals it\n *\n * Theory of operation\n */\n"
    assert theories.about(c) == "Seals it"
    python = '# SPDX-License-Identifier: X\n"""A list. It is long.\n\nTheory of operation: it"""\n'
    assert theories.about(python) == "A list"
    assert theories.about("/*\n * Seals\n *\n * See the theory of operation of x.c\n */\n") is None
