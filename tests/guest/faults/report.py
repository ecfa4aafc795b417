# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of each fault, written down below build/faults."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from lab.base import paths

FOLDER = paths.BUILD / "faults"


@dataclass(frozen=True)
class Row:
    """One fault on one kernel."""

    kernel: str
    fault: str
    happened: str
    numbers: dict[str, object] = field(default_factory=dict)


def _line(row: Row) -> str:
    numbers = "; ".join(f"{key} {value}" for key, value in row.numbers.items())
    return f"| {row.kernel} | {row.fault} | {row.happened} | {numbers} |"


def write(name: str, rows: Iterable[Row]) -> None:
    """Write a part of the report, for people and for programs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    head = ["| guest | fault | what happened | numbers |", "|---|---|---|---|"]
    listed = list(rows)
    (FOLDER / f"{name}.md").write_text("\n".join([*head, *map(_line, listed)]) + "\n")
    records = [asdict(row) for row in listed]
    (FOLDER / f"{name}.json").write_text(json.dumps(records, indent=1) + "\n")
