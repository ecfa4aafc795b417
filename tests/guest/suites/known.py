# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of single tests: ``known.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path


def _load() -> tuple[dict[str, str], dict[str, str]]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    found: list[dict[str, str]] = []
    for name in ("left-out", "different"):
        found.append({})
        for entry in tables.get(name, ()):
            for test in entry["tests"]:
                if test in found[-1]:
                    raise ValueError(f"known.toml: {name}: {test} is listed twice")
                found[-1][test] = entry["why"]
    return found[0], found[1]


#: By a test's full name, the reason why it does not run, or why its outcome differs.
LEFT_OUT, DIFFERENT = _load()
