# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of single tests: ``known.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path


def _load() -> Iterator[dict[str, str]]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    for name in ("left-out", "different", "by-the-clock"):
        found: dict[str, str] = {}
        for entry in tables.get(name, ()):
            for test in entry["tests"]:
                if test in found:
                    raise ValueError(f"known.toml: {name}: {test} is listed twice")
                found[test] = entry["why"]
        yield found


#: By a test's full name, the reason why it does not run, why its outcome differs,
#: or why it may differ on a busy machine.
LEFT_OUT, DIFFERENT, BY_THE_CLOCK = _load()
