# SPDX-License-Identifier: GPL-2.0-or-later
"""The README's commands on a bare Debian 13, by tests/machines."""

from __future__ import annotations

import subprocess

import pytest
from lab.base import paths

pytestmark = pytest.mark.long

#: It compiles QEMU, and then the cores with sanitizers.
HOURS = 3


def test_a_bare_debian_13_shows_both_pages_and_passes_the_quick_tests() -> None:
    # What check-quick needs beyond what run has installed is the first thing that make check does.
    commands = ["make run", "make deps SECTIONS='build run test'", "make check-quick"]
    ended = subprocess.run(
        [paths.ROOT / "tests/machines", "trixie", *commands],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HOURS * 3600,
    )
    print(ended.stdout)
    assert ended.returncode == 0
    for page in ("An IPv6-only page", "An IPv4 server"):
        assert f"<title>{page}</title>" in ended.stdout
    assert " 0 failed" in ended.stdout.splitlines()[-2]


def test_a_suite_that_cannot_be_is_named() -> None:
    for word in ("Trixie", "trixie;x", ""):
        ended = subprocess.run(
            [paths.ROOT / "tests/machines", word], capture_output=True, text=True
        )
        assert ended.returncode == 2 and f"SUITE is {word!r}" in ended.stderr
