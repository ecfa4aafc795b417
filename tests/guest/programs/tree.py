# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a tree of files, the same wherever it runs: python3 tree.py FOLDER COUNT."""

from __future__ import annotations

import random
import sys
from pathlib import Path

_LARGE = 4 << 20


def contents(count: int) -> dict[str, bytes]:
    """What is in the files, by their names: an empty one, a large one, and others."""
    source = random.Random(count)
    files = {"empty": b"", "large": source.randbytes(_LARGE)}
    for number in range(count):
        files[f"folder{number % 7}/{number}"] = source.randbytes(number * 631 % 40000)
    return files


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1])
    for name, data in contents(int(sys.argv[2])).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
